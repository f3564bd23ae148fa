"""``plugins enable NAME`` names the install command if Hookline may not install NAME itself."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import distribution, version
from pathlib import Path

import pytest
from hookline.testing import Harness
from hookline_configure import Configure

NEEDS = """\
Provides-Extra: nimbus
Provides-Extra: standard
Requires-Dist: hookline-nimbus; extra == 'nimbus'
"""
NIMBUS = """\
[project]
name = "hookline-nimbus"
version = "0.1.0"
dependencies = ["hookline>=0.1", "hookline-mist>=0.1", "typer"]

[project.entry-points."hookline.plugins"]
nimbus = "hookline_nimbus:Nimbus"
"""
MIST = '[project]\nname = "hookline-mist"\nversion = "0.1.0"\n'
RECEIPT = """\
[tool]
requirements = [
    { name = "hookline", extras = ["standard"] },
    { name = "acme-thing", specifier = ">=2" },
]

[tool.options]
find-links = ["file:///shelf"]
"""


@dataclass
class Environment:
    """An environment that this process believes to run in. ``prefix`` is its folder."""

    prefix: Path
    site: Path
    bin: Path
    home: Path
    run: Callable[[str], str]

    @property
    def python(self) -> str:
        """The interpreter."""
        return str(self.prefix / "bin" / "python")

    def has(self, *programs: str) -> None:
        """Put programs on PATH."""
        for name in programs:
            (self.bin / name).write_text("#!/bin/sh\n")
            (self.bin / name).chmod(stat.S_IRWXU)

    def config(self, uv: str = "") -> None:
        """Make it a virtual environment, of uv if there is a version."""
        text = "home = /usr/bin\n" + (f"uv = {uv}\n" if uv else "")
        (self.prefix / "pyvenv.cfg").write_text(text)

    def from_clone(self, *, editable: bool = True) -> Path:
        """Have Hookline installed from a clone; return its folder."""
        root = self.prefix.parent / "my clone"
        for folder, text in (("tools/nimbus", NIMBUS), ("kits/mist", MIST)):
            (root / "plugins" / folder).mkdir(parents=True)
            (root / "plugins" / folder / "pyproject.toml").write_text(text)
        (info,) = self.site.glob("hookline-*.dist-info")
        direct = {"url": root.as_uri(), "dir_info": {"editable": editable}}
        (info / "direct_url.json").write_text(json.dumps(direct))
        return root

    def refusal(self, words: str = "plugins enable nimbus") -> str:
        """What the command says; nothing has been switched."""
        before = (self.home / "config.yaml").read_text()
        told = self.run(words)
        assert (self.home / "config.yaml").read_text() == before
        return told

    def command(self) -> list[str]:
        """The words of the command that is named."""
        line = self.refusal().splitlines()[1]
        assert line.startswith("  ")
        return shlex.split(line)


@pytest.fixture
def bare_env(
    harness: Callable[..., Harness], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Environment:
    """An environment without uv, pip and pipx, whose Hookline has a plugin ``nimbus``."""
    made = harness(Configure)
    made.home.mkdir(parents=True, exist_ok=True)
    (made.home / "config.yaml").write_text("plugins: {installer: false}\n")

    def run(words: str) -> str:
        done = made.cli(words)
        assert done.exit_code == 2
        assert done.stdout == ""
        return done.stderr

    prefix, site, programs = (tmp_path / name for name in ("env", "site", "bin"))
    for folder in (prefix, site, programs):
        folder.mkdir()
    info = site / f"hookline-{version('hookline')}.dist-info"
    info.mkdir()
    head = f"Metadata-Version: 2.1\nName: hookline\nVersion: {version('hookline')}\n"
    (info / "METADATA").write_text(head + NEEDS)
    # It hides the real one, whose drivers and plugins are still wanted.
    points = distribution("hookline").read_text("entry_points.txt")
    (info / "entry_points.txt").write_text(points or "")
    monkeypatch.syspath_prepend(site)
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setattr(sys, "executable", str(prefix / "bin" / "python"))
    monkeypatch.setattr("os.environ", {"PATH": str(programs)})
    monkeypatch.setitem(sys.modules, "pip", None)
    found = Environment(prefix, site, programs, made.home, run)
    found.config()
    return found


@pytest.fixture
def with_pip(bare_env: Environment, monkeypatch: pytest.MonkeyPatch) -> Environment:
    """The same with pip."""
    monkeypatch.delitem(sys.modules, "pip")
    (bare_env.site / "pip.py").touch()
    return bare_env


def test_venv_with_pip_gets_pip_command(with_pip: Environment) -> None:
    assert with_pip.command() == [with_pip.python, "-m", "pip", "install", "hookline-nimbus"]
    assert with_pip.refusal().splitlines() == [
        "hookline: nimbus is not installed. Install it with",
        f"  {with_pip.python} -m pip install hookline-nimbus",
        "and run `hookline plugins enable nimbus` again.",
    ]


def test_venv_without_pip_gets_ensurepip_or_uv_command(bare_env: Environment) -> None:
    start = [bare_env.python, "-m", "ensurepip", "&&"]
    assert bare_env.command() == [
        *start,
        bare_env.python,
        "-m",
        "pip",
        "install",
        "hookline-nimbus",
    ]
    bare_env.has("uv")
    assert bare_env.command()[:3] == ["uv", "pip", "install"]


def test_uv_venv_gets_uv_pip_command(with_pip: Environment) -> None:
    with_pip.config(uv="0.13.9")
    assert with_pip.command()[0] == with_pip.python
    with_pip.has("uv")
    wanted = ["uv", "pip", "install", "--python", with_pip.python, "hookline-nimbus"]
    assert with_pip.command() == wanted


def test_uv_run_uses_uv_variable_outside_path(bare_env: Environment) -> None:
    own = bare_env.prefix / "uv"
    own.write_text("#!/bin/sh\n")
    own.chmod(stat.S_IRWXU)
    os.environ["UV"] = str(own)
    bare_env.config(uv="0.13.9")
    assert bare_env.command()[0] == str(own)


def test_uv_tool_command_keeps_installed_packages(bare_env: Environment) -> None:
    (bare_env.prefix / "uv-receipt.toml").write_text(RECEIPT)
    assert bare_env.command() == [
        *("uv", "tool", "install", "--find-links", "file:///shelf", "hookline[standard]"),
        *("--with", "acme-thing>=2", "--with", "hookline-nimbus"),
    ]


def test_pipx_command_uses_its_environment_name(bare_env: Environment) -> None:
    metadata = {"main_package": {"package": "hookline", "pip_args": ["--find-links", "/my shelf"]}}
    (bare_env.prefix / "pipx_metadata.json").write_text(json.dumps(metadata))
    given = "--pip-args=--find-links '/my shelf'"
    assert bare_env.command() == ["pipx", "inject", given, "env", "hookline-nimbus"]


def test_system_python_gets_commands_for_an_own_environment(
    with_pip: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "base_prefix", sys.prefix)
    (with_pip.prefix / "EXTERNALLY-MANAGED").touch()
    (with_pip.prefix / "pyvenv.cfg").unlink()
    monkeypatch.setattr(sysconfig, "get_path", lambda *_, **__: str(with_pip.prefix))
    told = with_pip.refusal()
    assert f"{with_pip.python} -m venv ~/.hookline-env && ~/.hookline-env/bin/pip install" in told
    with_pip.has("pipx")
    assert "pipx install 'hookline[standard]' && pipx inject hookline hookline" in (
        with_pip.refusal()
    )
    with_pip.has("uv")
    assert "uv tool install 'hookline[standard]' --with hookline-nimbus" in with_pip.refusal()


def test_uv_managed_clone_gets_uv_sync_command(
    bare_env: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = bare_env.from_clone()
    bare_env.has("uv")
    shutil.copytree(bare_env.prefix, root / ".venv")
    monkeypatch.setattr(sys, "prefix", str(root / ".venv"))
    (root / ".venv" / "pyvenv.cfg").write_text("uv = 0.13.9\n")
    wanted = ["uv", "sync", "--project", str(root), "--all-packages", "--inexact"]
    assert bare_env.command() == wanted


@pytest.mark.parametrize("editable", [True, False])
def test_clone_with_pip_includes_local_dependencies(with_pip: Environment, editable: bool) -> None:
    root = with_pip.from_clone(editable=editable)
    option = ["-e"] if editable else []
    assert with_pip.command() == [
        *(with_pip.python, "-m", "pip", "install"),
        *(*option, str(root / "plugins" / "kits" / "mist")),
        *(*option, str(root / "plugins" / "tools" / "nimbus")),
    ]


@pytest.mark.slow
def test_clone_in_another_uv_environment_gets_uv_pip_command(bare_env: Environment) -> None:
    root = bare_env.from_clone()
    bare_env.config(uv="0.13.9")
    bare_env.has("uv")
    assert bare_env.command()[:5] == ["uv", "pip", "install", "--python", bare_env.python]
    assert bare_env.command()[-1] == str(root / "plugins" / "tools" / "nimbus")


def test_plugin_known_only_to_clone_gets_a_command_with_its_path(with_pip: Environment) -> None:
    root = with_pip.from_clone()
    new = root / "plugins" / "tools" / "squall"
    new.mkdir()
    (new / "pyproject.toml").write_text(NIMBUS.replace("nimbus", "squall"))
    told = with_pip.refusal("plugins enable squall")
    assert str(new) in shlex.split(told.splitlines()[1])


@pytest.mark.parametrize("name", ["nimbsu", "Nimbus", "hookline-nimbus"])
def test_misspelt_name_suggests_only_existing_plugins(with_pip: Environment, name: str) -> None:
    told = with_pip.refusal(f"plugins enable {name}")
    assert "Did you mean nimbus?" in told
    assert "install" not in told


def test_unknown_name_gets_no_install_command(with_pip: Environment) -> None:
    told = with_pip.refusal("plugins enable xylophone")
    assert "unknown plugin xylophone." in told
    assert "install xylophone" not in told
    assert "hookline-xylophone" not in told


def test_disable_of_uninstalled_plugin_says_it_is_off(bare_env: Environment) -> None:
    assert "nimbus is not installed, so it is off already." in bare_env.refusal(
        "plugins disable nimbus"
    )


def test_dist_that_is_no_plugin_is_refused(bare_env: Environment) -> None:
    (bare_env.site / "hookline_nimbus-1.dist-info").mkdir()
    (bare_env.site / "hookline_nimbus-1.dist-info" / "METADATA").write_text(
        "Name: hookline-nimbus\n"
    )
    assert "nimbus is not a plugin to turn on" in bare_env.refusal()


def _wheel(shelf: Path, name: str, number: str, metadata: str, points: str) -> None:
    module, info = name.replace("-", "_"), f"{name.replace('-', '_')}-{number}.dist-info"
    files = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n{metadata}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": points,
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    shelf.mkdir(exist_ok=True)
    with zipfile.ZipFile(shelf / f"{module}-{number}-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)


@pytest.mark.slow
@pytest.mark.parametrize("program", ["uv", "pipx"])
def test_suggested_command_really_installs_the_plugin(program: str, tmp_path: Path) -> None:
    """Hookline's own code is seen through a ``.pth``; its package is an empty wheel."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not here")
    shelf, programs = tmp_path / "shelf", tmp_path / "bin"
    script = "[console_scripts]\nhookline = hookline.__main__:main\n"
    _wheel(shelf, "hookline", version("hookline"), NEEDS, script)
    _wheel(shelf, "hookline-nimbus", "1", "", "")
    env = {
        **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
        "HOME": str(tmp_path),
        "HOOKLINE_HOME": str(tmp_path / "home"),
        "HOOKLINE_PLUGINS__INSTALLER": "false",
        "UV_OFFLINE": "1",
        "UV_TOOL_DIR": str(tmp_path / "tools"),
        "UV_TOOL_BIN_DIR": str(programs),
        "PIPX_HOME": str(tmp_path / "tools"),
        "PIPX_BIN_DIR": str(programs),
        "PIPX_DEFAULT_PYTHON": sys.executable,
    }

    def run(*words: str | Path, code: int = 0) -> str:
        done = subprocess.run(words, env=env, capture_output=True, text=True)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stderr

    if program == "uv":
        run("uv", "tool", "install", "--python", sys.executable, "--no-index",
            "--find-links", shelf, "hookline[standard]")  # fmt: skip
    else:
        run("pipx", "install", f"--pip-args=--no-index --find-links {shelf}", "hookline[standard]")
    (site,) = (tmp_path / "tools").rglob("site-packages")
    here = sysconfig.get_path("purelib")
    (site / "here.pth").write_text(f"import site; site.addsitedir({here!r})\n")
    told = run(programs / "hookline", "plugins", "enable", "nimbus", code=2)
    run("sh", "-c", told.splitlines()[1])
    assert list(site.glob("hookline_nimbus-*.dist-info"))
