"""The tools as the model gets them, and the plugin's settings."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys

import pytest
from hookline_files import Files, FilesConfig
from hookline_hookspecs import Tool
from hookline_hookspecs.tools import TOOL_MARK
from pydantic import ValidationError

TOOLS = {
    name: Tool.from_function(method, **getattr(method, TOOL_MARK))
    for name, method in inspect.getmembers(Files, callable)
    if hasattr(method, TOOL_MARK)
}
SCHEMA_CHARS = 2_600


@pytest.mark.parametrize(
    ("name", "parameters", "required"),
    [
        ("read_file", ["path", "start_line", "end_line"], ["path"]),
        ("write_file", ["path", "content"], ["path", "content"]),
        (
            "edit_file",
            ["path", "old_string", "new_string", "replace_all"],
            ["path", "old_string", "new_string"],
        ),
        ("list_dir", ["path"], []),
        ("glob", ["pattern", "path"], ["pattern"]),
        ("grep", ["pattern", "path", "glob", "ignore_case"], ["pattern"]),
    ],
)
def test_parameters_of_each_tool(name, parameters, required):
    schema = TOOLS[name].schema.parameters
    assert list(schema["properties"]) == parameters
    assert schema.get("required", []) == required


def test_tool_declarations():
    assert {n for n, t in TOOLS.items() if not t.read_only} == {"write_file", "edit_file"}
    assert {n for n, t in TOOLS.items() if t.paged} == {"read_file"}
    assert len(TOOLS) == 6


def test_tool_schemas_cost_few_tokens():
    schemas = [
        {
            "name": tool.schema.name,
            "description": tool.schema.description,
            "input_schema": tool.schema.parameters,
        }
        for tool in TOOLS.values()
    ]
    assert len(json.dumps(schemas, separators=(",", ":"))) <= SCHEMA_CHARS


def test_settings_are_described_and_reject_invalid_values():
    for name, field in FilesConfig.model_fields.items():
        assert field.description
        with pytest.raises(ValidationError):
            FilesConfig(**{name: 0})


@pytest.mark.slow
def test_plugin_import_loads_nothing_heavy():
    code = "import sys, hookline_files; sys.exit('regex' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
