"""Generates the pages about the plugins from their ``pyproject.toml`` and README."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from markdown_text import code, table

ROOT = Path(__file__).resolve().parents[2]
KINDS = {"hookline.plugins": "plugin", "hookline.providers": "provider", "hookline.stores": "store"}
INTRO = """# Plugins

The packages in this repository. A *plugin* is switched on and off by its name under `plugins` in
`config.yaml`; a *provider* or *store* is chosen with `model` or `store`; a *library* is code that
plugins share. `uv sync` in a clone installs the standard set.
"""


class Listed(NamedTuple):
    """A distribution in the list; ``about`` is the first paragraph of its README."""

    name: str
    dist: str
    kind: str
    standard: bool
    about: str
    readme: str

    @property
    def file(self) -> str:
        """Its page, below ``plugins/``."""
        return f"{self.name}.md"


def page() -> str:
    """The list as Markdown."""
    rows = [
        (
            f"[{found.name}]({found.file})",
            code(found.dist),
            found.kind,
            "yes" if found.standard else "",
            found.about,
        )
        for found in plugins()
    ]
    return INTRO + "\n" + table(("name", "dist", "kind", "standard", "what it is"), rows) + "\n"


def plugins() -> Iterator[Listed]:
    """Every distribution under ``plugins/``, by name."""
    root = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    standard = root["optional-dependencies"]["standard"]
    for file in sorted(ROOT.glob("plugins/*/*/pyproject.toml")):
        project = tomllib.loads(file.read_text("utf-8"))["project"]
        groups = project.get("entry-points", {})
        group = next((name for name in KINDS if name in groups), None)
        name = file.parent.name
        readme = (file.parent / "README.md").read_text("utf-8")
        about = first_paragraph(readme) or project["description"]
        kind = KINDS[group] if group else "library"
        dist = project["name"]
        yield Listed(name, dist, kind, dist in standard, about, readme)


def plugin_pages() -> dict[str, str]:
    """The page of every plugin, by name; a distribution may have several plugins."""
    pages: dict[str, str] = {}
    for file in sorted(ROOT.glob("plugins/*/*/pyproject.toml")):
        project = tomllib.loads(file.read_text("utf-8"))["project"]
        names = project.get("entry-points", {}).get("hookline.plugins", {})
        pages |= dict.fromkeys(names, f"{file.parent.name}.md")
    return pages


def first_paragraph(readme: str) -> str:
    """The first paragraph after the title, as one line; empty if there is none."""
    paragraphs = [part.strip() for part in readme.split("\n\n")]
    for part in paragraphs:
        text = part.partition("\n")[2].strip() if part.startswith("# ") else part
        if text and not text.startswith(("#", "```", "|")):
            return " ".join(text.split()).replace("|", "\\|")
    return ""
