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
    return root;
  };
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
  // The title that the server gives the document, in the browser's tab.
  const title = () => {
    const doc = window.Bokeh?.documents?.[0];
    if (!doc) { setTimeout(title, 100); return; }
    const say = () => { if (doc.title() && document.title !== doc.title()) document.title = doc.title(); };
    doc.on_change(say);
    say();
  };
  title();
  // The page's frame is there, in place of OPENING, and as light or dark as this browser: at a first visit the server
  // cannot know, and what it drew turns over some tenths of a second, each component by itself.
  const turned = (bar) => {
    const paper = getComputedStyle(document.documentElement).getPropertyValue("--alrviz-paper").trim();
    const [red, green, blue] = [1, 3, 5].map((k) => parseInt(paper.slice(k, k + 2), 16));
    return getComputedStyle(bar).backgroundColor === `rgb(${red}, ${green}, ${blue})`;
  };
  let waits = 60;
  const drawn = () => {
    const bar = first(".MuiAppBar-root");
    if (!bar || (waits > 0 && !turned(bar))) { waits -= bar ? 1 : 0; setTimeout(drawn, 50); return; }
    setTimeout(() => { document.documentElement.dataset.drawn = ""; }, waits < 60 ? 500 : 0);
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
