"""Check the JSDoc types of the page's modules with TypeScript. For developers only.

python plugins/web/web-ui/vendor/check_types.py

Needs node and npm. The libraries' types come from the packages in ``package-lock.json``. Prints
TypeScript's errors; the exit code is 1 if there are any.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = HERE.parent / "src" / "hookline_web_ui" / "static" / "js"
TYPESCRIPT = "typescript@7"
QUIET = ("--no-fund", "--no-audit", "--silent")
OPTIONS = {
    "allowJs": True,
    "checkJs": True,
    "noEmit": True,
    "strict": True,
    "skipLibCheck": True,
    "target": "es2023",
    "lib": ["es2023", "dom", "dom.iterable"],
    "module": "esnext",
    "moduleResolution": "bundler",
    "types": [],
}


def main() -> int:
    """Check a copy of the modules. Raises ``CalledProcessError`` if npm fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for one in ("package.json", "package-lock.json"):
            shutil.copy(HERE / one, folder / one)
        for command in (("ci",), ("install", "--no-save", TYPESCRIPT)):
            subprocess.run(["npm", *command, *QUIET], cwd=folder, check=True)
        shutil.copytree(MODULES, folder / "js")
        (folder / "vendor").mkdir()
        shutil.copy(HERE / "types.d.ts", folder / "vendor" / "preact.d.ts")
        shutil.copy(HERE / "temml.d.ts", folder / "vendor" / "temml.d.ts")
        config = {"compilerOptions": OPTIONS, "include": ["js/*.js"]}
        (folder / "tsconfig.json").write_text(json.dumps(config), "utf-8")
        return subprocess.run(["node_modules/.bin/tsc", "-p", "."], cwd=folder).returncode


if __name__ == "__main__":
    sys.exit(main() and 1)
