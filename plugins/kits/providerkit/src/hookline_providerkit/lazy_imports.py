"""Imports an SDK without its hundreds of modules of types, which most programs never use.

Packages such as ``openai.types`` have an ``__init__`` that only imports names from their modules.
``import openai`` executes all of them, although a client needs a tenth. Within
:func:`lazy_imports` such a package imports a name when it is first used (PEP 562). Every name,
submodule, ``dir`` and ``import *`` works as before.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any


@contextmanager
def lazy_imports(*packages: str) -> Iterator[None]:
    """Import ``packages``, such as ``"openai.types"``, and their subpackages lazily in this block.

    A package whose ``__init__`` does more than re-export names is imported as usual.
    """
    finder = _Finder(packages)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder:
    """Finds the named packages and gives them the lazy loader."""

    def __init__(self, packages: Sequence[str]) -> None:
        self._packages = packages

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """As in ``importlib.abc.MetaPathFinder``; None for any other module."""
        if not any(name == one or name.startswith(f"{one}.") for one in self._packages):
            return None
        spec = PathFinder.find_spec(name, path, target)
        loader = spec and spec.submodule_search_locations is not None and spec.loader
        if spec and type(loader) is SourceFileLoader:
            spec.loader = _Loader(loader.name, loader.path)
        return spec


class _Loader(SourceFileLoader):
    """Reads the sources of names from a package's ``__init__`` instead of executing it."""

    def exec_module(self, module: ModuleType) -> None:
        """Make a lazy module, or execute it as usual."""
        names = reexported_names(self.get_data(self.path))
        if names is None:
            super().exec_module(module)
            return

        def __getattr__(name: str) -> Any:
            source, attribute = names.get(name, (name, ""))
            try:
                found: Any = import_module(f".{source}", module.__name__)
            except ModuleNotFoundError as error:
                if error.name != f"{module.__name__}.{name}":
                    raise
                text = f"module {module.__name__!r} has no attribute {name!r}"
                raise AttributeError(text, name=name, obj=module) from None
            value = getattr(found, attribute) if attribute else found
            setattr(module, name, value)
            return value

        public = [name for name in names if not name.startswith("_")]
        vars(module).update(__getattr__=__getattr__, __all__=public)
        vars(module)["__dir__"] = lambda: sorted({*vars(module), *names})


def reexported_names(source: bytes) -> dict[str, tuple[str, str]] | None:
    """Return the module and attribute of each name that an ``__init__`` imports from its package.

    None if the source does anything else, or if a name is also that of a module.
    """
    names: dict[str, tuple[str, str]] = {}
    for statement in ast.parse(source).body:
        if not isinstance(statement, ast.ImportFrom):
            return None
        if statement.module == "__future__":
            continue
        if statement.level != 1 or statement.module is None:
            return None
        for alias in statement.names:
            names[alias.asname or alias.name] = (statement.module, alias.name)
    modules = {source.partition(".")[0] for source, _ in names.values()}
    return names if names.keys().isdisjoint({"*", *modules}) else None
