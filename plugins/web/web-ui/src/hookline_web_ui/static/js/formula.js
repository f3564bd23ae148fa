/** Formulas as MathML, built from the tree that temml makes of TeX. @module */
import { tree } from "../vendor/temml.js";
import { html } from "../vendor/preact.js";

/** Longer formulas stay source. */
const MAX_CHARS = 4000;
const TAGS = new Set(
  "math mrow mi mn mo ms mspace mtext merror mfrac mpadded mphantom mroot msqrt mstyle msub msup msubsup munder mover munderover mmultiscripts mprescripts none mtable mtr mtd".split(
    " ",
  ),
);
const ATTRIBUTES = new Set(
  "display displaystyle scriptlevel stretchy fence separator form accent accentunder lspace rspace minsize maxsize symmetric movablelimits largeop linethickness mathvariant width height depth voffset columnalign rowspacing columnspacing columnlines rowlines mathcolor mathbackground columnspan".split(
    " ",
  ),
);
const STYLES = new Set("textAlign paddingLeft paddingRight padding verticalAlign width height borderTop borderBottom color".split(" "));

/** @param {any} node @returns {any} */
function vnode(node) {
  if (typeof node.text === "string" && !node.children?.length) return node.text;
  const children = (node.children ?? []).map(vnode);
  if (!TAGS.has(node.type)) return children;
  /** @type {Record<string, any>} */
  const made = {};
  for (const [name, value] of Object.entries(node.attributes ?? {})) if (ATTRIBUTES.has(name)) made[name] = `${value}`;
  const style = Object.fromEntries(Object.entries(node.style ?? {}).filter(([name]) => STYLES.has(name)));
  if (Object.keys(style).length) made.style = style;
  return html`<${node.type} ...${made}>${children}</${node.type}>`;
}

/** The element of a formula; null if it is not valid TeX. @param {string} tex @param {boolean} display */
export function formula(tex, display) {
  if (tex.length > MAX_CHARS) return null;
  try {
    return vnode(tree(tex, { displayMode: display, throwOnError: true, trust: false, maxExpand: 500, maxSize: [20, 20] }));
  } catch {
    return null;
  }
}
