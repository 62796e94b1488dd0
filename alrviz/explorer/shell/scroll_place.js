/* A page comes back at the place to which it was scrolled. The place is noted at each click, since a click (or Back) is
   what turns a page. The rail calls `alrvizTurnPage(slug)` when it marks another page, whose views are then drawn over the
   next second: the place is set again until it has held for HELD_MS, or the reader scrolls. A click before that keeps the
   place noted earlier: a page that is not yet drawn to its end cannot be scrolled to where the reader was. */
(() => {
  const HELD_MS = 1000, MAX_WAIT_MS = 20000, CHECK_MS = 100;
  const places = new Map();
  let page = "", timer = 0;
  const scroller = () => window.alrvizFirst(".main-content");
  const note = () => timer || places.set(page, scroller()?.scrollTop ?? 0);
  const stop = () => { clearInterval(timer); timer = 0; };
  for (const event of ["click", "popstate"]) window.addEventListener(event, note, { capture: true });
  for (const event of ["wheel", "touchmove", "keydown"])
    window.addEventListener(event, stop, { capture: true, passive: true });
  window.addEventListener("pointerdown", (event) => {  // the bar that scrolls belongs to the box, not to what is in it
    if (event.composedPath()[0] === scroller()) stop();
  }, { capture: true, passive: true });
  window.alrvizTurnPage = (slug) => {
    stop();
    page = slug;
    const place = places.get(page);
    if (!place) return;
    const box = scroller(), begin = performance.now();
    let reached = 0;
    timer = setInterval(() => {
      const now = performance.now();
      if (Math.abs(box.scrollTop - place) > 1) {
        box.scrollTop = place;  // the browser stops at the end of what is drawn by now
        reached = 0;
      } else reached ||= now;
      if ((reached && now - reached > HELD_MS) || now - begin > MAX_WAIT_MS) stop();
    }, CHECK_MS);
  };
})();
