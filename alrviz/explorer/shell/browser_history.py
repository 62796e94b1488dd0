"""The browser's Back and Forward: a page, or a tab of one, is an entry of its history; a setting changes the entry.

Panel's `Location` makes an entry of every change of the address and does not listen when the reader goes through them.
Back shows the page as it is by now: its settings are the session's (`Session.visit`), and the entry takes them on.
"""

from alrviz.explorer.session.state import State

# Runs in the page's head, before Panel changes the address for the first time.
SCRIPT = """
(() => {
  const push = history.pushState.bind(history), replace = history.replaceState.bind(history);
  const place = (url) => {
    const asked = new URL(url, window.location.href).searchParams;
    return (asked.get("page") || "FIRST") + " " + (asked.get("tab") || "");
  };
  let gone = "";  // where the reader has gone, until the server has followed
  history.pushState = (state, title, url) => {
    const to = new URL(url, window.location.href).href;
    if (gone && place(to) !== gone) return;  // of the place before: it was on its way
    gone = "";
    if (to === window.location.href) return;
    (place(to) === place(window.location.href) ? replace : push)(state, title, to);
  };
  window.addEventListener("popstate", () => {
    const roots = window.Bokeh?.documents?.[0]?.roots() ?? [];
    const location = roots.find((root) => root.type === "panel.models.location.Location");
    if (!location) return;
    const here = gone = place(window.location.href);
    setTimeout(() => { if (gone === here) gone = ""; }, 60000);
    location.search = window.location.search;
  });
})();
""".replace("FIRST", State().page)
