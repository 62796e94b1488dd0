// The page's side of a view in a notebook; the kernel's is notebook_comm.py, which fills in what is between % signs.
(() => {
  const KEY = "%KEY%", VERSION = "%VERSION%", ESM = "%ESM%";
  let place = document.currentScript.previousElementSibling;
  // What draws outputs in JupyterLab (pyviz_comms) takes a script away that it has not added, when one is renewed.
  const drawn = place.parentElement?.parentElement;
  if (drawn) drawn.removeChild = (child) => (child.parentNode === drawn ? Node.prototype.removeChild.call(drawn, child) : child);
  // Of the page: what was loaded once, and the views that are alive, by the key of their output.
  const all = (window.alrviz ??= { resources: {}, alive: new Map() });

  // An output that is renewed is drawn anew: the view that is alive moves into it as it is.
  const kept = all.alive.get(KEY);
  if (kept && !kept.isHere()) {
    kept.moveTo(place);
    return;
  }

  let comm, node, doc, receiver, focused, looking, waited = 0, resyncs = 0;
  let events = [], asked = 0; // changes of the reader's that are still to be sent; when the last ones were
  let order = Promise.resolve(); // messages are taken one after the other
  const isHere = () => (node ?? place).isConnected;
  const me = { isHere, moveTo, document: () => doc };
  all.alive.set(KEY, me);
  const loading = {}; // resources asked for over this connection
  const kernel = () => window.PyViz?.kernels?.[KEY];
  const bokeh = () => {
    const root = window.Bokeh;
    const found = root?.version === VERSION ? root : root?.versions?.get?.(VERSION);
    return found?.Panel ? found : null;
  };
  const until = async (told, condition, seconds = 60) => {
    for (const end = Date.now() + 1000 * seconds; ; await new Promise((done) => setTimeout(done, 25))) {
      const found = condition();
      if (found) return found;
      if (Date.now() > end) throw new Error(`alrviz: ${told} did not come within ${seconds} s`);
    }
  };

  const begin = setInterval(() => {
    comm = kernel()?.connectToComm("alrviz", crypto.randomUUID?.() ?? `${Math.random()}${Date.now()}`);
    if (!comm?.active) {
      if (++waited > 480) clearInterval(begin); // no kernel for two minutes: the picture stays
      return;
    }
    clearInterval(begin);
    comm.onMsg = (message) => {
      const data = message.content.data;
      if (data.resource) {
        loading[data.resource]?.(message.buffers[0]);
        return;
      }
      order = order.then(() => take(data, message.buffers ?? [])).catch(failed);
    };
    comm.open({ key: KEY });
    looking = setInterval(look, 2000);
  }, 100);

  async function take(data, buffers) {
    if (data.document) await show(data);
    else if (data.patch) patch(data.patch, buffers);
    else if (data.done) sent();
    else if (data.error) console.error(data.error);
  }

  function failed(error) {
    console.error(error);
    if (++resyncs <= 3) comm.send({ failed: String(error) }); // all of it comes again
  }

  // -- what is loaded once a page -----------------------------------------------------------------------------------

  function load(name) {
    return (all.resources[name] ??= fetched(name).catch((error) => {
      delete all.resources[name];
      throw error;
    }));
  }

  async function fetched(name) {
    if (name === "scripts") {
      await otherLoader();
      if (bokeh()) return "";
    }
    const packed = new Promise((done) => (loading[name] = done));
    comm.send({ want: name });
    const text = await new Response(
      new Blob([await packed]).stream().pipeThrough(new DecompressionStream("gzip")),
    ).text();
    if (name === ESM || name === "state-sync") return text; // for the widgets; for when Bokeh is there
    run(text);
    return "";
  }

  // hv.extension and pn.extension may fetch Bokeh from another machine. What they fetch is awaited as long as Panel's
  // loader (autoload_panel_js.js) itself waits. Without a network it never comes, and the loader's marks would keep
  // everybody else from loading anything: they are taken away.
  async function otherLoader() {
    const late = () => Date.now() > (window._bokeh_timeout ?? 0);
    while (window._bokeh_is_initializing && !bokeh() && !late()) await new Promise((done) => setTimeout(done, 50));
    if (bokeh()) return;
    window._bokeh_is_initializing = false;
    window._bokeh_is_loading = 0;
    window._bokeh_onload_callbacks = undefined;
  }

  function run(text) {
    const script = document.createElement("script");
    script.textContent = text;
    document.head.append(script);
  }

  // -- from the kernel ----------------------------------------------------------------------------------------------

  async function show({ document: text, root, needs }) {
    const loaded = await Promise.all(needs.map(load));
    await until("Bokeh", bokeh);
    run(loaded[needs.indexOf("state-sync")]);
    const esm = loaded[needs.indexOf(ESM)];
    const json = JSON.parse(text, (_, value) => {
      if (value?.bundle === ESM) value.esm = esm;
      return value;
    });
    await until("a place on the page", isHere, 3600);
    const fresh = document.createElement("div");
    const holder = document.createElement("div");
    holder.id = `alrviz-${root}`;
    fresh.append(holder);
    fresh.dataset.lmSuppressShortcuts = "true"; // the view's keys are not the notebook's
    fresh.style.cssText = "position: absolute; visibility: hidden; width: 100%"; // until it is there
    place.append(fresh);
    const item = { docid: Object.keys(json)[0], roots: { [root]: holder.id }, root_ids: [root] };
    const Bokeh = bokeh();
    await Bokeh.embed.embed_items_notebook(json, [item]);
    forget();
    doc = Bokeh.documents.find((one) => one.get_model_by_id(root));
    receiver = new Bokeh.protocol.Receiver();
    node = fresh;
    node.style.cssText = "position: relative";
    node.addEventListener("focusin", (event) => (focused = event.composedPath()[0]));
    moveTo(place);
    doc.on_change(changed);
    comm.send({ ready: true });
  }

  function moveTo(there) {
    place = there;
    if (!node) return;
    place.replaceChildren(node);
    if (focused?.isConnected && document.activeElement === document.body) focused.focus({ preventScroll: true });
  }

  function patch(fragments, buffers) {
    if (!doc) return;
    let next = 0;
    for (const fragment of fragments) {
      receiver.consume(fragment ?? plain(buffers[next++]));
    }
    const { content, buffers: kept } = receiver.message;
    doc.apply_json_patch(content, kept);
    comm.send({ done: true });
  }

  const plain = (bytes) =>
    bytes instanceof ArrayBuffer ? bytes : bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);

  // -- to the kernel ------------------------------------------------------------------------------------------------

  function changed(event) {
    if (!event.sync) return; // the kernel's own
    if (event.kind === "ModelChanged" && !event.model.properties[event.attr].syncable) return;
    const last = events.at(-1);
    const again = event.kind === "ModelChanged" && last?.kind === event.kind && last.model === event.model;
    if (again && last.attr === event.attr) events.pop();
    events.push(event);
    if (Date.now() - asked > 5000) {
      asked = Date.now(); // what changes at once goes together
      setTimeout(send, 20);
    }
  }

  function send() {
    const mine = events.filter((event) => event.document === doc);
    events = [];
    if (!mine.length) {
      asked = 0;
      return;
    }
    asked = Date.now();
    const made = doc.create_json_patch(mine);
    comm.send({ patch: JSON.stringify(made, (_, value) => value?.to_base64?.() ?? value) });
  }

  function sent() {
    asked = 0;
    if (events.length) send();
  }

  // -- the end ------------------------------------------------------------------------------------------------------

  function forget() {
    if (!doc) return;
    const { documents } = bokeh();
    doc.clear({ sync: false });
    const at = documents.indexOf(doc);
    if (at >= 0) documents.splice(at, 1);
    doc = null;
  }

  function look() {
    if (kernel()) return;
    if (!isHere()) {
      // its cell was run again, or its notebook closed
      clearInterval(looking);
      comm.send({ bye: true });
      if (all.alive.get(KEY) === me) all.alive.delete(KEY);
      forget();
    } else if (node && !node.inert) {
      node.inert = true; // the kernel is another one now
      node.style.opacity = 0.5;
      node.title = "The kernel was restarted: run the cell again.";
    }
  }
})();
