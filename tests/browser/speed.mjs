// How long a visitor waits: prints the time from page to page and the first paint, over fresh browsers. It judges nothing.
//
//   TOLLGATE=target/release/tollgate node tests/browser/speed.mjs [VISITS]     15 visits unless said otherwise
//
// Each visit has a profile of its own, so nothing is cached; a first visit, to a page that is not challenged, starts the browser's own
// machinery and is not counted. "Page to page" is from the start of the navigation until the app's page is parsed, its own page included.
import {browsers, start} from './gate.mjs';
import {missing, withDemo} from './demo.mjs';

const visits = Number(process.argv[2] || 15);

/** In the page: the moment of its first paint, told before it gives way to the app. */
function tellPaint() {
  new PerformanceObserver(list => {
    for (const {name, startTime} of list.getEntries()) if (name === 'first-contentful-paint') console.log(`paint=${startTime}`);
  }).observe({type: 'paint', buffered: true});
}

async function visit(name, site) {
  return start(name, {}, async page => {
    await page.goto(`${site}open`);
    await page.evaluateOnNewDocument(tellPaint);
    let paint, arrived;
    page.on('console', message => {
      const told = /^paint=([\d.]+)$/.exec(message.text());
      if (told && paint === undefined) paint = Number(told[1]);
    });
    const app = new Promise(on => {
      page.on('response', response => {
        if (response.request().isNavigationRequest() && response.status() === 200) arrived = true;
      });
      page.on('domcontentloaded', () => arrived && on());
    });
    const begun = performance.now();
    page.goto(site).catch(() => {});
    await app;
    return {total: performance.now() - begun, paint};
  });
}

const quantile = (values, q) => Math.round(values.sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))]);

await withDemo({}, async ({port}) => {
  for (const name of Object.keys(browsers)) {
    const why = missing(name);
    if (why) {
      console.log(`skipped: ${name}: ${why}`);
      continue;
    }
    const seen = [];
    for (let n = 0; n < visits; n++) seen.push(await visit(name, `http://127.0.0.1:${port}/`));
    const tell = values => values.length ? `p50 ${quantile(values, 0.5)} ms, p95 ${quantile(values, 0.95)} ms (${values.length})` : 'not told';
    console.log(`${name}: page to page ${tell(seen.map(s => s.total))}; first paint ${tell(seen.map(s => s.paint).filter(p => p !== undefined))}`);
  }
});
