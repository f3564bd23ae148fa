"""The bare one-shot script on the OpenAI wire: ``python cold_openai.py BASE_URL QUESTION``."""

import sys

from openai import OpenAI

client = OpenAI(base_url=sys.argv[1], api_key="bench")
stream = client.chat.completions.create(
    model="bench",
    messages=[{"role": "user", "content": sys.argv[2]}],
    stream=True,
    stream_options={"include_usage": True},
)
for chunk in stream:
    if chunk.choices:
        sys.stdout.write(chunk.choices[0].delta.content or "")
sys.stdout.write("\n")
