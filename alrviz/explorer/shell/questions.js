/* The field of a question: one for the panel of a lesson and for the phones of a class.

   `questionField(asked, given, changed)` makes it. asked: kind, options (pairs of a value and its words as HTML, made by
   the server), unit, low, high. given: the answer given before, or null. changed: called whenever it is touched. It has
   `parts`, the elements; `answer()`, the answer as JSON has it; `missing()`, why that is none yet: "" when it is one. What
   nobody has touched is no answer: an order is pressed, of a sketch at least one dot is moved. */
function questionPart(tag, of = {}, ...inside) {
  const part = Object.assign(document.createElement(tag), of);
  part.append(...inside);
  return part;
}
const questionRound = (x) => Number(x.toPrecision(3));
const questionShort = (x) =>
  Math.abs(x) >= 1000 ? Math.round(x).toLocaleString("en") : questionRound(x).toString();
const questionPlain = (html) => questionPart("span", { innerHTML: html }).textContent;

/** A number as it is written here or there: 1,5 and 1.5, 1 000 and 12,500.5; 1,000 may be two numbers. */
function questionNumber(text) {
  const plain = text.replace(/\s/g, ""), groups = /^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/.test(plain);
  if (groups && plain.split(",").length === 2 && !plain.includes("."))
    throw Error(`${plain}: do you mean ${plain.replace(",", "")} or ${plain.replace(",", ".")}? Write it so.`);
  return plain ? Number(groups ? plain.replaceAll(",", "") : plain.replace(",", ".")) : NaN;
}

/** An answer to a question as HTML: words of options, or numbers with their unit. */
function questionWords(question, answer) {
  const words = new Map(question.options), unit = question.kind === "number" && question.unit ? ` ${question.unit}` : "";
  const parts = [answer].flat().map((value) => words.get(value)
    ?? questionPart("span", { textContent: typeof value === "number" ? questionShort(value) : value }).innerHTML);
  return parts.join(", ") + questionPart("span", { textContent: unit }).innerHTML;
}
/** A sentence as HTML on an answer and, once it is known, the outcome; each may be null or undefined. */
function questionVerdict(question, { answer, outcome, is_right }) {
  const isKnown = (value) => value !== null && value !== undefined;
  if (!isKnown(answer)) return "Not answered.";
  const answerHtml = questionWords(question, answer);
  if (!isKnown(outcome)) return `You said: <b>${answerHtml}</b>.`;
  const outcomeHtml = questionWords(question, outcome), isNumber = ["number", "sketch"].includes(question.kind);
  const comparison = answerHtml === outcomeHtml ? "as you said"
    : `${is_right ? "near what you said" : "you said"}: ${answerHtml}`;
  return `${isNumber ? "It was" : "What happened:"} <b>${outcomeHtml}</b>${is_right ? "," : ";"} ${comparison}.`;
}

/** The picture of numbers over places. lines: values and a CSS class each. moved: called with the place and the value of a
    dot that a hand moves; null where nothing moves. */
function questionPicture(names, low, high, lines, moved) {
  const [w, h, left, below] = [280, 170, 44, 26], space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const put = (tag, attributes, words = "") => {
    const part = document.createElementNS(space, tag);
    for (const [name, value] of Object.entries(attributes)) part.setAttribute(name, value);
    part.textContent = words;
    svg.append(part);
    return part;
  };
  svg.setAttribute("viewBox", `0 0 ${w} ${h}`);
  svg.setAttribute("class", moved ? "sketch moves" : "sketch");
  svg.setAttribute("aria-hidden", "true");  // numbers beside it say the same
  const x = (k) => left + 16 + ((w - left - 40) * k) / Math.max(1, names.length - 1);
  const y = (value) => 10 + (h - below - 20) * (1 - (Math.min(Math.max(value, low), high) - low) / (high - low));
  for (const end of [low, (low + high) / 2, high]) {
    put("line", { x1: left, x2: w - 4, y1: y(end), y2: y(end), class: "grid" });
    put("text", { x: left - 6, y: y(end) + 5, "text-anchor": "end" }, questionShort(end));
  }
  names.forEach((name, k) => put("text", { x: x(k), y: h - 6, "text-anchor": "middle" }, name));
  const drawn = lines.map(({ values, mark }) => {
    const line = put("polyline", { class: mark });
    const dots = values.map((_, k) => put("circle", { cx: x(k), r: moved ? 9 : 5, class: mark }));
    return (of) => {
      line.setAttribute("points", of.map((value, k) => `${x(k)},${y(value)}`).join(" "));
      of.forEach((value, k) => dots[k].setAttribute("cy", y(value)));
    };
  });
  lines.forEach(({ values }, k) => drawn[k](values));
  if (moved) {
    let held = -1;  // a finger hides a dot: whoever presses anywhere moves the nearest along the axis
    const at = (e) => {
      const box = svg.getBoundingClientRect(), up = 1 - ((e.clientY - box.top) * (h / box.height) - 10) / (h - below - 20);
      moved(held, low + (high - low) * Math.min(Math.max(up, 0), 1));
      drawn[0](lines[0].values);
    };
    svg.addEventListener("pointerdown", (e) => {
      if (svg.closest("fieldset:disabled")) return;
      const box = svg.getBoundingClientRect(), across = (e.clientX - box.left) * (w / box.width);
      held = names.reduce((best, _, k) => (Math.abs(x(k) - across) < Math.abs(x(best) - across) ? k : best), 0);
      svg.setPointerCapture(e.pointerId);
      e.preventDefault();
      at(e);
    });
    svg.addEventListener("pointermove", (e) => { if (held >= 0) at(e); });
    for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => { held = -1; });
  }
  svg.follow = () => drawn[0](lines[0].values);
  return svg;
}

const questionKinds = {
  choice(asked, given, changed) {
    const parts = asked.options.map(([value, words]) => questionPart("label", { className: "option" },
      questionPart("input", { type: "radio", name: "option", value, checked: value === given, onchange: changed }),
      questionPart("span", { innerHTML: words })));
    const answer = () => parts.map((one) => one.firstChild).find((one) => one.checked)?.value ?? null;
    return { parts, answer, missing: () => (answer() === null ? "Choose one first." : "") };
  },
  number(asked, given, changed) {
    const field = questionPart("input", { type: "text", inputMode: "decimal", autocomplete: "off", value: given ?? "",
      oninput: changed });
    field.setAttribute("aria-label", asked.unit ? `Your number of ${asked.unit}` : "Your number");
    const missing = () => {
      try {
        const value = questionNumber(field.value);
        if (!field.value.trim()) return "Write a number first: a guess is enough.";
        if (!Number.isFinite(value)) return "That is no number.";
        const ends = [[asked.low, "at least"], [asked.high, "at most"]].filter(([end]) => Math.abs(end) < 1e12);
        return value < asked.low || value > asked.high
          ? `It is ${ends.map(([end, words]) => `${words} ${questionShort(end)}`).join(" and ")}.` : "";
      } catch (error) { return error.message; }
    };
    const unit = questionPart("span", { textContent: asked.unit });
    return { parts: [questionPart("div", { className: "number" }, field, unit)], missing,
      answer: () => questionNumber(field.value) };
  },
  text(asked, given, changed) {
    const field = questionPart("textarea", { rows: 3, maxLength: 200, value: given ?? "", oninput: changed });
    return { parts: [questionPart("label", {}, "Your answer", field)], answer: () => field.value.trim(),
      missing: () => (field.value.trim() ? "" : "Write some words first.") };
  },
  order(asked, given, changed) {
    const names = new Map(asked.options), list = questionPart("ol"), rest = questionPart("div", { className: "rest" });
    let chosen = [...(given ?? [])];
    const press = (to) => { chosen = to; show(); changed(); (rest.querySelector("button") ?? again).focus(); };
    const again = questionPart("button", { type: "button", textContent: "Start again", onclick: () => press([]) });
    const show = () => {
      list.replaceChildren(...chosen.map((value) => questionPart("li", { innerHTML: names.get(value) })));
      rest.replaceChildren(...asked.options.filter(([value]) => !chosen.includes(value)).map(([value, words]) =>
        questionPart("button", { type: "button", className: "option", innerHTML: words,
          onclick: () => press([...chosen, value]) })), again);
      again.hidden = !chosen.length;
    };
    show();
    return { parts: [questionPart("p", { className: "quiet", textContent: "Press them in their order:" }), list, rest],
      answer: () => chosen, missing: () => (chosen.length < names.size ? "Press all of them first, in your order." : "") };
  },
  sketch(asked, given, changed) {
    const names = asked.options.map(([, words]) => questionPlain(words)), middle = (asked.low + asked.high) / 2;
    const values = given ? [...given] : names.map(() => middle);
    let touched = Boolean(given);
    const touch = () => { touched = true; changed(); };
    const picture = questionPicture(names, asked.low, asked.high, [{ values, mark: "said" }], (k, value) => {
      values[k] = Math.min(Math.max(questionRound(value), asked.low), asked.high);
      numbers[k].value = values[k];
      touch();
    });
    const numbers = names.map((name, k) => {
      const field = questionPart("input", { type: "text", inputMode: "decimal", autocomplete: "off",
        value: questionRound(values[k]) });
      field.setAttribute("aria-label", name);
      field.addEventListener("input", () => {
        let typed = NaN;
        try { typed = questionNumber(field.value); } catch (error) { /* two numbers: neither */ }
        if (typed >= asked.low && typed <= asked.high) { values[k] = typed; picture.follow(); }
        touch();
      });
      field.addEventListener("keydown", (e) => {  // in the last one it sends the answer
        if (e.key === "Enter" && numbers[k + 1]) { e.preventDefault(); numbers[k + 1].select(); }
      });
      return field;
    });
    const wrong = () => numbers.findIndex((field, k) => {
      try { return questionRound(questionNumber(field.value)) !== questionRound(values[k]); }
      catch (error) { return true; }
    });
    return {
      parts: [questionPart("p", { className: "quiet", textContent: "Move the dots, or write the numbers." }), picture,
        questionPart("div", { className: "numbers" }, ...numbers.map((field, k) => questionPart("label", {}, names[k], field)))],
      answer: () => values,
      missing: () => !touched ? "Move a dot first." : wrong() >= 0
        ? `${names[wrong()]}: write a number from ${questionShort(asked.low)} to ${questionShort(asked.high)}.` : "",
    };
  },
};
/** See above. */
function questionField(asked, given, changed) { return questionKinds[asked.kind](asked, given, changed); }
/** Let a button send what a field has: until that is an answer it is disabled, and `reason` says why. */
function questionHolds(field, button, reason) {
  const missing = field.missing();
  button.disabled = Boolean(missing);
  reason.textContent = missing;
}
