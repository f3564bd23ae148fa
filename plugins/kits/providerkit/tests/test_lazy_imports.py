"""Lazy imports of packages of types: what is not loaded, with all names still available."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any

import pytest
from hookline_providerkit import lazy_imports

FILES = {
    "__init__.py": "from . import types\nfrom .types import Late as Late\n",
    "types/__init__.py": (
        "from __future__ import annotations\n"
        "from .early import Early as Early, _hidden as _hidden\n"
        "from .late import Late as Late\nfrom .inner import Inside as Inside\n"
        "from .inner.deep import Deep as Renamed\n"
    ),
    "types/early.py": "class Early: pass\n_hidden = 1\n",
    "types/late.py": "class Late: pass\n",
    "types/broken.py": "import no_such_module\n",
    "types/unnamed.py": "here = True\n",
    "types/inner/__init__.py": "from .inside import Inside as Inside\n",
    "types/inner/inside.py": "class Inside: pass\n",
    "types/inner/deep.py": "class Deep: pass\n",
}


@pytest.fixture
def sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a package ``an_sdk``, importable during the test."""
    folder = tmp_path / "an_sdk"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in loaded():
        del sys.modules[name]


def loaded() -> set[str]:
    """The modules of the package that have been imported."""
    return {name for name in sys.modules if name.split(".")[0] == "an_sdk"}


def imported() -> Any:
    """The package, imported lazily."""
    invalidate_caches()
    with lazy_imports("an_sdk.types"):
        return import_module("an_sdk")


@pytest.mark.usefixtures("sdk")
def test_lazy_import_loads_only_what_is_used() -> None:
    sdk = imported()
    assert loaded() == {"an_sdk", "an_sdk.types", "an_sdk.types.late"}
    assert sdk.types.Early.__module__ == "an_sdk.types.early"
    assert "an_sdk.types.early" in loaded()


@pytest.mark.usefixtures("sdk")
def test_lazy_module_offers_every_name() -> None:
    sdk = imported()
    found: dict[str, Any] = {}
    exec("from an_sdk.types import Early, Renamed\nfrom an_sdk.types.inner import Inside", found)
    assert sdk.types.Early is found["Early"]
    assert sdk.types._hidden == 1
    assert sdk.types.Inside is found["Inside"]
    assert sdk.types.inner.deep.Deep is found["Renamed"]
    assert sdk.types.unnamed.here  # a submodule that the package does not mention
    assert {"Early", "Late", "Inside", "Renamed", "_hidden"} <= set(dir(sdk.types))
    everything: dict[str, Any] = {}
    exec("from an_sdk.types import *", everything)
    assert {"Early", "Late", "Inside", "Renamed"} <= everything.keys()
    assert "_hidden" not in everything


@pytest.mark.usefixtures("sdk")
def test_lazy_module_reports_missing_names_and_broken_modules() -> None:
    sdk = imported()
    assert not hasattr(sdk.types, "Nothing")
    with pytest.raises(AttributeError, match=r"'an_sdk.types' has no attribute 'Nothing'"):
        _ = sdk.types.Nothing
    with pytest.raises(ImportError, match="Nothing"):
        exec("from an_sdk.types import Nothing")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        _ = sdk.types.broken


@pytest.mark.parametrize(
    "line",
    [
        "MORE = 1",
        "import os",
        "from .early import *",
        "from ..late import Late",
        "from . import early",
        "from .early import Early as late",
    ],
)
def test_package_that_does_more_is_imported_as_usual(sdk: Path, line: str) -> None:
    (sdk / "late.py").write_text("Late = 1", "utf-8")
    with (sdk / "types/__init__.py").open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    imported()
    assert {"an_sdk.types.early", "an_sdk.types.inner.deep"} <= loaded()


@pytest.mark.usefixtures("sdk")
def test_imports_outside_the_context_are_not_lazy() -> None:
    finders = list(sys.meta_path)
    with lazy_imports("another.types"):
        import_module("an_sdk")
    assert "an_sdk.types.early" in loaded()
    assert sys.meta_path == finders
    with pytest.raises(ZeroDivisionError), lazy_imports("an_sdk.types"):
        _ = 1 / 0
    assert sys.meta_path == finders
