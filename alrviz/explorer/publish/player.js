/* A published lesson: the panel's server is replaced by the outcomes in the page's data. `questions.js`,
   `lesson_panel.js` and `theme_switch.js` stand before it. Answers stay in the browser, or with a learning platform
   (SCORM 1.2), which also gets status and score. */
const lesson = JSON.parse(document.getElementById("data").textContent), byId = (id) => document.getElementById(id);
const root = document.documentElement, storageKey = `alrviz-${lesson.id}-${lesson.version}`;
const questions = lesson.steps.flatMap((step) => (step.question ? [step.question] : []));
const api = learningPlatform();
const progress = { step: 1, answers: {}, finishedSteps: [], done: false };
try { Object.assign(progress, JSON.parse(api ? api.LMSGetValue("cmi.suspend_data") : localStorage.getItem(storageKey))); }
catch (error) { /* nothing was kept, or a browser without storage */ }
const linkedStep = Math.trunc(Number(new URLSearchParams(location.search).get("step")));
progress.step = Math.min(Math.max(linkedStep || Math.trunc(progress.step) || 1, 1), lesson.steps.length);
let showsSummary = false, isRunning = false;

// ---- rules of a lesson -----------------------------------------------------------------------------------------------
const stepAt = (number) => lesson.steps[number - 1];
const isAnswered = (question) => progress.answers[question.id] !== undefined;
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
  return lesson.steps.slice(first - 1, last || number).some((step) => step.question && !isAnswered(step.question));
}
function isRight(question) {
  const answer = progress.answers[question.id];
  if (!question.ranges) return JSON.stringify(answer) === JSON.stringify(question.outcome);
  return [answer].flat().every((number, k) => question.ranges[k][0] <= number && number <= question.ranges[k][1]);
}
/** A question with its answer, and with its outcome once its run was seen. */
function outcomeOf(question) {
  const runStep = runAfter(lesson.steps.findIndex((step) => step.question === question) + 1);
  const answer = progress.answers[question.id] ?? null;
  const isKnown = progress.finishedSteps.includes(runStep) && answer !== null;
  return { question, answer, outcome: isKnown ? question.outcome : null, is_right: isKnown && isRight(question) };
}

// ---- the panel -------------------------------------------------------------------------------------------------------
const listeners = {};
const model = {
  shown: {},
  on: (name, listener) => { listeners[name] = listener; },
  send_msg({ go, given }) {
    if (given !== undefined) progress.answers[stepAt(progress.step).question.id] = given;
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
  const step = stepAt(progress.step), hasRun = progress.finishedSteps.includes(progress.step), locked = isLocked(progress.step);
  const minutes = progress.step === 1 ? ` · about ${lesson.minutes} minutes` : "";
  const reveal = hasRun && !isRunning ? { html: step.reveal, ...(step.question ? outcomeOf(step.question) : {}) } : null;
  let note = "";
  if (locked && step.question && isAnswered(step.question)) note = "One more question before Run: press Next.";
  else if (step.run && !locked && !hasRun && !isRunning) note = "Now press Run, and watch.";
  model.shown = {
    head: `<p>Step ${progress.step} of ${lesson.steps.length}${minutes}</p>`,
    text: step.text, note, reveal,
    question: step.question && { ...step.question, answer: progress.answers[step.question.id] ?? null },
    has_previous: progress.step > 1, next_label: progress.step === lesson.steps.length ? "Finish" : "Next",
  };
  if (showsSummary) model.shown = {
    head: "<p>What you said, and what happened</p>", text: questions.length ? "" : "<p>That was all.</p>",
    question: null, note: "", reveal: null, has_previous: true, next_label: api ? "Done" : "All lessons", summary: questions.map(outcomeOf),
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
  const step = stepAt(progress.step), { result } = step, hasRun = progress.finishedSteps.includes(progress.step);
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
  if (!progress.finishedSteps.includes(progress.step)) progress.finishedSteps.push(progress.step);
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
  const right = questions.filter((question) => isAnswered(question) && isRight(question)).length;
  api.LMSSetValue("cmi.suspend_data", JSON.stringify(progress));
  api.LMSSetValue("cmi.core.lesson_status", progress.done ? "completed" : "incomplete");
  if (questions.length) api.LMSSetValue("cmi.core.score.raw", String(Math.round((100 * right) / questions.length)));
  api.LMSCommit("");
}
addEventListener("pagehide", () => api?.LMSFinish(""));

// ---- start -----------------------------------------------------------------------------------------------------------
followTheme((theme) => byId("result").querySelector("iframe")?.contentWindow.postMessage({ theme }, "*"));
if (api) byId("lessons").hidden = true;
showStage();
show();
const panel = byId("panel").attachShadow({ mode: "open" });
panel.append(questionPart("style", { textContent: panelCss }), render({ model }));
