/* What panel-material-ui (0.14) leaves out for those who hear a page: roles and names, put right in the browser.

   Its menus are lists of options whose entries say they are menu items; the buttons beside a number and the drawer have no
   name, and the mark that explains a control has one but is nothing. Its page does not name the rail, and Tabulator's grid
   holds more than rows. All of them come and go, in shadow roots that no style of ours reaches, so every root is looked
   through when something in it has changed.

   An entry of its menus is one text, which stays in the menu when it is chosen: what a demo set is stands beside the entry
   (`data-line`, which the theme shows), in every menu of data. */
(() => {
  const lines = LINES;
  const name = (el, words) => { if (!el.getAttribute("aria-label")) el.setAttribute("aria-label", words); };
  const repair = (root) => {
    for (const item of root.querySelectorAll('[role=listbox] > [role=menuitem]')) {
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", String(item.classList.contains("Mui-selected")));
    }
    for (const list of root.querySelectorAll("[role=listbox]")) {
      const known = Array.from(list.querySelectorAll("[role=option]"), (item) => [item, item.textContent.trim()])
        .filter(([item, words]) => Object.hasOwn(lines, words));
      if (known.length < 3) continue;  // levels of a column may be called so too
      for (const [item, words] of known) {
        item.dataset.line = lines[words];
        item.setAttribute("aria-label", words);
        item.setAttribute("aria-description", lines[words]);
      }
    }
    for (const paper of root.querySelectorAll(".MuiDrawer-paper[role=dialog]")) name(paper, "Settings");
    for (const button of root.querySelectorAll(".MuiInputAdornment-root > button")) {
      const label = button.closest(".MuiFormControl-root")?.querySelector("label")?.textContent ?? "";
      const less = button.parentElement.classList.contains("MuiInputAdornment-positionStart");
      name(button, (less ? "less: " : "more: ") + label);
    }
    for (const bar of root.querySelectorAll(".MuiLinearProgress-root")) name(bar, "under way");
    for (const rail of root.querySelectorAll("nav:has(.sidebar)")) name(rail, "Pages");
    for (const table of root.querySelectorAll(".tabulator[role=grid]")) {
      const [head, body] = [".tabulator-header", ".tabulator-tableholder"].map((part) => table.querySelector(part));
      if (!head || !body) continue;
      table.setAttribute("role", "group");
      table.removeAttribute("aria-owns");
      head.id = "alrviz-grid-head";
      body.setAttribute("role", "grid");
      body.setAttribute("aria-owns", head.id);
      name(body, "Columns");
    }
    for (const head of root.querySelectorAll(".tabulator-col.empty[role=columnheader]")) {
      head.setAttribute("role", "none");
      head.removeAttribute("aria-sort");
    }
    for (const mark of root.querySelectorAll("span[aria-label]:not([role])")) mark.setAttribute("role", "img");
  };
  const changed = new Set();
  const look = () => { for (const root of changed) repair(root); changed.clear(); };
  const follow = (root) => new MutationObserver(() => {
    if (!changed.size) setTimeout(look, 50);
    changed.add(root);
  }).observe(root, { childList: true, subtree: true });
  follow(document);
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (options) {
    const root = attach.call(this, options);
    follow(root);
    return root;
  };
})();
