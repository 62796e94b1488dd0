/* The list of published lessons: the reader's progress in each. `theme_switch.js` stands before it. */
followTheme();
for (const place of document.querySelectorAll("[data-lesson]")) {
  let progress = null;
  try { progress = JSON.parse(localStorage.getItem(`alrviz-${place.dataset.lesson}-${place.dataset.version}`)); }
  catch (error) { /* a browser without storage keeps no progress */ }
  if (progress) place.textContent = progress.done ? " · done" : ` · you are at step ${progress.step} of ${place.dataset.steps}`;
}
