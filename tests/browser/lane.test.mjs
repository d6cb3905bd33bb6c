// Browsers that run no script: the wait lane, and what it says where cookies are blocked.
import assert from 'node:assert/strict';
import {address, base, challenged, check, get, pause, withVisit} from './gate.mjs';

const agent = 'Mozilla/5.0 (tollgate browser test) text browser';

/** Asks as a text browser does, with a cookie jar of one cookie. */
function textBrowser() {
  let cookie = '';
  return async url => {
    const answer = await get(new URL(url, base).href, {'user-agent': agent, accept: 'text/html', ...(cookie && {cookie})});
    const set = answer.headers['set-cookie'] || [];
    assert.ok(set.length <= 1, 'at most one cookie');
    if (set.length) cookie = set[0].split(';')[0];
    return {status: answer.status, location: answer.headers.location, html: answer.body};
  };
}

/** The refresh of a page of ours: how long, and where to. */
function refresh(html) {
  const found = /<meta http-equiv="refresh" content="(\d+);url=([^"]+)">/.exec(html);
  assert.ok(found, `the page goes on by itself: ${html.slice(0, 400)}`);
  return {seconds: Number(found[1]), url: found[2].replaceAll('&amp;', '&')};
}

check('B5 without a browser: too early is told so and goes on, then the app answers', null, async () => {
  const ask = textBrowser(), url = address();
  const first = refresh((await ask(url)).html);
  const early = await ask(first.url);
  assert.equal(early.status, 403);
  const again = refresh(early.html);
  assert.ok(again.seconds >= 2 && again.seconds <= first.seconds, `${again.seconds} s of ${first.seconds} s`);
  assert.ok(!early.html.includes('<script'), 'the wait page needs no script');
  await pause(again.seconds * 1000);
  const served = await ask(again.url);
  assert.equal(served.status, 303, served.html.slice(0, 300));
  const probed = await ask(served.location);
  assert.equal(probed.status, 303, probed.html.slice(0, 300));
  assert.equal(new URL(probed.location, base).href, url);
  assert.equal((await ask(probed.location)).status, 200);
});

check('B5 without a browser: an edited link is refused, and is no dead end', null, async () => {
  const ask = textBrowser();
  const {url} = refresh((await ask(address())).html);
  for (const edited of [url.replace(/([?&]r=)[^&]*/, '$1Ly9ldmlsLnRlc3Qv'), url.replace(/([?&]s=)./, '$1*'), url.replace(/([?&]t=)[^&]*/, '$1x')]) {
    const answer = await ask(edited);
    assert.ok(answer.status >= 400 && answer.status < 500, `${answer.status}`);
    assert.equal(answer.location, undefined);
    assert.ok(!/http-equiv/.test(answer.html) && !answer.html.includes('evil'), answer.html.slice(0, 300));
  }
});

for (const name of ['chromium', 'firefox']) {
  check(`B5 ${name} without script: goes on by itself and reaches the app`, name, () =>
    withVisit(name, {noScript: true}, async visit => {
      const url = address();
      const seconds = refresh((await get(url, {accept: 'text/html', 'user-agent': agent})).body).seconds;
      await visit.open(url);
      await visit.until(() => visit.documents.some(d => d.status === 200), (seconds + 6) * 1000, 'the app answers');
      assert.equal(visit.documents.at(-1).url, url);
      assert.equal(visit.asked('answer').length, 0);
      assert.deepEqual([...visit.violations, ...visit.errors], [], 'the console is quiet');
      const foreign = visit.requests.filter(r => /^(https?|wss?):/.test(r.url) && new URL(r.url).origin !== new URL(url).origin);
      assert.deepEqual(foreign, [], 'no other origin is asked');
    }));

  check(`B7 ${name} without cookies: says so, once, and stays`, name, () =>
    withVisit(name, {noCookies: true}, async visit => {
      await visit.open(address());
      const words = await visit.offer(15000);
      assert.match(words.heading, /cookie/i);
      assert.equal(visit.asked('answer').length, 1);
      await pause(10000);
      assert.equal(visit.documents.length, 1, 'no navigation');
      assert.equal(visit.asked('answer').length, 1, 'no second answer');
    }));

  check(`B7 ${name} without cookies and script: says so and stays`, name, () =>
    withVisit(name, {noCookies: true, noScript: true}, async visit => {
      await visit.open(address());
      await visit.until(() => visit.documents.some(d => d.url.includes('/waited?') && d.status === 403), 25000, 'the probe finds no cookie');
      const seen = visit.documents.length;
      await pause(10000);
      assert.equal(visit.documents.length, seen, 'no navigation');
    }));
}

check('B11 programs never get a page', null, async () => {
  const dest = (mode, to) => ({'sec-fetch-mode': mode, 'sec-fetch-dest': to, accept: '*/*'});
  const rows = [
    ['fetch', dest('cors', 'empty')], ['image', dest('no-cors', 'image')], ['script', dest('no-cors', 'script')],
    ['event source', {accept: 'text/event-stream', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty'}], ['feed', {accept: 'application/rss+xml'}],
  ];
  for (const [what, headers] of rows) {
    const answer = await get(base + challenged, {...headers, 'user-agent': agent});
    if (what === 'feed' && answer.status === 200) continue;
    const type = answer.headers['content-type'] || '';
    assert.equal(answer.status, 403, what);
    assert.ok(!type.startsWith('text/html'), `${what}: ${type}`);
    assert.match(answer.headers['cache-control'] || '', /no-store/, what);
  }
  const head = await get(base + challenged, {accept: 'text/html', 'user-agent': agent}, 'HEAD');
  assert.equal(head.status, 403);
  assert.equal(head.body, '');
});
