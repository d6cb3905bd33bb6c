// Pages in frames: on the site's own pages they work, on other sites' they stay blank, unless the operator says otherwise.
import assert from 'node:assert/strict';
import test from 'node:test';
import {missingTls, withDemo, withFront} from './demo.mjs';
import {Visit, pause, start} from './gate.mjs';

/** A page of the other site, with the challenged one in a frame. */
function parent({url}) {
  if (!url.startsWith('/frame?')) return;
  const body = `<!doctype html><title>parent</title><iframe src="${decodeURIComponent(url.slice(7))}"></iframe>`;
  return {status: 200, headers: {'content-type': 'text/html'}, body};
}

const secure = {cookie: {secure: 'always'}};
const inFrames = {
  page: {frame_ancestors: ['self', 'https://127.0.0.1:*']},
  cookie: {secure: 'always', same_site: 'none', partitioned: true},
};
const rows = [
  ['of the same site', secure, 'localhost', true],
  ['of another site', secure, '127.0.0.1', false],
  ['of another site that is welcome', inFrames, '127.0.0.1', true],
];

for (const name of ['chromium', 'firefox']) {
  for (const [what, settings, host, passes] of rows) {
    test(`B12 ${name}: a frame on a page ${what} ${passes ? 'passes' : 'stays blank'}`, {skip: missingTls(name), timeout: 60000}, () =>
      withDemo(settings, demo => withFront(demo.port, {ask: parent, tls: true}, port => start(name, {}, async page => {
        const visit = new Visit(page);
        await visit.open(`https://${host}:${port}/frame?${encodeURIComponent(`https://localhost:${port}/`)}`);
        const text = () => Promise.all(page.frames().slice(1).map(f => f.evaluate(() => document.body.innerText).catch(() => ''))).then(all => all.join());
        if (passes) {
          await visit.until(async () => /You are in/.test(await text()), 20000, 'the app is in the frame');
        } else {
          await pause(5000);
          assert.ok(!/One moment|You are in/.test(await text()), await text());
          assert.equal(visit.asked('answer').length, 0);
        }
      }))));
  }
}
