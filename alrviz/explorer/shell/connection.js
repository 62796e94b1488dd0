/* Watches the page's websocket, in the page's head before BokehJS connects; see connection.py. WORDS, HEADER, SESSION
   and PLACE are put in there. Times are milliseconds. */
(() => {
  const TICK = 500, ASK = 2000, SLOW = 5000, SILENT = 15000, EVERY = 500, PATIENCE = 3000, STEADY = 10000, READ = 5000;
  let socket = null, token = "", fragments = 0, silent = 0, asked = false;
  let lost = false, slow = false, leaving = false, pressed = -Infinity, band = null, wake = () => {};
  const remember = (key, value) => { try { sessionStorage.setItem("alrviz_" + key, value); } catch (error) { /* not */ } };
  const recall = (key) => {  // once
    try {
      const value = sessionStorage.getItem("alrviz_" + key);
      sessionStorage.removeItem("alrviz_" + key);
      return value;
    } catch (error) { return null; }
  };
  let own = recall("token");  // of the session that this page had before it was loaded again
  const after = (ms) => new Promise((done) => setTimeout(done, ms));

  // ---- what is seen ----
  const say = (text, more = "", kind = "lost") => {
    if (!band) {
      band = document.createElement("div");
      band.id = "alrviz-connection";
      document.documentElement.append(band);
    }
    if (band.className !== kind) {
      band.className = kind;
      band.setAttribute("role", kind === "lost" ? "alert" : "status");
    }
    const words = text + " " + more;
    if (band.textContent !== words) {  // said once, for whoever hears it
      band.replaceChildren(Object.assign(document.createElement("b"), {textContent: text}), " " + more);
    }
    band.hidden = false;
  };
  const tell = (text) => {
    say(text, "", "well");
    const hide = () => {  // six seconds after the page is there to be seen
      if (!("drawn" in document.documentElement.dataset)) return setTimeout(hide, TICK);
      setTimeout(() => { if (!lost) band.hidden = true; }, 6000);
    };
    hide();
  };
  window.alrvizTell = (text) => { if (!lost) tell(text); };
  const refuse = (event) => {
    if (!lost) return;
    const scrolls = /^(Tab|Page|F\d)/.test(event.key ?? "") || event.ctrlKey || event.metaKey || event.altKey;
    if (event.type === "keydown" && scrolls) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (["pointerdown", "keydown", "drop"].includes(event.type)) {
      pressed = performance.now();
      say(WORDS.pressed, WORDS.rest);
      if (!matchMedia("(prefers-reduced-motion: reduce)").matches) {
        band.animate([{transform: "translate(-50%, 0) scale(1.04)"}, {transform: "translate(-50%, 0)"}], 250);
      }
    }
  };
  for (const kind of ["pointerdown", "mousedown", "touchstart", "click", "dblclick", "keydown", "beforeinput", "input",
                      "change", "drop", "submit"]) {
    window.addEventListener(kind, refuse, {capture: true, passive: false});
  }

  // ---- the socket ----
  const Plain = window.WebSocket;
  window.WebSocket = class WebSocket extends Plain {
    constructor(url, protocols) {
      const ours = Array.isArray(protocols) && protocols[0] === "bokeh";
      if (ours && own) [protocols, own] = [["bokeh", own], null];
      super(url, protocols);
      if (!ours) return;
      [socket, token, fragments, silent, asked] = [this, protocols[1], 0, 0, false];
      this.addEventListener("message", () => {
        if (socket !== this) return;
        [fragments, silent, asked] = [fragments + 1, 0, false];
        if (slow && !lost) band.hidden = true;
        slow = false;
      });
      this.addEventListener("close", () => { if (socket === this) lose(WORDS.lost); });
    }
  };
  const open = () => socket && socket.readyState === Plain.OPEN && fragments >= 3;  // its first word has three parts
  const ask = () => {  // for a sign of life: the server says which version it is
    asked = true;
    for (const part of [{msgid: "alrviz", msgtype: "SERVER-INFO-REQ"}, {}, {}]) socket.send(JSON.stringify(part));
  };
  setInterval(() => {  // silence is counted in ticks: where this page itself was busy, nothing was silent
    if (lost || !open()) return;
    if (performance.now() > STEADY) recall("reopened");
    silent += TICK;
    if (silent >= ASK && !asked) ask();
    else if (silent >= SLOW && !slow) {  // a busy server is not a lost one: presses wait in the socket
      slow = true;
      say(WORDS.slow, "", "well");
    } else if (silent >= SILENT) lose(navigator.onLine ? WORDS.silent : WORDS.offline);
  }, TICK);
  const doubt = (event) => {  // something happened to the network, or to the computer
    wake();
    if (lost || !open() || document.hidden) return;
    if (/line$/.test(event.type)) silent = Math.max(silent, SILENT - 8 * TICK);
    ask();
  };
  for (const kind of ["online", "offline"]) window.addEventListener(kind, doubt);
  for (const kind of ["visibilitychange", "resume"]) document.addEventListener(kind, doubt);
  window.addEventListener("beforeunload", () => {  // a page that is left loses its socket; one that stays is back soon
    leaving = true;
    setTimeout(() => { leaving = false; if (socket?.readyState === Plain.CLOSED) lose(WORDS.lost); }, 5000);
  });
  window.addEventListener("pageshow", (event) => { if (event.persisted) window.location.reload(); });

  // ---- the session of this page: built while BokehJS is read; one that is taken up again is there ----
  const below = (path) => window.location.pathname.replace(/\/+$/, "") + path;
  const first = document.querySelector("meta[name=alrviz-token]")?.content;
  if (first && !own) {
    let waits = true;
    const duration = (seconds) => seconds < 90 ? `${Math.max(seconds, 1)} s` : `${Math.round(seconds / 60)} min`;
    const tellPlace = async () => {  // the further, the less often: three hundred ask
      for (let pause = 2000; ; ) {
        await after(pause);
        if (!waits) return;
        try {
          const answer = await fetch(below(PLACE), {headers: {[HEADER]: first}, cache: "no-store"});
          const {place, seconds} = await answer.json();
          const line = document.querySelector("#alrviz-opening [role=status]");
          if (!waits || !line || !place) continue;
          line.textContent = place === 1 ? WORDS.next
            : WORDS.place.replace("{place}", place).replace("{time}", duration(seconds));
          pause = Math.min(Math.max(2000, 100 * seconds), 15000);
        } catch (error) { /* the server is busy: asked again */ }
      }
    };
    tellPlace();
    fetch(below(SESSION) + window.location.search, {headers: {[HEADER]: first}, cache: "no-store"}).then((answer) => {
      waits = false;
      if (answer.status !== 503) return;
      lost = true;
      say(WORDS.full);
      setTimeout(() => { leaving = true; window.location.reload(); }, 10000);
    }).catch(() => { waits = false; });  // the websocket has it built, or tells
  }

  // ---- lost and found ----
  const inquire = async (path) => {  // what the server says of the session; null where no server answers
    try {
      const address = below(path);
      const headers = {[HEADER]: token};
      const answer = await fetch(address, {headers, cache: "no-store", signal: AbortSignal.timeout(PATIENCE)});
      if (answer.status >= 500 || answer.status === 429) return null;
      if (answer.status === 401 || answer.status === 403) return {refused: true};
      return answer.ok ? await answer.json() : {here: false, up: 0};
    } catch (error) {
      return error instanceof SyntaxError ? {here: false, up: Infinity} : null;
    }
  };
  const lose = (text) => {
    if (lost || leaving) return;
    lost = true;
    document.documentElement.dataset.lost = "";
    say(text, WORDS.rest);
    seek();
  };
  const found = () => {
    [lost, silent, asked] = [false, 0, false];
    delete document.documentElement.dataset.lost;
    tell(WORDS.again);
  };
  const seek = async () => {
    for (;;) {
      const answer = await inquire("/session");
      if (answer?.refused) {
        say(WORDS.refused);
      } else if (answer?.here) {
        if (await alive()) return found();
        const again = await inquire("/session/again");
        if (again?.token) return reopen("again", again.token);
      } else if (answer) {
        return reopen(answer.up * 1000 < performance.now() ? "restarted" : "expired");
      } else if (performance.now() - pressed > READ) {  // that a press was not taken stays to be read
        say(navigator.onLine ? WORDS.silent : WORDS.offline, WORDS.rest);
      }
      await Promise.race([after(EVERY), new Promise((done) => { wake = done; })]);
    }
  };
  const alive = async () => {  // whether the old socket was only silent
    if (!open()) return false;
    const before = fragments;
    ask();
    await after(2 * TICK);
    return open() && fragments > before;
  };
  // The page is loaded again, for React draws no document twice (panel-material-ui 0.14); with the token of its session
  // it has that session, all of it, else one that finds by its link what there is.
  const reopen = async (why, again = "") => {
    const before = Number(recall("reopened"));  // in vain
    say(WORDS["is_" + why]);
    if (before) await after(Math.min(2 * EVERY * 2 ** before, 30000));
    if (again && before < 2) remember("token", again);
    remember("reopened", before + 1);
    remember("found", why);
    leaving = true;
    window.location.reload();
  };
  const why = recall("found");
  if (why) window.addEventListener("DOMContentLoaded", () => tell(WORDS[why]));
})();
