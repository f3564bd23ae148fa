"""Makes the PNG icons of the installed app from ``icon.svg``, with Chromium (for developers)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

STATIC = Path(__file__).resolve().parent.parent / "src" / "hookline_web_ui" / "static"
COLOUR = "#0a6a64"
ICONS = {
    "icon-192.png": (192, False),
    "icon-512.png": (512, False),
    "maskable-512.png": (512, True),
}
"""Name: size in pixels, and whether a system may cut the edges off."""


def main() -> None:
    """Write the files."""
    path = os.environ.get("HOOKLINE_CHROMIUM") or shutil.which("chromium")
    svg = (STATIC / "icon.svg").read_text("utf-8")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name, (size, is_maskable) in ICONS.items():
            page = browser.new_page(viewport={"width": size, "height": size})
            back, inner = (COLOUR, "80%") if is_maskable else ("transparent", "100%")
            page.set_content(
                f"<style>body{{margin:0;height:100vh;display:grid;place-items:center;"
                f"background:{back}}}svg{{width:{inner};height:{inner}}}</style>{svg}"
            )
            page.screenshot(path=str(STATIC / name), omit_background=not is_maskable)
        browser.close()


if __name__ == "__main__":
    main()
