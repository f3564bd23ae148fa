"""Showing the config masks secrets; the schema describes every key."""

from __future__ import annotations

import json
from pathlib import Path

from hookline.config import ConfigFile, effective, load

ENV = {"KEY": "sk-1"}


def test_effective_config_masks_secrets(tmp_path: Path) -> None:
    text = (
        "store: postgresql://u:hunter2@h/db\n"
        "providers: {openai: {api_key: ${KEY}, "
        "headers: {Authorization: Bearer abc}, x: 'a sk-1 b'}}\n"
        "plugins: {telegram: {token: tok}, titles: false, web: {deep: [{secret: s}]}, bad: 3}\n"
    )
    (tmp_path / "config.yaml").write_text(text)
    shown = effective(load(tmp_path, ENV))
    assert shown["store"] == "postgresql://u:********@h/db"
    assert shown["providers"]["openai"] == {
        "driver": None,
        "base_url": None,
        "api_key": "********",
        "headers": {"Authorization": "********"},
        "window": None,
        "x": "a ******** b",
    }
    assert shown["plugins"]["telegram"] == {"token": "********"}
    assert shown["plugins"]["web"] == {"deep": [{"secret": "********"}]}
    assert shown["plugins"]["files"] is True
    assert shown["plugins"]["titles"] is False
    assert shown["plugins"]["bad"] is False
    assert shown["max_iterations"] == 90
    assert json.loads(json.dumps(shown)) == shown


def test_config_schema_describes_every_key() -> None:
    schema = ConfigFile.model_json_schema()
    tables = [schema, *schema["$defs"].values()]
    fields = [(name, field) for table in tables for name, field in table["properties"].items()]
    assert {"model", "plugins", "idle_hours", "allow_hosts"} <= {name for name, _ in fields}
    assert [name for name, field in fields if not field.get("description")] == []
