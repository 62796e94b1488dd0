// What the benchmark asks of a page from within; `_page.js` comes before it.
window.bench = (() => {
  const { says, column, figure, drawn } = window.explorerPage;
  const button = (label) => {
    const found = window.explorerPage.button(label);
    return found?.disabled ? null : found;
  };

  /** The last iteration drawn of every racer, by its name (the first line of a name is that of the training rows). */
  const last = () => {
    const found = {};
    for (const renderer of figure()?.renderers ?? []) {
      if (renderer.glyph?.type !== "Line" || !renderer.name || renderer.name in found) continue;
      const steps = column(renderer.data_source, "step");
      if (steps.length) found[renderer.name] = steps[steps.length - 1];
    }
    return found;
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
  /** From the next key until a picture's data have changed and are painted; `answer.ms` is a promise of that. */
  const answer = { ms: null };
  const listen = (name, limit) => {
    const data = () => window.explorerPage.figure(name).renderers.map((each) => each.data_source.data);
    const before = data();
    answer.ms = new Promise((resolve) => {
      const pressed = () => resolve(until(() => data().some((each, k) => each !== before[k]), now(), limit));
      addEventListener("keydown", pressed, { capture: true, once: true });
    });
  };
  return { says, button, last, drawn, until, follow, seen, press, pressed, again, now, answer, listen };
})();
