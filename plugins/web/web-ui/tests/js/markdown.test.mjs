// Footnotes, folded parts, images and directions of Markdown. Run with `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { StreamedMarkdown, markdown } from "../../src/hookline_web_ui/static/js/markdown.js";

/** The elements as text, with some of their attributes. */
function drawn(node) {
  if (node == null || node === false) return "";
  if (Array.isArray(node)) return node.map(drawn).join("");
  if (typeof node !== "object") return String(node);
  if (typeof node.type !== "string") return "children" in node.props ? drawn(node.props.children) : `<code>${node.props.text}</code>`;
  const { children, ...props } = node.props;
  const shown = ["dir", "src", "href", "open", "data-reference", "data-note"]
    .filter((name) => props[name] !== undefined)
    .map((name) => ` ${name}=${props[name]}`);
  return node.props.class === "lot" ? drawn(children) : `<${node.type}${shown.join("")}>${drawn(children)}</${node.type}>`;
}
const whole = (text, files = []) => {
  const made = new StreamedMarkdown();
  made.files = () => files;
  return drawn(made.set(text, true).nodes);
};
const NOTED = "One[^b] and two[^a], one again[^b], none[^c].\n\n```\n[^c]: code\n```\n\n[^a]: First **note**.\n[^b]: Second\n    line.\n\n    More.\n\nThe end.";
const FOLDED = "Before\n\n<details>\n<summary><b>Log</b></summary>\n\n- one\n\n```html\n</details>\n```\n\n<details><summary>In</summary>\n\ndeep\n</details>\n\n</details>\n\nAfter";

test("footnotes are numbered in the order of their references", () => {
  const html = whole(NOTED);
  const numbers = [...html.matchAll(/data-reference=(\d)/g)].map((one) => one[1]);
  assert.deepEqual(numbers, ["1", "2", "1"]);
  assert.ok(html.includes("none[^c]"), "only notes that are defined outside of code are references");
  assert.match(html, /data-note=1>.*Second.*More\..*data-note=2>.*First <strong>note<\/strong>/s);
  assert.ok(html.indexOf("The end.") < html.indexOf("data-note=1"));
  assert.equal(html.match(/First/g).length, 1);
  assert.equal(drawn(markdown(NOTED)), html);
});

test("footnotes and folded parts that are streamed end like those drawn at once", () => {
  for (const text of [NOTED, FOLDED]) {
    for (const size of [1, 5, 40]) {
      const growing = new StreamedMarkdown();
      for (let end = size; end < text.length; end += size) growing.set(text.slice(0, end));
      assert.equal(drawn(growing.set(text, true).nodes), whole(text));
    }
  }
});

test("details fold their Markdown, also nested ones", () => {
  const html = whole(FOLDED);
  assert.equal(html.match(/<details>/g).length, 2);
  assert.match(html, /<details><summary dir=auto>Log<\/summary>.*<li>one<\/li>.*<\/details><p dir=auto>After/s);
  assert.ok(whole("<details onclick=x>\n\na").includes("<details onclick=x>"), "other attributes: text");
  assert.ok(whole("<details open>\n<summary>a</summary>\nb").includes("<details open=true>"));
});

test("only images of the chat's own files are shown", () => {
  const files = [{ id: "id-1", name: "my plot.png", kind: "image" }, { id: "id-2", name: "notes.txt", kind: "file" }];
  for (const address of ["my%20plot.png", "./out/my%20plot.png", "/api/files/id-1", "<my plot.png>"]) {
    const html = whole(`![p](${address})`, files);
    if (!address.startsWith("<")) assert.ok(html.includes("src=/api/files/id-1"), address);
  }
  for (const address of [
    ...["https://evil.example/my%20plot.png", "//evil.example/my%20plot.png", "\\\\evil\\my%20plot.png"],
    ...["/api/files/id-2", "/api/files/other", "notes.txt", "data:image/png;base64,AA", "javascript:my%20plot.png"],
  ]) {
    assert.ok(!whole(`![p](${address})`, files).includes("src="), address);
  }
  assert.ok(whole("![p](https://evil.example/my.png)", files).includes("<a href=https://evil.example/my.png>"));
});

test("an image that the text shows is known", () => {
  const made = new StreamedMarkdown();
  made.files = () => [{ id: "id-1", name: "a.png", mime: "image/png" }];
  made.set("![a](a.png)", false);
  assert.equal(made.shown.size, 0);
  assert.deepEqual([...made.set("![a](a.png)", true).shown], ["id-1"]);
});

test("blocks have a direction of their own; those in lists and quotations that of the whole", () => {
  const html = whole("# T\n\nP\n\n- one\n\n  two\n\n> quoted\n\n| a |\n|---|\n| b |");
  for (const begin of ["<h3 dir=auto>", "<p dir=auto>P", "<ul dir=auto>", "<p>two", "<blockquote dir=auto><p>", "<div dir=auto><table>"]) {
    assert.ok(html.includes(begin), `${begin} in ${html}`);
  }
});

test("very long code and bold text stay in one piece", () => {
  const words = "Some words about it. ".repeat(600);
  assert.equal(whole(`\`${words.trim()}\``).match(/<code>/g).length, 1);
  for (const text of [`**${words.trim()}**`, `Now: **${words.trim()}** and ${words}`]) {
    const growing = new StreamedMarkdown();
    for (let end = 700; end < text.length; end += 700) growing.set(text.slice(0, end));
    for (const html of [whole(text), drawn(growing.set(text, true).nodes)]) {
      assert.equal(html.match(/<strong>/g).length, 1);
      assert.ok(!html.includes("**"));
    }
  }
  const pieces = whole(`Only 5* of ${words}`).match(/<p /g).length;
  assert.ok(pieces > 4, "a mark without its pair does not keep a paragraph whole");
});

test("a line break in a table is one; other tags stay text", () => {
  const html = whole("a<br>b <i>c</i>");
  assert.ok(html.includes("a<br></br>b <i>c"), html);
});
