"""An environment outside the repository, in which a check installs what it has built."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

PASSED_ON = ("PATH", "HOME", "TMPDIR", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR")
PASSED_PREFIXES = ("PIP_", "UV_", "XDG_", "HTTP_PROXY", "HTTPS_PROXY", "http", "https", "REQUESTS_")

STATES = """
import asyncio, json, os
from hookline.config import load
from hookline.home import find_home
from hookline.runtime import Runtime
from hookline_hookspecs import Inspection

async def main():
    async with Runtime(load(find_home(), os.environ), find_home()) as runtime:
        print(json.dumps(await runtime.engine.services[Inspection].plugins(), default=str))

asyncio.run(main())
"""
"""``hookline plugins list`` needs the plugin inspect; this asks core itself."""


class CheckFailed(Exception):
    """A step failed; the text says which and what it printed."""


class CheckEnvironment:
    """A virtual environment, in a folder of its own unless one is given, and an empty home."""

    def __init__(self, folder: Path, shared: Path | None = None) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        bin_folder = "Scripts" if os.name == "nt" else "bin"
        self.bin = (shared or folder / "env") / bin_folder

    def run(self, *command: str | Path, cwd: Path | None = None) -> str:
        """What a command prints. Raises CheckFailed with its output when it fails."""
        env = {
            k: v for k, v in os.environ.items() if k in PASSED_ON or k.startswith(PASSED_PREFIXES)
        }
        env |= {"HOOKLINE_HOME": str(self.home), "NO_COLOR": "1"}
        done = subprocess.run(
            [str(part) for part in command],
            cwd=cwd or self.folder,
            env=env,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode:
            shown = " ".join(str(part) for part in command)
            raise CheckFailed(f"{shown}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def install_wheels(self, *wheels: Path) -> None:
        """Install these wheels and what they depend on, from the index; remove all else."""
        if not self.bin.exists():
            self.run("uv", "venv", "--quiet", "--python", sys.executable, self.bin.parent)
        into = ("--quiet", "--exact", "--python", self.bin.parent)
        self.run("uv", "pip", "install", *into, *wheels)

    def python(self, *arguments: str) -> str:
        """What the environment's Python prints."""
        return self.run(self.bin / "python", *arguments)

    def hookline(self, *arguments: str) -> str:
        """What the environment's ``hookline`` prints."""
        return self.run(self.bin / "hookline", *arguments)

    def refused(self, *arguments: str) -> str:
        """What the environment's ``hookline`` says where it ends with a usage error."""
        try:
            self.hookline(*arguments)
        except CheckFailed as error:
            expect(found="exit code 2" in str(error), wanted=True, what=f"exit code: {error}")
            return str(error)
        raise CheckFailed(f"hookline {' '.join(arguments)} ended without an error")

    def states(self) -> dict[str, str]:
        """Each plugin's name with its state, and its reason if it has one."""
        rows = json.loads(self.python("-c", STATES))
        return {row["name"]: " ".join(filter(None, (row["state"], row["reason"]))) for row in rows}


def expect(*, found: object, wanted: object, what: str) -> None:
    """Raise CheckFailed unless both are equal."""
    if found != wanted:
        raise CheckFailed(f"{what}: found {found!r}, wanted {wanted!r}")
