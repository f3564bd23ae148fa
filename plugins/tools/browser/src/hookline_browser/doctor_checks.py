"""Check for ``hookline doctor``: the browser is installed, starts and has its sandbox."""

from __future__ import annotations

import asyncio
import subprocess
from importlib.metadata import PackageNotFoundError, version

from hookline_hookspecs import CheckResult

from .chromium import INSTALL, PROGRAM_NAMES, find_program, is_root
from .config import BrowserConfig

VERSION_TIMEOUT = 4.0


async def check_browser(config: BrowserConfig) -> CheckResult:
    """Check whether pages can be opened."""
    try:
        driver = version("playwright")
    except PackageNotFoundError:
        return CheckResult(False, "playwright is not installed", "pip install 'playwright>=1.65'")
    program = find_program(config.executable)
    if program is None:
        names = config.executable or ", ".join(PROGRAM_NAMES)
        return CheckResult(False, f"no Chromium ({names}) on PATH", _sentence(INSTALL))
    shown = await asyncio.to_thread(_version, program)
    if shown is None:
        return CheckResult(False, f"{program} does not start", _sentence(f"re{INSTALL}"))
    detail = f"{shown} at {program}, Playwright {driver}"
    if not is_root():
        return CheckResult(True, detail)
    fix = "Run Hookline as a separate user."
    without = f"{detail}; as root it has no sandbox of its own"
    if config.sandbox == "always":
        return CheckResult(False, f"{without}, and plugins.browser.sandbox is `always`", fix)
    return CheckResult(True, without, fix, hint=True)


def _version(program: str) -> str | None:
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, timeout=VERSION_TIMEOUT, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace").strip()[:80] or None


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
