// Small helpers, the event reader and growing Markdown. Run with `node --test`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { StreamedMarkdown } from "../../src/hookline_web_ui/static/js/markdown.js";
import { EventReader, Stream } from "../../src/hookline_web_ui/static/js/stream.js";
import * as util from "../../src/hookline_web_ui/static/js/util.js";
import * as visible from "../../src/hookline_web_ui/static/js/visible.js";

const SHARED = new URL("../../../../../tests/unit/hookspecs/data/visible_text.json", import.meta.url);
const CASES = JSON.parse(readFileSync(SHARED, "utf8"));

/** @param {string} text as `visible_text.py` writes it */
const written = (text) =>
  visible
    .pieces(text)
    .map((one) => (one.hidden ? escaped(parseInt(one.text.slice(2), 16)) : one.text))
    .join("");

const escaped = (code) => {
  if (code === 13) return "\\r";
  const [mark, size] = code < 256 ? ["x", 2] : code < 65536 ? ["u", 4] : ["U", 8];
  return `\\${mark}${code.toString(16).padStart(size, "0")}`;
};

test("invisible and misleading characters are shown as in Python", () => {
  for (const [text, shown] of CASES.spelled) assert.equal(written(text), shown);
  for (const text of CASES.kept) assert.equal(written(text), text);
  for (const letter of CASES.lookalikes) assert.notEqual(written(`x${letter}y`), `x${letter}y`, letter);
  assert.equal(visible.spelled("atxt.sh\u202e.sh"), "atxt.sh[U+202E].sh");
  assert.equal(visible.prose("p\u0430y\u202e \ud83d\udc68\u200d\ud83d\udc67"), "p\u0430y[U+202E] \ud83d\udc68\u200d\ud83d\udc67");
});

test("a link whose text names another host shows its own", () => {
  const to = (text, href) => visible.otherHost(text, href);
  assert.equal(to("paypal.com", "https://evil.example/x"), "evil.example");
  assert.equal(to("https://paypal.com/login", "https://paypal.com.evil.example/"), "paypal.com.evil.example");
  assert.equal(to("paypal.com", "https://user:paypal.com@evil.example/"), "evil.example");
  assert.equal(to("www.paypal.com", "https://paypal.com/"), "");
  assert.equal(to("paypal.com", "https://api.paypal.com/"), "");
  assert.equal(to("setup.py", "https://example.org/a/setup.py"), "");
  assert.equal(to("the docs", "https://example.org/"), "");
});

test("a long text keeps both ends", () => {
  const text = util.shortened(`rm ${"x".repeat(500)} /home`, 120);
  assert.ok(text.length <= 120 && text.startsWith("rm xxx") && text.endsWith("xx /home"));
});

test("only http, https and mailto become external links", () => {
  for (const bad of ["javascript:x", "data:text/html,x", "/login", "//a.example", " jAvascript:x", "x"]) {
    assert.equal(util.outside(bad), null, bad);
  }
  assert.equal(util.outside("https://a.example/x"), "https://a.example/x");
  assert.equal(util.inside("/sessions?a=b"), "/sessions?a=b");
  for (const bad of ["//evil.example", "/\\evil.example", "javascript:alert(1)"]) {
    assert.equal(util.inside(bad), "#", bad);
  }
});

test("a diff contains both texts", () => {
  const texts = ["", "a\n", "a\nb\nc\n", "a\nX\nc\n", "b\na\n", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"];
  for (const before of texts) {
    for (const after of texts) {
      const lines = util.difference(before, after);
      const whole = (mark) => lines.filter((one) => one.mark === mark).map((one) => one.text);
      const all = (text) => text.split("\n").filter(Boolean);
      assert.ok(whole("del").every((line) => all(before).includes(line)));
      assert.ok(whole("add").every((line) => all(after).includes(line)));
      assert.equal(all(before).length - whole("del").length, all(after).length - whole("add").length);
    }
  }
});

test("a unified diff is parsed", () => {
  const lines = util.unified("--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n same\n");
  assert.deepEqual(lines.map((one) => one.mark), ["gap", "del", "add", "same"]);
});

test("events are read whole from any chunks", () => {
  const text = ': hello\n\nid: b.1\ndata: {"a":1}\n\nid: b.2\ndata: {"b":"\u00e4"}\n\n';
  for (let size = 1; size < text.length; size += 1) {
    const reader = new EventReader();
    const found = [];
    for (let at = 0; at < text.length; at += size) found.push(...reader.feed(text.slice(at, at + size)));
    assert.deepEqual(found.map((one) => one.id), ["b.1", "b.2"]);
  }
});

const MARKDOWN = `# Title

A paragraph with **bold**, \`code\` and a [link](https://a.example).

- one
- two
  - nested

  still two

1. first

| a | b |
|---|---|
| 1 | 2 |

\`\`\`python
def f():

    return 1
\`\`\`

> quote
> more

<b>raw</b>

The end.`;
const plain = (node) => {
  if (node == null || node === false) return "";
  if (Array.isArray(node)) return node.map(plain).join("");
  if (typeof node !== "object") return String(node);
  const inner = plain(node.props.children);
  const name = typeof node.type === "string" ? node.type : (node.props.language ?? "");
  return `<${name}>${inner}${node.props.text ?? ""}</>`;
};

test("growing Markdown ends like Markdown drawn at once", () => {
  const whole = plain(new StreamedMarkdown().set(MARKDOWN, true).nodes);
  for (const size of [1, 3, 7, 50]) {
    const growing = new StreamedMarkdown();
    for (let end = size; end < MARKDOWN.length; end += size) growing.set(MARKDOWN.slice(0, end));
    assert.equal(plain(growing.set(MARKDOWN, true).nodes), whole);
  }
});

test("complete blocks are components that stay the same, which preact skips", () => {
  const growing = new StreamedMarkdown().set("one\n\ntwo\n\nthr");
  const begun = () => growing.nodes[0].props.children.props.children[0];
  const first = begun();
  assert.equal(typeof first.type, "function");
  growing.set("one\n\ntwo\n\nthree\n\nfour");
  assert.equal(begun(), first);
  growing.set(`one\n\ntwo\n\nthree\n\nfour${"\n\nmore".repeat(1000)}`);
  const lot = growing.nodes[0];
  assert.equal(typeof lot.type, "function");
  growing.set(`${growing.text} and more`, true);
  assert.equal(growing.nodes[0], lot);
});

test("a long list is drawn in pieces that count on", () => {
  const items = Array.from({ length: 400 }, (_, n) => `${n + 3}. item **${n}**`);
  const growing = new StreamedMarkdown();
  for (let n = 20; n <= 400; n += 20) growing.set(items.slice(0, n).join("\n"), n === 400);
  /** @type {any[]} */
  const lists = [];
  const find = (node) => (Array.isArray(node) ? node.forEach(find) : node?.type === "ol" ? lists.push(node) : node?.props && find(node.props.children));
  find(growing.nodes);
  assert.ok(lists.length > 1);
  let next = 3;
  for (const { props } of lists) {
    assert.equal(props.start, next);
    next += props.children.length;
  }
  assert.equal(next, 403);
});

test("long text drawn in pieces ends like text drawn at once", () => {
  const texts = [`${MARKDOWN}\n\n`.repeat(30), "word ".repeat(5000), `${"😀".repeat(999)} [a]\n\n[a]: x`];
  for (const text of texts) {
    const whole = plain(new StreamedMarkdown().set(text, true).nodes);
    for (const room of [1.5, 40, 1000]) {
      const growing = new StreamedMarkdown();
      let pieces = 0;
      for (; growing.text !== text; pieces += 1) {
        growing.set(text, true, room);
        assert.ok(text.startsWith(growing.text));
      }
      assert.ok(pieces > 1);
      assert.equal(plain(growing.nodes), whole);
    }
    const growing = new StreamedMarkdown().set(text.slice(0, 99));
    while (growing.text !== text) growing.set(text, false, 100); // it comes faster than it is drawn
    assert.equal(plain(growing.set(text, true, 100).nodes), whole);
  }
});

test("names with numbers are in the order of these", () => {
  assert.deepEqual(["made/f10", "made/f2", "made/f1"].sort(util.byName), ["made/f1", "made/f2", "made/f10"]);
});

test("another text replaces what was drawn", () => {
  const growing = new StreamedMarkdown().set("one\n\ntwo\n\nthree", false);
  growing.set("something else", false, 1);
  while (growing.text !== "something else") growing.set("something else", false, 1);
  assert.equal(plain(growing.nodes), plain(new StreamedMarkdown().set("something else").nodes));
});

test("a chat that loads while the stream is requested is followed", async () => {
  const nothing = () => {};
  const asked = [];
  const browser = { document: { addEventListener: nothing }, navigator: {}, addEventListener: nothing, dispatchEvent: nothing };
  for (const [name, value] of Object.entries(browser)) Object.defineProperty(globalThis, name, { value, configurable: true });
  delete globalThis.BroadcastChannel;
  const ended = new Promise((done) => {
    const stream = new Stream({ event: nothing, state: done });
    globalThis.fetch = (address, { signal }) => {
      asked.push(new URLSearchParams(address.split("?")[1]).get("sessions"));
      if (asked.length > 1) return Promise.resolve(new Response("{}", { status: 401 }));
      setTimeout(() => stream.want({ chat: "boot.2" }));
      return new Promise((_, fail) => signal.addEventListener("abort", fail));
    };
    stream.begin("boot.1");
  });
  assert.equal(await Promise.race([ended, new Promise((done) => setTimeout(done, 2000, "no second request").unref())]), "expired");
  assert.deepEqual(asked, ["", "chat@boot.2"]);
});
