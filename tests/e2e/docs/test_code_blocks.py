"""Every code block of the authors' pages is run, or says why not."""

from __future__ import annotations

import inspect
import tomllib

import pytest
import yaml
from hookline.testing import Harness, PluginContract
from support.docs.pages import SYNTAX, Block, apply_diff, blocks, output_difference, read, written

from .test_examples import OWN, example_pages
from .test_page_commands import WALKS

AUTHORS = [page for page in written() if page.startswith("authors/")]


@pytest.mark.parametrize("page", sorted({*AUTHORS, *WALKS, *example_pages()}))
def test_code_blocks_are_run_or_say_why_not(page: str) -> None:
    for block in blocks(page):
        assert block.language in SYNTAX, f"{block} names no known language"
        assert block.not_run or _is_run(block), f"{block} is not run by any test"
        assert not block.not_run or len(block.not_run.split()) >= 4, f"{block}: say why"
    assert read(page).count("```") == 2 * len(blocks(page)), f"{page} has a fence that is not read"


def _is_run(block: Block) -> bool:
    if block.page in WALKS:
        return True
    return block.page in example_pages() and block.page.startswith(OWN) and bool(block.title)


@pytest.mark.parametrize("page", AUTHORS)
def test_toml_and_yaml_blocks_parse(page: str) -> None:
    for block in blocks(page):
        if block.language == "toml":
            assert tomllib.loads(block.text)
        elif block.language == "yaml":
            assert yaml.safe_load(block.text)


def test_testing_page_names_everything_in_the_test_kit() -> None:
    page = read("authors/testing.md")
    names = [*inspect.signature(Harness).parameters, *inspect.signature(Harness.asend).parameters]
    names += [name for name in vars(PluginContract) if name.startswith("test_")]
    names += [name for name in PluginContract.__annotations__ if name != "plugin"]
    missing = [name for name in names if name not in ("self", "text") and f"`{name}`" not in page]
    assert not missing


@pytest.mark.parametrize(
    ("printed", "shown", "same"),
    [
        ("one\ntwo\n", "one\ntwo", True),
        ("one\ntwo\n", "one", False),
        ("one\ntwo\nthree", "one\n…\nthree", True),
        ("one\nthree", "one\n…\nthree", True),
        ("took 3 s", "took … s", True),
        ("took\n3 s", "took … s", False),
        ("a+b", "a.b", False),
    ],
)
def test_output_blocks_are_compared(printed: str, shown: str, same: bool) -> None:
    assert (output_difference(printed, shown) == "") is same


def test_diff_block_changes_exactly_one_place() -> None:
    assert apply_diff("a\nb\nc\n", " a\n-b\n+x\n+y\n") == "a\nx\ny\nc\n"
    with pytest.raises(ValueError, match="2 places"):
        apply_diff("a\na\n", "-a\n+b\n")
    with pytest.raises(ValueError, match="0 places"):
        apply_diff("a\n", "-b\n+c\n")
