/* Cards of columns. Press a bar, or drag over several, to pick their rows; the server counts the picked rows in all cards.
   Texts are set as text, never as HTML, because names come from untrusted files. */
const WIDTH = 240, HEIGHT = 56, GAP = 1;
const SVG = "http://www.w3.org/2000/svg";

function part(tag, properties = {}, ...inside) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...inside);
  return element;
}
function shape(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
const total = (counts) => counts.reduce((sum, count) => sum + count, 0);

/** Stacked bars as one path per class; the highest bar is as high as the picture. */
function stacked(counts, colours, mark) {
  const highest = Math.max(1, ...counts.map(total)), width = WIDTH / counts.length;
  const group = shape("g", { class: mark });
  colours.forEach((colour, k) => {
    let path = "";
    counts.forEach((bar, b) => {
      if (!bar[k]) return;
      const below = total(bar.slice(0, k)), top = HEIGHT * (1 - (below + bar[k]) / highest);
      path += `M${b * width + GAP / 2} ${top}h${width - GAP}v${(HEIGHT * bar[k]) / highest}h${GAP - width}z`;
    });
    group.append(shape("path", { d: path, fill: colour }));
  });
  return group;
}

/** The histogram of a card, for screen readers a list of bars. `pick` is called with the picked bars. */
function histogram(card, model, pick) {
  const n = card.labels.length, width = WIDTH / n;
  const svg = shape("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", tabindex: 0, role: "listbox",
    "aria-multiselectable": true, "aria-label": `Rows by ${card.name}`,
  });
  const drawing = shape("g", {}), bars = card.labels.map((label, b) => {
    const bar = shape("rect", { x: b * width, y: 0, width, height: HEIGHT, class: "bar", role: "option", id: `b${card.position}-${b}` });
    bar.append(shape("title", {}));
    return bar;
  });
  svg.append(drawing, ...bars);
  let active = 0, start = null;
  const picked = () => model.picks[card.position] ?? [];
  const span = (from, to) => Array.from({ length: Math.abs(to - from) + 1 }, (_, k) => Math.min(from, to) + k);
  const mark = (current) => bars.forEach((bar, b) => {
    bar.setAttribute("aria-selected", current.includes(b));
    bar.classList.toggle("active", b === active);
  });
  const activate = (b) => {
    active = Math.min(Math.max(b, 0), n - 1);
    svg.setAttribute("aria-activedescendant", bars[active].id);
    mark(picked());
  };
  const choose = (bars, extend) => {
    const current = picked(), allPicked = bars.every((b) => current.includes(b));
    if (extend) pick(allPicked ? current.filter((b) => !bars.includes(b)) : [...current, ...bars]);
    else pick(allPicked && current.length === bars.length ? [] : bars);
  };
  const barAt = (event) => {
    const box = svg.getBoundingClientRect();
    return Math.min(Math.max(Math.floor(((event.clientX - box.left) / box.width) * n), 0), n - 1);
  };
  svg.addEventListener("pointerdown", (event) => { start = barAt(event); activate(start); svg.setPointerCapture(event.pointerId); });
  svg.addEventListener("pointermove", (event) => { if (start !== null) mark(span(start, barAt(event))); });
  svg.addEventListener("pointercancel", () => { start = null; mark(picked()); });
  svg.addEventListener("pointerup", (event) => {
    if (start === null) return;
    const bars = span(start, barAt(event));
    start = null;
    choose(bars, event.shiftKey || event.ctrlKey || event.metaKey);
  });
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      const from = active;
      activate(active + step);
      if (event.shiftKey) pick([...new Set([...picked(), from, active])]);
    } else if (event.key === " " || event.key === "Enter") choose([active], true);
    else if (event.key === "Escape") pick([]);
    else return;
    event.preventDefault();
    event.stopPropagation();  // the page uses Space and the arrows too
  });
  const draw = (selected) => {
    drawing.replaceChildren(stacked(card.counts, model.colours, selected ? "pale" : ""));
    if (selected) drawing.append(stacked(selected, model.colours, ""));
    bars.forEach((bar, b) => {
      const rows = total(card.counts[b]).toLocaleString("en");
      const words = selected ? `${total(selected[b]).toLocaleString("en")} of ${rows} rows` : `${rows} rows`;
      bar.setAttribute("aria-label", `${card.name} ${card.labels[b]}: ${words}`);
      bar.firstChild.textContent = `${card.labels[b]}: ${words}`;
    });
    mark(picked());
  };
  return { svg, draw };
}

export function render({ model }) {
  const grid = part("div", { className: "grid" }), pager = part("div", { className: "pager" });
  let cards = [];

  const cardOf = (card, k) => {
    const { svg, draw } = histogram(card, model, (bars) => model.send_msg({ position: card.position, pick: bars }));
    const name = part("button", { type: "button", className: "name", textContent: card.name, title: "Show this column larger" });
    name.addEventListener("click", () => model.send_msg({ position: card.position, look: true }));
    const roles = part("fieldset", {}, part("legend", { className: "heard", textContent: `Role of ${card.name}` }));
    for (const [role, words] of Object.entries(model.roles)) {
      const input = part("input", { type: "radio", name: `role-${card.position}`, value: role, checked: role === card.role });
      input.addEventListener("change", () => model.send_msg({ position: card.position, role }));
      input.setAttribute("aria-label", `${words}: ${card.name}`);  // names the column, for screen readers
      const offered = role === card.offer;
      roles.append(part("label", {}, input, part("span", { textContent: words, className: offered ? "offered" : "", title: offered ? card.why : "" })));
    }
    const labels = card.labels.filter((label) => label !== "missing");
    const ends = part("div", { className: "ends quiet" }, part("span", { textContent: (labels[0] ?? "").split(" to ")[0] }));
    if (labels.length > 1) ends.append(part("span", { textContent: labels[labels.length - 1].split(" to ").pop() }));
    const facts = part("div", { className: "facts quiet", textContent: card.facts, title: card.why });
    const element = part("section", { className: "card" }, name, facts, svg, ends, roles);
    element.setAttribute("aria-label", card.name);
    return { element, name, input: roles.querySelector("input:checked"), svg, position: card.position, draw: () => draw(model.selected[k]) };
  };
  const mark = () => cards.forEach((card) => {
    card.element.classList.toggle("here", card.position === model.position_shown);
    card.element.classList.toggle("picked", String(card.position) in model.picks);
    card.name.setAttribute("aria-pressed", card.position === model.position_shown);
  });
  const redraw = () => { cards.forEach((card) => card.draw()); mark(); };
  const build = () => {
    const focused = grid.getRootNode().activeElement;  // changing a role by key rebuilds the cards: keep the focus
    const focusedCard = cards.find((card) => card.element.contains(focused));
    const kind = focusedCard && (focused === focusedCard.svg ? "svg" : focused === focusedCard.name ? "name" : "input");
    cards = model.cards.map(cardOf);
    grid.replaceChildren(...cards.map((card) => card.element));
    if (focusedCard) cards.find((card) => card.position === focusedCard.position)?.[kind]?.focus();
    updatePager();
    redraw();
  };
  const updatePager = () => {
    const first = model.cards[0]?.position ?? 0, last = first + model.cards.length;
    pager.hidden = model.cards.length >= model.n_columns;
    const turnButton = (label, position, disabled) => {
      const button = part("button", { type: "button", textContent: label, disabled });
      button.addEventListener("click", () => model.send_msg({ position, turn: true }));
      return button;
    };
    const range = part("span", { className: "quiet" });
    range.textContent = `Columns ${first + 1} to ${last} of ${model.n_columns.toLocaleString("en")}`;
    pager.replaceChildren(turnButton("‹ Previous", Math.max(first - 1, 0), first === 0), range, turnButton("Next ›", last, last >= model.n_columns));
  };
  model.on("cards", build);
  model.on(["selected", "picks"], redraw);
  model.on("position_shown", mark);
  model.on("msg:custom", build);  // resets a refused role
  build();
  return part("div", {}, grid, pager);
}
