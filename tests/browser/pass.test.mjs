// Browsers that compute: whatever they have of workers, WebAssembly and Web Crypto, they reach the app, and fast.
import assert from 'node:assert/strict';
import {address, base, challenged, check, http, insecure, prefix, withVisit} from './gate.mjs';

const noJit = {'javascript.options.ion': false, 'javascript.options.baselinejit': false, 'javascript.options.wasm': false};

/** Passes, and proves that nobody else was asked and nothing was forbidden. Gives the milliseconds it took. */
async function pass(visit, url, ms) {
  const begun = Date.now();
  await visit.open(url);
  await visit.arrival(ms);
  const took = Date.now() - begun;
  assert.deepEqual([...visit.violations, ...visit.errors], [], 'the console is quiet');
  const foreign = visit.requests.filter(r => /^(https?|wss?):/.test(r.url) && new URL(r.url).origin !== new URL(url).origin);
  assert.deepEqual(foreign, [], 'no other origin is asked');
  return took;
}

for (const name of ['chromium', 'firefox']) {
  check(`B1 ${name}: reaches the address it asked for, with one page, one file, one answer, one check`, name, () =>
    withVisit(name, {}, async visit => {
      const url = `${address()}#f`;
      await visit.page.goto('about:blank');
      const before = await visit.page.evaluate(() => history.length);
      await pass(visit, url, 3000);
      await visit.until(() => visit.page.evaluate(() => document.readyState === 'complete'), 5000, 'the app\'s page is there');
      assert.equal(visit.page.url(), url);
      assert.ok(await visit.page.evaluate(() => history.length) - before <= 1, 'the check leaves nothing in the history');
      assert.deepEqual(visit.documents.map(d => d.status === 200), [false, true], 'one page of ours, then the app');
      assert.equal(new Set(visit.asked('static/').map(r => r.url)).size, 1);
      assert.equal(visit.asked('answer').length, 1);
      assert.equal(visit.asked('check').length, 1);
      assert.ok(visit.backends.size > 0, 'a worker did it');
      const spoken = await visit.page.evaluate(() => performance.getEntriesByType('navigation')[0].nextHopProtocol);
      assert.equal(spoken, http, 'the version of HTTP that is to be tried');
    }));

  check(`B1 ${name}: a second tab and a second visit are not asked again`, name, () =>
    withVisit(name, {}, async visit => {
      await pass(visit, address(), 5000);
      const answers = visit.asked('answer').length;
      await visit.open(address());
      assert.equal(visit.documents.at(-1).status, 200);
      assert.equal(visit.asked('answer').length, answers);
    }));
}

check('B21 chromium: nothing on the page moves while it works', 'chromium', () =>
  withVisit('chromium', {before: () => {
    new PerformanceObserver(list => list.getEntries().forEach(e => console.log(`moved=${e.value}`))).observe({type: 'layout-shift', buffered: true});
    // Slower than it is, so that every state of a visit is painted.
    const fetch = self.fetch;
    self.fetch = (...all) => new Promise(on => setTimeout(on, 500)).then(() => fetch(...all));
  }}, async visit => {
    const moved = [], heard = [];
    visit.page.on('console', m => {
      heard.push(m.text());
      if (m.text().startsWith('moved=')) moved.push(m.text());
    });
    await visit.open(address());
    await visit.arrival(10000);
    assert.ok(heard.some(text => text.startsWith('backend=')), 'the page is heard');
    assert.deepEqual(moved, []);
  }));

check('B2 chromium without a JIT and WebAssembly: Web Crypto does it', 'chromium', () =>
  withVisit('chromium', {args: ['--js-flags=--jitless']}, async visit => {
    await pass(visit, address(), 9000);
    assert.deepEqual([...visit.backends], ['subtle']);
  }));

check('B2 firefox without a JIT and WebAssembly: Web Crypto does it', 'firefox', () =>
  withVisit('firefox', {prefs: noJit}, async visit => {
    await pass(visit, address(), 9000);
    assert.deepEqual([...visit.backends], ['subtle']);
  }));

const plain = !insecure && 'the gate is asked over https';

check('B3 chromium on plain http: WebAssembly does it, the cookie is not Secure', 'chromium', () =>
  withVisit('chromium', {}, async visit => {
    await pass(visit, address(insecure), 5000);
    assert.deepEqual([...visit.backends], ['wasm']);
    const [cookie] = (await visit.page.cookies()).filter(c => c.name.endsWith('tollgate'));
    assert.deepEqual([cookie.name, cookie.secure, cookie.httpOnly, cookie.path], ['tollgate', false, true, '/']);
  }), plain);

// Chromium can no longer switch WebAssembly off alone.
check('B4 firefox on plain http without WebAssembly: JavaScript does it', 'firefox', () =>
  withVisit('firefox', {prefs: {'javascript.options.wasm': false}}, async visit => {
    await pass(visit, address(insecure), 10000);
    assert.deepEqual([...visit.backends], ['js']);
  }), plain);

check('firefox with resistFingerprinting passes', 'firefox', () =>
  withVisit('firefox', {prefs: {'privacy.resistFingerprinting': true}}, visit => pass(visit, address(), 10000)));

check('chromium: the page works in a deep folder of the site too', 'chromium', () =>
  withVisit('chromium', {}, async visit => {
    await visit.open(`${base}${challenged.replace(/\/$/, '')}/deep/er/?q=%22%3E%3Cscript%3E`);
    const html = await visit.page.content().catch(() => '');
    await visit.until(() => visit.asked('check').length === 1, 5000, 'the cookie is probed');
    assert.ok(!html.includes('"><script>'), 'what was asked for is escaped');
    assert.ok(visit.asked('static/').every(r => r.url.startsWith(base + prefix)));
  }));
