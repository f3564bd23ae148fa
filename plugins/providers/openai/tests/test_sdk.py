"""The real SDK, imported without its types, works as usual."""

from __future__ import annotations

import subprocess
import sys

import pytest

SDK = """
import sys
from hookline_providerkit import lazy_imports
with lazy_imports("openai.types"):
    import openai
few = len(sys.modules)
lazy = {name: getattr(openai.types, name) for name in dir(openai.types)}
client = openai.OpenAI(api_key="none", base_url="http://127.0.0.1:1/v1", max_retries=0)
try:
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
except openai.APIConnectionError:
    pass
for name in [name for name in sys.modules if name.split(".")[0] == "openai"]:
    del sys.modules[name]
import openai
whole = {name for name, value in vars(openai.types).items() if isinstance(value, type)}
assert whole, "the SDK has no types any more"
assert whole <= set(lazy), whole - set(lazy)
assert len(sys.modules) - few > 200, (few, len(sys.modules))
"""


@pytest.mark.slow
def test_real_sdk_is_complete_when_imported_lazily() -> None:
    done = subprocess.run([sys.executable, "-c", SDK], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
