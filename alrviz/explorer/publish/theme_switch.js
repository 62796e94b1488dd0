/** Follow the system's light or dark until the button "theme" is pressed; call `onTheme` with "light" or "dark". */
function followTheme(onTheme = () => {}) {
  const root = document.documentElement, prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const setTheme = (isDark) => {
    root.dataset.theme = isDark ? "dark" : "light";
    onTheme(root.dataset.theme);
  };
  setTheme(prefersDark.matches);
  prefersDark.addEventListener("change", (event) => setTheme(event.matches));
  document.getElementById("theme").onclick = () => setTheme(root.dataset.theme !== "dark");
}
