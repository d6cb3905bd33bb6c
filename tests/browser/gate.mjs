// The gate under test and the browsers to drive: found from the environment, or missed aloud.
// Run with: npm install && TOLLGATE_URL=http://127.0.0.1:8080 npm test
//
//   TOLLGATE_URL              where the gate's site answers, such as http://127.0.0.1:8080
//   TOLLGATE_CHALLENGED_PATH  a path there that is challenged, as is all below it, and answered with 200 once cleared (default /)
//   TOLLGATE_PREFIX           the public prefix (default /.tollgate/)
//   TOLLGATE_HTTP             the version of HTTP that the site speaks with browsers (default http/1.1; or h2)
//   CHROMIUM, FIREFOX         the browsers (default /usr/bin/chromium, /usr/bin/firefox-esr)
import fs from 'node:fs';
import plain from 'node:http';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';

const env = process.env;
export const base = (env.TOLLGATE_URL || '').replace(/\/+$/, '');
export const challenged = env.TOLLGATE_CHALLENGED_PATH || '/';
export const http = env.TOLLGATE_HTTP || 'http/1.1';
export const prefix = env.TOLLGATE_PREFIX || '/.tollgate/';
export const insecure = base.startsWith('http://') ? `http://insecure.test:${new URL(base).port || 80}` : '';

/** The challenged address with a query of its own, so that no two tests share a cached answer. */
let count = 0;
export function address(origin = base) {
  return `${origin}${challenged}${challenged.includes('?') ? '&' : '?'}visit=${++count}`;
}

export const browsers = {
  chromium: env.CHROMIUM || '/usr/bin/chromium',
  firefox: env.FIREFOX || '/usr/bin/firefox-esr',
};

const puppeteer = await import('puppeteer-core').then(m => m.default, () => null);

function missing(needs) {
  if (!base) return 'TOLLGATE_URL is not set: start a gate and name its address';
  if (!needs) return false;
  if (!puppeteer) return 'puppeteer-core is not installed: npm install in tests/browser';
  return !fs.existsSync(browsers[needs]) && `${browsers[needs]} is not there: install it or set ${needs.toUpperCase()}`;
}

/** A test against the gate; `needs` names a browser, `more` says what else is missing. The report says why a test was skipped. */
export function check(name, needs, body, more = false) {
  test(name, {skip: missing(needs) || more, timeout: 120000}, body);
}

/** Starts a fresh browser, gives `body` a tab of it, and ends it whatever happens. */
export async function start(name, options, body) {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'tollgate-browser-'));
  let browser;
  try {
    browser = await (name === 'firefox' ? firefox(options) : chromium(options, profile));
    return await body(await browser.newPage());
  } finally {
    if (browser) await browser.close().catch(() => {});
    fs.rmSync(profile, {recursive: true, force: true, maxRetries: 3});
  }
}

/** As above, with a visit in the tab. */
export function withVisit(name, options, body) {
  return start(name, options, async page => {
    if (options.noScript && name === 'chromium') await page.setJavaScriptEnabled(false);
    await page.evaluateOnNewDocument(tellBackends);
    if (options.before) await page.evaluateOnNewDocument(options.before);
    return body(new Visit(page));
  });
}

function chromium(options, profile) {
  const preferences = path.join(profile, 'Default', 'Preferences');
  fs.mkdirSync(path.dirname(preferences), {recursive: true});
  const values = options.noCookies ? {cookies: 2} : {};
  fs.writeFileSync(preferences, JSON.stringify({profile: {default_content_setting_values: values}}));
  return puppeteer.launch({
    executablePath: browsers.chromium,
    headless: true,
    userDataDir: profile,
    acceptInsecureCerts: true,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync', '--host-resolver-rules=MAP insecure.test 127.0.0.1', ...(options.args || [])],
  });
}

function firefox(options) {
  return puppeteer.launch({
    browser: 'firefox',
    executablePath: browsers.firefox,
    headless: true,
    acceptInsecureCerts: true,
    extraPrefsFirefox: {
      'intl.accept_languages': 'en-US, en',
      'network.dns.localDomains': 'insecure.test',
      ...(options.noScript ? {'javascript.enabled': false} : {}),
      ...(options.noCookies ? {'network.cookie.cookieBehavior': 2} : {}),
      ...options.prefs,
    },
  });
}

/** Runs in the page: says on the console which backend each worker chose. */
function tellBackends() {
  const Real = self.Worker;
  if (!Real) return;
  self.Worker = class extends Real {
    constructor(...all) {
      super(...all);
      this.addEventListener('message', e => { if (e.data && e.data.backend) console.log(`backend=${e.data.backend}`); });
    }
  };
}

/** One tab and everything that it asked for, answered and complained about. */
export class Visit {
  constructor(page) {
    Object.assign(this, {page, requests: [], documents: [], violations: [], errors: [], backends: new Set()});
    page.on('request', r => this.requests.push({url: r.url(), method: r.method(), navigation: r.isNavigationRequest()}));
    page.on('response', r => {
      if (r.request().isNavigationRequest() && r.frame() === page.mainFrame()) this.documents.push({url: r.url(), status: r.status()});
    });
    page.on('console', m => {
      const backend = /^backend=(\w+)$/.exec(m.text());
      if (backend) this.backends.add(backend[1]);
      else if (/content.security.policy|violates/i.test(m.text())) this.violations.push(m.text());
    });
    page.on('pageerror', e => this.errors.push(String(e)));
  }

  /** Opens an address; comes back when something is shown, be it the challenge or the app. */
  open(url) {
    return this.page.goto(url, {waitUntil: 'domcontentloaded', timeout: 30000}).catch(e => {
      // A page that moves on while it loads ends the wait with an error; what was shown is judged by what follows.
      if (!/abort|interrupt|detached|navigat/i.test(e.message)) throw e;
    });
  }

  /** Waits until the app has answered with 200. */
  arrival(ms) {
    return this.until(() => this.documents.some(d => d.status === 200), ms, 'the app answers with 200');
  }

  async until(condition, ms, what) {
    const end = Date.now() + ms;
    for (;;) {
      if (await Promise.resolve().then(condition).catch(() => false)) return;
      if (Date.now() > end) throw new Error(`waited ${ms} ms in vain until ${what}; ${await this.describe()}`);
      await pause(20);
    }
  }

  /** Waits until the page leaves the next step to the person; gives its words. */
  async offer(ms) {
    await this.until(() => this.page.evaluate(() => !document.getElementById('more').hidden), ms, 'the page shows a button');
    return this.page.evaluate(() => Object.fromEntries(['heading', 'status', 'go'].map(id => [id, document.getElementById(id).textContent])));
  }

  /** Requests under the public prefix whose path begins with `name`. */
  asked(name) {
    return this.requests.filter(r => new URL(r.url).pathname.startsWith(prefix + name));
  }

  async describe() {
    const text = await this.page.evaluate(() => document.body.innerText.slice(0, 300)).catch(() => '(not readable)');
    return `documents ${JSON.stringify(this.documents)}, backends ${[...this.backends]}, complaints ${JSON.stringify([...this.violations, ...this.errors])}, shown: ${text}`;
  }
}

/** Asks as a program does, with these headers and no others: fetch would add some that browsers add. */
export function get(url, headers, method = 'GET') {
  return new Promise((done, failed) => {
    const {request} = url.startsWith('https:') ? https : plain;
    request(url, {method, headers, agent: false, rejectUnauthorized: false}, answer => {
      const parts = [];
      answer.on('data', part => parts.push(part)).on('error', failed).on('end', () => done({
        status: answer.statusCode, headers: answer.headers, body: Buffer.concat(parts).toString(),
      }));
    }).on('error', failed).end();
  });
}

export const pause = ms => new Promise(on => setTimeout(on, ms));
