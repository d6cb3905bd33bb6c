// Answers that are refused: the person is told, with the reason's code, nothing reloads by itself, and each reason is counted as itself.
import assert from 'node:assert/strict';
import test from 'node:test';
import {missing, withDemo, withFront} from './demo.mjs';
import {get, pause, withVisit} from './gate.mjs';

/** Changes the answer's text on its way to the gate. */
const edited = edit => ({ask: ({url, headers}) => {
  if (url.endsWith('/answer')) headers['tollgate-answer'] = edit(headers['tollgate-answer']);
}});
/** Another spelling of the character at a place. */
const other = (text, at) => text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);

const rows = [
  // The target lies in bytes 4 to 7 of the token.
  ['the target was made easier', 'forged', () => edited(text => other(text, 6))],
  ['one solution is missing', 'malformed', () => edited(text => Buffer.from(text, 'base64url').subarray(0, -4).toString('base64url'))],
  ['a solution is wrong', 'wrong', () => edited(text => other(text, text.length - 2))],
  ['the browser calls itself something else', 'binding', () => ({ask: ({url, headers}) => {
    if (url.endsWith('/answer')) headers['user-agent'] += ' (changed)';
  }})],
  ['it comes to a gate with another secret', 'forged', twin => ({ask: asked => {
    if (asked.url.endsWith('/answer')) asked.port = twin.port;
  }}), 'twin'],
  ['it comes from another origin', 'origin', () => ({ask: ({url, headers}) => {
    if (url.endsWith('/answer')) headers.origin = 'http://other.test';
  }})],
];

for (const name of ['chromium', 'firefox']) {
  for (const [what, code, front, where] of rows) {
    test(`B13 ${name}: an answer is refused when ${what}`, {skip: missing(name), timeout: 60000}, () =>
      withDemo({}, demo => withDemo({}, twin => withFront(demo.port, front(twin), port => withVisit(name, {}, async visit => {
        await visit.open(`http://127.0.0.1:${port}/`);
        const words = await visit.offer(20000);
        assert.ok(words.status.includes(code), `${words.status} names ${code}`);
        assert.ok(await visit.page.evaluate(() => document.activeElement.id === 'go'), 'the focus is on the button');
        await pause(2000);
        assert.deepEqual(visit.documents.map(d => d.status), [403], 'nothing reloads');
        assert.equal(visit.asked('answer').length, 1);
        const {body} = await get((where ? twin : demo).metrics, {});
        const counted = body.split('\n').filter(line => /^tollgate_answers_total.* [1-9]/.test(line));
        assert.deepEqual(counted.map(line => /outcome="(\w+)"/.exec(line)[1]), [code], counted.join('\n'));
      })))));
  }
}
