/** A diagram of mermaid, drawn in a frame without access to the page or the network. @module */
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { t } from "./i18n.js";

const MAX_HEIGHT = 1200;

/** @param {{text: string}} props */
export function Diagram({ text }) {
  const frame = useRef(/** @type {any} */ (null));
  const [problem, setProblem] = useState("");
  const address = import.meta.url.replace("js/diagram.js", "diagram.html");
  useEffect(() => {
    const take = (/** @type {MessageEvent} */ event) => {
      if (event.source !== frame.current?.contentWindow) return;
      const { ready, height, error } = event.data ?? {};
      if (ready) {
        const dark = getComputedStyle(frame.current).colorScheme === "dark";
        frame.current.contentWindow.postMessage({ text, dark }, "*"); // its origin is opaque
      }
      if (typeof error === "string") setProblem(error.slice(0, 300));
      if (Number.isFinite(height)) frame.current.style.height = `${Math.min(Math.max(height, 60), MAX_HEIGHT)}px`;
    };
    addEventListener("message", take);
    return () => removeEventListener("message", take);
  }, [text]);
  return problem
    ? html`<p class="bad small" role="alert">${t("This diagram cannot be drawn:")} ${problem}</p>`
    : html`<iframe class="diagram" sandbox="allow-scripts" src=${address} title=${t("Diagram")} ref=${frame}></iframe>`;
}
