"""Windows that a server names or hides."""

from __future__ import annotations

import pytest
from hookline_hookspecs import ContextTooLong, Message, ModelRequest, ProviderSettings
from hookline_openai import OpenAIProvider
from support.openai_server import Reply

ASK = ModelRequest("openai/m", "", (), (Message.user("hi"),))
TOO_LONG = [
    ("This model's maximum context length is 8192 tokens, you requested 9000.", 8192),
    ("Context size has been exceeded.", None),
    ("Reached context length of 4096 tokens with this model.", 4096),
    ("prompt too long; exceeded max context length by 4 tokens", None),
    ("Requested tokens (5000) exceed context window of 2048", 2048),
    ("Trying to keep the first 5000 tokens when context the overflows. The model is loaded with "
     "context length of only 4096 tokens", 4096),
    ("The input (9000 tokens) is longer than the model's context length (8192 tokens).", 8192),
    ("输入内容超过模型最大上下文长度 8192", 8192),
    ("上下文长度超出限制", None),
]  # fmt: skip


@pytest.mark.parametrize("status", [400, 500, 200])
@pytest.mark.parametrize(("message", "window"), TOO_LONG)
async def test_error_about_the_window_is_recognized_and_its_number_is_remembered(
    serve, tmp_path, message, window, status
):
    error = {"error": {"message": message}}
    reply = Reply(status=status, body=error) if status != 200 else Reply(chunks=[error])
    settings = ProviderSettings("openai", serve([reply]).base_url, "k", {}, {"max_retries": 0})
    settings = ProviderSettings(
        **{name: getattr(settings, name) for name in settings.__slots__ if name != "home"},
        home=tmp_path,
    )
    provider = OpenAIProvider(settings)
    with pytest.raises(ContextTooLong):
        await provider.send(provider.render(ASK), None)
    await provider.aclose()
    assert OpenAIProvider(settings).window("openai/m") == window


async def test_server_that_cuts_a_prompt_silently_is_noticed(serve, connect):
    long = ModelRequest("openai/m", "", (), (Message.user("word " * 20_000),))
    for tokens, expected in ((4096, 1), (20_000, 0)):
        usage = {"prompt_tokens": tokens, "completion_tokens": 5}
        provider = connect(serve([Reply("ok", usage=usage)]))
        shown = []
        await provider.send(provider.render(long), shown.append)
        notices = [delta.text for delta in shown if delta.kind == "notice"]
        assert len(notices) == expected
        assert all("4,096" in text and "providers.openai.window" in text for text in notices)
