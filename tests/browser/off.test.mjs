// What a browser lacks or an organisation forbids, one by one: the visitor passes, or is told the truth; never a loop, never a blank page.
// Whole browsers without a JIT, without cookies, without scripts and without workers are in pass, lane and trouble.
import assert from 'node:assert/strict';
import test from 'node:test';
import {missing, withDemo, withFront} from './demo.mjs';
import {pause, withVisit} from './gate.mjs';

const isScript = answer => answer.url.startsWith('/.tollgate/static/');
const isPage = answer => String(answer.headers['content-type']).startsWith('text/html');

/** In page and workers alike, before the solver looks for it. */
const without = code => ({answer: got => {
  if (isScript(got)) got.body = `${code};\n${got.body}`;
}});
const noWasm = 'delete self.WebAssembly';
const noCrypto = 'Object.defineProperty(self, "crypto", {value: undefined})';

/** A policy that somebody on the way, or the site itself, adds: browsers obey both. */
const policy = (which, text) => ({answer: got => {
  if (which(got)) got.headers['content-security-policy'] = [got.headers['content-security-policy'], text].flat().filter(Boolean);
}});

const isolated = which => ({answer: got => {
  if (which(got)) Object.assign(got.headers, {'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp'});
}});

const jitless = {chromium: {args: ['--js-flags=--jitless']}, firefox: {prefs: {'javascript.options.ion': false, 'javascript.options.baselinejit': false}}};

/** What is off, how, and who calculates then: workers with the backend that they named, or the page itself, where they named none. */
const passes = [
  ['WebAssembly', without(noWasm), ['subtle']],
  ['WebAssembly, by a policy', policy(isScript, "script-src 'self'"), ['subtle']],
  ['Web Crypto', without(noCrypto), ['wasm']],
  ['WebAssembly and Web Crypto', without(`${noWasm}; ${noCrypto}`), ['js']],
  ['the JIT, WebAssembly and Web Crypto', without(`${noWasm}; ${noCrypto}`), ['js'], jitless],
  ['workers, by a policy', policy(isPage, "worker-src 'none'"), []],
  ['workers and Web Crypto', without(`delete self.Worker; ${noCrypto}`), []],
  ['every other origin', isolated(() => true), null],
  ['whatever is not isolated, and the script is not', isolated(isPage), null],
];

for (const name of ['chromium', 'firefox']) {
  for (const [what, front, backends, options = {}] of passes) {
    test(`${/origin|isolated/.test(what) ? 'B17' : 'B9'} ${name}: off is ${what}: passes`, {skip: missing(name), timeout: 120000}, () =>
      withDemo({}, demo => withFront(demo.port, front, port => withVisit(name, options[name] || {}, async visit => {
        await visit.open(`http://127.0.0.1:${port}/`);
        await visit.arrival(100000); // the plainest JavaScript without a JIT is slow
        await pause(500);
        assert.deepEqual(visit.documents.map(d => d.status), [403, 200], 'one page, then the app');
        // Firefox tells of what a policy forbids as if it were an error of the page.
        assert.deepEqual(visit.errors.filter(error => !/Content-Security-Policy/.test(error)), []);
        if (backends) assert.deepEqual([...visit.backends], backends);
      }))));
  }

  test(`B9 ${name}: off is fetch: says so and leaves a way on`, {skip: missing(name), timeout: 60000}, () =>
    withDemo({}, demo => withFront(demo.port, without('delete self.fetch'), port => withVisit(name, {}, async visit => {
      await visit.open(`http://127.0.0.1:${port}/`);
      const words = await visit.offer(20000);
      assert.match(words.status, /\(?script/, words.status);
      assert.ok(await visit.page.evaluate(() => document.getElementById('lane').offsetHeight > 0), 'the wait lane is offered');
      await pause(3000);
      assert.equal(visit.documents.length, 1, 'no loop');
    }))));
}
