// The page's work, after solver.js in the same file: hands the puzzles to workers, sends the answer, proves that the cookie came
// back, then reloads. It reads no target from anywhere: success reloads the address that the browser already shows.
// Comments and indentation stay in the repository; a comment has a line of its own, and no string spans lines.
if (typeof document !== 'undefined') (() => {
  'use strict';
  const gate = self.tollgate, {job, by} = gate, say = job.texts;
  const bar = by('bar'), heading = by('heading'), status = by('status'), calm = heading.textContent;
  const born = Date.now(), plain = job.method === 'GET' || job.method === 'HEAD';
  const nonces = [], crew = [];
  let bench = Promise.resolve(), solved = 0, still = 0, begun, stopped, told, alone, pulse;

  const open = i => nonces[i] === undefined;
  const reload = () => location.reload();

  // A mark on this entry of the history: it outlives a reload, and neither the next address nor another tab sees it.
  function mark(what) {
    const state = history.state;
    if (!state || typeof state === 'object') history.replaceState(Object.assign({}, state, {tollgate: [what, Date.now()]}), '');
  }

  function marked(what, ms) {
    const seen = (history.state || {}).tollgate;
    return seen && seen[0] === what && Date.now() - seen[1] < ms;
  }

  function tell(text) {
    if (status.textContent !== text) status.textContent = text;
  }

  function busy() {
    heading.textContent = calm;
    by('more').hidden = true;
    bar.hidden = false;
    tell(say.running);
  }

  function halt() {
    stopped = true;
    clearInterval(pulse);
    crew.forEach(member => member.worker.terminate());
  }

  // Leaves the next step to the person. The focus moves to the button of an error, and nowhere else, and in a frame it stays where
  // the person is.
  function offer(said, label, act, calmly) {
    halt();
    gate.offer(said, label, act);
    if (!calmly && self === top) by('go').focus();
  }

  // The ways in which a check ends, or pauses, with a person.
  const ends = {
    cookies: () => offer([say.cookies[0], say.cookies[1].replace('{host}', location.hostname || 'www.example.org')], say.go_on, reload),
    expired: () => offer(say.expired, say.again, reload),
    form: () => offer(say.form, say.send, reload, true),
    prior: () => offer(say.prior, say.go_on, start),
    refused: code => offer([say.refused, gate.help(code)], say.again, reload),
    silent: () => offer(say.silent, say.again, () => {
      busy();
      deliver();
    })
  };

  // The first solution of a puzzle counts; a second one comes when two worked on it.
  function heard(m) {
    still = 0;
    if (stopped || m.i === undefined || !open(m.i)) return;
    nonces[m.i] = m.n;
    bar.value = ++solved;
    if (solved === job.k) {
      halt();
      deliver();
    } else if (!told && solved * 2 >= job.k && Date.now() - begun > 3000) {
      told = true;
      tell(alone ? say.worker : say.half);
    }
  }

  const part = puzzles => ({token: job.token, size: job.size, target: job.target, puzzles: puzzles.filter(open)});

  // The puzzles of a worker that is broken, forbidden or silent are solved here, in slices. A silent one may still win.
  function onPage(puzzles) {
    alone = true;
    bench = bench.then(() => gate.solve(Object.assign(part(puzzles), {open}), heard));
    bench.catch(e => stopped || gate.fail(e.message));
  }

  function lose(member) {
    if (stopped || member.lost || !member.puzzles.some(open)) return;
    member.lost = true;
    onPage(member.puzzles);
  }

  function hire(puzzles) {
    const worker = new Worker(job.script), member = {worker, puzzles, quiet: 0};
    crew.push(member);
    worker.onmessage = e => {
      member.quiet = 0;
      if (e.data.error) lose(member);
      else heard(e.data);
    };
    worker.onerror = e => {
      e.preventDefault();
      lose(member);
    };
    worker.postMessage(part(puzzles));
  }

  function start() {
    const count = Math.min(job.k, 4, Math.max(1, navigator.hardwareConcurrency >> 1)), shares = [];
    begun = Date.now();
    stopped = false;
    busy();
    for (let i = 0; i < job.k; i++) (shares[i % count] = shares[i % count] || []).push(i);
    for (const puzzles of shares) {
      try {
        hire(puzzles);
      } catch (e) {
        onPage(puzzles);
      }
    }
    // Ticks are counted, not time: after a sleep there is one tick, and nobody is thought dead for it.
    pulse = setInterval(() => {
      crew.forEach(member => ++member.quiet > 2 && lose(member));
      if (++still > 15) gate.fail('timeout');
    }, 1000);
  }

  function answer() {
    let raw = atob(job.token.replace(/-/g, '+').replace(/_/g, '/'));
    for (const n of nonces) raw += String.fromCharCode(n >>> 24, n >>> 16 & 255, n >>> 8 & 255, n & 255);
    return btoa(raw).replace(/\+/g, '-').replace(/\//g, '_').replace(/=/g, '');
  }

  // Again after 1, 2, 4 and 8 s while nobody, a failing server or one that has too much to do answers, and later where it says
  // so. Offline, for as long as it takes, and at once when the network is back.
  function ask(path, init, tries = 0) {
    return fetch(job.prefix + path, Object.assign({credentials: 'same-origin', cache: 'no-store'}, init)).then(r => {
      if (r.status > 499 || r.status === 429) throw r;
      return r;
    }).catch(e => {
      const offline = navigator.onLine === false;
      if (tries > 3 && !offline) throw e;
      tell(offline ? say.offline : say.retrying);
      const later = e.headers && Math.min(e.headers.get('retry-after') | 0, 30) || 0;
      return new Promise(on => {
        setTimeout(on, Math.max(1000 << Math.min(tries, 3), later * 1000));
        addEventListener('online', on, {once: true});
      }).then(() => ask(path, init, offline ? tries : tries + 1));
    });
  }

  // A tab that slept past its token's life starts afresh by itself, once. Any other refusal is for the person.
  function refused(code) {
    if (code !== 'expired') return ends.refused(code);
    if (!plain || Date.now() - born < job.ttl * 1000 || marked('expired', 3600000)) return ends.expired();
    mark('expired');
    reload();
  }

  // A form is sent again by the person alone: Firefox would ask anyway, and Chromium would send it twice without a word.
  function arrive() {
    if (!plain) return ends.form();
    tell(say.done);
    mark('done');
    reload();
  }

  function deliver() {
    ask('answer', {method: 'POST', headers: {'tollgate-answer': answer()}}).then(r => {
      if (r.status !== 204) return r.text().then(text => refused(/^[a-z]{1,16}$/.test(text) ? text : r.status));
      return ask('check').then(c => {
        if (c.status === 204) arrive();
        else if (c.status === 403) ends.cookies();
        else refused(c.status);
      });
    }).catch(e => e.status === 429 ? refused('many') : ends.silent());
  }

  // One state to look at, and nothing happens: `tollgate page --preview`.
  function show(state) {
    busy();
    bar.value = state === 'done' ? job.k : job.k / 2;
    if (ends[state]) ends[state]('wrong');
    else if (/blocked|engine|timeout/.test(state)) gate.fail(state);
    else tell(say[state]);
  }

  gate.halt = halt;
  // A clearance that was refused seconds after it was bought will be refused again, and a page that the site asks for again right
  // after the cookie came back would be asked for for ever: no loop without a person in it.
  if (job.show) show(job.show);
  else if (job.ask || marked('done', 60000)) ends.prior();
  else start();
})();
