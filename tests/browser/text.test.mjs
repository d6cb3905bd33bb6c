// Text browsers: whatever status the page comes with, they show what happens and a link, and the link leads in after the wait.
import assert from 'node:assert/strict';
import {execFile, execFileSync} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import {missing, withDemo, withFront} from './demo.mjs';
import {pause} from './gate.mjs';

/** How each shows a page as text, and keeps a cookie while it follows redirects. */
const browsers = {
  lynx: url => ['-dump', '-width=200', '-accept_all_cookies', url],
  w3m: url => ['-dump', '-cols', '200', '-o', 'use_cookie=1', '-o', 'accept_cookie=1', url],
  links: url => ['-dump', '-width', '200', url],
};

function lacks(name) {
  try {
    execFileSync('which', [name], {stdio: 'pipe'});
    return missing();
  } catch {
    return `${name} is not installed`;
  }
}

for (const [name, options] of Object.entries(browsers)) {
  test(`B19 ${name}: shows the check at every status, and its link leads in after the wait`, {skip: lacks(name), timeout: 60000}, () => {
    let status = 403, link, seconds;
    const answer = got => {
      const html = String(got.body), found = /content="(\d+);url=([^"]+)"/.exec(html);
      if (got.status !== 403 || !found) return;
      [seconds, link] = [Number(found[1]), found[2].replaceAll('&amp;', '&')];
      got.status = status;
    };
    const home = fs.mkdtempSync(path.join(os.tmpdir(), 'tollgate-text-'));
    return withDemo({}, demo => withFront(demo.port, {answer}, async port => {
      // Not synchronous: the front that the browser asks lives in this process.
      const show = async url => (await run(name, options(`http://127.0.0.1:${port}${url}`), {HOME: home})).replace(/\s+/g, ' ');
      for (status of [200, 429, 503, 403]) {
        const text = await show('/some/page');
        for (const words of ['One moment, please', 'ordinary browsers', 'off or blocked', 'Continue', 'Request']) {
          assert.ok(text.includes(words), `${status}: ${words} is not in: ${text}`);
        }
      }
      await pause(seconds * 1000);
      assert.match(await show(link), /site behind the gate/);
    })).finally(() => fs.rmSync(home, {recursive: true, force: true}));
  });
}

function run(command, args, env) {
  return new Promise((on, failed) => execFile(command, args, {env: {...process.env, ...env}, timeout: 20000},
    (error, out) => error && error.killed ? failed(error) : on(out)));
}
