// Formulas as MathML, and the cells of a table. Run with `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { formula } from "../../src/hookline_web_ui/static/js/formula.js";
import { tableRows } from "../../src/hookline_web_ui/static/js/preview.js";
import { StreamedMarkdown } from "../../src/hookline_web_ui/static/js/markdown.js";

/** The elements as text, without attributes. */
function drawn(node) {
  if (node == null || node === false) return "";
  if (Array.isArray(node)) return node.map(drawn).join("");
  if (typeof node !== "object") return String(node);
  return `<${node.type}>${drawn(node.props.children)}</${node.type}>`;
}

test("a formula becomes elements of MathML", () => {
  const made = formula("\\frac{1}{2}", true);
  assert.equal(drawn(made), "<math><mfrac><mn>1</mn><mn>2</mn></mfrac></math>");
  assert.equal(made.props.display, "block");
});

test("a formula makes no links, styles of the page or other elements", () => {
  for (const tex of ["\\href{javascript:alert(1)}{x}", "\\includegraphics{https://a.example/x.png}", "\\class{dialog}{x}"]) {
    assert.doesNotMatch(drawn(formula(tex, false)), /<(?!\/?m)/);
    assert.doesNotMatch(JSON.stringify(formula(tex, false) ?? ""), /javascript:|https:|dialog/);
  }
});

test("what is not TeX stays source", () => {
  assert.equal(formula("\\frac{1", false), null);
  assert.equal(formula("x".repeat(5000), false), null);
  assert.equal(formula("\\def\\a{\\a\\a}\\a", false), null);
});

test("prices are no formulas, and delimiters are kept apart", () => {
  const found = [];
  const walk = (node) => {
    if (Array.isArray(node)) return node.forEach(walk);
    if (node?.props?.tex != null) found.push([node.props.tex, node.props.display]);
    if (node?.props) walk(node.props.children);
  };
  walk(new StreamedMarkdown().set("It is $5 or $6. So $a_1$, \\(b\\),\n\n$$c*d*e$$\n\n\\[f\\]", true).nodes);
  assert.deepEqual(found, [["a_1", false], ["b", false], ["c*d*e", true], ["f", true]]);
});

test("the cells of a table may be quoted", () => {
  assert.deepEqual(tableRows('a,b\r\n"1, ""2""","x\ny"\n', ","), [["a", "b"], ['1, "2"', "x\ny"]]);
  assert.deepEqual(tableRows("a,b\tc", "\t"), [["a,b", "c"]]);
  assert.deepEqual(tableRows('\ufeff"a;b,c,d";e\r1;2\r'), [["a;b,c,d", "e"], ["1", "2"]]);
});
