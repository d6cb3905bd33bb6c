// How the pages look: every state in light, dark, right-to-left, narrow, zoomed and forced colours is judged by axe-core and kept as
// a picture. The pages come from `tollgate page --preview`; no gate is asked.
//
//   TOLLGATE   the program (default target/release/tollgate)
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import {fileURLToPath, pathToFileURL} from 'node:url';
import {browsers, start} from './gate.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const program = process.env.TOLLGATE || `${root}target/release/tollgate`;
const pages = `${root}target/pages`;
const pictures = `${root}target/pictures`;
const axe = await import('axe-core').then(m => m.default, () => null);

const skip = name => !fs.existsSync(program) ? `${program} is not there: build it or set TOLLGATE`
  : !axe ? 'axe-core is not installed: npm install in tests/browser'
    : !fs.existsSync(browsers[name]) && `${browsers[name]} is not there: install it or set ${name.toUpperCase()}`;

/** Every look: a language, a window and what the visitor's system asks for. */
const looks = {
  light: {},
  dark: {features: {'prefers-color-scheme': 'dark'}},
  rtl: {language: 'ar'},
  'rtl-dark': {language: 'he', features: {'prefers-color-scheme': 'dark'}},
  narrow: {width: 320, height: 640, language: 'de'},
  zoomed: {width: 640, height: 400, scale: 2, language: 'ru'},
  forced: {features: {'forced-colors': 'active'}},
  'forced-dark': {features: {'forced-colors': 'active', 'prefers-color-scheme': 'dark'}},
  still: {features: {'prefers-reduced-motion': 'reduce'}, language: 'ja'},
};

/** axe-core's rules for WCAG 2.2 up to AAA's contrast, and its best practices. */
const rules = {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'wcag2aaa', 'best-practice'],
};

function preview(...settings) {
  fs.rmSync(pages, {recursive: true, force: true});
  execFileSync(program, ['page', '--preview', pages, ...settings], {cwd: pages.replace(/[^/]+$/, ''), stdio: 'pipe'});
  const states = fs.readdirSync(`${pages}/en`).map(name => name.replace(/\.html$/, ''));
  return {states, languages: fs.readdirSync(pages, {withFileTypes: true}).filter(f => f.isDirectory()).map(f => f.name)};
}

const address = (language, state) => pathToFileURL(path.join(pages, language, `${state}.html`)).href;

test('B16 chromium: every state in every look has no violation, fits its window, and is kept as a picture', {skip: skip('chromium'), timeout: 300000}, async () => {
  const {states} = preview();
  await start('chromium', {}, async page => {
    for (const [look, {width = 800, height = 640, scale = 1, features = {}, language = 'en'}] of Object.entries(looks)) {
      fs.mkdirSync(`${pictures}/${look}`, {recursive: true});
      await page.setViewport({width, height, deviceScaleFactor: scale});
      const session = await page.createCDPSession();
      await session.send('Emulation.setEmulatedMedia', {features: Object.entries(features).map(([name, value]) => ({name, value}))});
      for (const state of states) {
        await page.goto(address(language, state));
        await page.screenshot({path: `${pictures}/${look}/${state}.png`});
        await page.evaluate(axe.source);
        // Forced colours are the system's, and axe-core cannot see them.
        const colours = {enabled: !('forced-colors' in features)};
        const options = {...rules, rules: {'color-contrast': colours, 'color-contrast-enhanced': colours}};
        const {violations} = await page.evaluate(options => self.axe.run(document, options), options);
        assert.deepEqual(violations.map(v => `${v.id}: ${v.nodes.map(n => n.html)}`), [], `${look}, ${state}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${look}, ${state}: ${wide} px too wide`);
      }
      await session.detach();
    }
  });
});

test('B16 chromium: no language is too wide for 320 px, and every button is 44 px high', {skip: skip('chromium'), timeout: 300000}, async () => {
  const {states, languages} = preview();
  assert.equal(languages.length, 28);
  await start('chromium', {}, async page => {
    await page.setViewport({width: 320, height: 640});
    for (const language of languages) {
      for (const state of states) {
        await page.goto(address(language, state));
        const seen = await page.evaluate(() => ({
          wide: document.documentElement.scrollWidth - innerWidth,
          low: [...document.querySelectorAll('button, a.go, summary')].filter(e => e.offsetParent && e.offsetHeight < 44).map(e => e.outerHTML),
        }));
        assert.deepEqual(seen, {wide: 0, low: []}, `${language}, ${state}`);
      }
    }
  });
});

test('B16 chromium: the check is told to those who do not see it', {skip: skip('chromium'), timeout: 60000}, async () => {
  preview();
  await start('chromium', {}, async page => {
    const tree = async state => {
      await page.goto(address('en', state));
      const nodes = [];
      const walk = node => {
        nodes.push(`${node.role}: ${node.name}${node.focused ? ', focused' : ''}`);
        (node.children || []).forEach(walk);
      };
      walk(await page.accessibility.snapshot({interestingOnly: false}));
      return nodes;
    };
    const running = await tree('running');
    for (const node of ['progressbar: Progress of the check', 'StaticText: The check is running.', 'heading: One moment, please', 'main: ']) {
      assert.ok(running.includes(node), `${node} is not in ${running.join('\n')}`);
    }
    assert.ok(running.some(node => node.startsWith('status')));
    assert.ok((await tree('cookies')).includes('button: Continue, focused'), 'the focus is on the button of an error');
    const form = await tree('form');
    assert.ok(form.includes('button: Send the form'), 'and stays where it was where nothing is wrong');
  });
});

test('B16 firefox: every state is shown, and kept as a picture', {skip: skip('firefox'), timeout: 300000}, async () => {
  const {states} = preview();
  fs.mkdirSync(`${pictures}/firefox`, {recursive: true});
  await start('firefox', {}, async page => {
    await page.setViewport({width: 800, height: 640});
    for (const state of states) {
      await page.goto(address('en', state));
      await page.screenshot({path: `${pictures}/firefox/${state}.png`});
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${state}: ${wide} px too wide`);
    }
  });
});
