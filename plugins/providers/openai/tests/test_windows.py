"""Windows that a server names or hides."""

from __future__ import annotations

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

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
    ("Input length 9000 exceeds maximum allowed token size 8192", None),
    ("too many tokens in prompt", None),
    ("Die Eingabe überschreitet die maximale Kontextlänge", None),
    ("La longueur du contexte dépasse la limite", None),
    ("El mensaje excede la longitud máxima del contexto", None),
    ("Превышена максимальная длина контекста", None),
    ("コンテキスト長が上限を超えています", None),
    ("입력이 최대 컨텍스트 길이를 초과했습니다", None),
]  # fmt: skip


@pytest.mark.long
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


SHOWN = {"parameters": "num_ctx 16384", "model_info": {"llama.context_length": 131072}}
SAYING = {
    "llama.cpp": {"/props": {"default_generation_settings": {"n_ctx": 4096}}},
    "ollama": {"/api/show": SHOWN},
    "ollama without num_ctx": {"/api/show": {"model_info": {"llama.context_length": 4096}}},
    "LM Studio": {"/api/v0/models": {"data": [{"id": "m", "loaded_context_length": 4096}]}},
    "vLLM": {"/v1/models": {"data": [{"id": "m", "max_model_len": 4096}]}},
    "OpenRouter": {"/v1/models": {"data": [{"id": "m", "context_length": 4096}]}},
    "nothing": {},
    "another model": {"/v1/models": {"data": [{"id": "other", "context_length": 4096}]}},
}


class SayingServer(BaseHTTPRequestHandler):
    """Answers chats, and what ``says`` has for other paths."""

    says: ClassVar[dict[str, Any]] = {}
    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        if self.path.endswith("/chat/completions"):
            message = {"role": "assistant", "content": "ok"}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            self._send({"id": "1", "model": "m", "choices": [choice]})
        else:
            self.do_GET()

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self._send(self.says.get(self.path, {"error": "no such path"}))

    def _send(self, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(404 if "error" in body else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_given: Any) -> None:
        pass


@pytest.mark.long
@pytest.mark.parametrize("name", SAYING)
async def test_chat_asks_the_server_for_the_window_once(tmp_path, name):
    handler = type("Handler", (SayingServer,), {"says": SAYING[name], "asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}/v1"
        options = {"max_retries": 0, "stream": False}
        settings = ProviderSettings("openai", address, "k", {}, options, home=tmp_path)
        provider = OpenAIProvider(settings)
        assert provider.window("openai/m") is None
        for _ in range(2):
            assert (await provider.send(provider.render(ASK), None)).text == "ok"
        expected = {"ollama": 16384, "nothing": None, "another model": None}.get(name, 4096)
        async with asyncio.timeout(30):
            while provider.window("openai/m") != expected or not handler.asked:
                await asyncio.sleep(0.01)
            while expected is None and len(handler.asked) < 4:
                await asyncio.sleep(0.01)
        await provider.aclose()
        server.shutdown()
    assert OpenAIProvider(settings).window("openai/m") == expected
    assert len(handler.asked) == len(set(handler.asked))


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
