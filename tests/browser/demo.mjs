// A gate of the test's own: the demo under settings of the test, and a proxy in front that changes what the test wants changed.
//
//   TOLLGATE   the program (default target/release/tollgate)
import {execFileSync, spawn} from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {browsers} from './gate.mjs';

export const program = process.env.TOLLGATE || fileURLToPath(new URL('../../target/release/tollgate', import.meta.url));

/** Why a test with a demo, and with this browser if one is named, has to be skipped; else false. */
export function missing(browser) {
  if (!fs.existsSync(program)) return `${program} is not there: build it or set TOLLGATE`;
  return Boolean(browser) && !fs.existsSync(browsers[browser]) &&
    `${browsers[browser]} is not there: install it or set ${browser.toUpperCase()}`;
}

/** As above, where TLS stands in front. */
export function missingTls(browser) {
  try {
    execFileSync('openssl', ['version'], {stdio: 'pipe'});
    return missing(browser);
  } catch {
    return 'openssl is not installed, and a test needs a certificate';
  }
}

/** Runs the demo under these settings. Gives `body` the port of its site and the address of its metrics. */
export async function withDemo(settings, body) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tollgate-demo-'));
  fs.writeFileSync(path.join(folder, 'settings.yaml'), JSON.stringify(settings));
  const demo = spawn(program, ['demo', '--listen', '127.0.0.1:0', '--config', 'settings.yaml'], {cwd: folder});
  try {
    return await body(await new Promise((on, failed) => {
      let said = '';
      const listen = part => {
        said += part;
        const site = /http:\/\/127\.0\.0\.1:(\d+)\/ /.exec(said), metrics = /http:\S+\/metrics/.exec(said);
        if (site && metrics) on({port: Number(site[1]), metrics: metrics[0]});
      };
      demo.stdout.on('data', listen);
      demo.stderr.on('data', listen);
      demo.on('error', failed);
      demo.on('exit', () => failed(new Error(`the demo ended: ${said}`)));
    }));
  } finally {
    demo.kill();
    fs.rmSync(folder, {recursive: true, force: true, maxRetries: 3});
  }
}

/**
 * A proxy in front of the site at `port`. `ask({port, method, url, headers})` may change where a request goes and what it says, or give
 * an answer `{status, headers, body}` of its own; `answer({url, status, headers, body})` may change what comes back, with the body as a
 * Buffer. With `tls` it speaks TLS. Gives `body` its port.
 */
export async function withFront(port, {ask = () => {}, answer = () => {}, tls = false}, body) {
  const front = tls ? https.createServer(certificate()) : http.createServer();
  front.on('request', (request, response) => {
    const {method, url, headers} = request, asked = {port, method, url, headers};
    const send = ({status, headers, body}) => response.writeHead(status, headers).end(body);
    const own = ask(asked);
    if (own) return send(own);
    // Bodies are to be read here.
    delete asked.headers['accept-encoding'];
    request.pipe(http.request({host: '127.0.0.1', port: asked.port, method, path: asked.url, headers: asked.headers}, came => {
      const parts = [];
      came.on('data', part => parts.push(part)).on('end', () => {
        const got = {url, status: came.statusCode, headers: came.headers, body: Buffer.concat(parts)};
        answer(got);
        if (method !== 'HEAD' && 'content-length' in got.headers) got.headers['content-length'] = Buffer.byteLength(got.body);
        send(got);
      });
    }).on('error', () => response.destroy()));
  });
  try {
    await new Promise(on => front.listen(0, '127.0.0.1', on));
    return await body(front.address().port);
  } finally {
    front.close();
    front.closeAllConnections();
  }
}

function certificate() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tollgate-tls-'));
  const [key, cert] = ['key.pem', 'cert.pem'].map(name => path.join(folder, name));
  try {
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1',
      '-keyout', key, '-out', cert, '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'], {stdio: 'pipe'});
    return {key: fs.readFileSync(key), cert: fs.readFileSync(cert)};
  } finally {
    fs.rmSync(folder, {recursive: true, force: true});
  }
}
