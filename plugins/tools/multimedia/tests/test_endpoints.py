"""The address and key of each service, and the tools that are offered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_hookspecs.speech import Speaker, Transcriber
from hookline_multimedia import Multimedia

TOOLS = ["generate_image", "describe_image", "text_to_speech", "transcribe_audio"]
Make = Callable[..., Harness]
OF_OPENAI = {"providers.openai": {"api_key": "sk-of-the-provider"}}


def offered(h: Harness) -> list[str]:
    """The tools that a model is offered."""
    h.model.steps[:] = ["hi"]
    h.send("hello")
    return [schema.name for schema in h.model.last.tools]


def test_no_tool_is_offered_without_a_key(harness: Make) -> None:
    h = harness(Multimedia)
    assert offered(h) == []
    host = h.plugin(Multimedia).host
    assert host.services.get(Transcriber) is None
    assert host.services.get(Speaker) is None
    ((_, check),) = h.checks()
    found = check.run()
    assert (found.ok, found.hint) == (True, True)  # type: ignore[union-attr]
    assert "OPENAI_API_KEY" in found.fix  # type: ignore[union-attr]


def test_own_server_needs_no_key(harness: Make) -> None:
    h = harness(Multimedia, config={"base_url": "http://127.0.0.1:9/v1"})
    assert offered(h) == TOOLS
    ((_, check),) = h.checks()
    assert "speech: gpt-4o-mini-tts at http://127.0.0.1:9/v1" in check.run().detail  # type: ignore[union-attr]


def test_only_tools_with_a_service_are_offered(harness: Make) -> None:
    speech = {"base_url": "http://127.0.0.1:9/v1"}
    assert offered(harness(Multimedia, config={"speech": speech})) == ["text_to_speech"]


def test_service_can_be_switched_off(harness: Make) -> None:
    config = {"base_url": "http://127.0.0.1:9/v1", "image": False, "vision": False}
    assert offered(harness(Multimedia, config=config)) == TOOLS[2:]


def test_server_that_needs_no_key_gets_none(
    make_media_tools: Callable[..., Any], make_server: Callable[..., Any]
) -> None:
    local = make_server(None)
    media_tools = make_media_tools(at=local)
    assert media_tools.text("generate_image", prompt="a").startswith("Saved to ")
    assert local.requests[0].headers["authorization"] == "Bearer none"


def test_provider_address_and_key_are_the_default(
    server: Any, make_media_tools: Callable[..., Any]
) -> None:
    of_openai = {"base_url": server.base_url, "api_key": server.key}
    media_tools = make_media_tools(
        base_url=None, api_key=None, core={"providers.openai": of_openai}
    )
    assert media_tools.text("generate_image", prompt="a").startswith("Saved to ")


def test_key_is_sent_to_its_own_address_only(
    make_media_tools: Callable[..., Any],
    server: Any,
    make_server: Callable[..., Any],
    tone: Callable[[str], bytes],
) -> None:
    """A service with an address of its own gets neither the plugin's key nor the provider's."""
    local = make_server(None)
    media_tools = make_media_tools(speech={"base_url": local.base_url}, core=OF_OPENAI)
    assert media_tools.text("text_to_speech", text="Hi").startswith("Saved to ")
    assert media_tools.text("generate_image", prompt="a").startswith("Saved to ")
    (spoken,) = local.requests
    assert spoken.headers["authorization"] == "Bearer none"
    assert len(server.requests) == 1


def test_plugin_address_does_not_get_the_provider_key(
    make_media_tools: Callable[..., Any], make_server: Callable[..., Any]
) -> None:
    local = make_server(None)
    media_tools = make_media_tools(base_url=local.base_url, api_key=None, core=OF_OPENAI)
    assert media_tools.text("generate_image", prompt="a").startswith("Saved to ")
    assert local.requests[0].headers["authorization"] == "Bearer none"


@pytest.mark.slow
def test_each_service_may_have_its_own_address_key_and_model(
    make_media_tools: Callable[..., Any],
    server: Any,
    make_server: Callable[..., Any],
    png: bytes,
    tone: Callable[[str], bytes],
) -> None:
    servers = {name: make_server(f"sk-key-of-{name}") for name in ("vision", "transcription")}
    models = {"vision": "gpt-5.5", "transcription": "whisper-1"}
    own = {
        name: {"base_url": one.base_url, "api_key": one.key, "model": models[name]}
        for name, one in servers.items()
    }
    media_tools = make_media_tools(**own)
    media_tools.file("a.png", png)
    media_tools.file("a.wav", tone("wav"))
    assert media_tools.text("describe_image", image="a.png") == "a red bicycle"
    assert media_tools.text("transcribe_audio", audio="a.wav") == "turn on the lamp"
    assert servers["vision"].requests[0].json["model"] == "gpt-5.5"
    assert servers["transcription"].requests[0].form["model"] == "whisper-1"
    assert server.requests == []
