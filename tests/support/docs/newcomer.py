"""A reader with an environment and an empty home who does what a page says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from meta.tree import ROOT

from support.docs.pages import Block, apply_diff, output_difference

PATIENCE = 600
"""Seconds until a command that does not end is killed; no test waits for it to pass."""
BUILDER = "hatchling-99.dist-info"
IGNORED = shutil.ignore_patterns("__pycache__", ".*", "*.egg-info")
COMMAND = """\
#!{python}
import sys
from hookline.__main__ import main
sys.exit(main())
"""


@dataclass
class Newcomer:
    """Does the blocks of a page in order, where a clone's ``examples`` are.

    ``venv`` is the environment that is active.
    """

    venv: Path
    folder: Path
    cwd: Path = field(init=False)
    printed: str = field(init=False, default="")

    def __post_init__(self) -> None:
        self.cwd = self.folder / "work"
        shutil.copytree(ROOT / "examples", self.cwd / "examples", ignore=IGNORED)

    @property
    def home(self) -> Path:
        """Hookline's home."""
        return self.folder / "home"

    def follow(self, page: tuple[Block, ...]) -> None:
        """Do every block of a page that is not marked. Raises AssertionError."""
        for block in page:
            if not block.not_run:
                self._do(block)

    def _do(self, block: Block) -> None:
        if block.language == "diff":
            file = self._file(block.title)
            file.write_text(apply_diff(file.read_text("utf-8"), block.text), "utf-8")
        elif block.title:
            file = self._file(block.title)
            if block.language == "python" and file.exists():
                shown = f"{block}: {file.name} is not what the page shows"
                assert file.read_text("utf-8") == block.text, shown
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, "utf-8")
        elif block.language == "console":
            self._run(block)
        elif block.language == "text" and block.follows_directly:
            problem = output_difference(self.printed, block.text)
            assert not problem, f"{block}: {problem}"
        else:
            raise AssertionError(f"{block}: nobody knows what to do with this block")

    def _file(self, title: str) -> Path:
        """``config.yaml`` and ``.env`` are those of the home."""
        return (self.home if title in ("config.yaml", ".env") else self.cwd) / title

    def _run(self, block: Block) -> None:
        """Run the commands in one shell; a ``cd`` stays."""
        self.home.mkdir(mode=0o700, exist_ok=True)
        where = self.folder / "where"
        script = f"trap 'pwd > \"{where}\"' EXIT\nset -euo pipefail\n{block.text}"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.cwd,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
        )
        self.cwd = Path(where.read_text("utf-8").strip())
        self.printed = done.stdout.replace(str(self.home), "~/.hookline")
        assert done.returncode == block.exit_code, f"{block}: exit {done.returncode}\n{done.stdout}"

    def _environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.folder),
            "HOOKLINE_HOME": str(self.home),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
            "PATH": os.pathsep.join([str(self.venv / "bin"), *_tools(self.folder)]),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_FIND_LINKS": str(self.venv / "shelf"),
            "PIP_NO_INDEX": "1",
            # It is seen here because Hookline's own tests need it, and warns in other projects.
            "PYTEST_ADDOPTS": "-p no:asyncio",
            "PYTHONDONTWRITEBYTECODE": "1",
            "UV_CACHE_DIR": str(self.folder / "uv"),
            "UV_FIND_LINKS": str(self.venv / "shelf"),
            "UV_OFFLINE": "1",
            "VIRTUAL_ENV": str(self.venv),
        }


def _tools(folder: Path) -> list[str]:
    """Folders of the programs that a page may use: the system's, and uv alone of where it is."""
    own = folder / "tools"
    own.mkdir(exist_ok=True)
    uv = shutil.which("uv")
    if uv and not (own / "uv").exists():
        (own / "uv").symlink_to(uv)
    return [str(own), "/usr/bin", "/bin"]


def make_environment(folder: Path) -> Path:
    """An environment with pip that also sees what these tests run with, Hookline above all."""
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    here = sysconfig.get_path("purelib")
    pth = venv / "lib" / version / "site-packages" / "here.pth"
    pth.write_text(f"import site; site.addsitedir({here!r})\n", "utf-8")
    program = venv / "bin" / "hookline"
    program.write_text(COMMAND.format(python=venv / "bin" / "python"), "utf-8")
    program.chmod(0o755)
    _put_builder(venv / "shelf")
    return venv


def _put_builder(shelf: Path) -> None:
    """The stand-in for hatchling, where pip and uv look instead of an index."""
    shelf.mkdir()
    backend = Path(__file__).with_name("build_backend.py").read_text("utf-8")
    files = {
        "hatchling/__init__.py": "",
        "hatchling/build.py": backend,
        f"{BUILDER}/METADATA": "Metadata-Version: 2.1\nName: hatchling\nVersion: 99\n",
        f"{BUILDER}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = f"{BUILDER}/RECORD"
    files[record] = "".join(f"{name},,\n" for name in [*files, record])
    with zipfile.ZipFile(shelf / "hatchling-99-py3-none-any.whl", "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
