// The page's work, after solver.js in the same file: hands the puzzles to workers, sends the answer, proves that the cookie came
// back, then reloads. It reads no target from anywhere: success reloads the address that the browser already shows.
// Comments and indentation stay in the repository; a comment has a line of its own, and no string spans lines.
if (typeof document !== 'undefined') (() => {
  'use strict';
  const gate = self.tollgate, {job, by} = gate, say = job.texts;
  const bar = by('bar'), heading = by('heading'), status = by('status'), calm = heading.textContent;
  const born = Date.now(), plain = job.method === 'GET' || job.method === 'HEAD';
  const nonces = [], crew = [];
  let bench = Promise.resolve(), solved = 0, begun, stopped, told, pulse;

  const put = (text, place, value) => text.split(place).join(value);
  const open = i => nonces[i] === undefined;
  const reload = () => location.reload();

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

  // Leaves the next step to the person. The focus moves to the button of an error, and nowhere else.
  function offer(title, text, label, act, calmly) {
    halt();
    gate.offer(title, text, label, act);
    if (!calmly) by('go').focus();
  }

  // The first solution of a puzzle counts; a second one comes when two worked on it.
  function heard(m) {
    if (stopped || m.i === undefined || !open(m.i)) return;
    nonces[m.i] = m.n;
    bar.value = ++solved;
    if (solved === job.k) {
      halt();
      deliver();
    } else if (!told && solved * 2 >= job.k && Date.now() - begun > 3000) {
      told = true;
      tell(say.half);
    }
  }

  const part = puzzles => ({token: job.token, size: job.size, target: job.target, puzzles: puzzles.filter(open)});

  // The puzzles of a worker that is broken, forbidden or silent are solved here, in slices. A silent one may still win.
  function onPage(puzzles) {
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
    pulse = setInterval(() => crew.forEach(member => ++member.quiet > 2 && lose(member)), 1000);
  }

  function answer() {
    let raw = atob(job.token.replace(/-/g, '+').replace(/_/g, '/'));
    for (const n of nonces) raw += String.fromCharCode(n >>> 24, n >>> 16 & 255, n >>> 8 & 255, n & 255);
    return btoa(raw).replace(/\+/g, '-').replace(/\//g, '_').replace(/=/g, '');
  }

  // Again after 1, 2, 4 and 8 s, or as soon as the device is online, while nobody or a failing server answers.
  function ask(path, init, tries = 0) {
    return fetch(job.prefix + path, Object.assign({credentials: 'same-origin', cache: 'no-store'}, init)).then(r => {
      if (r.status > 499) throw r;
      return r;
    }).catch(e => {
      if (tries > 3) throw e;
      tell(say.retrying);
      return new Promise(on => {
        setTimeout(on, 1000 << tries);
        addEventListener('online', on, {once: true});
      }).then(() => ask(path, init, tries + 1));
    });
  }

  // A tab that slept past its token's life starts afresh by itself; any other refusal is for the person.
  function refused(code) {
    if (code === 'expired' && plain && Date.now() - born > job.ttl * 1000) return reload();
    offer(say.refused_heading, put(say.refused, '{code}', code), say.again, reload);
  }

  // A form is sent again by the person alone: Firefox would ask anyway, and Chromium would send it twice without a word.
  function arrive() {
    if (!plain) return offer(say.form_heading, say.form, say.send, reload, true);
    tell(say.done);
    reload();
  }

  function deliver() {
    ask('answer', {method: 'POST', headers: {'tollgate-answer': answer()}}).then(r => {
      if (r.status !== 204) return r.text().then(text => refused(/^[a-z]{1,16}$/.test(text) ? text : r.status));
      return ask('check').then(c => {
        if (c.status === 204) arrive();
        else if (c.status !== 403) refused(c.status);
        else offer(say.cookies_heading, put(say.cookies, '{host}', location.hostname), say.go_on, reload);
      });
    }).catch(() => offer(say.silent_heading, say.silent, say.again, () => {
      busy();
      deliver();
    }));
  }

  gate.halt = halt;
  // A clearance that was refused seconds after it was bought will be refused again: no loop without a person in it.
  if (job.ask) offer(say.prior_heading, say.prior, say.go_on, start);
  else start();
})();
