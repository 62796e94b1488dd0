// What the benchmark asks of a page from within; looks through the shadow roots of Panel's components.
window.bench = (() => {
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
  const says = (pattern) => {
    const matcher = new RegExp(pattern, "i");
    for (const element of all()) if (matcher.test(ownText(element)) && shown(element)) return true;
    return false;
  };
  const button = (label) => {
    for (const element of all())
      if (element.matches("button") && element.textContent.trim().endsWith(label) && shown(element) && !element.disabled)
        return element;
    return null;
  };

  const figure = () => {
    for (const document of window.Bokeh?.documents ?? [])
      for (const model of document._all_models.values())
        if (model.type === "Figure" && model.name?.startsWith("alrviz-race") && Bokeh.index.find_one(model)) return model;
    return null;
  };
  const column = (source, name) => (source.data instanceof Map ? source.data.get(name) : source.data[name]);
  /** The last iteration drawn of every racer, by its name (the first line of a name is that of the training rows). */
  const last = () => {
    const found = {};
    for (const renderer of figure()?.renderers ?? []) {
      if (renderer.glyph?.type !== "Line" || !renderer.name || renderer.name in found) continue;
      const steps = column(renderer.data_source, "step");
      found[renderer.name] = steps.length ? steps[steps.length - 1] : -1;
    }
    return found;
  };
  const drawn = () => {
    const view = figure() && Bokeh.index.find_one(figure());
    return Boolean(view && shown(view.el) && view.el.getBoundingClientRect().height > 50);
  };

  const now = () => performance.timeOrigin + performance.now();
  /** Call back once the frame that shows what is in the document now has been painted. */
  const painted = (then) => requestAnimationFrame(() => setTimeout(then, 0));

  /** Wait for a condition and for the frame that shows it: the milliseconds since `begun`, null past the limit. */
  const until = (condition, begun, limit) =>
    new Promise((resolve) => {
      const look = () => {
        let there = false;
        try { there = condition(); } catch (error) { /* the page is not there yet */ }
        if (there) painted(() => resolve(now() - begun));
        else if (now() - begun > limit) resolve(null);
        else setTimeout(look, 4);
      };
      look();
    });

  /** Note when each racer's last iteration changed on the screen, from now on: [racer, iteration, ms since 1970]. */
  const seen = [];
  const follow = () => {
    const known = last();
    seen.length = 0;
    setInterval(() => {
      const fresh = Object.entries(last()).filter(([name, step]) => step !== known[name]);
      for (const [name, step] of fresh) known[name] = step;
      if (fresh.length) painted(() => { for (const [name, step] of fresh) seen.push([name, step, now()]); });
    }, 4);
  };

  /** Press a button as soon as it can be pressed; when that was. */
  const press = async (label) => {
    if ((await until(() => button(label), now(), 60000)) === null) throw new Error(`there is no button ${label} to press`);
    const begun = now();
    button(label).click();
    return begun;
  };
  /** Press a button and wait for words. */
  const pressed = async (label, words, limit) => until(() => says(words), await press(label), limit);
  /** Press a button and wait until words have gone and come back. */
  const again = async (label, words, limit) => {
    const begun = await press(label);
    await until(() => !says(words), begun, 2000);
    return until(() => says(words), begun, limit);
  };
  return { says, button, last, drawn, until, follow, seen, press, pressed, again, now };
})();
