"""The JavaScript modules: their node tests, forbidden APIs, types and size."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hookline_hookspecs.visible_text import spell_out
from hookline_web_ui.render_static import Assets, sent

HERE = Path(__file__).resolve().parent
STATIC = HERE.parent / "src" / "hookline_web_ui" / "static"
MODULES = sorted((STATIC / "js").glob("*.js"))
LINES = 4500
FIRST_LOAD = 90_000
"""Bytes, gzipped, that a first visit may load."""
PAGE = 1_300
"""Bytes of these that an empty chat's page takes itself."""


def code(text: str) -> list[str]:
    """The lines that are neither blank nor a comment."""
    bare = re.sub(r"^\s*/\*\*(?:(?!\*/).)*\*/\n", "", text, flags=re.DOTALL | re.MULTILINE)
    return [
        line for line in bare.splitlines() if line.strip() and not line.strip().startswith("//")
    ]


@pytest.mark.slow
def test_node_tests_pass() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node: the modules' own tests need it")
    tests = [str(file) for file in sorted((HERE / "js").glob("*.mjs"))]
    run = subprocess.run([node, "--test", *tests], capture_output=True, text=True, cwd=HERE)
    assert run.returncode == 0, run.stdout


HIDDEN_IN_NODE = """
import { pieces } from "./js/visible.js";
const found = [];
for (let code = 128; code < 0x110000; code += 1) {
  if (code >= 0xd800 && code < 0xe000) continue;
  if (pieces(`-${String.fromCodePoint(code)}-`).some((one) => one.hidden)) found.push(code);
}
console.log(JSON.stringify(found));
"""


@pytest.mark.slow
def test_page_and_python_hide_the_same_characters() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node: the page's own module has to be run")
    command = [node, "--input-type=module", "-e", HIDDEN_IN_NODE]
    run = subprocess.run(command, capture_output=True, text=True, cwd=STATIC)
    assert run.returncode == 0, run.stderr
    every = [code for code in range(128, 0x110000) if not 0xD800 <= code < 0xE000]
    hidden = {code for code in every if spell_out(text := f"-{chr(code)}-") != text}
    differing = hidden ^ set(json.loads(run.stdout))
    # The browser and Python may know different versions of Unicode.
    assert [hex(one) for one in differing if unicodedata.category(chr(one)) != "Cn"] == []


@pytest.mark.parametrize("module", MODULES, ids=lambda file: file.name)
def test_modules_build_no_html_from_strings(module: Path) -> None:
    text = module.read_text("utf-8")
    for name in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser"):
        assert name not in text
    assert not re.search(r"\beval\(|new Function|\.cssText|style=", text)
    assert "http://" not in text
    assert len(text.splitlines()) <= 500


def test_modules_stay_within_line_limit() -> None:
    total = sum(len(code(file.read_text("utf-8"))) for file in MODULES)
    assert total <= LINES, f"{total} lines"


def test_first_load_stays_within_size_limit() -> None:
    assets = Assets()
    names = [
        *assets.modules,
        "app.css",
        "print.css",
        "icon.svg",
    ]  # views.css comes with a page, or the details
    total = sum(len(assets.all[name].packed) for name in names)
    assert total + PAGE <= FIRST_LOAD, f"{total} bytes"


def test_minified_assets_keep_their_meaning() -> None:
    written = b"""/* Why. */
:is(.a, .b) > * + h1,
a:hover {
  font-family: "SF Mono", monospace;

  margin: calc(0.5em + 1px) 0.25em 10.5px;
}
"""
    assert sent("app.css", written) == (
        b':is(.a,.b)>* + h1,a:hover{font-family:"SF Mono",monospace;'
        b"margin:calc(.5em + 1px) .25em 10.5px}"
    )
    assert sent("js/a.js", b"/** Why. */\n  // How.\n\n  begin();\n") == b"begin();\n"


@pytest.mark.long
@pytest.mark.parametrize("module", MODULES, ids=lambda file: file.name)
def test_sent_modules_equal_sources_without_comments(module: Path) -> None:
    left = Assets().all[f"js/{module.name}"].body.decode("utf-8")
    kept = [re.sub(r"/\*\* @type .*?\*/ ?", "", line) for line in code(module.read_text("utf-8"))]
    assert code(left) == [line.strip() for line in kept]
    assert "/**" not in left


@pytest.mark.slow
def test_type_comments_pass_typescript() -> None:
    if shutil.which("npm") is None:
        pytest.skip("no npm: TypeScript, which checks the modules' types, comes with it")
    script = HERE.parent / "vendor" / "check_types.py"
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    if run.returncode and "error TS" not in run.stdout:
        pytest.skip("TypeScript cannot be had here: npm could not fetch it")
    assert run.returncode == 0, run.stdout


@pytest.mark.slow
def test_vendored_bundle_matches_its_script() -> None:
    if shutil.which("npm") is None:
        pytest.skip("no npm: the bundle is made with it")
    script = HERE.parent / "vendor" / "make.py"
    run = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
