// How a page of the explorer is looked at from within, through the shadow roots of Panel's components.
window.explorerPage = (() => {
  function* all(root = document) {
    for (const element of root.querySelectorAll("*")) {
      yield element;
      if (element.shadowRoot) yield* all(element.shadowRoot);
    }
  }
  const shown = (element) =>
    element.getClientRects().length > 0 && element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const ownText = (element) =>
    Array.from(element.childNodes).filter((n) => n.nodeType === 3).map((n) => n.data).join("").trim();

  /** Whether a visible element's own text matches. */
  const says = (pattern) => {
    const matcher = new RegExp(pattern, "i");
    for (const element of all()) if (matcher.test(ownText(element)) && shown(element)) return true;
    return false;
  };
  /** The first visible button whose text ends with `label` (icons come before it). */
  const button = (label) => {
    for (const element of all())
      if (element.matches("button") && element.textContent.trim().endsWith(label) && shown(element)) return element;
    return null;
  };

  const column = (source, name) => (source.data instanceof Map ? source.data.get(name) : source.data[name]);
  /** The picture of that name that is in the page: that of the convergence, without one. */
  const figure = (name = "alrviz-race") => {
    for (const document of window.Bokeh?.documents ?? [])
      for (const model of document._all_models.values())
        if (model.type === "Figure" && model.name?.startsWith(name) && Bokeh.index.find_one(model)) return model;
    return null;
  };
  /** Whether its canvas is on the screen. */
  const drawn = () => {
    const view = figure() && Bokeh.index.find_one(figure());
    return Boolean(view && shown(view.el) && view.el.getBoundingClientRect().height > 50);
  };
  return { all, shown, ownText, says, button, column, figure, drawn };
})();
