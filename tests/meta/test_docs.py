"""The docs hold every hook, signal, type and config key, and their links work."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import hookline_hookspecs
import pytest
from hookline.config.model import ConfigFile
from hookline_hookspecs import HOOKS, SIGNALS, HookSpecs, Kind
from pydantic import BaseModel

from meta.tree import ROOT, Dist, dists

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
    found = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    return [text.replace("`", "") for text in found]


def section(page: str, name: str) -> str:
    """The text below the heading ``name``, up to the next one."""
    return page.partition(f"# {name}\n")[2].partition("\n##")[0]


def facts(text: str) -> dict[str, str]:
    """The rows of a table of two columns."""
    return dict(re.findall(r"^\| ([^|]+) \| (.*) \|$", text, re.MULTILINE))


@pytest.mark.parametrize("name", HOOKS)
def test_docs_have_a_heading_and_facts_for_each_hook(pages: dict[str, str], name: str) -> None:
    page, hook = pages["reference/hooks.md"], HOOKS[name]
    assert headings(page).count(name) == 1
    text = section(page, f"`{name}`")
    told = facts(text)
    link = f"[`{hook.kind}`](../authors/kinds/{hook.kind}.md)"
    rows = re.findall(r"^\| (.*?) \| (.*?) \| (.*?) \|$", section(page, "Kinds"), re.MULTILINE)
    ((results, failure),) = [(results, failure) for kind, results, failure in rows if kind == link]
    assert told["kind"] == f"{link}: {results}"
    assert told["deadline"] == ("none" if hook.deadline is None else f"{hook.deadline:g} s")
    assert name == "setup" or told["if it fails"] == failure
    assert told["order"].startswith("the last" if hook.reverse else "the first")
    assert ("runs" in told) is hook.background
    assert hook.doc.split("``")[0].splitlines()[0] in text
    assert f"`{hook.event}` is" in text


@pytest.mark.parametrize("name", HOOKS)
def test_docs_say_what_each_hook_may_return(pages: dict[str, str], name: str) -> None:
    told = facts(section(pages["reference/hooks.md"], f"`{name}`"))["you return"]
    annotation = str(inspect.signature(getattr(HookSpecs, name)).return_annotation)
    for kind in re.findall(r"\w+", annotation):
        if inspect.isclass(getattr(hookline_hookspecs, kind, None)):
            assert f"[{kind}](types.md#{kind})" in told
    if annotation in ("None", "MaybeAwaitable[None]"):
        assert told.startswith("nothing")


@pytest.mark.parametrize("name", HOOKS)
def test_docs_list_the_fields_of_an_event(pages: dict[str, str], name: str) -> None:
    text = section(pages["reference/hooks.md"], f"`{name}`")
    signature = inspect.signature(getattr(HookSpecs, name))
    kind = getattr(
        hookline_hookspecs, str(signature.parameters[HOOKS[name].event].annotation), None
    )
    for field in dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ():
        assert not field.init or f"| `{field.name}` | `{field.type}` |" in text


def implemented(dist: Dist, kind: type) -> set[str]:
    """The hooks of a dist and of the libraries that its class comes from, by the decorators in
    their sources."""
    bases = (inspect.getfile(one) for one in kind.__mro__ if "hookline_" in one.__module__)
    files = {*(dist.source / dist.module).rglob("*.py"), *map(Path, bases)}
    trees = (ast.parse(file.read_text("utf-8")) for file in files)
    return {
        node.name
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if any("hookimpl" in ast.unparse(mark) for mark in node.decorator_list)
    }


def test_docs_say_who_uses_each_hook(pages: dict[str, str]) -> None:
    loaded = importlib.import_module("hook_users").classes()
    assert loaded
    for dist in (one for one in dists() if one.is_plugin):
        names = [name for name in dist.entry_points if name in loaded]
        links = [f"[{name}](../plugins/{name}.md)" for name in names]
        used = {
            hook
            for hook in HOOKS
            if any(link in section(pages["reference/hooks.md"], f"`{hook}`") for link in links)
        }
        if names == list(dist.entry_points) == [dist.folder.name]:
            assert used == implemented(dist, loaded[dist.folder.name]), dist.name


@pytest.mark.parametrize("signal", SIGNALS)
def test_docs_have_a_row_for_each_signal(pages: dict[str, str], signal: str) -> None:
    row = next(
        line
        for line in section(pages["reference/hooks.md"], "Signals").splitlines()
        if line.startswith(f"| `{signal}` |")
    )
    assert len(row.split("|")[4].split()) >= 4


@pytest.mark.parametrize("kind", get_args(Kind))
def test_docs_have_a_page_for_each_kind_with_its_hooks(kind: Kind) -> None:
    text = _written(f"authors/kinds/{kind}.md")
    named = set(re.findall(r"reference/hooks\.md#(\w+)", text.partition("## ")[0]))
    hooks = {name for name in HOOKS if HOOKS[name].kind == kind}
    linked = {"register_tools" if name.startswith("register_") else name for name in hooks}
    assert named - {"signals"} == linked
    told = facts(text)["deadline"]
    for deadline in {HOOKS[name].deadline for name in hooks}:
        assert ("none" if deadline is None else f"{deadline:g} s") in told


def test_docs_describe_every_exported_class(pages: dict[str, str]) -> None:
    described = headings(pages["reference/types.md"])
    classes = {
        name
        for name in hookline_hookspecs.__all__
        if isinstance(getattr(hookline_hookspecs, name), type)
    }
    told_on_the_page_of_hooks = {"HookSpec", "HookSpecs"}
    assert classes - set(described) == told_on_the_page_of_hooks


@pytest.mark.parametrize(
    "alias",
    ["Audience", "EffectKind", "Feature", "InboundKind", "Mode", "ModelStop", "Slot", "Stop"],
)
def test_docs_show_the_values_of_a_type_alias(pages: dict[str, str], alias: str) -> None:
    module = next(
        one
        for name, one in sys.modules.items()
        if name.startswith("hookline_hookspecs.") and hasattr(one, alias)
    )
    values = ", ".join(map(repr, get_args(getattr(module, alias))))
    assert f"`{alias}` | `{values}` |" in pages["reference/types.md"]


def test_docs_reference_shows_no_internals_of_python(pages: dict[str, str]) -> None:
    shown = "".join(text for path, text in pages.items() if path.startswith("reference/"))
    assert not re.findall(r"ForwardRef| at 0x|functools\.", shown)


@pytest.mark.parametrize("kit", ["channelkit", "providerkit", "webkit"])
def test_docs_describe_every_export_of_a_kit(pages: dict[str, str], kit: str) -> None:
    page = pages["reference/kits.md"]
    text = page.partition(f"## `hookline_{kit}`")[2].partition("\n## ")[0]
    exported = importlib.import_module(f"hookline_{kit}").__all__
    assert [one for one in exported if f"`{one}`" not in text] == []


def config_keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """The dotted paths of a model's fields, without those inside mappings by name."""
    for name, field in model.model_fields.items():
        yield prefix + name
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from config_keys(field.annotation, f"{prefix}{name}.")


@pytest.mark.parametrize("key", list(config_keys(ConfigFile)))
def test_docs_have_a_described_row_for_each_config_key(pages: dict[str, str], key: str) -> None:
    text = section(pages["reference/configuration.md"], f"`{key.partition('.')[0]}`")
    row = next(line for line in text.splitlines() if line.startswith(f"| `{key}` |"))
    _, value, _, what = re.sub("`[^`]*`", "`…`", row).strip("| ").split(" | ")
    assert value.strip()
    assert len(what.split()) >= 2, f"{key} has no description in its model"


def test_docs_list_the_settings_of_a_provider(pages: dict[str, str]) -> None:
    assert "`providers.NAME.base_url`" in pages["reference/configuration.md"]


def test_docs_list_every_dist_and_have_its_page(pages: dict[str, str]) -> None:
    for dist in dists():
        name = dist.folder.name
        assert f"[{name}]({name}.md) | `{dist.name}` |" in pages["plugins/index.md"]
        assert pages[f"plugins/{name}.md"] == (dist.folder / "README.md").read_text("utf-8")


def test_docs_links_lead_to_existing_pages_and_anchors(pages: dict[str, str]) -> None:
    """Links of the handwritten pages lead to existing pages and anchors."""
    link = re.compile(r"\]\(([\w/.-]+\.md)?(#[\w.-]+)?\)")
    broken = []
    for file in sorted((ROOT / "docs").rglob("*.md")):
        page = file.relative_to(ROOT / "docs").as_posix()
        for target, anchor in link.findall(file.read_text("utf-8")):
            place = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
            known = pages.get(place) or _written(place if target else page)
            slugs = [f"#{name}" for name in re.findall(r'<a id="(\w+)">', known)] + [
                "#" + re.sub(r"[^\w\s-]", "", text).lower().replace(" ", "-")
                for text in headings(known)
            ]
            if not known or (anchor and anchor not in slugs):
                broken.append(f"{page}: {target}{anchor}")
    assert not broken


def test_docs_committed_reference_is_current() -> None:
    """The committed reference matches the sources."""
    sys.path.insert(0, str(GENERATORS))
    try:
        reference = importlib.import_module("write").reference()
    finally:
        sys.path.remove(str(GENERATORS))
    stale = [path for path, text in reference.items() if _written(path) != text]
    assert not stale, f"run `uv run python docs/_gen/write.py` and commit {stale}"


def _written(target: str) -> str:
    file = ROOT / "docs" / target
    return file.read_text("utf-8") if file.is_file() else ""
