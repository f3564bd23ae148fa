"""The bare script that reads files for a model, on Anthropic's wire: ``BASE_URL QUESTION``."""

import json
import sys
from pathlib import Path
from typing import Any

from anthropic import Anthropic

client = Anthropic(base_url=sys.argv[1], api_key="bench")
properties = {"path": {"type": "string"}}
schema = {"type": "object", "properties": properties, "required": ["path"]}
tool: Any = {"name": "read_file", "description": "Read a text file.", "input_schema": schema}
messages: list[Any] = [{"role": "user", "content": sys.argv[2]}]
while True:
    identity, arguments = "", ""
    stream = client.messages.create(
        model="bench", max_tokens=8192, messages=messages, stream=True, tools=[tool]
    )
    for event in stream:
        if event.type == "content_block_start" and event.content_block.type == "tool_use":
            identity = event.content_block.id
        elif event.type == "content_block_delta" and event.delta.type == "text_delta":
            sys.stdout.write(event.delta.text)
        elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            arguments += event.delta.partial_json
    if not identity:
        break
    given = json.loads(arguments)
    asked = {"type": "tool_use", "id": identity, "name": "read_file", "input": given}
    text = Path(given["path"]).read_text("utf-8")
    result = {"type": "tool_result", "tool_use_id": identity, "content": text}
    messages.append({"role": "assistant", "content": [asked]})
    messages.append({"role": "user", "content": [result]})
sys.stdout.write("\n")
