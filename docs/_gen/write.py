"""Writes the reference to ``docs/reference``, where its links work in a clone too.

``uv run python docs/_gen/write.py`` regenerates it; a test holds that it is current.
"""

from __future__ import annotations

import re
from pathlib import Path

from pages import pages

FOLDER = Path(__file__).parent.parent
NOTE = "<!-- Made by docs/_gen/write.py from the sources; do not edit. -->\n\n"
_PLUGIN = re.compile(r"\]\(\.\./plugins/([\w-]+)\.md")
_ROOT = FOLDER.parent


def reference() -> dict[str, str]:
    """The pages of the reference by their path below ``docs``, as they are committed."""
    found = {path: text for path, text in pages().items() if path.startswith("reference/")}
    return {path: NOTE + _for_clone(text) for path, text in found.items()}


def _for_clone(text: str) -> str:
    """The page with links to plugins' pages, which only the site has, leading to their README."""
    folders = {path.parent.name: path.parent for path in _ROOT.glob("plugins/*/*/README.md")}

    def readme(link: re.Match[str]) -> str:
        return f"](../../{folders[link[1]].relative_to(_ROOT)}/README.md"

    linked = _PLUGIN.sub(readme, text)
    return "\n".join(line.rstrip() for line in linked.splitlines()).strip() + "\n"


def main() -> None:
    """Write every page."""
    for path, text in reference().items():
        file = FOLDER / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
