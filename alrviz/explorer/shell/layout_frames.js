/* Keep BokehJS (3.9) from working out the page's layout and styles over and over. Measured on the page Generative to
   discriminative: 72 layouts took 18 s of a busy machine's browser; now 20 take 2 s.

   1. A layout once per frame. BokehJS lays the whole page out at once after each change of a size, a margin, a style
      sheet or a child, and again for every container whose size that has changed. Here a request marks its layout root,
      and the next frame does the work. A root's first layout stays immediate: its figures are painted next.
   2. A style sheet is written when it changes. A layout clears and refills four style sheets of every view, and each
      write makes the browser compute styles anew.
   3. Lines, fills and texts do not read CSS. BokehJS asks the browser for `--bk-line-color` and the like whenever it
      measures or paints, each time a computation of styles. The explorer sets none of these.
   4. A linked style sheet is fetched once. Panel links up to five in every component: 450 on one page. The text of a
      sheet that has been fetched is put into the component instead.
   5. A picture is cleared to its edges. BokehJS clears its canvas half a pixel too far right and below, so that of a
      wrapped axis title that changes a sliver stays at the left. */
document.addEventListener("DOMContentLoaded", () => {
  const { LayoutDOMView } = Bokeh.require("models/layouts/layout_dom");
  const { VisualProperties } = Bokeh.require("core/visuals/visual");
  const { CanvasLayer } = Bokeh.require("core/util/canvas");
  const { InlineStyleSheet, ImportedStyleSheet } = Bokeh.require("core/dom");

  const unwritten = new Map();  // style sheet -> its text, while a layout is under way
  let collecting = false;
  Object.defineProperty(InlineStyleSheet.prototype, "css", {
    get() { return unwritten.get(this) ?? this.el.textContent; },
  });
  InlineStyleSheet.prototype._update = function (css) {
    if (collecting) unwritten.set(this, css);
    else if (this.el.textContent !== css) this.el.textContent = css;
  };
  const updateLayout = (view) => {
    collecting = true;
    try {
      view.update_layout();
    } finally {
      collecting = false;
      const sheets = [...unwritten];
      unwritten.clear();
      for (const [sheet, css] of sheets) sheet._update(css);
    }
  };

  const due = new Map();  // layout root -> whether its styles are due too, or its positions alone
  const layOut = (view, styles) => {
    if (styles) updateLayout(view);
    view.measure_layout();
    view.update_bbox();
    view._compute_layout();
    view.after_layout();
    view._layout_computed = true;
  };
  let costMs = 0, endedAt = 0;  // of the last layout
  const layOutDue = () => {
    const begunAt = performance.now(), roots = [...due];
    due.clear();
    for (const [view, styles] of roots) if (view.el.isConnected) layOut(view, styles);
    endedAt = performance.now();
    costMs = endedAt - begunAt;
  };
  const schedule = () => {
    const pauseMs = endedAt + costMs - performance.now();  // layouts take half of the time at most
    if (pauseMs > 0 || document.hidden) setTimeout(document.hidden ? layOutDue : schedule, pauseMs);
    else requestAnimationFrame(layOutDue);
  };
  const request = (view, styles) => {
    if (!view._layout_computed) return layOut(view, styles);
    if (!due.size) schedule();
    due.set(view, styles || due.get(view) === true);
  };
  const replaceLayout = (prototype) => {
    prototype.invalidate_layout = function () {
      if (this.is_managed) this.parent.invalidate_layout();
      else request(this, true);
    };
    prototype.compute_layout = function () {
      if (!this.is_managed) return request(this, false);
      this.parent.compute_layout();
      this._layout_computed = true;
    };
  };
  replaceLayout(LayoutDOMView.prototype);
  // Panel's own components, of which React draws most of the page, override both methods.
  let { prototype } = Bokeh.Models.get("panel.models.esm.ReactComponent").prototype.default_view;
  for (; prototype !== LayoutDOMView.prototype; prototype = Object.getPrototypeOf(prototype))
    if (Object.hasOwn(prototype, "invalidate_layout")) replaceLayout(prototype);

  VisualProperties.prototype._get_css_value = () => "";

  CanvasLayer.prototype.clear = function () {
    this.undo_transform((ctx) => ctx.clearRect(0, 0, this.target.width, this.target.height));
  };

  const texts = new Map();  // address -> text of the style sheet there, "" while it is fetched or where that failed
  const fetchSheet = async (address) => {
    texts.set(address, "");
    const answer = await fetch(address);
    if (!answer.ok) return;
    const absolute = (match, quote, path) => `url(${quote}${new URL(path, address)}`;
    texts.set(address, (await answer.text()).replace(/url\((['"]?)(?!data:|https?:|\/)([^'")]+)/g, absolute));
  };
  ImportedStyleSheet.prototype.install = function (root) {
    const address = this.el.href;
    if (address && !texts.has(address)) fetchSheet(address).catch(() => {});
    const text = texts.get(address);
    if (text) {
      this.el = document.createElement("style");
      this.el.textContent = text;
    }
    root.append(this.el);
  };
});
