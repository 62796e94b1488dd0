/* A lesson beside its page: one step at a time, its question, and, when what was run has ended, what was said on what
   happened. The server says what is shown (`shown`); what the reader does is sent to it. Parts are built anew only when
   they have changed: a number that is being typed stays. `questions.js` stands before it. */
export function render({ model }) {
  const make = questionPart;
  const root = make("section", { className: "lesson" });
  root.setAttribute("aria-label", "Lesson");
  const [head, text, ask, told, reveal] = ["head", "text", "ask", "told", "reveal"].map((name) =>
    make("div", { className: name }));
  told.setAttribute("role", "status");
  const button = (words, act, mark = "") => {
    const el = make("button", { type: "button", className: mark, textContent: words });
    el.addEventListener("click", act);
    return el;
  };
  const back = button("Previous", () => model.send_msg({ go: -1 }), "back");
  const on = button("Next", () => model.send_msg({ go: 1 }), "on");
  const turn = make("div", { className: "turn" }, back, on);
  const scroll = make("div", { className: "scroll", tabIndex: 0, role: "group" }, text, ask, told, reveal);
  scroll.setAttribute("aria-label", "This step");  // who has no mouse scrolls what has no buttons, too
  root.append(head, scroll, turn);
  // ---- a question ----------------------------------------------------------------------------------------------------
  const showAsk = (asked) => {
    ask.replaceChildren();
    if (!asked) return;
    const legend = make("legend", { innerHTML: asked.text });
    if (asked.said !== null) {
      ask.append(make("fieldset", {}, legend, make("p", { className: "mine", innerHTML: questionVerdict(asked, { said: asked.said }) })));
      return;
    }
    const lock = make("button", { type: "submit", className: "lock", textContent: "Lock my answer" });
    const reason = make("p", { id: "reason", className: "quiet" });
    lock.setAttribute("aria-describedby", "reason");
    const field = questionField(asked, null, () => questionHolds(field, lock, reason));
    questionHolds(field, lock, reason);
    const answer = make("div", { className: "answer" }, ...field.parts);
    const form = make("form", {}, make("fieldset", {}, legend, answer, lock, reason));
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      if (!field.missing()) model.send_msg({ given: field.answer() });
    });
    ask.append(form);
  };

  // ---- what happened -------------------------------------------------------------------------------------------------
  const showReveal = (of) => {
    reveal.replaceChildren();
    if (!of) return;
    const { asked, said, was } = of;
    if (asked) {
      reveal.append(make("p", { className: of.right ? "verdict good" : "verdict", innerHTML: questionVerdict(asked, of) }));
      if (of.drawn) reveal.append(make("p", { className: "key", textContent: "Dotted in the picture: what you said." }));
    }
    if (asked?.kind === "sketch" && !of.drawn) {
      const every = [...said, ...was, asked.low, asked.high], names = asked.options.map(([, words]) => questionPlain(words));
      reveal.append(
        questionPicture(names, Math.min(...every), Math.max(...every),
          [{ values: was, mark: "was" }, { values: said, mark: "said" }], null),
        make("p", { className: "key", innerHTML: "<b class='was'>—</b> what happened &nbsp; <b class='said'>- -</b> you" }));
    }
    if (asked?.kind === "number" && !of.drawn) {
      // Two numbers that are nearly nothing of what could be said are short, both.
      const range = asked.high - asked.low, least = range < 1e12 ? range / 50 : 0;
      const most = Math.max(Math.abs(said), Math.abs(was), least) || 1;
      for (const [words, value, mark] of [["you", said, "said"], ["it was", was, "was"]]) {
        const bar = make("i", { className: mark });
        bar.style.width = `${(60 * Math.abs(value)) / most}%`;
        reveal.append(make("div", { className: "bar" }, make("span", { textContent: words }), bar,
          make("b", { textContent: questionShort(value) })));
      }
    }
    const more = make("div");
    more.innerHTML = of.html;
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
      if (now.summary) text.append(make("ol", {}, ...now.summary.map((of) => make("li", {},
        make("p", { innerHTML: of.asked.text }), make("p", { innerHTML: questionVerdict(of.asked, of) })))));
      root.querySelector(".scroll").scrollTop = 0;
    }
    if (differs("ask")) showAsk(now.ask);
    if (differs("told")) told.innerHTML = now.told;
    if (differs("reveal")) {
      showReveal(now.reveal);
      if (now.reveal && before.text === now.text)
        reveal.scrollIntoView({ block: "nearest" });
    }
    back.disabled = !now.back;
    on.classList.toggle("later", Boolean(now.ask && now.ask.said === null));  // the question comes first
    on.textContent = now.on;
    if (differs("view")) window.alrvizView?.(now.view);
    before = structuredClone(now);
  };
  model.on("shown", show);
  model.on("place", () => { if (model.place) window.location.href = model.place; });
  const keys = (e) => {
    if (!("present" in document.documentElement.dataset) || !["PageDown", "PageUp"].includes(e.key)) return;
    e.preventDefault();
    (e.key === "PageDown" ? on : back).click();
  };
  window.addEventListener("keydown", keys);
  show();
  return root;
}
