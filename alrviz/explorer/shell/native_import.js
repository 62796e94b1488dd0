(() => {
  const own = new URL(PRELOAD, document.baseURI).href;
  let shim;
  Object.defineProperty(window, "importShim", { configurable: true, get: () => shim, set: (given) => {
    shim = new Proxy(given, { apply: (load, self, args) =>
      new URL(args[0], document.baseURI).href === own ? import(own) : load(...args) });
  } });
})();
