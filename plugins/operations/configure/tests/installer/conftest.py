"""Environments to install into, a shelf of wheels made on the spot, and a command line."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Any

import pytest

PLUGIN = """\
from hookline_hookspecs import Plugin


class Thing(Plugin):
    pass
"""
BACKEND = '''\
"""Builds this folder without any build tool: the tests have no network."""

import zipfile
from pathlib import Path


def _wheel(folder, files):
    info = "acme_source-0.3.dist-info"
    files = files | {
        f"{info}/METADATA": "Metadata-Version: 2.1\\nName: acme-source\\nVersion: 0.3\\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        f"{info}/entry_points.txt": "[hookline.plugins]\\nsource = acme_source:Thing\\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\\n" for name in [*files, f"{info}/RECORD"])
    name = "acme_source-0.3-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder) / name, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return name


def build_wheel(folder, config_settings=None, metadata_directory=None):
    return _wheel(folder, {"acme_source.py": Path("acme_source.py").read_text()})


def build_editable(folder, config_settings=None, metadata_directory=None):
    return _wheel(folder, {"acme_source.pth": f"{Path.cwd()}\\n"})
'''
PYPROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "acme-source"
version = "0.3"
"""


def make_wheel(
    folder: Path,
    name: str,
    version: str = "1.0",
    *,
    brings: Mapping[str, Sequence[str]] | None = None,
    metadata: str = "",
) -> Path:
    """A wheel whose ``brings`` maps entry-point groups to names, all of one class."""
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    points = "".join(
        f"[{group}]\n" + "".join(f"{one} = {module}:Thing\n" for one in names)
        for group, names in (brings or {}).items()
    )
    files = {
        f"{module}.py": PLUGIN,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{metadata}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": points,
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    wheel = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return wheel


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str


@dataclass
class PythonEnv:
    """A Python of its own, with a home, a current folder, and a shelf of wheels."""

    venv: Path
    folder: Path
    env: dict[str, str]
    home: Path = field(init=False)
    shelf: Path = field(init=False)
    cwd: Path = field(init=False)

    def __post_init__(self) -> None:
        self.home, self.shelf = self.folder / "home", self.folder / "shelf"
        self.cwd = self.folder / "project"
        self.shelf.mkdir()
        self.cwd.mkdir()

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self.venv / "bin" / "python"

    @property
    def site(self) -> Path:
        """Its ``site-packages``."""
        return _site(self.venv)

    def wheel(self, name: str, version: str = "1.0", **options: Any) -> Path:
        """Put a wheel on the shelf."""
        return make_wheel(self.shelf, name, version, **options)

    def plugin(self, name: str, version: str = "1.0", **options: Any) -> Path:
        """Put a wheel ``acme-NAME`` with a plugin NAME on the shelf."""
        return self.wheel(f"acme-{name}", version, brings={"hookline.plugins": [name]}, **options)

    def put(self, wheel: Path, *, recorded: str | None = None) -> None:
        """Have a wheel installed already; ``recorded`` as that spec, its plugins switched on."""
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self.site)
            (points,) = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
            plugins = re.findall(r"(?m)^(\S+) =", archive.read(points).decode())
        if recorded is None:
            return
        name, version, *_ = wheel.name.split("-")
        self.record(name.replace("_", "-"), version, recorded, plugins)
        path = self.home / "config.yaml"
        before = path.read_text() if path.exists() else "plugins:\n"
        self.config(before + "".join(f"  {plugin}: true\n" for plugin in plugins))

    def record(
        self, dist: str, version: str, spec: str, plugins: Sequence[str], editable: Any = None
    ) -> None:
        """Put an entry into ``plugins.lock``."""
        entry = {"dist": dist, "version": version, "spec": spec, "editable": editable}
        rows = [*self.lock().values(), entry | {"plugins": list(plugins)}]
        self.home.mkdir(mode=0o700, exist_ok=True)
        text = json.dumps({"version": 1, "dists": rows})
        (self.home / "plugins.lock").write_text(text, encoding="utf-8")

    def plugins(self, *words: str | Path, answer: str | None = None, **env: str) -> Ended:
        """Run ``hookline plugins …``; with ``answer`` on a terminal where that is typed."""
        command = [str(self.python), "-P", "-m", "hookline", "plugins", *map(str, words)]
        variables = self._environment() | env
        if answer is None:
            return _run(command, self.cwd, variables, subprocess.DEVNULL)
        person, terminal = pty.openpty()
        try:
            os.write(person, answer.encode())
            return _run(command, self.cwd, variables, terminal)
        finally:
            os.close(person)
            os.close(terminal)

    def doctor(self) -> dict[str, Any]:
        """The row of the plugin's check."""
        command = [str(self.python), "-P", "-m", "hookline", "doctor", "--json"]
        done = _run(command, self.cwd, self._environment(), subprocess.DEVNULL)
        (row,) = [row for row in json.loads(done.out) if row["plugin"] == "installer"]
        return dict(row)

    def state(self, plugin: str) -> str | None:
        """The state of a plugin in ``hookline plugins list``."""
        rows = json.loads(self.plugins("list", "--json").out)
        return {row["name"]: row["state"] for row in rows}.get(plugin)

    def version(self, dist: str) -> str | None:
        """The version of a dist in the environment itself, None if it has none."""
        found = list(self.site.glob(f"{dist.replace('-', '_')}-*.dist-info"))
        return found[0].name.split("-")[1].removesuffix(".dist") if found else None

    def remove(self, dist: str) -> None:
        """Take a dist away as an upgrade of the environment would."""
        for path in self.site.glob(f"{dist.replace('-', '_')}*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def lock(self) -> dict[str, dict[str, Any]]:
        """The entries of ``plugins.lock`` by dist."""
        path = self.home / "plugins.lock"
        if not path.exists():
            return {}
        return {row["dist"]: row for row in json.loads(path.read_text("utf-8"))["dists"]}

    def switched(self) -> str:
        """The text of ``config.yaml``."""
        path = self.home / "config.yaml"
        return path.read_text("utf-8") if path.exists() else ""

    def config(self, text: str) -> None:
        """Write ``config.yaml``."""
        self.home.mkdir(mode=0o700, exist_ok=True)
        (self.home / "config.yaml").write_text(text, encoding="utf-8")

    def _environment(self) -> dict[str, str]:
        own = {
            "HOME": str(self.folder),
            "HOOKLINE_HOME": str(self.home),
            "HOOKLINE_PLUGINS__INSTALLER": "true",
            "LANG": "C.UTF-8",
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.shelf),
            "PIP_CONFIG_FILE": os.devnull,
            "UV_OFFLINE": "1",
        }
        return own | self.env


def _run(command: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: int) -> Ended:
    done = subprocess.run(
        command, cwd=cwd, env=dict(env), stdin=stdin, capture_output=True, text=True, timeout=60
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def _site(venv: Path) -> Path:
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    return venv / "lib" / version / "site-packages"


def _make_venv(folder: Path, *options: str) -> Path:
    """A venv that also sees what these tests run with, Hookline above all."""
    subprocess.run([sys.executable, "-m", "venv", *options, str(folder)], check=True)
    here = sysconfig.get_path("purelib")
    (_site(folder) / "here.pth").write_text(f"import site; site.addsitedir({here!r})\n")
    return folder


@pytest.fixture(scope="session")
def pip_venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with pip."""
    return _make_venv(tmp_path_factory.mktemp("pip") / "venv")


@pytest.fixture(scope="session")
def bare_venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment without pip, as uv tool makes them."""
    return _make_venv(tmp_path_factory.mktemp("bare") / "venv", "--without-pip")


@pytest.fixture(scope="session")
def uv_env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables with which uv is found, and leaves no trace; skips where there is no uv."""
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("uv is not here")
    folder = tmp_path_factory.mktemp("uv")
    (folder / "uv").symlink_to(uv)
    return {"PATH": f"{folder}:/usr/bin:/bin", "UV_CACHE_DIR": str(folder / "cache")}


@pytest.fixture
def with_pip(pip_venv: Path, tmp_path: Path) -> PythonEnv:
    """An environment whose Python has pip; there is no uv on its PATH."""
    return PythonEnv(pip_venv, tmp_path, {"PATH": "/usr/bin:/bin"})


@pytest.fixture
def with_uv(bare_venv: Path, uv_env: dict[str, str], tmp_path: Path) -> PythonEnv:
    """An environment whose Python has no pip, with uv on PATH."""
    return PythonEnv(bare_venv, tmp_path, dict(uv_env))


@pytest.fixture
def with_nothing(bare_venv: Path, tmp_path: Path) -> PythonEnv:
    """An environment with neither pip nor uv."""
    return PythonEnv(bare_venv, tmp_path, {"PATH": str(tmp_path)})


@pytest.fixture(params=["uv", pytest.param("pip", marks=pytest.mark.slow)])
def python_env(request: pytest.FixtureRequest) -> PythonEnv:
    """An environment with pip, and one with uv."""
    found: PythonEnv = request.getfixturevalue(f"with_{request.param}")
    return found


@pytest.fixture
def source() -> Callable[[Path], Path]:
    """Makes the folder of a plugin ``source`` (dist ``acme-source`` 0.3)."""

    def make(folder: Path) -> Path:
        folder.mkdir()
        (folder / "pyproject.toml").write_text(PYPROJECT)
        (folder / "backend.py").write_text(BACKEND)
        (folder / "acme_source.py").write_text(PLUGIN)
        return folder

    return make


FIRST_PARTY_BACKEND = '''\
"""Builds a package of the clone from its ``pyproject.toml``, without any build tool."""

import tomllib
import zipfile
from pathlib import Path


def _wheel(folder, code):
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    name, version = project["name"], project["version"]
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {text}\\n" for text in project.get("dependencies", []))
    points = "".join(
        f"[{group}]\\n" + "".join(f"{key} = {value}\\n" for key, value in found.items())
        for group, found in project.get("entry-points", {}).items()
    )
    files = code(module) | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        f"{info}/entry_points.txt": points,
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\\n" for path in [*files, f"{info}/RECORD"])
    wheel = f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder) / wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return wheel


def build_wheel(folder, config_settings=None, metadata_directory=None):
    return _wheel(folder, lambda module: {f"{module}.py": Path(f"{module}.py").read_text()})


def build_editable(folder, config_settings=None, metadata_directory=None):
    return _wheel(folder, lambda module: {f"{module}.pth": f"{Path.cwd()}\\n"})
'''
NIMBUS = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "hookline-nimbus"
version = "0.1.0"
dependencies = ["hookline-mist>=0.1"]

[project.entry-points."hookline.plugins"]
nimbus = "hookline_nimbus:Thing"
"""
MIST = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "hookline-mist"
version = "0.1.0"
"""


@dataclass
class NimbusEnv:
    """An environment whose Hookline has a plugin ``nimbus`` of its own that is not installed."""

    python_env: PythonEnv

    @property
    def clone(self) -> Path:
        """The folder that Hookline's sources lie in, where there is one."""
        return self.python_env.folder / "clone"

    def core(self, direct: Mapping[str, Any] | None = None) -> None:
        """Have Hookline's metadata name ``nimbus``, and say where Hookline came from."""
        info = self.python_env.site / f"hookline-{version('hookline')}.dist-info"
        info.mkdir()
        needs = "Provides-Extra: nimbus\nRequires-Dist: hookline-nimbus; extra == 'nimbus'\n"
        head = f"Metadata-Version: 2.1\nName: hookline\nVersion: {version('hookline')}\n"
        (info / "METADATA").write_text(head + needs)
        # It hides the real one, whose drivers and commands are still wanted.
        points = distribution("hookline").read_text("entry_points.txt")
        (info / "entry_points.txt").write_text(points or "")
        if direct is not None:
            (info / "direct_url.json").write_text(json.dumps(direct))

    def from_a_clone(self, *, editable: bool) -> None:
        """Have Hookline installed from a clone with ``nimbus``, which needs a library there."""
        for folder, text in (("tools/nimbus", NIMBUS), ("kits/mist", MIST)):
            package = self.clone / "plugins" / folder
            package.mkdir(parents=True)
            (package / "pyproject.toml").write_text(text)
            (package / "backend.py").write_text(FIRST_PARTY_BACKEND)
            module = f"hookline_{package.name}"
            (package / f"{module}.py").write_text(PLUGIN)
        self.core({"url": self.clone.as_uri(), "dir_info": {"editable": editable}})

    def wheel(self) -> None:
        """Put the wheel of ``nimbus`` on the shelf."""
        self.python_env.wheel("hookline-nimbus", brings={"hookline.plugins": ["nimbus"]})


@pytest.fixture
def nimbus_env(uv_env: dict[str, str], tmp_path: Path) -> NimbusEnv:
    """A ``NimbusEnv`` whose Python has no pip, with uv on PATH."""
    venv = _make_venv(tmp_path / "venv", "--without-pip")
    return NimbusEnv(PythonEnv(venv, tmp_path, dict(uv_env)))


@pytest.fixture
def nimbus_env_with_pip(tmp_path: Path) -> NimbusEnv:
    """A ``NimbusEnv`` whose Python has pip, without uv."""
    return NimbusEnv(PythonEnv(_make_venv(tmp_path / "venv"), tmp_path, {"PATH": "/usr/bin:/bin"}))
