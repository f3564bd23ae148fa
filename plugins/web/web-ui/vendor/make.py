"""Make the files of ``static/vendor`` from npm packages; they are in git. For developers only.

python plugins/web/web-ui/vendor/make.py [--check]

Needs node and npm; running Hookline does not. ``package.json`` has the versions and
``package-lock.json`` their hashes. With ``--check`` nothing is written, and the exit code is 1 if
a file in git differs.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "src" / "hookline_web_ui" / "static" / "vendor"
BUNDLES = {
    "preact.js": ("entry.mjs", ("preact", "htm", "marked")),
    "temml.js": ("temml.mjs", ("temml",)),
}
"""The modules: their entry and the packages in them."""
DIAGRAMS = "mermaid.js"
"""A script, which its package offers as one file."""
LICENCES = "LICENCES.txt"
MARKED = Path("node_modules", "marked", "lib", "marked.esm.js")
WHOLE = re.compile(
    r"var (\w+)=new \w+;function \w+\(\w+,\w+\)\{return \1\.parse\(.*(?=export\{)", re.DOTALL
)
"""The statements of marked that create its default parser. Without them the bundler can leave out
the code that makes HTML strings, a third of marked, which the page does not use."""
INPUTS = ("package.json", "package-lock.json", "entry.mjs", "temml.mjs")


def made(folder: Path) -> dict[str, str]:
    """Return the files for ``static/vendor``: their text by name."""
    for name in INPUTS:
        shutil.copy(HERE / name, folder / name)
    quiet = ("--no-fund", "--no-audit", "--silent")
    subprocess.run(["npm", "ci", *quiet], cwd=folder, check=True, stderr=subprocess.DEVNULL)
    _keep_the_lexer(folder / MARKED)
    made = {name: _bundle(folder, *what) for name, what in BUNDLES.items()}
    script = (folder / "node_modules" / "mermaid" / "dist" / "mermaid.min.js").read_text("utf-8")
    made[DIAGRAMS] = _header(folder, ("mermaid",)) + script
    packages = [*(one for _, names in BUNDLES.values() for one in names), "mermaid"]
    licences = []
    for package in packages:
        text = (folder / "node_modules" / package / "LICENSE").read_text("utf-8").strip()
        licences.append(f"{_named(folder, package)}\n\n{text}\n")
    made[LICENCES] = f"\n{'-' * 72}\n\n".join(licences)
    return made


def _bundle(folder: Path, entry: str, packages: Sequence[str]) -> str:
    """Return a module with the packages that ``entry`` exports."""
    command = ["node_modules/.bin/esbuild", entry, "--bundle", "--format=esm", "--minify"]
    command += ["--target=es2022", "--legal-comments=none", "--charset=utf8"]
    run = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return _header(folder, packages) + run.stdout


def _header(folder: Path, packages: Sequence[str]) -> str:
    names = ", ".join(_named(folder, one) for one in packages)
    return f"/* {names}. Licences: {LICENCES}. Made by vendor/make.py. */\n"


def _named(folder: Path, package: str) -> str:
    about = json.loads((folder / "node_modules" / package / "package.json").read_text("utf-8"))
    return f"{package} {about['version']} ({about['license']})"


def _keep_the_lexer(file: Path) -> None:
    """Make marked's module export only its lexer. Raises ``ValueError`` for another version."""
    code, cut = WHOLE.subn("", file.read_text("utf-8"))
    lexer = re.search(r"(\w+) as Lexer", code)
    if cut != 1 or lexer is None:
        raise ValueError(f"{file.name} has changed; update the pattern WHOLE")
    code = re.sub(r"export\{.*?\};", f"export{{{lexer[1]} as Lexer}};", code)
    file.write_text(code, "utf-8")


def main() -> int:
    """Write the files, or compare them. Raises ``CalledProcessError`` if a tool fails."""
    with tempfile.TemporaryDirectory() as folder:
        files = made(Path(folder))
    if sys.argv[1:] == ["--check"]:
        other = [n for n, text in files.items() if (TARGET / n).read_text("utf-8") != text]
        if other:
            sys.stderr.write(f"outdated; run vendor/make.py: {', '.join(other)}\n")
        return 1 if other else 0
    TARGET.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (TARGET / name).write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
