"""What the plugin costs in every request, and that it never changes what was sent."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from hookline.testing import assert_prompt_stable
from hookline_hookspecs import Reviewer, Section
from hookline_memory import Memory

TOKENS = 350


def test_schema_and_guidance_are_small(mind: Any) -> None:
    plugin = mind.harness.plugin(Memory)
    (tool,) = [tool for tool in plugin.host.tools() if tool.name == "memory"]
    schema = json.dumps(asdict(tool.schema), ensure_ascii=False, separators=(",", ":"))
    mind.prompt()
    sections = [call.result for call in mind.harness.hooks["system_prompt"]]
    (guidance,) = [s for found in sections for s in found or [] if isinstance(s, Section)]
    assert guidance.slot == "guidance"
    assert "procedures belong in skills" in guidance.text
    assert (len(schema) + len(guidance.text)) / 4 <= TOKENS


def test_memory_keeps_the_prompt_prefix_stable(mind: Any) -> None:
    session = mind.new_session()
    mind.call("add", session=session, content="tea")
    mind.call("remember", session=session, content="The staging database is db-2")
    mind.told("staging database", session=session)
    mind.told("and the staging database?", session=session)
    assert_prompt_stable(mind.harness)


def test_reviewer_instruction_allows_saving_nothing(mind: Any) -> None:
    found = mind.harness.plugin(Memory).host.registered(Reviewer)
    (reviewer,) = [one for plugin, one in found if plugin == "memory"]
    assert (reviewer.turns, reviewer.at_end, reviewer.tools) == (10, 3, ("memory",))
    assert "Nothing to save." in reviewer.instruction
