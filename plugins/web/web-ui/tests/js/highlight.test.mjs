// The colours of code. Run with `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { COLOURED } from "../../src/hookline_web_ui/static/js/code.js";
import { highlight, names } from "../../src/hookline_web_ui/static/js/highlight.js";

const kinds = (text, language) =>
  Object.fromEntries(highlight(text, language).filter((one) => one.kind).map((one) => [one.text, one.kind]));

test("the page loads the colours for exactly the languages that have some", () => {
  assert.deepEqual([...COLOURED].sort(), [...names].sort());
});

test("tokens together are the code, for every language and any beginning of it", () => {
  const code = `"""doc""" # c\n// d /* e */ 'it''s' \`t\${x}\` <a b="c">&amp;</a> -- q\n@x def f(a): return 0x1f + 1.5e3\n$HOME "open\n\\ \u{1f600} \u05d0`;
  for (const name of names) {
    for (let end = 0; end <= code.length; end += 1) {
      const part = code.slice(0, end);
      assert.equal(highlight(part, name).map((one) => one.text).join(""), part);
    }
  }
});

test("words of a language have their kinds", () => {
  const python = kinds('def total(x): # sum "it"\n    return None if x else Big("a#b", 12)', "Python");
  const expected = { def: "keyword", total: "function", '# sum "it"': "comment", None: "literal" };
  assert.deepEqual({ ...python, ...expected, '"a#b"': "string", 12: "number", Big: "function" }, python);
  assert.equal(kinds("SELECT a FROM t -- x", "sql").SELECT, "keyword");
  assert.deepEqual(kinds('{"a": "b"}', "json"), { '"a"': "name", '"b"': "string" });
  assert.deepEqual(kinds("+ a\n- b\n c", "diff"), { "+ a": "added", "- b": "removed" });
  assert.equal(kinds("key: yes # c\n", "yml")["# c"], "comment");
  assert.equal(kinds("echo $HOME", "sh").$HOME, "name");
  assert.equal(kinds("let s: Vec<u8> = vec();", "rs").Vec, "type");
  assert.equal(kinds('<p class="a">x</p>', "html").class, "name");
});

test("an unknown language stays plain", () => {
  assert.deepEqual(highlight("def f()", "klingon"), [{ kind: "", text: "def f()" }]);
});

test("hostile code takes no long time", () => {
  for (const hostile of ['"', "'''", "/*", "`", "<!--", "{", "- ", "a", "a:", " ", "#", "0", "\\", "[", "\n  - "]) {
    for (const name of ["python", "js", "yaml", "html", "css", "toml", "sql", "bash", "json"]) {
      const began = performance.now();
      highlight(hostile.repeat(30000 / hostile.length), name);
      assert.ok(performance.now() - began < 1500, `${name}: ${JSON.stringify(hostile)}`);
    }
  }
});
