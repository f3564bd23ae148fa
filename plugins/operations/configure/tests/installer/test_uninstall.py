"""``hookline plugins uninstall NAME …``."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import PythonEnv


@pytest.mark.slow
def test_dist_with_two_plugins_is_uninstalled_only_as_a_whole(with_uv: PythonEnv) -> None:
    wheel = with_uv.wheel("acme-pair", brings={"hookline.plugins": ["left", "right"]})
    with_uv.put(wheel, recorded="acme-pair")
    done = with_uv.plugins("uninstall", "left", "--yes")
    assert done.code == 2
    assert "hookline plugins uninstall left right" in done.err
    assert "left: true\n  right: true" in with_uv.switched()
    assert with_uv.plugins("uninstall", "left", "right", "--yes").code == 0
    assert with_uv.version("acme-pair") is None
    assert with_uv.lock() == {}


@pytest.mark.slow
def test_dist_needed_by_another_is_not_uninstalled(with_uv: PythonEnv) -> None:
    with_uv.put(with_uv.plugin("base"))
    top = with_uv.plugin("top", metadata="Requires-Dist: acme-base\n")
    with_uv.put(top, recorded="acme-top")
    done = with_uv.plugins("uninstall", "acme-base", "--yes")
    assert done.code == 1
    assert "acme-top 1.0 needs acme-base" in done.err
    assert with_uv.version("acme-base") == "1.0"
    assert with_uv.plugins("uninstall", "top", "acme-base", "--yes").code == 0
    assert with_uv.version("acme-base") is None


@pytest.mark.slow
def test_uninstall_asks_first(with_uv: PythonEnv) -> None:
    with_uv.put(with_uv.plugin("stays"), recorded="acme-stays")
    assert with_uv.plugins("uninstall", "stays").code == 2
    done = with_uv.plugins("uninstall", "stays", answer="n\n")
    assert done.code == 1
    assert "acme-stays 1.0 (plugin stays)" in done.out
    assert with_uv.version("acme-stays") == "1.0"
    assert "stays: true" in with_uv.switched()
    assert set(with_uv.lock()) == {"acme-stays"}


@pytest.mark.slow
def test_unknown_plugin_name_is_reported(with_uv: PythonEnv) -> None:
    for name in ("pluggy", "-r"):
        done = with_uv.plugins("uninstall", "--yes", "--", name)
        assert done.code == 2
        assert "unknown plugin" in done.err


@pytest.mark.slow
def test_uninstall_refuses_hookline_itself(with_uv: PythonEnv) -> None:
    done = with_uv.plugins("uninstall", "hookline", "--yes")
    assert done.code == 2
    assert "Hookline itself" in done.err


@pytest.mark.slow
def test_uninstall_of_missing_dist_clears_lock_and_config(with_nothing: PythonEnv) -> None:
    with_nothing.config("plugins:\n  ghost: true\n")
    with_nothing.record("acme-ghost", "1", "acme-ghost", ["ghost"])
    done = with_nothing.plugins("uninstall", "ghost", "--yes")
    assert done.code == 0, done.err
    assert with_nothing.lock() == {}
    assert "ghost: false" in with_nothing.switched()


@pytest.mark.slow
def test_dist_outside_the_environment_is_reported_as_not_removed(with_pip: PythonEnv) -> None:
    """pip calls that a success."""
    elsewhere = with_pip.folder / "elsewhere"
    elsewhere.mkdir()
    with zipfile.ZipFile(with_pip.plugin("outer")) as archive:
        archive.extractall(elsewhere)
    (with_pip.site / "elsewhere.pth").write_text(f"{elsewhere}\n")
    try:
        done = with_pip.plugins("uninstall", "outer", "--yes")
    finally:
        (with_pip.site / "elsewhere.pth").unlink()
    assert done.code == 1
    assert "acme-outer 1.0 could not be removed" in done.err
    assert (elsewhere / "acme_outer.py").exists()
