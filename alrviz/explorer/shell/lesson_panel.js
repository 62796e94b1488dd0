/* A lesson beside its page: one step at a time, its question, and after the run the outcome beside the answer. `shown`
   says what to show, a server's or that of a published page; what the reader does goes back by `send_msg`. Parts are
   built anew only when they have changed, so that a number that is being typed stays. `questions.js` stands before it. */
export function render({ model }) {
  const make = questionPart;
  const root = make("section", { className: "lesson" });
  root.setAttribute("aria-label", "Lesson");
  const [head, text, questionBox, note, reveal] = ["head", "text", "ask", "told", "reveal"].map((name) =>
    make("div", { className: name }));
  note.setAttribute("role", "status");
  const button = (words, act, mark = "") => {
    const el = make("button", { type: "button", className: mark, textContent: words });
    el.addEventListener("click", act);
    return el;
  };
  const previous = button("Previous", () => model.send_msg({ go: -1 }), "back");
  const next = button("Next", () => model.send_msg({ go: 1 }), "on");
  const turn = make("div", { className: "turn" }, previous, next);
  const scroll = make("div", { className: "scroll", tabIndex: 0, role: "group" }, text, questionBox, note, reveal);
  scroll.setAttribute("aria-label", "This step");  // who has no mouse scrolls what has no buttons, too
  root.append(head, scroll, turn);
  // ---- a question ----------------------------------------------------------------------------------------------------
  const showQuestion = (question) => {
    questionBox.replaceChildren();
    if (!question) return;
    const legend = make("legend", { innerHTML: question.text });
    if (question.answer !== null) {
      const answerHtml = questionVerdict(question, { answer: question.answer });
      questionBox.append(make("fieldset", {}, legend, make("p", { className: "mine", innerHTML: answerHtml })));
      return;
    }
    const lock = make("button", { type: "submit", className: "lock", textContent: "Lock my answer" });
    const reason = make("p", { id: "reason", className: "quiet" });
    lock.setAttribute("aria-describedby", "reason");
    const field = questionField(question, null, () => questionHolds(field, lock, reason));
    questionHolds(field, lock, reason);
    const answer = make("div", { className: "answer" }, ...field.parts);
    const form = make("form", {}, make("fieldset", {}, legend, answer, lock, reason));
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      if (!field.missing()) model.send_msg({ given: field.answer() });
    });
    questionBox.append(form);
  };

  // ---- what happened -------------------------------------------------------------------------------------------------
  const showReveal = (result) => {
    reveal.replaceChildren();
    if (!result) return;
    const { question, answer, outcome } = result;
    if (question) {
      const className = result.is_right ? "verdict good" : "verdict";
      reveal.append(make("p", { className, innerHTML: questionVerdict(question, result) }));
      if (result.drawn) reveal.append(make("p", { className: "key", textContent: "Dotted in the picture: what you said." }));
    }
    if (question?.kind === "sketch" && !result.drawn) {
      const every = [...answer, ...outcome, question.low, question.high];
      const names = question.options.map(([, words]) => questionPlain(words));
      reveal.append(
        questionPicture(names, Math.min(...every), Math.max(...every),
          [{ values: outcome, mark: "was" }, { values: answer, mark: "said" }], null),
        make("p", { className: "key", innerHTML: "<b class='was'>—</b> what happened &nbsp; <b class='said'>- -</b> you" }));
    }
    if (question?.kind === "number" && !result.drawn) {
      // Two numbers that are nearly nothing of what could be said are short, both.
      const range = question.high - question.low, least = range < 1e12 ? range / 50 : 0;
      const most = Math.max(Math.abs(answer), Math.abs(outcome), least) || 1;
      for (const [words, value, mark] of [["you", answer, "said"], ["it was", outcome, "was"]]) {
        const bar = make("i", { className: mark });
        bar.style.width = `${(60 * Math.abs(value)) / most}%`;
        reveal.append(make("div", { className: "bar" }, make("span", { textContent: words }), bar,
          make("b", { textContent: questionShort(value) })));
      }
    }
    const more = make("div");
    more.innerHTML = result.html;
    reveal.append(more);
  };

  // ---- what the server says --------------------------------------------------------------------------------------------
  let before = {};
  const show = () => {
    const now = model.shown;
    const differs = (name) => JSON.stringify(now[name]) !== JSON.stringify(before[name]);
    if (differs("head")) head.innerHTML = now.head;
    if (differs("text") || differs("summary")) {
      text.innerHTML = now.text;
      if (now.summary) text.append(make("ol", {}, ...now.summary.map((result) => make("li", {},
        make("p", { innerHTML: result.question.text }), make("p", { innerHTML: questionVerdict(result.question, result) })))));
      root.querySelector(".scroll").scrollTop = 0;
    }
    if (differs("question")) showQuestion(now.question);
    if (differs("note")) note.innerHTML = now.note;
    if (differs("reveal")) {
      showReveal(now.reveal);
      if (now.reveal && before.text === now.text)
        reveal.scrollIntoView({ block: "nearest" });
    }
    previous.disabled = !now.has_previous;
    next.classList.toggle("later", Boolean(now.question && now.question.answer === null));  // the question comes first
    next.textContent = now.next_label;
    if (differs("view")) window.alrvizView?.(now.view);
    before = structuredClone(now);
  };
  model.on("shown", show);
  model.on("place", () => { if (model.place) window.location.href = model.place; });
  const keys = (e) => {
    if (!("present" in document.documentElement.dataset) || !["PageDown", "PageUp"].includes(e.key)) return;
    e.preventDefault();
    (e.key === "PageDown" ? next : previous).click();
  };
  window.addEventListener("keydown", keys);
  show();
  return root;
}
