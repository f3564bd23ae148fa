"""Any plugin name is either refused with a sentence or gives valid names."""

from __future__ import annotations

import keyword
import re
import tomllib

import pytest
from hookline_scaffold.kinds import KINDS
from hookline_scaffold.names import InvalidPluginName, PluginNames, derive_names
from hookline_scaffold.repository import FILES, render
from hypothesis import example, given
from hypothesis import strategies as st

NEARLY = st.from_regex(r"[a-z][a-z0-9]{0,70}(-[a-z0-9]{1,20}){0,4}", fullmatch=True)


def names_or_error(text: str) -> PluginNames | InvalidPluginName:
    """What a name comes to."""
    try:
        return derive_names(text)
    except InvalidPluginName as refused:
        return refused


@pytest.mark.slow
@given(st.one_of(st.text(), NEARLY))
@example("z-z")
@example("c" * 63)
@example("base-model")
@example("value-error")
def test_any_name_gives_valid_names_or_is_refused(text: str) -> None:
    names = names_or_error(text)
    if isinstance(names, InvalidPluginName):
        assert str(names).isascii()
        assert len(str(names)) < 400
        return
    assert text in (names.plugin, names.dist)
    assert re.fullmatch(r"hookline(-[a-z0-9]+)+", names.dist)
    assert names.module.isidentifier()
    assert names.class_name.isidentifier()
    assert not keyword.iskeyword(names.class_name)
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", names.tool)
    assert names.tool.isidentifier()
    for kind in KINDS.values():
        made = render(names, kind, 2026)
        assert len(made) == len(FILES)
        for path, content in made.items():
            if path.endswith(".py"):
                compile(content, path, "exec")
        assert tomllib.loads(made["pyproject.toml"])["project"]["name"] == names.dist
