"""The doctor's look: is there a browser, can it be driven, does it have its sandbox."""

from __future__ import annotations

import asyncio
import subprocess
from importlib.metadata import PackageNotFoundError, version

from hookline_hookspecs import CheckResult

from .config import BrowserConfig
from .programs import INSTALL, NAMES, find, is_root

SECONDS = 4.0


async def look(config: BrowserConfig) -> CheckResult:
    """Return whether pages can be opened."""
    try:
        driver = version("playwright")
    except PackageNotFoundError:
        return CheckResult(False, "playwright is not installed", "pip install 'playwright>=1.65'")
    program = find(config.executable)
    if program is None:
        wanted = config.executable or ", ".join(NAMES)
        return CheckResult(False, f"no Chromium ({wanted}) on PATH", _sentence(INSTALL))
    shown = await asyncio.to_thread(_version, program)
    if shown is None:
        return CheckResult(False, f"{program} does not start", _sentence(f"re{INSTALL}"))
    told = f"{shown} at {program}, Playwright {driver}"
    if not is_root():
        return CheckResult(True, told)
    fix = "Run Hookline as a user of its own."
    without = f"{told}; as root it has no sandbox of its own"
    if config.sandbox == "always":
        return CheckResult(False, f"{without}, and plugins.browser.sandbox is `always`", fix)
    return CheckResult(True, without, fix, hint=True)


def _version(program: str) -> str | None:
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, timeout=SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace").strip()[:80] or None


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
