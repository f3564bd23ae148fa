"""The bare script that reads files for a model, on OpenAI's wire: ``BASE_URL QUESTION``."""

import json
import sys
from pathlib import Path
from typing import Any

from openai import OpenAI

client = OpenAI(base_url=sys.argv[1], api_key="bench")
properties = {"path": {"type": "string"}}
schema = {"type": "object", "properties": properties, "required": ["path"]}
tool: Any = {"name": "read_file", "description": "Read a text file.", "parameters": schema}
messages: list[Any] = [{"role": "user", "content": sys.argv[2]}]
while True:
    calls: list[Any] = []
    stream = client.chat.completions.create(
        model="bench",
        messages=messages,
        stream=True,
        tools=[{"type": "function", "function": tool}],
    )
    for chunk in stream:
        if chunk.choices:
            calls += chunk.choices[0].delta.tool_calls or []
            sys.stdout.write(chunk.choices[0].delta.content or "")
    if not calls:
        break
    asked = [
        {
            "id": c.id,
            "type": "function",
            "function": {"name": "read_file", "arguments": c.function.arguments},
        }
        for c in calls
    ]
    messages.append({"role": "assistant", "tool_calls": asked})
    for call in calls:
        text = Path(json.loads(call.function.arguments)["path"]).read_text("utf-8")
        messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
sys.stdout.write("\n")
