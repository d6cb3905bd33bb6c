// The solver's backends against the test vectors, in node: no browser and no gate needed.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import test from 'node:test';
import vm from 'node:vm';

const root = new URL('../../', import.meta.url);
const read = name => fs.readFileSync(new URL(name, root));
const assets = 'src/challenge/page/assets/';
const source = read(`${assets}solver.js`).toString().replace('@wasm@', read(`${assets}wide.wasm`).toString('base64url'));
const {solved} = JSON.parse(read('tests/data/challenge_vectors.json'));

/** Runs a job as a worker would; gives what it said. */
function work(job, {wasm, subtle}) {
  return new Promise((done, failed) => {
    const said = [], scope = {atob, performance, postMessage(m) {
      if (m.error) failed(new Error(m.error));
      said.push(m);
      if (said.filter(s => 'i' in s).length === job.puzzles.length) done(said);
    }};
    scope.self = scope;
    // Node's Web Crypto takes no buffer of another realm.
    if (subtle) scope.crypto = {subtle: {digest: (name, message) => crypto.subtle.digest(name, new Uint8Array(message))}};
    const context = vm.createContext(scope);
    if (!wasm) vm.runInContext('delete globalThis.WebAssembly', context);
    vm.runInContext(source, context);
    scope.onmessage({data: job});
  });
}

for (const [name, backends] of [['wasm', {wasm: true}], ['subtle', {subtle: true}], ['js', {}]]) {
  for (const vector of solved) {
    test(`${name} finds the first solutions of vector "${vector.name}"`, async () => {
      const token = Buffer.from(vector.text, 'base64url').subarray(0, 56), k = token[2];
      const job = {token: token.toString('base64url'), size: token[3], target: token.readUInt32BE(4), puzzles: [...Array(k).keys()]};
      const said = await work(job, backends);
      assert.equal(said[0].backend, name);
      assert.deepEqual(said.filter(m => 'i' in m).map(m => m.n), vector.nonces);
    });
  }
}
