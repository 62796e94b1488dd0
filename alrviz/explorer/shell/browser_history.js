/* The browser's Back and Forward: what is looked at is an entry of its history; a setting changes the entry.

   That is the page or a tab of it, the table, and of races the question and the orders; in a lesson its step. Panel's `Location` makes an entry
   of every change of the address and does not listen when the reader goes through them. Back shows what the entry is about
   (`Session.visit`); other settings are as they are by now, and the entry takes them on.

   Runs in the page's head, before Panel changes the address for the first time; FIRST is the page without a name. */
(() => {
  const push = history.pushState.bind(history), replace = history.replaceState.bind(history);
  const place = (url) => {
    const asked = new URL(url, window.location.href).searchParams;
    const lesson = asked.has("lesson"), races = !lesson && (asked.get("page") || "FIRST") === "FIRST";
    const orders = (asked.get("racers") || "").match(/_o\d+/g) || [];
    const keys = ["tab", ...(lesson ? ["lesson", "step"] : ["data", "file", "points"]), ...(races ? ["q"] : [])];
    const said = keys.map((key) => asked.get(key) || "");
    return [asked.get("page") || "FIRST", ...said, ...(races ? orders : [])].join(" ");
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
