// Pages in frames: on the site's own pages they work, on other sites' they stay blank, unless the operator says otherwise.
//
//   TOLLGATE   the program (default target/release/tollgate); each test starts its demo, with TLS in front, on a free port
import assert from 'node:assert/strict';
import {execFileSync, spawn} from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import {fileURLToPath} from 'node:url';
import {Visit, browsers, pause, start} from './gate.mjs';

const program = process.env.TOLLGATE || fileURLToPath(new URL('../../target/release/tollgate', import.meta.url));

function missing(name) {
  if (!fs.existsSync(program)) return `${program} is not there: build it or set TOLLGATE`;
  if (!fs.existsSync(browsers[name])) return `${browsers[name]} is not there: install it or set ${name.toUpperCase()}`;
  try {
    execFileSync('openssl', ['version'], {stdio: 'pipe'});
    return false;
  } catch {
    return 'openssl is not installed, and a test needs a certificate';
  }
}

/** Runs the demo under these settings behind TLS, and gives `body` its port. */
async function withDemo(settings, body) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tollgate-frames-'));
  const file = name => path.join(folder, name);
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1',
    '-keyout', file('key.pem'), '-out', file('cert.pem'), ...subject], {stdio: 'pipe'});
  fs.writeFileSync(file('settings.yaml'), JSON.stringify(settings));
  const demo = spawn(program, ['demo', '--listen', '127.0.0.1:0', '--config', file('settings.yaml')], {cwd: folder});
  const tls = https.createServer({key: fs.readFileSync(file('key.pem')), cert: fs.readFileSync(file('cert.pem'))});
  try {
    const site = await new Promise((on, failed) => {
      let said = '';
      const listen = part => {
        said += part;
        const found = /http:\/\/127\.0\.0\.1:(\d+)\//.exec(said);
        if (found) on(Number(found[1]));
      };
      demo.stdout.on('data', listen);
      demo.stderr.on('data', listen);
      demo.on('exit', () => failed(new Error(`the demo ended: ${said}`)));
    });
    tls.on('request', (request, response) => {
      if (request.url.startsWith('/frame?')) {
        // A page of the other site, with the challenged one in a frame.
        response.setHeader('content-type', 'text/html');
        return response.end(`<!doctype html><title>parent</title><iframe src="${decodeURIComponent(request.url.slice(7))}"></iframe>`);
      }
      const {method, url, headers} = request;
      request.pipe(http.request({host: '127.0.0.1', port: site, method, path: url, headers}, answer => {
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
      }));
    });
    await new Promise(on => tls.listen(0, '127.0.0.1', on));
    await body(tls.address().port);
  } finally {
    tls.close();
    tls.closeAllConnections();
    demo.kill();
    fs.rmSync(folder, {recursive: true, force: true, maxRetries: 3});
  }
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
  for (const [what, settings, parent, passes] of rows) {
    test(`B12 ${name}: a frame on a page ${what} ${passes ? 'passes' : 'stays blank'}`, {skip: missing(name), timeout: 60000}, () =>
      withDemo(settings, port => start(name, {}, async page => {
        const visit = new Visit(page);
        await visit.open(`https://${parent}:${port}/frame?${encodeURIComponent(`https://localhost:${port}/`)}`);
        const text = () => Promise.all(page.frames().slice(1).map(f => f.evaluate(() => document.body.innerText).catch(() => ''))).then(all => all.join());
        if (passes) {
          await visit.until(async () => /You are in/.test(await text()), 20000, 'the app is in the frame');
        } else {
          await pause(5000);
          assert.ok(!/One moment|You are in/.test(await text()), await text());
          assert.equal(visit.asked('answer').length, 0);
        }
      })));
  }
}
