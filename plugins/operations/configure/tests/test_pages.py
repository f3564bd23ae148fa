"""The plugin pages: states, settings as a form, and changes of config.yaml."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from hookline.testing import Harness
from hookline.testing.pages import OPERATOR, PERSON, PageClient
from hookline_configure import Configure
from hookline_configure.masking import mask_texts
from hookline_configure.settings_form import setting_inputs
from hookline_hookspecs import Configuration, Plugin, tool
from hookline_hookspecs.web import Actions, Diff, Form, Problem, Redirect, View
from pydantic import BaseModel, Field, SecretStr

from .conftest import WRITTEN

Make = Callable[..., Harness]
SECRET = "sk-very-long-secret"


class Server(BaseModel):
    """A shape of its own."""

    url: str
    token: str = ""


class ProbeConfig(BaseModel):
    """One setting of each shape."""

    on: bool = True
    count: int = Field(3, ge=1, title="Open connections", description="How many")
    ratio: float | None = None
    mode: Literal["fast", "slow"] = "fast"
    text: str = "hello"
    note: str | None = None
    api_key: SecretStr | None = None
    password: str = ""
    names: list[str] = []
    servers: dict[str, Server] = {}


class Probe(Plugin[ProbeConfig]):
    """A plugin with settings and a tool."""

    @tool
    def probe(self) -> str:
        """Probe."""
        return ""


class Buoy(Plugin[ProbeConfig]):
    """One of which there may be several."""

    multiple = True


@pytest.fixture
def site(configured: Harness) -> PageClient:
    return PageClient(configured)


@pytest.fixture
def core(configured: Harness) -> Configuration:
    return configured.plugin(Configure).host.services[Configuration]


def form_of(view: View) -> Form:
    return next(one for one in view.parts if isinstance(one, Form))


def typed(view: View, **changed: str) -> dict[str, str]:
    """What a browser sends of a plugin's page."""
    fields = {one.name: one for one in form_of(view).fields}
    given = {n: "" if one.kind == "secret" else str(one.value) for n, one in fields.items()}
    return given | changed


def review(site: PageClient, name: str, **changed: str) -> View:
    view = site.get(f"/plugins/{name}")
    found: View = site.post(form_of(view).path, typed(view, **changed))
    return found


def token(view: View) -> dict[str, str]:
    actions = next(one for one in _flat(view.parts) if isinstance(one, Actions))
    return dict(actions.items[0].fields)


def _flat(parts: Any) -> list[Any]:
    return [one for part in parts for one in (part, *_flat(getattr(part, "parts", ())))]


@pytest.mark.slow
def test_plugins_are_listed_with_state_and_cost(harness: Make) -> None:
    site = PageClient(harness(Configure, Probe, config={"configure": {}, "probe": {}}))
    view = site.get("/plugins")
    (rows,) = [one.rows for one in view.parts if type(one).__name__ == "Table"]
    found = {row.cells[0].text: row.cells for row in rows}
    assert found["probe"][1].text == "on"
    assert found["probe"][3] > 0
    assert "memory" in found
    assert not [name for name in found if "[" in name]  # extras are no part of a plugin's name
    assert "probe" in site.text(site.get("/plugins/probe"))
    only = site.get("/plugins?q=probe")
    assert "Telegram" not in site.text(only)


@pytest.mark.slow
def test_each_plugin_instance_has_its_own_page_and_settings(harness: Make) -> None:
    h = harness(Configure, Buoy, config={"buoy": {"count": 1}, "buoy:north": {"count": 2}})
    written = 'plugins:\n  buoy: {count: 1}\n  "buoy:north": {count: 2}  # cold\n'
    h.home.mkdir(parents=True, exist_ok=True)
    (h.home / "config.yaml").write_text(written)
    site = PageClient(h)

    view = site.get("/plugins/buoy:north")
    (diff,) = [one for one in review(site, "buoy:north", count="5").parts if isinstance(one, Diff)]

    assert typed(view)["count"] == "2"
    assert typed(site.get("/plugins/buoy"))["count"] == "1"
    assert diff.after == written.replace("count: 2", "count: 5")


@pytest.mark.slow
def test_change_is_shown_and_written_after_confirmation(site: PageClient, path: Path) -> None:
    view = review(site, "memory", notes_max_chars="3000", recall_limit="7")
    (diff,) = [one for one in view.parts if isinstance(one, Diff)]
    assert "notes_max_chars: 3000   # characters" in diff.after
    assert path.read_text() == WRITTEN
    done = site.post("/plugins/memory/confirm", token(view))
    assert isinstance(done, Redirect)
    text = path.read_text()
    assert "notes_max_chars: 3000   # characters" in text
    assert "recall_limit: 7" in text
    for comment in ("# my config", "# after notes", "# dull", "# the end", "# how long"):
        assert comment in text
    with pytest.raises(Problem):
        site.post("/plugins/memory/confirm", token(view))


@pytest.mark.slow
def test_empty_field_restores_the_default(site: PageClient, path: Path) -> None:
    view = review(site, "memory", notes_max_chars="")
    site.post("/plugins/memory/confirm", token(view))
    assert "notes_max_chars" not in path.read_text()


@pytest.mark.slow
def test_unchanged_form_changes_nothing(site: PageClient, path: Path) -> None:
    view = review(site, "memory")
    assert "No changes: config.yaml" in site.text(view)
    assert path.read_text() == WRITTEN


@pytest.mark.slow
@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("notes_max_chars", "many", "“many” is not a number."),
        ("notes_max_chars", "-4", "Expected a number greater than"),
        ("log_days", "0", "Expected a number greater than"),
        ("recall_threshold", "3", "Expected a number less than"),
    ],
)
def test_invalid_value_is_shown_with_error_at_its_field(
    site: PageClient, path: Path, field: str, value: str, told: str
) -> None:
    view = review(site, "memory", **{"recall_limit": "9", field: value})
    assert view.status == 422
    fields = {one.name: one for one in form_of(view).fields}
    assert told in fields[field].error
    assert (fields[field].value, fields["recall_limit"].value) == (value, "9")
    assert path.read_text() == WRITTEN


@pytest.mark.slow
def test_concurrent_edits_do_not_overwrite_each_other(site: PageClient, path: Path) -> None:
    first = review(site, "memory", notes_max_chars="3000")
    path.write_text(WRITTEN.replace("idle_hours: 24", "idle_hours: 12"))
    view = site.post("/plugins/memory/confirm", token(first))
    assert view.status == 409
    diffs = [one for one in _flat(view.parts) if isinstance(one, Diff)]
    assert "idle_hours: 12" in diffs[0].after
    assert "notes_max_chars: 3000" in diffs[1].after
    assert "3000" not in path.read_text()
    done = site.post("/plugins/memory/confirm", token(view))
    assert done.tone == "good"
    text = path.read_text()
    assert "idle_hours: 12" in text
    assert "notes_max_chars: 3000" in text


@pytest.mark.slow
def test_pending_change_survives_route_reload(
    site: PageClient, configured: Harness, path: Path
) -> None:
    view = review(site, "memory", notes_max_chars="3000")
    assert PageClient(configured).post("/plugins/memory/confirm", token(view)).tone == "good"
    assert "notes_max_chars: 3000" in path.read_text()


@pytest.mark.slow
def test_change_is_confirmed_only_by_its_author(site: PageClient) -> None:
    from dataclasses import replace

    view = review(site, "memory", notes_max_chars="3000")
    other = replace(OPERATOR, name="somebody")
    with pytest.raises(Problem):
        site.post("/plugins/memory/confirm", token(view), other)
    with pytest.raises(Problem):
        site.post("/plugins/titles/confirm", token(view))


@pytest.mark.slow
def test_secret_is_written_and_never_shown(site: PageClient, path: Path) -> None:
    path.write_text(WRITTEN.replace("${KEY}", SECRET).replace("${BOT:-none}", "123:telegram-token"))
    view = site.get("/plugins/telegram")
    shown = site.text(view)
    assert "telegram-token" not in shown
    field = next(one for one in form_of(view).fields if one.name == "token")
    assert (field.kind, field.value) == ("secret", True)
    view = review(site, "telegram", token="456:another-token")
    for hidden in ("another-token", "telegram-token", SECRET):
        assert hidden not in site.text(view)
    site.post("/plugins/telegram/confirm", token(view))
    assert "456:another-token" in path.read_text()
    kept = review(site, "telegram")
    assert "No changes: config.yaml" in site.text(kept)


@pytest.mark.parametrize(
    "written",
    ["'it''s a secret'", '"a \\"quoted\\" secret"', "|\n    BEGIN secret\n    line two\n"],
)
def test_secret_is_masked_in_every_yaml_form(core: Configuration, written: str) -> None:
    text = f"plugins:\n  telegram:\n    token: {written}\n    # secret of mine\n"
    (shown,) = mask_texts(core, text)
    assert "secret" not in shown.replace("# secret of mine", "")
    assert "line two" not in shown


@pytest.mark.slow
def test_plugin_is_disabled_at_once_and_enabled_again(
    site: PageClient, path: Path, configured: Harness
) -> None:
    done = site.post("/plugins/titles/enable")
    assert "on in config.yaml" in done.message
    assert "titles: true   # dull" in path.read_text()
    assert site.post("/plugins/titles/disable").message.startswith("titles is off now.")
    assert "titles: false  # dull" in path.read_text()
    done = site.post("/plugins/web-ui/enable")
    assert done.message.startswith("Turned on in config.yaml: web-server, web-ui.")
    assert "  web-server: true\n" in path.read_text()
    for name in ("gone", "../x"):
        with pytest.raises(Problem):
            site.post(f"/plugins/{name}/enable")
        with pytest.raises(Problem):
            site.post(f"/plugins/{name}/disable")


@pytest.mark.slow
def test_disable_takes_effect_immediately(harness: Make) -> None:
    h = harness(Configure, Probe, config={"configure": {}, "probe": {}})
    site = PageClient(h)
    h.home.mkdir(parents=True, exist_ok=True)
    (h.home / "config.yaml").write_text("plugins: {probe: true}\n")
    assert site.post("/plugins/probe/disable").tone == "good"
    assert h.states()["probe"][0] == "off"


@pytest.mark.slow
def test_broken_config_is_reported_and_left_alone(site: PageClient, path: Path) -> None:
    site.get("/plugins/memory")
    path.write_text("plugins: [")
    assert "config.yaml" in site.text(site.get("/plugins/memory"))
    with pytest.raises(Problem) as refused:
        site.post("/plugins/memory/settings", {"recall_limit": "2"})
    assert refused.value.status == 409
    assert site.post("/plugins/memory/enable").tone == "bad"
    assert path.read_text() == "plugins: ["


@pytest.mark.slow
def test_plugin_pages_are_only_for_operator_and_viewing_stores_nothing(
    site: PageClient, path: Path
) -> None:
    before = site.stored()
    for address in ("/plugins", "/plugins/memory", "/plugins/telegram"):
        site.get(address)
        with pytest.raises(Problem) as refused:
            site.get(address, PERSON)
        assert refused.value.status == 403
    assert site.stored() == before
    assert path.read_text() == WRITTEN
    with pytest.raises(Problem):
        site.get("/plugins/gone")


SCHEMA = ProbeConfig.model_json_schema()


def inputs(written: Any = None) -> dict[str, Any]:
    return {one.name: one for one in setting_inputs(SCHEMA, written, written)}


def test_label_of_a_setting_is_its_title_or_its_key_in_words(harness: Make) -> None:
    site = PageClient(harness(Configure, Probe, config={"configure": {}, "probe": {}}))
    fields = {one.name: one for one in form_of(site.get("/plugins/probe")).fields}
    assert (fields["count"].label, fields["count"].key) == ("Open connections", "count")
    assert (fields["api_key"].label, fields["api_key"].key) == ("API key", "api_key")


def test_each_setting_type_has_its_input() -> None:
    kinds = {name: one.kind for name, one in inputs().items()}
    assert kinds == {
        "on": "switch",
        "count": "number",
        "ratio": "number",
        "mode": "choice",
        "text": "text",
        "note": "text",
        "api_key": "secret",
        "password": "secret",
        "names": "yaml",
        "servers": "yaml",
    }
    assert inputs({"count": "${COUNT}"})["count"].kind == "yaml"
    assert inputs({"colour": 3})["colour"].text == "3"
    assert inputs()["count"].field().help == "How many. Default: 3"


@pytest.mark.parametrize(
    ("name", "given", "wanted"),
    [
        ("on", "true", (False, None)),
        ("on", "false", (True, "false")),
        ("count", "4", (True, "4")),
        ("count", "", (False, None)),
        ("ratio", "0.5", (True, "0.5")),
        ("mode", "slow", (True, "slow")),
        ("text", "yes", (True, "'yes'")),
        ("text", "", (True, "''")),
        ("note", "", (False, None)),
        ("api_key", "", (False, None)),
        ("api_key", "a: b", (True, "'a: b'")),
        ("names", "[a, b]", (True, "[a, b]")),
    ],
)
def test_typed_value_becomes_yaml(core: Configuration, name: str, given: str, wanted: Any) -> None:
    assert inputs()[name].change(core, given) == wanted


def test_masked_secret_in_nested_setting_is_restored(core: Configuration) -> None:
    written = {"servers": {"a": {"url": "http://a", "token": SECRET}}}
    one = inputs(written)["servers"]
    assert SECRET not in one.text
    changed, value = one.change(core, one.text.replace("http://a", "http://b"))
    assert changed
    assert value is not None
    assert SECRET in value
    assert "http://b" in value
    with pytest.raises(ValueError, match="stands for an existing secret"):
        one.change(core, "b: {url: x, token: '********'}")
