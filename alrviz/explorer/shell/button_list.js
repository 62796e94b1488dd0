export function render({ model }) {
  const list = document.createElement("div");
  list.className = model.upright ? "rail" : "row";
  const made = new Map();
  let group = "";
  for (const { key, label, icon, title, code, mark } of model.buttons) {
    if (title && title !== group) {
      const head = Object.assign(document.createElement("h2"), { className: "quiet", textContent: group = title });
      list.append(head);
    }
    const button = Object.assign(document.createElement("button"), { type: "button", className: mark });
    const sign = Object.assign(document.createElement("span"), { className: "material-icons" });
    sign.setAttribute("aria-hidden", "true");
    sign.dataset.icon = icon;  // its name would be read as a part of the button's
    button.append(sign);
    if (model.upright) button.append(label);
    else {
      button.setAttribute("aria-label", label);
      button.dataset.tip = label;
    }
    const act = code ? new Function(code) : () => {
      if (model.upright) markPage(key);  // at once: the server may be building another page
      model.send_msg(key);
    };
    button.addEventListener("click", () => act());
    made.set(key, button);
    list.append(button);
  }
  const markPage = (shown) => {
    for (const [key, button] of made) {
      const here = key === shown;
      button.classList.toggle("alrviz-here", here);
      if (here) button.setAttribute("aria-current", "page");
      else button.removeAttribute("aria-current");
    }
  };
  const show = () => {
    if (model.upright) window.alrvizTurnPage?.(model.here);
    markPage(model.here);
  };
  model.on("here", show);
  show();
  return list;
}
