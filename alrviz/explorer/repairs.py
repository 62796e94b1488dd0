"""What panel-material-ui (0.14) leaves out for those who hear a page: roles and names, put right in the browser.

Its menus are lists of options whose entries say they are menu items; the buttons beside a number and the drawer have no
name. All of them come and go, in shadow roots that no style of ours reaches, so they are looked for whenever a press or
the focus may have brought them.
"""

REPAIRS = """
(() => {
  const roots = function* (root = document) {
    yield root;
    for (const el of root.querySelectorAll("*")) if (el.shadowRoot) yield* roots(el.shadowRoot);
  };
  const name = (el, words) => { if (!el.getAttribute("aria-label")) el.setAttribute("aria-label", words); };
  const repair = () => {
    for (const root of roots()) {
      for (const item of root.querySelectorAll('[role=listbox] > [role=menuitem]')) {
        item.setAttribute("role", "option");
        item.setAttribute("aria-selected", String(item.classList.contains("Mui-selected")));
      }
      for (const paper of root.querySelectorAll(".MuiDrawer-paper[role=dialog]")) name(paper, "Settings");
      for (const button of root.querySelectorAll(".MuiInputAdornment-root > button")) {
        const label = button.closest(".MuiFormControl-root")?.querySelector("label")?.textContent ?? "";
        const less = button.parentElement.classList.contains("MuiInputAdornment-positionStart");
        name(button, (less ? "less: " : "more: ") + label);
      }
    }
  };
  let waits = false;
  const soon = () => {
    if (waits) return;
    waits = true;
    for (const ms of [50, 400, 1500, 4000]) setTimeout(() => { waits = false; repair(); }, ms);
  };
  for (const kind of ["focusin", "click", "keyup"]) window.addEventListener(kind, soon, true);
})();
"""
