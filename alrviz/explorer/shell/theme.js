/* Runs before anything is drawn. `data-theme` is what panel-material-ui's components watch. A key presses the visible
   button whose component has the CSS class `alrviz-key-KEY` (space, right, left, help, or a letter), unless the focus is
   where keys have a meaning of their own. A file dropped anywhere on the page goes to the drop strip's own input. */
(() => {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const stored = () => { try { return localStorage.getItem("alrviz_theme"); } catch (e) { return null; } };
  const show = (theme) => {
    document.documentElement.dataset.theme = theme;
    document.cookie = "alrviz_theme=" + theme + "; Max-Age=31536000; Path=/; SameSite=Lax";
  };
  const now = () => stored() || (system.matches ? "dark" : "light");
  const turns = (/alrviz_theme=(dark|light)/.exec(document.cookie)?.[1] ?? "light") !== now();  // what the server drew
  show(now());
  system.addEventListener("change", () => show(now()));
  window.alrvizToggleTheme = () => {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("alrviz_theme", next); } catch (e) { /* private window: not remembered */ }
    show(next);
  };
  const fit = new CSSStyleSheet();
  fit.replaceSync(FIT);
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (options) {
    const root = attach.call(this, options);
    root.adoptedStyleSheets = [...root.adoptedStyleSheets, fit];
    sizes.observe(this);
    return root;
  };
  // Pictures of the class `alrviz-room` get the height that the window has left below what stands above them: their CSS
  // variable --alrviz-above holds its height, of which no style sheet knows whether rows have wrapped. The browser
  // reports sizes after its own layout, so that reading them costs none; they are set with the next frame, because a
  // change within the report is an error there.
  const rooms = new Set();
  let placing = false;
  const place = () => {
    placing = false;
    for (const el of rooms) {
      if (!el.isConnected) rooms.delete(el);
      if (!el.getClientRects().length) continue;  // of a page that is not shown
      let at = el;
      while (at && !at.matches(".main-content")) at = at.parentElement ?? at.getRootNode().host;
      const above = Math.round(el.getBoundingClientRect().top + (at?.scrollTop ?? 0));
      if (el.style.getPropertyValue("--alrviz-above") !== `${above}px`) el.style.setProperty("--alrviz-above", `${above}px`);
    }
  };
  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) if (target.classList.contains("alrviz-room")) rooms.add(target);
    if (!rooms.size || placing) return;
    placing = true;
    requestAnimationFrame(place);
  });
  // What of a page is not shown, for a lesson (`hide`, `locked`: Run waits for an answer) and where it is presented.
  // One sheet is in every shadow root: it is written anew.
  const view = { hide: [], locked: "" };
  const PRESENTED = ["header", "rail", "drop", "controls", "racers", "measures", "side", "more"];
  const WHERE = { rail: "nav", drop: ":host(.alrviz-strip)", side: ":host(.alrviz-side)", header: ".MuiAppBar-root, .MuiToolbar-root",
    measures: ":host(.alrviz-later)" };
  window.alrvizView = (asked) => {
    Object.assign(view, asked);
    const presented = "present" in document.documentElement.dataset;
    // The rail is folded, not taken away: the menu brings it back.
    const hidden = presented ? PRESENTED : view.hide.filter((part) => part !== "rail");
    const rules = hidden.map((part) => `${WHERE[part] ?? `:host(.alrviz-part-${part})`} { display: none !important; }`);
    // The sentence stands in the row's place: a bar in it that makes itself visible (Panel's HTML does) is gone, too.
    if (view.locked) rules.push(`:host(.alrviz-run) > * { display: none !important; }
      :host(.alrviz-run)::after { content: ${JSON.stringify(view.locked)}; padding: 8px 0; min-height: 24px;
        font: 500 1rem/1.5 Roboto, 'Segoe UI', Arial, sans-serif; color: var(--alrviz-quiet); }`);
    if (presented) rules.push(PRESENT);
    fit.replaceSync(FIT + rules.join("\n"));
    if ("hide" in asked) fold(asked.hide.includes("rail"), 100);
  };
  const fold = (folded, tries) => {
    const nav = rail()?.closest("nav");
    if (!nav) { if (tries) setTimeout(() => fold(folded, tries - 1), 100); return; }
    nav.classList.toggle("alrviz-folded", folded);
    menu()?.setAttribute("aria-expanded", String(!folded));
  };
  // Present: for a wall. Pictures are canvases: their words are made larger one by one, and as they were afterwards.
  const LARGE = 1.375, LEAST = 22, scaled = new Map();
  const enlarged = (size) => {
    const of = parseFloat(size) * LARGE, unit = size.replace(/[\d.]/g, "");
    if (unit === "em") return "1em";  // of a legend: a part of the page, whose type is large already
    return `${unit === "px" ? Math.max(of, LEAST) : of}${unit}`;
  };
  // Axes ask it, which put back the sizes of their words where a theme has changed them.
  window.alrvizTextSize = (model, name, own) => {
    if (!("present" in document.documentElement.dataset)) return own;
    const large = enlarged(own);
    scaled.set(model, { ...scaled.get(model), [name]: { own, large } });
    return large;
  };
  const enlarge = () => {
    if (!("present" in document.documentElement.dataset)) return;
    for (const model of window.Bokeh?.documents?.[0]?._all_models?.values() ?? []) {
      for (const name of Object.keys(model.properties ?? {})) {
        if (!name.endsWith("text_font_size")) continue;
        const now = model[name], size = typeof now === "string" ? now : now?.value;
        const known = scaled.get(model)?.[name];
        if (typeof size !== "string" || known?.large === size || !/^[\d.]+(px|pt|em)$/.test(size)) continue;
        const large = enlarged(size);
        scaled.set(model, { ...scaled.get(model), [name]: { own: now, large } });
        model.setv({ [name]: typeof now === "string" ? large : { ...now, value: large } }, { sync: false });
      }
    }
    setTimeout(enlarge, 400);
  };
  const leave = Object.assign(document.createElement("button"), { type: "button", id: "alrviz-leave", textContent: "×" });
  leave.setAttribute("aria-label", "Leave the presentation (Escape)");
  leave.addEventListener("click", () => window.alrvizPresent(false));
  // The header's title and buttons are not shown: this one's are in their place.
  const heard = Object.assign(document.createElement("h1"), { className: "alrviz-heard" });
  const head = document.createElement("header");
  head.append(heard, leave);
  window.alrvizPresent = (on = !("present" in document.documentElement.dataset)) => {
    if (on) document.documentElement.dataset.present = "";
    else {
      delete document.documentElement.dataset.present;
      for (const [model, names] of scaled)
        for (const [name, { own }] of Object.entries(names)) model.setv({ [name]: own }, { sync: false });
      scaled.clear();
    }
    try { on ? sessionStorage.setItem(HERE, "1") : sessionStorage.removeItem(HERE); } catch (e) { /* for this page */ }
    heard.textContent = document.title;
    if (on) document.body.append(head); else head.remove();
    window.alrvizView({});
    window.dispatchEvent(new Event("resize"));
    enlarge();
  };
  // A step of a lesson may load the page anew: it is still presented.
  const HERE = "alrviz_present";
  window.addEventListener("DOMContentLoaded", () => {
    try { if (sessionStorage.getItem(HERE)) window.alrvizPresent(true); } catch (e) { /* nothing is stored */ }
  });
  window.addEventListener("keydown", (e) => {
    if (e.key !== "Escape" || e.defaultPrevented || !("present" in document.documentElement.dataset)) return;
    window.alrvizPresent(false);
  });
  // `alrvizRail` opens or closes the rail. In a narrow window a press beside it, a choice and Escape close it too.
  const deep = function* (root) {
    for (const el of root.querySelectorAll("*")) {
      yield el;
      if (el.shadowRoot) yield* deep(el.shadowRoot);
    }
  };
  const first = (selector, root = document) => {
    for (const el of deep(root)) if (el.matches(selector)) return el;
    return null;
  };
  window.alrvizFirst = first;
  const menu = () => first(".alrviz-menu");
  const rail = () => first(".MuiDrawer-paper.sidebar");
  const narrow = window.matchMedia("(max-width: 1199px)");
  window.alrvizRail = (open) => {
    const at = rail();
    if (!narrow.matches) {
      const folded = at.closest("nav").classList.toggle("alrviz-folded");
      menu().setAttribute("aria-expanded", String(!folded));
      return;
    }
    at.classList.toggle("alrviz-open", open);
    menu().setAttribute("aria-expanded", String(at.classList.contains("alrviz-open")));
    if (!at.classList.contains("alrviz-open")) return;
    requestAnimationFrame(() => (first(".alrviz-here", at) || first("button", at))?.focus());
  };
  window.addEventListener("click", (e) => {
    const at = rail();
    if (!at || !at.classList.contains("alrviz-open")) return;
    const path = e.composedPath();
    if (!path.includes(menu()) && (!path.includes(at) || path.some((el) => el.tagName === "BUTTON")))
      window.alrvizRail(false);
  });
  window.addEventListener("keydown", (e) => {
    if (e.key !== "Escape" || !rail()?.classList.contains("alrviz-open")) return;
    window.alrvizRail(false);
    menu().focus();
  });
  // The first stop of the keyboard: past the header and the rail, to the page.
  const skip = Object.assign(document.createElement("button"), { type: "button", textContent: "Skip to the page" });
  skip.addEventListener("click", () => {
    const page = first(".main-content");
    page?.setAttribute("tabindex", "-1");
    page?.focus();
  });
  const skips = Object.assign(document.createElement("nav"), { id: "alrviz-skip" });
  skips.setAttribute("aria-label", "Skip");
  skips.append(skip);
  window.addEventListener("DOMContentLoaded", () => document.body.prepend(skips));
  // The title that the server gives the document, in the browser's tab.
  const title = () => {
    const doc = window.Bokeh?.documents?.[0];
    if (!doc) { setTimeout(title, 100); return; }
    const say = () => { if (doc.title() && document.title !== doc.title()) document.title = doc.title(); };
    doc.on_change(say);
    say();
  };
  title();
  // The page is there, in place of OPENING, and every control as light or dark as this browser: at a first visit the
  // server cannot know, and what it drew turns over, each component by itself, as soon as the machine comes to it.
  const CONTROLS = "button, .MuiInputBase-root, .MuiAppBar-root";
  const value = (el, name) => getComputedStyle(el).getPropertyValue(name).trim();
  const turned = () => {  // how many controls; 0 where one has not turned
    const ink = value(document.documentElement, "--alrviz-text");
    let count = 0;
    for (const el of deep(document)) {
      if (!el.matches(CONTROLS)) continue;
      const own = value(el, "--mui-palette-text-primary");  // empty: of no component, and follows the page
      if ((own && own !== ink) || el.getAnimations().length) return 0;
      count += 1;
    }
    return count;
  };
  const turnWords = () => {  // words of pictures stand on the ground's own colour
    const ground = value(document.documentElement, "--alrviz-paper");
    for (const model of window.Bokeh?.documents[0]?._all_models.values() ?? [])
      if (model.type === "Text" && ![null, undefined, ground].includes(model.background_fill_color?.value))
        model.setv({ background_fill_color: { value: ground } }, { sync: false });
  };
  let looks = 0, same = 0, before = 0;
  const drawn = () => {
    if (first(".MuiAppBar-root")) {
      if (turns) turnWords();
      const count = turns ? turned() : 0;
      same = count && count === before ? same + 1 : 0;  // half a second without another control
      before = count;
      looks += 1;
      if (!turns || same === 10 || looks > 200) { document.documentElement.dataset.drawn = ""; return; }
    }
    setTimeout(drawn, 50);
  };
  drawn();
  const find = (root) => {
    for (const el of root.querySelectorAll("*")) {
      if (el.matches('input[type="file"]')) return el;
      const inner = el.shadowRoot && find(el.shadowRoot);
      if (inner) return inner;
    }
    return null;
  };
  const KEYS = {" ": "space", "ArrowRight": "right", "ArrowLeft": "left", "?": "help"};
  const keyed = (root, cls) => {
    for (const el of root.querySelectorAll("*")) {
      if (el.classList.contains(cls)) {
        const button = el.matches("button") ? el : el.shadowRoot && el.shadowRoot.querySelector("button");
        if (button && !button.disabled && button.getClientRects().length) return button;
      }
      const inner = el.shadowRoot && keyed(el.shadowRoot, cls);
      if (inner) return inner;
    }
    return null;
  };
  window.addEventListener("keydown", (e) => {
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey) return;
    let at = document.activeElement;
    while (at && at.shadowRoot && at.shadowRoot.activeElement) at = at.shadowRoot.activeElement;
    const own = "input, textarea, select, [contenteditable], [role=combobox], [role=option], [role=slider]";
    if (at && at.matches(own)) return;
    if (at && e.key === " " && at.matches("button, a, [role=button], [role=tab], summary")) return;
    const name = KEYS[e.key] || (/^[a-z]$/.test(e.key) ? e.key : null);
    const button = name && keyed(document, "alrviz-key-" + name);
    if (button) { e.preventDefault(); button.click(); }
  });
  window.addEventListener("dragover", (e) => {
    if (e.dataTransfer && Array.from(e.dataTransfer.types).includes("Files")) e.preventDefault();
  });
  window.addEventListener("drop", (e) => {
    if (e.defaultPrevented || !e.dataTransfer || !e.dataTransfer.files.length) return;
    e.preventDefault();
    const input = find(document);
    if (input) { input.files = e.dataTransfer.files; input.dispatchEvent(new Event("change", {bubbles: true})); }
  });
})();
