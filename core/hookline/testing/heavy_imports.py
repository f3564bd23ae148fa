"""Finds the heavy packages that importing a module imports, in a fresh interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

PROBE = """
import importlib, json, sys
module, heavy = json.loads(sys.argv[1])
import hookline_hookspecs, pydantic
before, blame = set(sys.modules), {}

class Watch:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in heavy and top not in blame:
            frame = sys._getframe(1)
            while frame and "importlib._bootstrap" in frame.f_code.co_filename:
                frame = frame.f_back
            blame[top] = [frame.f_code.co_filename, frame.f_lineno] if frame else ["", 0]
        return None

sys.meta_path.insert(0, Watch())
missing = ""
try:
    importlib.import_module(module)
except ModuleNotFoundError as error:
    if not module.startswith(error.name or "?"):
        raise
    missing = error.name
new = {name.partition(".")[0] for name in set(sys.modules) - before}
print(json.dumps([missing, {name: blame[name] for name in sorted(new & set(blame))}]))
"""
"""Reports the imported heavy packages and the line that first imported each. Packages that a plugin
only looks up (``find_spec``) are not reported."""


@dataclass(frozen=True, slots=True)
class Import:
    """A heavy package and the line that first imported it."""

    package: str
    file: str
    line: int


class NotImportable(Exception):
    """A fresh interpreter cannot find the module."""


def heavy_packages() -> frozenset[str]:
    """Return the import names in ``heavy_packages.yaml``."""
    import yaml

    text = (files(__package__) / "heavy_packages.yaml").read_text("utf-8")
    groups: dict[str, list[str]] = yaml.safe_load(text)
    return frozenset(name for names in groups.values() for name in names)


def heavy_imports(module: str, allowed: frozenset[str] = frozenset()) -> list[Import]:
    """Return the heavy packages that importing ``module`` imports, except those ``allowed``.

    Raises:
        NotImportable: the module does not exist outside this process (for example, a test file).
        ImportError: importing it failed; the text is the traceback.
    """
    probe_input = json.dumps([module, sorted(heavy_packages() - allowed)])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    run = subprocess.run(
        [sys.executable, "-c", PROBE, probe_input], env=environment, capture_output=True, text=True
    )
    if run.returncode != 0:
        raise ImportError(run.stderr)
    missing, found = _read(run.stdout)
    if missing:
        raise NotImportable(missing)
    return [Import(package, file, line) for package, (file, line) in found.items()]


def _read(output: str) -> tuple[str, dict[str, Any]]:
    """Parse the probe's last line; the module may have printed something before it."""
    missing, found = json.loads(output.strip().splitlines()[-1])
    return missing, found
