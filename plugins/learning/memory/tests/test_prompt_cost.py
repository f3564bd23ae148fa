"""The cost of the plugin in each request, and a stable prompt prefix."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from hookline.testing import assert_prompt_stable
from hookline_hookspecs import Reviewer, Section
from hookline_memory import Memory

TOKENS = 350


def test_schema_and_guidance_are_small(memory: Any) -> None:
    plugin = memory.harness.plugin(Memory)
    (tool,) = [tool for tool in plugin.host.tools() if tool.name == "memory"]
    schema = json.dumps(asdict(tool.schema), ensure_ascii=False, separators=(",", ":"))
    memory.prompt()
    sections = [call.result for call in memory.harness.hooks["system_prompt"]]
    (guidance,) = [s for found in sections for s in found or [] if isinstance(s, Section)]
    assert guidance.slot == "guidance"
    assert "procedures belong in skills" in guidance.text
    assert (len(schema) + len(guidance.text)) / 4 <= TOKENS


def test_memory_keeps_the_prompt_prefix_stable(memory: Any) -> None:
    session = memory.new_session()
    memory.call("add", session=session, content="tea")
    memory.call("remember", session=session, content="The staging database is db-2")
    memory.told("staging database", session=session)
    memory.told("and the staging database?", session=session)
    assert_prompt_stable(memory.harness)


def test_reviewer_instruction_allows_saving_nothing(memory: Any) -> None:
    found = memory.harness.plugin(Memory).host.registered(Reviewer)
    (reviewer,) = [one for plugin, one in found if plugin == "memory"]
    assert (reviewer.turns, reviewer.at_end, reviewer.tools) == (10, 3, ("memory",))
    assert "Nothing to save." in reviewer.instruction
