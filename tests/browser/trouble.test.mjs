// Browsers that something is wrong with: the page falls back and passes, or says why within 15 s. Forms are never sent by themselves.
import assert from 'node:assert/strict';
import {address, base, check, get, pause, prefix, withVisit} from './gate.mjs';

const fallsBack = {
  'Worker is missing': () => { delete self.Worker; },
  'Worker is forbidden': () => { self.Worker = function () { throw new Error('forbidden'); }; },
  'Worker never speaks': () => { self.Worker = function () { return {postMessage() {}, terminate() {}}; }; },
  'Worker\'s file is not there': () => {
    const Real = self.Worker;
    self.Worker = function (url) { return new Real(url + '.none'); };
  },
  'one Worker dies on the way': () => {
    const Real = self.Worker;
    let dead = false;
    Object.defineProperty(navigator, 'hardwareConcurrency', {get: () => 4});
    self.Worker = function (url) {
      const worker = new Real(url);
      if (!dead) {
        dead = true;
        worker.addEventListener('message', () => {
          worker.terminate();
          worker.dispatchEvent(new Event('error', {cancelable: true}));
        }, {once: true});
      }
      return worker;
    };
  },
  'Worker is missing and Web Crypto lies': () => {
    delete self.Worker;
    crypto.subtle.digest = async () => new ArrayBuffer(32);
  },
};

for (const name of ['chromium', 'firefox']) {
  for (const [what, before] of Object.entries(fallsBack)) {
    check(`B9 ${name}: ${what}: falls back and passes`, name, () =>
      withVisit(name, {before}, async visit => {
        await visit.open(address());
        await visit.arrival(15000);
        assert.equal(visit.asked('answer').length, 1);
        assert.deepEqual(visit.violations, [], 'nothing that the page does is forbidden');
      }));
  }

  check(`B9 ${name}: nothing computes right: says why and leaves a way on`, name, () =>
    withVisit(name, {before: () => {
      delete self.Worker;
      Int32Array.from = () => new Int32Array(8);
    }}, async visit => {
      await visit.open(address());
      const words = await visit.offer(15000);
      assert.match(words.status, /engine/);
      assert.ok(await visit.page.evaluate(() => document.activeElement.id === 'go'), 'the focus is on the button');
      assert.equal(visit.asked('answer').length, 0);
    }));

  check(`B13 ${name}: a wrong answer is refused with a reason, and nothing reloads`, name, () =>
    withVisit(name, {before: () => {
      const real = self.fetch;
      self.fetch = (url, init) => {
        const text = init.headers && init.headers['tollgate-answer'];
        if (text) init.headers['tollgate-answer'] = text.slice(0, 80) + (text[80] === 'A' ? 'B' : 'A') + text.slice(81);
        return real(url, init);
      };
    }}, async visit => {
      await visit.open(address());
      const words = await visit.offer(15000);
      assert.match(words.status, /wrong/);
      await pause(3000);
      assert.equal(visit.documents.length, 1);
      assert.equal(visit.asked('answer').length, 1);
    }));

  check(`${name}: an answer that fails on the way is sent again`, name, () =>
    withVisit(name, {before: () => {
      const real = self.fetch;
      let failures = 0;
      self.fetch = (url, init) => String(url).endsWith('answer') && failures++ < 2 ? Promise.reject(new TypeError('network')) : real(url, init);
    }}, async visit => {
      await visit.open(address());
      await visit.arrival(15000);
      assert.equal(visit.asked('answer').length, 1);
    }));

  check(`B13 ${name}: a tab that slept past its token's life starts afresh by itself, once`, name, () =>
    withVisit(name, {before: () => {
      // The window's name outlives a reload, so only the first page sleeps.
      if (self.name === 'slept') return;
      const [fetch, now] = [self.fetch, Date.now];
      self.fetch = (url, init) => {
        if (!String(url).endsWith('answer')) return fetch(url, init);
        self.name = 'slept';
        Date.now = () => now() + 3600000;
        return Promise.resolve(new Response('expired', {status: 403}));
      };
    }}, async visit => {
      await visit.open(address());
      await visit.arrival(15000);
      assert.deepEqual(visit.documents.map(d => d.status === 200), [false, false, true]);
    }));

  check(`B13 ${name}: "expired" on a young page is for the person`, name, () =>
    withVisit(name, {before: () => {
      const fetch = self.fetch;
      self.fetch = (url, init) => String(url).endsWith('answer') ? Promise.resolve(new Response('expired', {status: 403})) : fetch(url, init);
    }}, async visit => {
      await visit.open(address());
      assert.match((await visit.offer(15000)).heading, /too long/);
      await pause(3000);
      assert.equal(visit.documents.length, 1);
    }));

  check(`B13 ${name}: a tab that is too slow every time starts afresh once, then asks`, name, () =>
    withVisit(name, {before: () => {
      const [fetch, now] = [self.fetch, Date.now];
      self.fetch = (url, init) => {
        if (!String(url).endsWith('answer')) return fetch(url, init);
        Date.now = () => now() + 3600000;
        return Promise.resolve(new Response('expired', {status: 403}));
      };
    }}, async visit => {
      await visit.open(address());
      assert.match((await visit.offer(15000)).heading, /too long/);
      await pause(3000);
      assert.deepEqual(visit.documents.map(d => d.status), [403, 403], 'one page, and one more');
    }));

  check(`${name}: a site that asks again right after the cookie came back is no loop`, name, () =>
    withVisit(name, {before: () => {
      const fetch = self.fetch;
      // What a proxy does that takes one scheme for another on one of its two routes.
      self.fetch = (url, init) => /answer|check/.test(url) ? Promise.resolve(new Response(null, {status: 204})) : fetch(url, init);
    }}, async visit => {
      await visit.open(address());
      await visit.until(() => visit.documents.length === 2, 15000, 'the page reloads once');
      assert.match((await visit.offer(15000)).heading, /One more check/);
      await pause(3000);
      assert.equal(visit.documents.length, 2, 'and not by itself again');
    }));

  check(`${name}: a device that is offline is told so, and goes on when it is back`, name, () =>
    withVisit(name, {before: () => {
      const fetch = self.fetch;
      let online = true;
      Object.defineProperty(navigator, 'onLine', {get: () => online});
      self.back = () => {
        self.fetch = fetch;
        online = true;
        dispatchEvent(new Event('online'));
      };
      self.fetch = (url, init) => {
        online = false;
        return Promise.reject(new TypeError('network'));
      };
    }}, async visit => {
      await visit.open(address());
      await visit.until(() => visit.page.evaluate(() => /offline/.test(document.getElementById('status').textContent)), 15000, 'it says so');
      await visit.page.evaluate(() => self.back());
      await visit.arrival(10000);
    }));

  check(`${name}: an answer that comes too often waits as long as it is told`, name, () =>
    withVisit(name, {before: () => {
      const fetch = self.fetch;
      let asked = 0;
      self.fetch = (url, init) => String(url).endsWith('answer') && !asked++
        ? Promise.resolve(new Response('many', {status: 429, headers: {'retry-after': '3'}})) : fetch(url, init);
    }}, async visit => {
      const begun = Date.now();
      await visit.open(address());
      await visit.arrival(15000);
      assert.ok(Date.now() - begun > 3000);
    }));

  check(`B9 ${name}: whatever it is that never ends is said after a while`, name, () =>
    withVisit(name, {before: () => {
      delete self.Worker;
      crypto.subtle.digest = () => new Promise(() => {});
    }}, async visit => {
      await visit.open(address());
      assert.match((await visit.offer(25000)).status, /timeout/);
      assert.ok(await visit.page.evaluate(() => document.getElementById('lane').offsetHeight > 0), 'the wait lane is offered');
    }));

  for (const where of ['same origin', 'another site']) {
    check(`B10 ${name}: a form from ${where} waits for a click`, name, () =>
      withVisit(name, {}, async visit => {
        if (where === 'same origin') await visit.open(`${base}${prefix}check`);
        const posts = () => visit.requests.filter(r => r.navigation && r.method === 'POST').length;
        await visit.page.evaluate(action => {
          const form = document.createElement('form'), field = document.createElement('input');
          Object.assign(form, {method: 'post', action});
          Object.assign(field, {name: 'a', value: '1'});
          form.append(field);
          document.documentElement.append(form);
          form.submit();
        }, address());
        const words = await visit.offer(15000);
        assert.match(words.go, /form/i);
        await pause(3000);
        assert.equal(posts(), 1, 'nothing is sent again by itself');
        // Firefox asks the person once more before it sends a form again, and nobody answers here.
        if (name === 'firefox') return;
        await visit.page.click('#go');
        await visit.arrival(10000);
        assert.equal(posts(), 2, 'the click sends it once');
      }));
  }
}

check('B9 chromium: the page\'s file is blocked: says why and leaves a way on', 'chromium', () =>
  withVisit('chromium', {}, async visit => {
    const session = await visit.page.createCDPSession();
    await session.send('Network.enable');
    await session.send('Network.setBlockedURLs', {urls: [`*${prefix}static/*`]});
    await visit.open(address());
    const words = await visit.offer(15000);
    assert.match(words.status, /blocked/);
    assert.ok(await visit.page.evaluate(() => document.getElementById('lane').offsetHeight > 0), 'the wait lane is offered');
    assert.equal(visit.documents.length, 1);
  }));

check('chromium: a server that keeps failing is asked five times, then the person decides', 'chromium', () =>
  withVisit('chromium', {before: () => {
    const fetch = self.fetch;
    let asked = 0;
    self.fetch = (url, init) => {
      if (!String(url).endsWith('answer')) return fetch(url, init);
      console.log(`asked=${++asked}`);
      return asked > 5 ? fetch(url, init) : Promise.resolve(new Response('', {status: 503}));
    };
  }}, async visit => {
    const asked = [];
    visit.page.on('console', m => { if (m.text().startsWith('asked=')) asked.push(Date.now()); });
    await visit.open(address());
    await visit.offer(30000);
    assert.equal(asked.length, 5);
    assert.ok(asked[4] - asked[0] > 14000, 'with growing pauses');
    await visit.page.click('#go');
    await visit.arrival(5000);
  }));

check('chromium, six times slower: passes', 'chromium', () =>
  withVisit('chromium', {}, async visit => {
    await visit.page.emulateCPUThrottling(6);
    await visit.open(address());
    await visit.arrival(30000);
  }));

check('chromium: scripts that are blocked rather than off leave the wait', 'chromium', () =>
  withVisit('chromium', {}, async visit => {
    // What a content blocker does: the policy forbids every script, and `noscript` stays away since scripting is on.
    await visit.page.setRequestInterception(true);
    visit.page.on('request', async request => {
      if (!request.isNavigationRequest()) return request.continue();
      const answer = await get(request.url(), {...request.headers(), accept: 'text/html'});
      await request.respond({status: answer.status, headers: {...answer.headers, 'content-security-policy': "script-src 'none'"}, body: answer.body});
    });
    await visit.open(address());
    const seen = await visit.page.evaluate(() => ({
      text: document.body.innerText, bar: document.getElementById('bar').offsetParent, link: document.querySelector('.off a').href,
    }));
    assert.match(seen.text, /off or blocked/);
    assert.equal(seen.bar, null, 'no bar that never moves');
    assert.match(seen.link, /wait\?t=/);
  }));
