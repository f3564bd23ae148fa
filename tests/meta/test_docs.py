"""The generated pages hold every hook, every type and every config key."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator

import hookline_hookspecs
import pytest
from hookline.config.model import ConfigFile
from hookline_hookspecs import HOOKS
from pydantic import BaseModel

from meta.tree import ROOT, dists

GENERATORS = ROOT / "docs" / "_gen"


@pytest.fixture(scope="module")
def pages() -> Iterator[dict[str, str]]:
    """Every generated page by its path, made as the site's build makes them."""
    sys.path.insert(0, str(GENERATORS))
    try:
        yield importlib.import_module("pages").pages()
    finally:
        sys.path.remove(str(GENERATORS))


def headings(page: str) -> list[str]:
    """The text of a page's headings, without marks and anchors."""
    found = re.findall(r"^#+ (.*?)(?: \{#\S+\})?$", page, re.MULTILINE)
    return [text.replace("`", "") for text in found]


def section(page: str, name: str) -> str:
    """The text below the heading with the anchor ``name``, up to the next one."""
    return page.partition(f"{{#{name}}}\n")[2].partition("\n##")[0]


@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_has_its_heading_and_facts(pages: dict[str, str], name: str) -> None:
    page, hook = pages["reference/hooks.md"], HOOKS[name]
    assert headings(page).count(name) == 1
    text = section(page, name)
    deadline = "none" if hook.deadline is None else f"{hook.deadline:g} s"
    assert f"| kind | `{hook.kind}`" in text
    assert f"| deadline | {deadline} |" in text
    assert hook.doc.split("``")[0].splitlines()[0] in text
    assert f"`{hook.event}` is" in text


def test_the_fields_of_an_event_are_told(pages: dict[str, str]) -> None:
    text = section(pages["reference/hooks.md"], "pre_tool")
    assert "| `arguments` | `dict[str, Any]` |" in text


def test_every_exported_class_is_described(pages: dict[str, str]) -> None:
    described = headings(pages["reference/types.md"])
    classes = {
        name
        for name in hookline_hookspecs.__all__
        if isinstance(getattr(hookline_hookspecs, name), type)
    }
    told_on_the_page_of_hooks = {"HookSpec", "HookSpecs"}
    assert classes - set(described) == told_on_the_page_of_hooks


def config_keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """The dotted paths of a model's fields, without those inside mappings by name."""
    for name, field in model.model_fields.items():
        yield prefix + name
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from config_keys(field.annotation, f"{prefix}{name}.")


@pytest.mark.parametrize("key", list(config_keys(ConfigFile)))
def test_a_config_key_has_its_row_and_words(pages: dict[str, str], key: str) -> None:
    text = section(pages["reference/configuration.md"], key.partition(".")[0])
    row = next(line for line in text.splitlines() if line.startswith(f"| `{key}` |"))
    _, value, _, what = re.sub("`[^`]*`", "`…`", row).strip("| ").split(" | ")
    assert value.strip()
    assert len(what.split()) >= 2, f"{key} has no description in its model"


def test_settings_of_a_provider_are_told(pages: dict[str, str]) -> None:
    assert "`providers.NAME.base_url`" in pages["reference/configuration.md"]


def test_every_dist_is_listed_and_has_its_page(pages: dict[str, str]) -> None:
    for dist in dists():
        name = next(iter(dist.entry_points), dist.folder.name)
        assert f"[{name}]({name}.md) | `{dist.name}` |" in pages["plugins/index.md"]
        assert pages[f"plugins/{name}.md"] == (dist.folder / "README.md").read_text("utf-8")


def test_links_between_pages_lead_somewhere(pages: dict[str, str]) -> None:
    """Anchors of generated pages that the written ones point to exist."""
    link = re.compile(r"\]\(([\w/.-]+\.md)(#[\w.-]+)?\)")
    broken = []
    for file in sorted((ROOT / "docs").glob("*.md")):
        for target, anchor in link.findall(file.read_text("utf-8")):
            known = pages.get(target) or _written(target)
            slugs = re.findall(r"\{(#\S+)\}", known) + [
                "#" + text.lower().replace(" ", "-") for text in headings(known)
            ]
            if not known or (anchor and anchor not in slugs):
                broken.append(f"{file.name}: {target}{anchor}")
    assert not broken


def _written(target: str) -> str:
    file = ROOT / "docs" / target
    return file.read_text("utf-8") if file.is_file() else ""
