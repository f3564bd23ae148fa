"""The bare one-shot script on Anthropic's wire: ``python cold_anthropic.py BASE_URL QUESTION``."""

import sys

from anthropic import Anthropic

client = Anthropic(base_url=sys.argv[1], api_key="bench")
stream = client.messages.create(
    model="bench", max_tokens=8192, messages=[{"role": "user", "content": sys.argv[2]}], stream=True
)
for event in stream:
    if event.type == "content_block_delta" and event.delta.type == "text_delta":
        sys.stdout.write(event.delta.text)
sys.stdout.write("\n")
