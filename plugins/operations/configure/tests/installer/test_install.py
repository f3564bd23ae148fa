"""``hookline plugins install SPEC``, with real pip and uv, in environments made for it."""

from __future__ import annotations

import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import PythonEnv

CONFIG = "# mine\nplugins:\n  installer: true  # stays\n"


@pytest.mark.slow
def test_wheel_is_installed_and_uninstalled(python_env: PythonEnv) -> None:
    """What lies in the current folder is never run on the way."""
    for trap in ("pip.py", "hookline.py", "sitecustomize.py", "json.py"):
        (python_env.cwd / trap).write_text("raise SystemExit('the current folder was imported')")
    python_env.config(CONFIG)
    wheel = python_env.plugin("thing")
    done = python_env.plugins("install", f"../shelf/{wheel.name}", "--yes")
    assert done.code == 0, done.err
    assert "install   acme-thing" in done.out
    assert "Plugin thing is on." in done.out
    assert python_env.version("acme-thing") == "1.0"
    assert python_env.state("thing") == "on"
    assert python_env.lock() == {
        "acme-thing": {
            "dist": "acme-thing",
            "version": "1.0",
            "spec": str(wheel),
            "editable": None,
            "plugins": ["thing"],
        }
    }
    assert stat.S_IMODE((python_env.home / "plugins.lock").stat().st_mode) == 0o600
    text = (python_env.home / "config.yaml").read_text()
    assert text.startswith(CONFIG)
    assert "thing: true" in text

    gone = python_env.plugins("uninstall", "thing", "--yes")
    assert gone.code == 0, gone.err
    assert "hookline plugins purge thing" in gone.out
    assert python_env.version("acme-thing") is None
    assert python_env.lock() == {}
    assert "thing: false" in (python_env.home / "config.yaml").read_text()


@pytest.mark.slow
def test_editable_folder_is_installed_in_place(
    with_pip: PythonEnv, source: Callable[[Path], Path]
) -> None:
    folder = source(with_pip.folder / "source")
    done = with_pip.plugins("install", "-e", "../source", "--yes")
    assert done.code == 0, done.err
    entry = with_pip.lock()["acme-source"]
    assert (entry["editable"], entry["version"]) == (str(folder), "0.3")
    (folder / "acme_source.py").write_text("raise RuntimeError('this very folder')")
    assert "this very folder" in with_pip.plugins("list", "--json").out
    with_pip.remove("acme_source")


@pytest.mark.slow
def test_install_without_terminal_needs_yes_option(with_pip: PythonEnv) -> None:
    done = with_pip.plugins("install", with_pip.plugin("quiet"))
    assert done.code == 2
    assert "--yes" in done.err
    assert with_pip.version("acme-quiet") is None
    assert not (with_pip.home / "plugins.lock").exists()


@pytest.mark.slow
def test_install_answer_other_than_yes_is_no(with_uv: PythonEnv) -> None:
    wheel = with_uv.plugin("asked", metadata="Requires-Dist: acme-helper\n")
    with_uv.wheel("acme-helper")
    done = with_uv.plugins("install", wheel, answer="\n")
    assert done.code == 1
    assert "install   acme-helper 1.0" in done.out
    assert "[y/N]" in done.err
    assert with_uv.version("acme-asked") is None
    assert (with_uv.lock(), with_uv.switched()) == ({}, "")


@pytest.mark.slow
def test_installed_dist_is_only_turned_on(with_uv: PythonEnv) -> None:
    with_uv.put(with_uv.plugin("again"))
    with_uv.config("plugins:\n  again: false\n")
    done = with_uv.plugins("install", "acme-again", answer="y\n")
    assert done.code == 0, done.err
    assert "Nothing needs to be installed." in done.out
    assert "again: true" in with_uv.switched()
    assert with_uv.lock()["acme-again"]["spec"] == "acme-again"


@pytest.mark.slow
def test_upgrade_and_downgrade_are_shown(with_uv: PythonEnv) -> None:
    with_uv.plugin("shift", "1.0")
    with_uv.put(with_uv.plugin("shift", "2.0"), recorded="acme-shift")
    with_uv.plugin("shift", "3.0")
    down = with_uv.plugins("install", "acme-shift<2", answer="n\n")
    assert "downgrade acme-shift 2.0 -> 1.0" in down.out
    up = with_uv.plugins("install", "acme-shift>2", "--yes")
    assert "upgrade   acme-shift 2.0 -> 3.0" in up.out
    entry = with_uv.lock()["acme-shift"]
    assert (entry["version"], entry["spec"]) == ("3.0", "acme-shift>2")
    assert with_uv.version("acme-shift") == "3.0"


@pytest.mark.slow
def test_install_refuses_to_replace_hookline(python_env: PythonEnv) -> None:
    python_env.wheel("hookline", "99")
    wheel = python_env.plugin("newer", metadata="Requires-Dist: hookline>=99\n")
    done = python_env.plugins("install", wheel, "--yes")
    assert done.code == 1
    assert "replace Hookline itself" in done.err
    assert "--replace-hookline" in done.err
    assert python_env.version("hookline") is None  # the one that runs lies elsewhere
    assert python_env.version("acme-newer") is None


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["Hookline==99", "hookline-99-py3-none-any.whl"])
def test_install_refuses_hookline_as_plugin(with_pip: PythonEnv, spec: str) -> None:
    wheel = with_pip.wheel("hookline", "99")
    wanted = str(wheel) if spec.endswith(".whl") else spec
    done = with_pip.plugins("install", wanted, "--yes", "--replace-hookline")
    assert done.code == 2
    assert "Hookline itself" in done.err


@pytest.mark.slow
def test_conflict_is_shown_before_install(with_pip: PythonEnv) -> None:
    with_pip.put(with_pip.wheel("acme-library", "1.0"))
    with_pip.put(with_pip.plugin("user", metadata="Requires-Dist: acme-library<2\n"))
    with_pip.wheel("acme-library", "2.0")
    breaker = with_pip.plugin("breaker", metadata="Requires-Dist: acme-library>=2\n")
    done = with_pip.plugins("install", breaker, "--yes")
    assert done.code == 1
    assert "Conflict: acme-user 1.0 needs acme-library<2, and would get 2.0." in done.out
    assert (with_pip.version("acme-library"), with_pip.version("acme-breaker")) == ("1.0", None)
    with_pip.remove("acme_user")
    with_pip.remove("acme_library")


@pytest.mark.slow
def test_conflict_can_be_accepted_on_a_terminal(with_uv: PythonEnv) -> None:
    with_uv.put(with_uv.wheel("acme-shelf", "1.0"))
    with_uv.put(with_uv.wheel("acme-reader", metadata="Requires-Dist: acme-shelf<2\n"))
    with_uv.wheel("acme-shelf", "2.0")
    wheel = with_uv.plugin("bold", metadata="Requires-Dist: acme-shelf>=2\n")
    done = with_uv.plugins("install", wheel, answer="y\n")
    assert done.code == 0, done.err
    assert "Conflict: acme-reader 1.0 needs acme-shelf<2" in done.out
    assert with_uv.version("acme-shelf") == "2.0"


@pytest.mark.slow
def test_unavailable_dependency_shows_the_installer_error(python_env: PythonEnv) -> None:
    wheel = python_env.plugin("lonely", metadata="Requires-Dist: acme-nowhere>=5\n")
    done = python_env.plugins("install", wheel, "--yes")
    assert done.code == 1
    assert "acme-nowhere" in done.err
    assert "nothing was changed" in done.err
    assert "Traceback" not in done.err
    assert python_env.version("acme-lonely") is None


@pytest.mark.slow
def test_dist_without_plugin_is_removed_again(with_uv: PythonEnv) -> None:
    wheel = with_uv.wheel("acme-plain", metadata="Requires-Dist: acme-companion\n")
    with_uv.wheel("acme-companion")
    done = with_uv.plugins("install", wheel, "--yes")
    assert done.code == 1
    assert "acme-plain 1.0 is installed but has no plugin" in done.err
    assert (with_uv.version("acme-plain"), with_uv.version("acme-companion")) == (None, None)
    assert with_uv.lock() == {}


@pytest.mark.slow
def test_dist_without_plugin_stays_if_person_declines_removal(with_uv: PythonEnv) -> None:
    done = with_uv.plugins("install", with_uv.wheel("acme-kept"), answer="y\nn\n")
    assert done.code == 1
    assert "Remove acme-kept again?" in done.err
    assert with_uv.version("acme-kept") == "1.0"


@pytest.mark.slow
def test_taken_plugin_name_is_refused(with_uv: PythonEnv) -> None:
    with_uv.put(with_uv.plugin("taken"), recorded="acme-taken")
    evil = with_uv.wheel("evil-taken", brings={"hookline.plugins": ["taken"]})
    done = with_uv.plugins("install", evil, "--yes")
    assert done.code == 1
    assert "evil-taken 1.0 and acme-taken 1.0 both bring a plugin taken" in done.err
    assert with_uv.version("evil-taken") is None
    assert with_uv.state("taken") == "on"


@pytest.mark.slow
def test_invalid_plugin_names_are_not_written_to_config(with_uv: PythonEnv) -> None:
    names = ["--home=elsewhere", "memory.limit", "decent"]
    done = with_uv.plugins(
        "install", with_uv.wheel("acme-odd", brings={"hookline.plugins": names}), "--yes"
    )
    assert done.code == 0, done.err
    assert "'memory.limit'" in done.err
    assert with_uv.lock()["acme-odd"]["plugins"] == ["decent"]
    assert "decent: true" in with_uv.switched()
    assert "memory" not in with_uv.switched()


@pytest.mark.slow
def test_driver_is_recorded_and_its_config_line_shown(with_uv: PythonEnv) -> None:
    wheel = with_uv.wheel("acme-driver", brings={"hookline.providers": ["acme"]})
    done = with_uv.plugins("install", wheel, "--yes")
    assert done.code == 0, done.err
    assert "model: acme/MODEL" in done.out
    assert with_uv.lock()["acme-driver"]["plugins"] == []


@pytest.mark.slow
def test_plugin_of_an_extra_is_turned_on(with_uv: PythonEnv) -> None:
    with_uv.plugin("along")
    needs = "Provides-Extra: more\nRequires-Dist: acme-along; extra == 'more'\n"
    with_uv.wheel("acme-bundle", metadata=needs)
    done = with_uv.plugins("install", "acme-bundle[more]", "--yes")
    assert done.code == 0, done.err
    assert "along: true" in with_uv.switched()
    assert set(with_uv.lock()) == {"acme-along"}


@pytest.mark.slow
def test_damaged_lock_stops_install_first(with_uv: PythonEnv) -> None:
    with_uv.home.mkdir(mode=0o700)
    lock = with_uv.home / "plugins.lock"
    lock.write_bytes(b'{"version": 1, "dists": [{"dist"')
    for words in (["install", with_uv.plugin("late")], ["install"], ["uninstall", "late"]):
        done = with_uv.plugins(*words, "--yes")
        assert done.code == 2
        assert str(lock) in done.err
        assert "damaged" in done.err
    assert lock.read_bytes() == b'{"version": 1, "dists": [{"dist"'
    assert with_uv.version("acme-late") is None


MADE_BY = {
    "uv-receipt.toml": "uv tool install",
    "pipx_metadata.json": "pipx inject",
    "other": "ensurepip",
}


@pytest.mark.long
@pytest.mark.parametrize(
    "maker",
    [
        pytest.param(maker, marks=pytest.mark.slow) if n else maker
        for n, maker in enumerate(MADE_BY)
    ],
)
def test_missing_pip_and_uv_gives_an_error_sentence(with_nothing: PythonEnv, maker: str) -> None:
    trace = with_nothing.venv / maker
    trace.touch()
    try:
        done = with_nothing.plugins("install", with_nothing.plugin("stuck"), "--yes")
    finally:
        trace.unlink()
    assert done.code == 1
    assert MADE_BY[maker] in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.slow
def test_uv_in_the_workspace_is_used_only_if_named(with_uv: PythonEnv) -> None:
    """As ``~/.local/bin/uv`` where Hookline runs in the home folder."""
    uv = with_uv.cwd / "bin" / "uv"
    uv.parent.mkdir()
    uv.symlink_to(shutil.which("uv", path=with_uv.env["PATH"]) or "")
    words = ("install", with_uv.plugin("homely"), "--yes")
    refused = with_uv.plugins(*words, PATH=f"{uv.parent}:/usr/bin:/bin")
    assert refused.code == 1
    assert f"set UV={uv}" in refused.err
    done = with_uv.plugins(*words, PATH="/usr/bin:/bin", UV=str(uv))
    with_uv.remove("acme_homely")
    assert done.code == 0, done.err


@pytest.mark.slow
def test_externally_managed_python_is_not_changed(with_uv: PythonEnv) -> None:
    """The trait by which pip and uv know one is a file beside the standard library."""
    posing = with_uv.folder / "posing"
    posing.mkdir()
    (posing / "EXTERNALLY-MANAGED").touch()
    (posing / "sitecustomize.py").write_text(
        "import sys, sysconfig\n"
        "sys.base_prefix = sys.prefix\n"
        f"sysconfig.get_path = lambda *_, **__: {str(posing)!r}\n"
    )
    wheel = with_uv.plugin("system")
    done = with_uv.plugins("install", wheel, "--yes", PYTHONPATH=str(posing))
    assert done.code == 1
    assert "PEP 668" in done.err
    assert with_uv.version("acme-system") is None


@pytest.mark.slow
def test_dist_of_a_git_address_is_found(with_uv: PythonEnv, source: Callable[[Path], Path]) -> None:
    """The name of the dist does not stand in the address."""
    folder = source(with_uv.folder / "repository")
    options = ["-c", "user.name=a", "-c", "user.email=a@b.example", "-C", str(folder)]
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run(["git", *options, *words], check=True)
    spec = f"git+{folder.as_uri()}@main"
    done = with_uv.plugins("install", spec, "--yes", UV_OFFLINE="0")
    with_uv.remove("acme_source")
    assert done.code == 0, done.err
    assert with_uv.lock()["acme-source"]["spec"] == spec
