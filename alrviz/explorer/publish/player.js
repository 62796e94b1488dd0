/* A published lesson: the panel's server is replaced by the outcomes in the page's data. `questions.js` and
   `lesson_panel.js` stand before it. Answers stay in the browser; a learning platform (SCORM 1.2) is told the result. */
const lesson = JSON.parse(document.getElementById("data").textContent), byId = (id) => document.getElementById(id);
const root = document.documentElement, storageKey = `alrviz-${lesson.id}-${lesson.version}`;
const questions = lesson.steps.flatMap((step) => (step.ask ? [step.ask] : []));
const api = learningPlatform();
const progress = { step: 1, said: {}, ran: [], done: false };
try { Object.assign(progress, JSON.parse(api ? api.LMSGetValue("cmi.suspend_data") : localStorage.getItem(storageKey))); }
catch (error) { /* nothing was kept, or a browser without storage */ }
const linkedStep = Math.trunc(Number(new URLSearchParams(location.search).get("step")));
progress.step = Math.min(Math.max(linkedStep || Math.trunc(progress.step) || 1, 1), lesson.steps.length);
let showsSummary = false, isRunning = false;

// ---- rules of a lesson -----------------------------------------------------------------------------------------------
const stepAt = (number) => lesson.steps[number - 1];
const isAnswered = (ask) => progress.said[ask.id] !== undefined;
/** The number of the step whose run shows what step `number` asks about; 0 if none follows. */
function runAfter(number) {
  for (let at = number; at <= lesson.steps.length; at++) if (stepAt(at).run) return at;
  return 0;
}
/** Whether a question about the next run is not answered yet. */
function isLocked(number) {
  const last = runAfter(number);
  let first = number;
  while (first > 1 && !stepAt(first - 1).run) first--;
  return lesson.steps.slice(first - 1, last || number).some((step) => step.ask && !isAnswered(step.ask));
}
function isRight(ask) {
  const said = progress.said[ask.id];
  if (!ask.ranges) return JSON.stringify(said) === JSON.stringify(ask.was);
  return [said].flat().every((number, k) => ask.ranges[k][0] <= number && number <= ask.ranges[k][1]);
}
/** A question with its answer, and with its outcome once its run was seen. */
function outcome(ask) {
  const ran = progress.ran.includes(runAfter(lesson.steps.findIndex((step) => step.ask === ask) + 1));
  const said = progress.said[ask.id] ?? null, isKnown = ran && said !== null;
  return { asked: ask, said, was: isKnown ? ask.was : null, right: isKnown && isRight(ask) };
}

// ---- the panel -------------------------------------------------------------------------------------------------------
const listeners = {};
const model = {
  shown: {},
  on: (name, listener) => { listeners[name] = listener; },
  send_msg({ go, given }) {
    if (given !== undefined) progress.said[stepAt(progress.step).ask.id] = given;
    else if (showsSummary && go > 0) {
      if (!api) location.href = "index.html";  // a package holds this page alone
      return;
    }
    else if (showsSummary) showsSummary = false;
    else if (progress.step + go > lesson.steps.length) { showsSummary = true; progress.done = true; }
    else if (progress.step + go >= 1) { progress.step += go; isRunning = false; showStage(); }
    save();
    show();
  },
};
function show() {
  const step = stepAt(progress.step), hasRun = progress.ran.includes(progress.step), locked = isLocked(progress.step);
  const minutes = progress.step === 1 ? ` · about ${lesson.minutes} minutes` : "";
  const reveal = hasRun && !isRunning ? { html: step.reveal, ...(step.ask ? outcome(step.ask) : {}) } : null;
  let note = "";
  if (locked && step.ask && isAnswered(step.ask)) note = "One more question before Run: press Next.";
  else if (step.run && !locked && !hasRun && !isRunning) note = "Now press Run, and watch.";
  model.shown = {
    head: `<p>Step ${progress.step} of ${lesson.steps.length}${minutes}</p>`,
    text: step.text, ask: step.ask && { ...step.ask, said: progress.said[step.ask.id] ?? null }, told: note, reveal,
    back: progress.step > 1, on: progress.step === lesson.steps.length ? "Finish" : "Next",
  };
  if (showsSummary) model.shown = {
    head: "<p>What you said, and what happened</p>", text: questions.length ? "" : "<p>That was all.</p>",
    ask: null, told: "", reveal: null, back: true, on: api ? "Done" : "All lessons", summary: questions.map(outcome),
  };
  byId("run").disabled = locked || isRunning;
  byId("run").title = locked ? "Answer the question first; then you can press Run." : "";
  listeners.shown?.();
}
function save() {
  if (api) reportToPlatform();
  else try { localStorage.setItem(storageKey, JSON.stringify(progress)); } catch (error) { /* nothing is kept then */ }
}

// ---- the result ------------------------------------------------------------------------------------------------------
/** Show the step's result if it was seen before, else what Run will show. */
function showStage() {
  const step = stepAt(progress.step), { result } = step, hasRun = progress.ran.includes(progress.step);
  byId("run").hidden = !step.run;
  byId("stage").hidden = !step.run;
  byId("what").textContent = result ? result.title : "";
  byId("result").replaceChildren();
  if (result && hasRun) showResult(result, false);
}
function showResult(result, plays) {
  if (!result.film) {
    const figures = result.figures.map((svg) => questionPart("figure", { innerHTML: svg }));
    byId("result").replaceChildren(questionPart("div", { innerHTML: result.sentence }),
      questionPart("div", { className: "figures" }, ...figures));
    return;
  }
  const film = { ...result.film, plays, theme: root.dataset.theme }, frame = questionPart("iframe", { title: result.title });
  frame.srcdoc = lesson.film.replace("{{data}}", () => JSON.stringify(film).replace(/</g, "\\u003c"));
  byId("result").replaceChildren(frame);
}
function endRun() {
  isRunning = false;
  if (!progress.ran.includes(progress.step)) progress.ran.push(progress.step);
  save();
  show();
}
byId("run").onclick = () => {
  const { result } = stepAt(progress.step);
  isRunning = true;
  show();
  showResult(result, true);
  if (!result.film) endRun();
  byId("stage").scrollIntoView({ block: "nearest" });
};
addEventListener("message", ({ data, source }) => {
  const frame = byId("result").querySelector("iframe");
  if (!frame || source !== frame.contentWindow) return;
  if (data.height) frame.style.height = `${data.height}px`;
  if (data.ended && isRunning) endRun();
});

// ---- a learning platform ---------------------------------------------------------------------------------------------
/** The SCORM 1.2 interface of the page around this one, initialised; or null. */
function learningPlatform() {
  let found = null;
  try {
    for (let at = window, k = 0; k < 10 && !found; at = at.parent, k++) {
      found = at.API ?? null;
      if (at.parent === at) { found ??= at.opener?.API ?? null; break; }
    }
  } catch (error) { /* a page of another site: no platform */ }
  found?.LMSInitialize("");
  return found;
}
/** Keep the progress with the platform, by student, and report status and score. */
function reportToPlatform() {
  const right = questions.filter((ask) => isAnswered(ask) && isRight(ask)).length;
  api.LMSSetValue("cmi.suspend_data", JSON.stringify(progress));
  api.LMSSetValue("cmi.core.lesson_status", progress.done ? "completed" : "incomplete");
  if (questions.length) api.LMSSetValue("cmi.core.score.raw", String(Math.round((100 * right) / questions.length)));
  api.LMSCommit("");
}
addEventListener("pagehide", () => api?.LMSFinish(""));

// ---- start -----------------------------------------------------------------------------------------------------------
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
function setTheme(dark) {
  root.dataset.theme = dark ? "dark" : "light";
  byId("result").querySelector("iframe")?.contentWindow.postMessage({ theme: root.dataset.theme }, "*");
}
setTheme(prefersDark.matches);
prefersDark.addEventListener("change", (event) => setTheme(event.matches));
byId("theme").onclick = () => setTheme(root.dataset.theme !== "dark");
if (api) byId("lessons").hidden = true;
showStage();
show();
const panel = byId("panel").attachShadow({ mode: "open" });
panel.append(questionPart("style", { textContent: panelCss }), render({ model }));
