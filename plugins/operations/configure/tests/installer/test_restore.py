"""``hookline plugins install`` without arguments reinstalls what ``plugins.lock`` records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import PythonEnv


@pytest.mark.slow
def test_plugin_removed_by_upgrade_is_reported_and_reinstalled(with_pip: PythonEnv) -> None:
    """At the recorded version, though there is a newer one."""
    with_pip.put(with_pip.plugin("back", "1.0"), recorded="acme-back")
    assert with_pip.plugins("install").out.startswith("Everything that plugins.lock records")
    with_pip.plugin("back", "2.0")
    with_pip.remove("acme_back")
    row = with_pip.doctor()
    assert (row["ok"], row["fix"]) == (False, "hookline plugins install")
    assert "plugin back (acme-back 1.0)" in row["detail"]
    done = with_pip.plugins("install", "--yes")
    assert done.code == 0, done.err
    assert "Reinstalled acme-back 1.0." in done.out
    assert with_pip.version("acme-back") == "1.0"
    assert "Plugin back is on." in done.out
    assert with_pip.lock()["acme-back"]["spec"] == "acme-back"


@pytest.mark.slow
def test_another_version_is_installed_if_recorded_one_is_gone(with_uv: PythonEnv) -> None:
    with_uv.plugin("moved", "1.5")
    with_uv.record("acme-moved", "1.0", "acme-moved", ["moved"])
    with_uv.config("plugins:\n  moved: false\n")
    assert with_uv.plugins("install").code == 2
    done = with_uv.plugins("install", "--yes")
    assert done.code == 0, done.err
    assert with_uv.lock()["acme-moved"]["version"] == with_uv.version("acme-moved") == "1.5"
    assert "moved: false" in with_uv.switched()
    assert "hookline plugins enable moved" in done.err


@pytest.mark.slow
def test_failed_reinstall_does_not_stop_the_others(
    with_uv: PythonEnv, source: Callable[[Path], Path]
) -> None:
    folder = source(with_uv.folder / "source")
    with_uv.record("acme-source", "0.3", str(folder), ["source"], editable=str(folder))
    with_uv.record("acme-lostwheel", "1", "/nowhere/acme_lostwheel-1-py3-none-any.whl", [])
    done = with_uv.plugins("install", "--yes")
    assert done.code == 1
    assert "acme-lostwheel cannot be reinstalled" in done.err
    assert "Reinstalled acme-source 0.3." in done.out
    assert with_uv.version("acme-source") == "0.3"
    with_uv.remove("acme_source")


@pytest.mark.slow
def test_lock_entry_cannot_inject_pip_options(with_uv: PythonEnv) -> None:
    with_uv.record("acme-evil", "1", "--index-url=http://127.0.0.1:1/", [])
    done = with_uv.plugins("install", "--yes")
    assert done.code == 1
    assert "would be an option of pip" in done.err


@pytest.mark.slow
def test_install_with_empty_lock_does_nothing(with_nothing: PythonEnv) -> None:
    done = with_nothing.plugins("install")
    assert done.code == 0
    assert "plugins.lock is empty" in done.out
    assert not with_nothing.home.exists()
