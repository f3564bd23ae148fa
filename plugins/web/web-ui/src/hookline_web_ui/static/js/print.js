/** Opens what is folded while the page is printed. @module */

/** @type {HTMLDetailsElement[]} */
let opened = [];

/** Watch for the printing of this page. */
export function unfoldToPrint() {
  addEventListener("beforeprint", () => {
    for (const button of document.querySelectorAll("[data-unfold]")) /** @type {HTMLElement} */ (button).click();
    opened = [...document.querySelectorAll("details")].filter((one) => !one.open);
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
    opened = [];
  });
}
