// In line in the page, in the plainest JavaScript: where the page's own file cannot be loaded or read, the visitor is told so and
// has a way on. Gives that file what both need: the data block, elements by id, and one way to leave the next step to the person.
// Comments and indentation stay in the repository; a comment has a line of its own, and no string spans lines.
(function () {
  function by(id) {
    return document.getElementById(id);
  }
  var job = JSON.parse(by('job').textContent), say = job.texts, gate = self.tollgate = {job: job, by: by}, failed;

  // What needs a script to be clicked is made by one: text browsers would show an empty button.
  function make(tag, id) {
    var made = by('more').appendChild(document.createElement(tag));
    made.id = id;
    return made;
  }
  var go = make('button', 'go');

  gate.offer = function (said, label, act) {
    by('heading').textContent = said[0];
    by('intro').hidden = by('bar').hidden = true;
    by('status').textContent = said[1];
    go.textContent = label;
    go.onclick = act;
    by('more').hidden = false;
  };

  // Whom to tell what went wrong, and its code.
  gate.help = function (code) {
    return say.help.replace('{code}', code);
  };

  // The first failure is the one to tell.
  gate.fail = function (why) {
    if (failed) return;
    failed = true;
    if (gate.halt) gate.halt();
    gate.offer([say.failed, (say[why] || say.engine) + ' ' + gate.help(why)], say.again, function () { location.reload(); });
    if (job.wait) {
      var lane = make('a', 'lane');
      lane.href = job.wait;
      lane.textContent = say.lane;
    }
    if (self === top) go.focus();
  };

  // Only errors of our file count: what an extension puts into the page may break as it likes.
  addEventListener('error', function (e) {
    if (String(e.target.src || e.filename).indexOf(job.script) >= 0) gate.fail(e.target.src ? 'blocked' : 'script');
  }, true);
  setTimeout(function () { if (!gate.halt) gate.fail('timeout'); }, 15000);
})();
