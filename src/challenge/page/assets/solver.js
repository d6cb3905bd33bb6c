// The solver: as a worker, or on the page where workers are not to be had. ES2017, no dependency.
// In:  {token, size, target, puzzles}; token is text, puzzles the numbers of the puzzles to solve. On the page also
//      open(i): whether anybody still needs that solution; it makes the solver work in slices.
// Out: {backend} once, {i, n} per solved puzzle, {} as a sign of life, {error} when nothing works.
// Comments and indentation stay in the repository; a comment has a line of its own, and no string spans lines.
(function (scope) {
  'use strict';
  const WASM = '@wasm@';
  const onPage = typeof document !== 'undefined';
  const K = new Int32Array(64), H = new Int32Array(8);

  // SHA-256's constants are the first 32 fraction bits of the roots of the first primes: computed, so that no table is shipped.
  // Engines may differ in the last bits of a root; the first 32 are far from them, and the self-test would tell.
  (function () {
    const bits = function (x) { return ((x - Math.floor(x)) * 4294967296) | 0; };
    for (let n = 0, p = 2; n < 64; p++) {
      let q = 2;
      while (q * q <= p && p % q) q++;
      if (q * q <= p) continue;
      if (n < 8) H[n] = bits(Math.sqrt(p));
      K[n++] = bits(Math.cbrt(p));
    }
  })();

  // Schedule of one block: 16 words become 64, round constants added.
  function expand(w) {
    for (let t = 16; t < 64; t++) {
      const x = w[t - 15], y = w[t - 2];
      w[t] = (w[t - 16] + ((x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ x >>> 3) + w[t - 7] +
        ((y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ y >>> 10)) | 0;
    }
    for (let t = 0; t < 64; t++) w[t] += K[t];
  }

  // One compression of state s with the 64 words of w from `at`.
  function compress(s, w, at) {
    let a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];
    for (let t = at; t < at + 64; t++) {
      const t1 = (h + ((e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7)) + (g ^ e & (f ^ g)) + w[t]) | 0;
      const t2 = (((a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10)) + (a & b | c & (a | b))) | 0;
      h = g; g = f; f = e; e = (d + t1) | 0; d = c; c = b; b = a; a = (t1 + t2) | 0;
    }
    s[0] += a; s[1] += b; s[2] += c; s[3] += d; s[4] += e; s[5] += f; s[6] += g; s[7] += h;
  }

  // Schedules of the padded message, 64 words a block.
  function schedules(message) {
    const blocks = (message.length + 8 >> 6) + 1, padded = new Uint8Array(blocks * 64), view = new DataView(padded.buffer);
    padded.set(message);
    padded[message.length] = 128;
    view.setUint32(blocks * 64 - 4, message.length * 8);
    const out = new Int32Array(blocks * 64);
    for (let b = 0; b < blocks; b++) {
      const w = out.subarray(b * 64, b * 64 + 64);
      for (let t = 0; t < 16; t++) w[t] = view.getInt32(b * 64 + t * 4);
      expand(w);
    }
    return out;
  }

  function sha256(message) {
    const w = schedules(message), s = Int32Array.from(H), out = new DataView(new ArrayBuffer(32));
    for (let at = 0; at < w.length; at += 64) compress(s, w, at);
    for (let i = 0; i < 8; i++) out.setInt32(i * 4, s[i]);
    return new Uint8Array(out.buffer);
  }

  function bytes(binary) {
    return Uint8Array.from(binary, function (c) { return c.charCodeAt(0); });
  }

  function decode(text) {
    return bytes(scope.atob(text.replace(/-/g, '+').replace(/_/g, '/')));
  }

  // The 2^size bytes that every message of a token shares.
  function fill(token, size) {
    const seed = bytes('tollgate filler 1' + String.fromCharCode.apply(null, token));
    const part = new Uint8Array(34), out = new Uint8Array(1 << size);
    part.set(sha256(seed));
    for (let j = 0; j * 32 < out.length; j++) {
      part[32] = j >> 8;
      part[33] = j;
      out.set(sha256(part), j * 32);
    }
    return out;
  }

  // Backends: given filler and size, {chunk, search(i, start, target)}; search tries `chunk` nonces and returns the first hit or -1.
  const makers = {
    wasm: async function (filler, size) {
      const x = (await WebAssembly.instantiate(decode(WASM), {})).instance.exports;
      new Int32Array(x.memory.buffer, x.constants(), 64).set(K);
      new Uint8Array(x.memory.buffer, x.filler(), filler.length).set(filler);
      x.prepare(size);
      return {chunk: 256, search: function (i, start, target) { return Number(x.search(size, i, start, 256, target)); }};
    },
    subtle: async function (filler) {
      const lanes = [];
      for (let j = 0; j < 8; j++) lanes.push(new DataView(filler.slice().buffer));
      return {chunk: 8, search: async function (i, start, target) {
        const digests = await Promise.all(lanes.map(function (m, j) {
          m.setUint32(0, i);
          m.setUint32(4, start + j);
          return scope.crypto.subtle.digest('SHA-256', m.buffer);
        }));
        for (let j = 0; j < 8; j++) if (new DataView(digests[j]).getUint32(0) < target) return start + j;
        return -1;
      }};
    },
    js: async function (filler) {
      const rest = schedules(filler), head = new DataView(filler.slice(0, 64).buffer), w = new Int32Array(64), s = new Int32Array(8);
      return {chunk: 16, search: function (i, start, target) {
        for (let n = start; n < start + 16; n++) {
          for (let t = 2; t < 16; t++) w[t] = head.getInt32(t * 4);
          w[0] = i;
          w[1] = n;
          expand(w);
          s.set(H);
          compress(s, w, 0);
          for (let at = 64; at < rest.length; at += 64) compress(s, rest, at);
          if (s[0] >>> 0 < target) return n;
        }
        return -1;
      }};
    }
  };

  // Known answer, token bytes 0 to 55, size 10, puzzle 3: among the first eight nonces 4 alone hits this target, and nothing hits 0.
  // Engines and extensions that compute something else are passed over here, before anybody waits for them.
  async function trusted(name) {
    try {
      const backend = await makers[name](fill(Uint8Array.from({length: 56}, function (_, i) { return i; }), 10), 10);
      return await backend.search(3, 0, 133268618) === 4 && await backend.search(3, 4096, 0) === -1;
    } catch (e) {
      return false;
    }
  }

  const now = function () { return scope.performance.now(); };

  // Nonces a millisecond, tried for at least `ms`.
  async function speed(backend, ms) {
    const from = now();
    let n = 0;
    do {
      await backend.search(0, n, 0);
      n += backend.chunk;
    } while (now() - from < ms);
    return n / (now() - from);
  }

  // The faster of wasm and subtle, plain JavaScript where both are missing. The page's own policy forbids wasm.
  async function choose(filler, size) {
    const names = [];
    for (const name of onPage ? ['subtle'] : ['wasm', 'subtle']) if (await trusted(name)) names.push(name);
    if (!names.length && await trusted('js')) names.push('js');
    if (!names.length) throw new Error('engine');
    let best = null;
    for (const name of names) {
      const backend = await makers[name](filler, size);
      backend.name = name;
      if (names.length > 1) {
        await speed(backend, 2);
        backend.rate = await speed(backend, 12);
      }
      if (!best || backend.rate > best.rate) best = backend;
    }
    return best;
  }

  // A turn for the page. Not a timer: browsers slow those down in tabs that are not in front.
  function turn() {
    return new Promise(function (go) {
      const channel = new MessageChannel();
      channel.port1.onmessage = function () {
        channel.port1.close();
        go();
      };
      channel.port2.postMessage(0);
    });
  }

  async function solve(job, post) {
    const backend = await choose(fill(decode(job.token), job.size), job.size);
    post({backend: backend.name});
    const open = job.open || function () { return true; };
    let breath = now(), sign = breath;
    for (const i of job.puzzles) {
      for (let n = 0; open(i); n += backend.chunk) {
        if (n > 4294967295) throw new Error('nonces');
        const hit = await backend.search(i, n, job.target);
        if (hit >= 0) {
          post({i: i, n: hit});
          break;
        }
        if (onPage && now() - breath > 12) {
          await turn();
          breath = now();
        }
        if (now() - sign > 500) {
          post({});
          sign = now();
        }
      }
    }
  }

  if (onPage) scope.tollgate.solve = solve;
  else scope.onmessage = function (e) {
    solve(e.data, function (m) { scope.postMessage(m); }).catch(function (x) { scope.postMessage({error: String(x && x.message || x)}); });
  };
})(self);
