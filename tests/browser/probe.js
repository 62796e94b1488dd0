// What the tests ask of a page from within; the benchmark's `_page.js` comes before it.
window.probe = (() => {
  const { all, shown, ownText, says, button, figure, drawn } = window.explorerPage;
  const parent = (element) => element.parentElement || (element.getRootNode().host ?? null);
  const column = (source, name) => Array.from(window.explorerPage.column(source, name));

  /** What the convergence picture draws: of every racer its name, iterations, values, and held-out values. */
  const racers = () => {
    const found = {};
    for (const renderer of figure()?.renderers ?? []) {
      if (renderer.glyph?.type !== "Line" || !renderer.name) continue;
      const source = renderer.data_source;
      const line = { steps: column(source, "step"), values: column(source, "y") };
      if (renderer.name in found) found[renderer.name].heldout = line;
      else found[renderer.name] = line;
    }
    return found;
  };

  /** The words in the corner of the picture. */
  const note = () => figure()?.center.filter((part) => part.type === "Label").map((part) => part.text).join(" ") ?? "";

  /** All words that Bokeh's pictures hold: names of ticks, columns of text. */
  const drawnTexts = () => {
    const found = [];
    for (const document of window.Bokeh?.documents ?? [])
      for (const model of document._all_models.values()) {
        for (const label of model.major_label_overrides?.values?.() ?? Object.values(model.major_label_overrides ?? {}))
          found.push(label.text ?? label);
        if (model.type === "ColumnDataSource")
          for (const column of (model.data.values?.() ?? Object.values(model.data)))
            if (typeof column[0] === "string") found.push(...Array.from(column));
      }
    return found.join(" ");
  };

  /** The milliseconds of an empty request to the same server, for a fair reading of other figures. */
  const beat = async () => {
    const begun = performance.now();
    await fetch("static/js/bokeh.min.js", { method: "HEAD", cache: "no-store" });
    return performance.now() - begun;
  };

  /**
   * Press what `press` names (a button's words, or a key) and wait for a text: the milliseconds until it is shown, the
   * points drawn at that moment, and what an empty request sent just before took.
   */
  const pressed = async (press, pattern, limit) => {
    let target = null; // a notice that turns from receiving to reading has no buttons for a moment
    for (const patience = performance.now() + 2000; press.length > 1 && performance.now() < patience; ) {
      if ((target = button(press))) break;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    if (press.length > 1 && !target) return { error: `there is no button ${press}` };
    if (target?.disabled) return { error: `the button ${press} is disabled` };
    const answered = beat();
    const begun = performance.now();
    if (target) target.click();
    else window.dispatchEvent(new KeyboardEvent("keydown", { key: press, bubbles: true }));
    while (!says(pattern)) {
      if (performance.now() - begun > limit) return { error: `not within ${limit} ms: ${pattern}` };
      await new Promise((resolve) => setTimeout(resolve, 16)); // a look takes 3 to 8 ms of the page's own time
    }
    const ms = performance.now() - begun;
    return { ms, racers: racers(), beat: await answered };
  };

  // ---- maps ----------------------------------------------------------------------------------------------------

  /** The visible figures whose name begins so, from left to right. */
  const figures = (begin) => {
    const found = [];
    for (const document of window.Bokeh?.documents ?? [])
      for (const model of document._all_models.values()) {
        const view = model.type === "Figure" && model.name?.startsWith(begin) && Bokeh.index.find_one(model);
        if (view && shown(view.el)) found.push({ model, view, left: view.el.getBoundingClientRect().left });
      }
    return found.sort((a, b) => a.left - b.left);
  };
  const entries = (args) => (args instanceof Map ? Object.fromEntries(args) : args ?? {});
  const mark = (numbers) => {
    let sum = 0;
    for (let k = 0; k < numbers.length; k++) sum = (sum * 31 + Math.round(numbers[k] * 1e6)) % 1e9;
    return sum;
  };
  const ofGlyph = (model, type) => model.renderers.filter((renderer) => renderer.glyph?.type === type);

  /** The decision maps: a mark of what their ground shows, and the levels of the axes that have words. */
  const maps = () =>
    figures("alrviz-map").map(({ model }) => {
      const image = ofGlyph(model, "ImageRGBA")[0];
      const levels = [...model.below, ...model.left].map((axis) => entries(axis.formatter?.args).words).filter(Boolean);
      return { ground: image ? mark(Array.from(column(image.data_source, "value")[0])) : 0, levels };
    });
  /** A mark of the density ratios' curves. */
  const curves = () =>
    figures("alrviz-density-ratio").map(({ model }) =>
      ofGlyph(model, "MultiLine").map((r) => mark(column(r.data_source, "ys").flatMap((y) => Array.from(y)))).join());
  /** Where the lines stand that mark a step. */
  const cursors = () =>
    figures("alrviz-bandwidths").flatMap(({ model }) =>
      model.center.filter((part) => part.type === "Span" && part.dimension === "height").map((part) => part.location));
  /** All text of the first visible paragraph that matches. */
  const textOf = (pattern) => {
    for (const element of all()) if (element.matches("p") && shown(element) && new RegExp(pattern).test(element.textContent))
      return element.textContent;
    return "";
  };
  const onScreen = (view, x, y) => {
    const box = view.canvas_view.el.getBoundingClientRect();
    return { x: box.left + x, y: box.top + y };
  };
  /** A place on a map by shares of its width and height, on the screen. */
  const placeOn = (number, across, up) => {
    const { view } = figures("alrviz-map")[number];
    const { left, top, width, height } = view.frame.bbox;
    return onScreen(view, left + across * width, top + (1 - up) * height);
  };
  /** A row's point on a map, on the screen. */
  const pointOn = (number, row) => {
    const { model, view } = figures("alrviz-map")[number];
    const source = ofGlyph(model, "Scatter").find((r) => r.data_source.data.row ?? r.data_source.data.get?.("row")).data_source;
    const at = column(source, "row").indexOf(row);
    const x = view.frame.x_scale.compute(column(source, "x")[at]), y = view.frame.y_scale.compute(column(source, "y")[at]);
    return onScreen(view, x, y);
  };
  /** The area of a map's figure. */
  const mapBox = (number) => {
    const { width, height } = figures("alrviz-map")[number].view.el.getBoundingClientRect();
    return width * height;
  };
  /** What a map shows of its axes: the ends of both. */
  const ranges = (number) => {
    const { x_range, y_range } = figures("alrviz-map")[number].model;
    return [x_range.start, x_range.end, y_range.start, y_range.end];
  };
  /** How many pixels a step of 1 is on each axis of a map. */
  const scales = (number) => {
    const { model: { x_range, y_range }, view: { frame: { bbox } } } = figures("alrviz-map")[number];
    return [bbox.width / (x_range.end - x_range.start), bbox.height / (y_range.end - y_range.start)];
  };
  /** Whether a hand may drag points of a map. */
  const draggable = (number) => figures("alrviz-map")[number]?.model.toolbar.gestures.pan.active?.type === "PointDrawTool";
  /** From the next press on: the milliseconds until a map's ground is another than `ground`. */
  let took = null;
  const awaitMap = (number, ground) => {
    took = null;
    addEventListener("pointerup", () => {
      const begun = performance.now();
      const look = () => {
        if (maps()[number].ground !== ground) took = performance.now() - begun;
        else requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    }, { once: true, capture: true });
  };
  const tookMap = () => took;

  // ---- what is set from the server -----------------------------------------------------------------------------

  /**
   * Give the widget with this label values as the server does, each at the moment when the one before was drawn and
   * React has not looked after it yet; returns all values that its model had then, and the last one.
   */
  const give = async (label, values) => {
    const models = Bokeh.documents.flatMap((document) => [...document._all_models.values()]);
    const isIt = (data) => data?.attributes && "value" in data.attributes && data.attributes.label?.startsWith(label);
    const model = models.find((m) => isIt(m.attributes.data));
    const { data, document } = model;
    const had = [];
    const hear = (event) => event.model === data && event.attr === "value" && had.push(event.value);
    const drawn = () => new Promise((done) => {
      const look = new MutationObserver(() => { look.disconnect(); done(); });
      look.observe(Bokeh.index.find_one(model).shadow_el, { attributes: true, childList: true, characterData: true, subtree: true });
      setTimeout(done, 500); // what is drawn already changes nothing
    });
    const now = performance.now;
    let busy = now.call(performance);
    performance.now = () => (busy += 10); // React rests after every piece of work, as where it has no time
    document.on_change(hear);
    for (const value of values) {
      const next = drawn();
      data.setv({ value }, { sync: false });
      await next;
    }
    for (let k = 0; k < 5; k++) await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    document.remove_on_change(hear);
    performance.now = now;
    return { had, value: data.value };
  };

  // ---- looks ---------------------------------------------------------------------------------------------------

  const clipped = (element, rect) => {
    let { left, right, top, bottom } = rect;
    for (let at = element; at; at = parent(at)) {
      const style = getComputedStyle(at);
      if (style.overflowX === "visible" && style.overflowY === "visible") continue;
      const box = at.getBoundingClientRect();
      left = Math.max(left, box.left); right = Math.min(right, box.right);
      top = Math.max(top, box.top); bottom = Math.min(bottom, box.bottom);
    }
    return { left, right, top, bottom };
  };

  /** Rectangles of all visible pieces of text inside the window. */
  const pieces = () => {
    const found = [];
    for (const element of all()) {
      if (!ownText(element) || !shown(element) || element.closest("script, style, legend, option, [aria-hidden=true]")) continue;
      for (const node of element.childNodes) {
        if (node.nodeType !== 3 || !node.data.trim()) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        for (const rect of range.getClientRects()) {
          const seen = clipped(element, rect);
          if (seen.right - seen.left < 3 || seen.bottom - seen.top < 3) continue;
          if (seen.top > innerHeight || seen.bottom < 0) continue;
          found.push({ text: node.data.trim().slice(0, 60), element, ...seen });
        }
      }
    }
    return found;
  };

  /** Whether a piece is what one sees at its middle, or lies below something opaque such as a dialog. */
  const onTop = (piece) => {
    let at = document.elementFromPoint((piece.left + piece.right) / 2, (piece.top + piece.bottom) / 2);
    while (at?.shadowRoot) {
      const inner = at.shadowRoot.elementFromPoint((piece.left + piece.right) / 2, (piece.top + piece.bottom) / 2);
      if (!inner || inner === at) break;
      at = inner;
    }
    for (let up = piece.element; up; up = parent(up)) if (up === at) return true;
    for (let up = at; up; up = parent(up)) if (up === piece.element) return true;
    return false;
  };

  /** The dialog, drawer or menu in front of the page, if there is one. */
  const layer = () => {
    let front = null;
    for (const element of all())
      if (element.matches(".MuiModal-root, .MuiPopover-root, [role=dialog]") && shown(element)) front = element;
    return front;
  };
  const inside = (element, around) => {
    for (let up = element; up; up = parent(up)) if (up === around) return true;
    return false;
  };

  /** Pairs of texts that lie over each other. */
  const overlaps = () => {
    const front = layer();
    const found = pieces().filter((piece) => (!front || inside(piece.element, front)) &&
      !piece.element.closest("[role=tooltip]"));
    const pairs = [];
    found.forEach((a, i) => found.slice(i + 1).forEach((b) => {
      if (a.element === b.element) return;
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 3 && high > 5 && (onTop(a) || onTop(b))) pairs.push(`${a.text} / ${b.text}`);
    }));
    return pairs;
  };

  /** Texts cut off by their own box, without an ellipsis that says so. */
  const cut = () => {
    const found = [];
    for (const element of all()) {
      const style = getComputedStyle(element);
      if (style.overflowX === "visible" || style.textOverflow === "ellipsis" || !ownText(element) || !shown(element)) continue;
      if (style.overflowX === "auto" || style.overflowX === "scroll" || element.clientWidth < 4) continue;
      if (element.scrollWidth > element.clientWidth + 1) found.push(ownText(element).slice(0, 60));
    }
    return found;
  };

  /** Elements with a scroll bar of their own, and whether another lies around them. */
  const scrollers = () => {
    const page = document.scrollingElement;
    const found = page.scrollHeight > page.clientHeight + 1 ? [page] : [];
    for (const element of all()) {
      if (element === page || element === document.body || !shown(element)) continue;
      const style = getComputedStyle(element);
      const down = /auto|scroll/.test(style.overflowY) && element.scrollHeight > element.clientHeight + 1;
      if (down && !element.matches("textarea")) found.push(element);
    }
    return found;
  };
  const nested = () => {
    const bars = scrollers();
    const named = (e) => `${e.tagName.toLowerCase()}.${String(e.className).slice(0, 60)}`;
    const pairs = [];
    for (const bar of bars)
      for (let up = bar; up && getComputedStyle(up).position !== "fixed"; up = parent(up))
        if (up !== bar && bars.includes(up)) pairs.push(`${named(bar)} (${bar.scrollHeight} in ${bar.clientHeight}) in ${named(up)}`);
    return pairs;
  };
  const sideways = () => {
    const found = document.scrollingElement.scrollWidth > innerWidth ? ["the page"] : [];
    for (const element of all()) {
      const style = getComputedStyle(element);
      if (/auto|scroll/.test(style.overflowX) && element.scrollWidth > element.clientWidth + 1 && shown(element))
        found.push(`${element.tagName.toLowerCase()}.${String(element.className).slice(0, 60)}`);
    }
    return found;
  };

  /** Chips whose words are cut off. */
  const cramped = () =>
    Array.from(all())
      .filter((e) => e.matches(".MuiChip-label, [class*=MuiChip-root]") && shown(e) && e.scrollWidth > e.clientWidth + 1)
      .map((e) => `the chip ${e.innerText} of ${e.clientWidth} px`);

  // ---- keyboard ------------------------------------------------------------------------------------------------

  const focused = () => {
    let at = document.activeElement;
    while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    return at;
  };
  const WHAT = "button, a[href], input, select, textarea, summary, [role=button], [role=combobox], [role=slider], [role=tab]";
  const usable = (element) =>
    !element.disabled && element.getAttribute("aria-disabled") !== "true" && !element.closest("[aria-hidden=true], [inert]");

  /** What can be used with a mouse: visible, or an input that a visible label stands for. */
  const controls = () => {
    const found = [];
    for (const element of all()) {
      if (!element.matches(WHAT) || !usable(element)) continue;
      if (element.matches(".bk-root canvas, input[type=hidden], [tabindex='-1'][role=option]")) continue;
      const group = element.closest("[role=group], [role=radiogroup], [role=tablist]");
      if (group && element.tabIndex < 0) continue; // one of the group is reached by Tab, the others by arrows
      const drawn = element.matches("input[type=checkbox]") && element.getClientRects().length > 0; // not of a hidden part
      if (shown(element) || drawn || element.matches("input[type=file]")) found.push(element);
    }
    return found;
  };
  const described = (element) => {
    const box = element.getBoundingClientRect();
    const text = element.getAttribute("aria-label") || element.textContent.trim() || element.id;
    return `${element.tagName.toLowerCase()}[${element.getAttribute("role") ?? element.type ?? ""}] ` +
      `${text.slice(0, 60)} at ${Math.round(box.left)},${Math.round(box.top)}`;
  };
  const numbers = new WeakMap();
  let count = 0;
  const number = (element) => {
    if (!numbers.has(element)) numbers.set(element, ++count);
    return numbers.get(element);
  };
  const at = () => {
    const element = focused();
    if (!element || element === document.body) return null;
    element.scrollIntoView({ block: "nearest" });
    let look = element;  // an input that is laid invisibly over its picture: the picture shows the focus
    while (look && (look.getBoundingClientRect().width < 4 || look.matches("input"))) look = parent(look);
    const { left, top, width, height } = (look ?? element).getBoundingClientRect();
    return { number: number(element), what: described(element), box: { x: left, y: top, width, height } };
  };
  const reachable = () => controls().map((element) => ({ number: number(element), what: described(element) }));

  const refocus = (wanted) => {
    for (const element of all()) if (numbers.get(element) === wanted) element.focus({ focusVisible: true });
  };

  /** Buttons whose name for a screen reader lacks the words on them: a voice cannot press what it reads. */
  const misnamed = () => {
    const found = [];
    for (const element of all()) {
      const label = element.getAttribute("aria-label");
      if (!label || !element.matches("button, a, [role=button]") || !shown(element)) continue;
      const words = pieces().filter((piece) => element.contains(piece.element)).map((piece) => piece.text).join(" ");
      if (words && !label.toLowerCase().includes(words.toLowerCase())) found.push(`"${words}" is called "${label}"`);
    }
    return found;
  };

  return { all, ownText, says, button, racers, drawn, note, drawnTexts, pressed, beat, maps, curves, cursors, textOf, placeOn, pointOn, draggable, ranges, scales, awaitMap, tookMap, mapBox, give, overlaps, cut, nested, sideways, cramped, at, focused, refocus, reachable, misnamed };
})();
