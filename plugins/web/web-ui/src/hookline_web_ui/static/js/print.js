/** Opens what is folded while the page is printed. @module */

/** Open all that is folded. @returns {() => void} folds it again */
export function unfold() {
  for (const button of document.querySelectorAll("[data-unfold]")) /** @type {HTMLElement} */ (button).click();
  const opened = [...document.querySelectorAll("details")].filter((one) => !one.open);
  for (const one of opened) one.open = true;
  return () => opened.forEach((one) => (one.open = false));
}
