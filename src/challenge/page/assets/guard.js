// In line in the page, in the plainest JavaScript: where the page's own file cannot be loaded or read, the visitor is told so and
// has a way on. Gives that file what both need: the data block, elements by id, and one way to leave the next step to the person.
// Comments and indentation stay in the repository; a comment has a line of its own, and no string spans lines.
(function () {
  'use strict';
  function by(id) {
    return document.getElementById(id);
  }
  var job = JSON.parse(by('job').textContent), say = job.texts, gate = self.tollgate = {job: job, by: by};

  gate.offer = function (title, text, label, act) {
    by('heading').textContent = title;
    by('intro').hidden = by('bar').hidden = true;
    by('status').textContent = text;
    by('go').textContent = label;
    by('go').onclick = act;
    by('more').hidden = false;
  };

  // What went wrong, in the words that the page has for it, and its code, which the people who run the site may be told.
  gate.help = function (text, code) {
    return text + ' ' + say.help.replace('{code}', code);
  };

  gate.fail = function (why) {
    var lane = by('lane');
    if (gate.halt) gate.halt();
    gate.offer(say.failed_heading, gate.help(say[why] || say.engine, why), say.again, function () { location.reload(); });
    if (job.wait) {
      lane.href = job.wait;
      lane.textContent = say.lane;
      lane.hidden = false;
    }
    if (self === top) by('go').focus();
  };

  // Only errors of our file count: what an extension puts into the page may break as it likes.
  addEventListener('error', function (e) {
    if (String(e.target.src || e.filename).indexOf(job.script) >= 0) gate.fail(e.target.src ? 'blocked' : 'script');
  }, true);
  setTimeout(function () { if (!gate.halt) gate.fail('timeout'); }, 15000);
})();
