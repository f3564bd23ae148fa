"""Which hosts programs reach: rules decide, else a person, and without one nobody does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hookline_hookspecs import OfferedScope, Question, RuleVerdict, ToolCall
from hookline_hookspecs.questions import QuestionAnswer
from hookline_sandbox.network_access import Asking, NetworkAccess, normalized

Answer = Callable[[Question], str | None]
SCOPE = OfferedScope("Allow a.example in this session", ("network(a.example)",), "every port")


class Rules:
    """Rules that a test sets by host."""

    def __init__(self, **verdicts: str) -> None:
        self.verdicts: dict[str, Any] = {k.replace("_", "."): v for k, v in verdicts.items()}

    async def verdict(self, ctx: Any, call: ToolCall) -> RuleVerdict:
        found = self.verdicts.get(call.arguments["host"])
        return RuleVerdict(found, f"network({call.arguments['host']})", "config.yaml")

    async def offered_scopes(self, ctx: Any, call: ToolCall) -> list[OfferedScope]:
        return [SCOPE]

    async def add_scope(self, ctx: Any, scope: OfferedScope, by: str) -> None:
        self.verdicts["a.example"] = "allow"
        self.by = by

    async def local_ports(self, ctx: Any) -> list[int]:
        return [5432]


class Person:
    """Answers questions, and remembers them."""

    def __init__(self, answer: str | None, approval: str = "ask") -> None:
        self.answer, self.approval = answer, approval
        self.questions: list[Question] = []

    async def ask_answer(self, question: Question) -> QuestionAnswer | None:
        self.questions.append(question)
        await asyncio.sleep(0.05)
        return QuestionAnswer(self.answer, by="fake:boss") if self.answer else None


def access(rules: Rules | None = None) -> NetworkAccess:
    def blocked(url: str) -> str | None:
        return "It is a private address." if "169.254" in url else None

    host: Any = SimpleNamespace(
        services=SimpleNamespace(get=lambda protocol: rules),
        http=SimpleNamespace(check_url=blocked),
    )
    return NetworkAccess(host)


def asking(person: Person) -> Asking:
    ctx: Any = person
    return Asking(ctx, "curl http://a.example")


async def test_new_host_is_asked_once_for_all_connections_of_a_command() -> None:
    found, person = access(), Person("Allow once")
    command = asking(person)
    found.begin(command)
    answers = await asyncio.gather(*(found.refusal("A.example.", 443) for _ in range(3)))
    assert answers == [None, None, None]
    assert await found.refusal("a.example", 443) is None
    (question,) = person.questions
    assert question.text.startswith("Allow access to a.example?")
    assert question.preview == "curl http://a.example"
    assert question.choices == ("Allow once", "Deny")
    assert 0.04 < found.waited < 5
    await found.end(command)
    again = asking(person)
    found.begin(again)
    await found.refusal("a.example", 443)
    assert len(person.questions) == 2


async def test_denied_host_is_not_asked_again_by_the_same_command() -> None:
    found, person = access(), Person("Deny")
    found.begin(asking(person))
    for _ in range(2):
        assert await found.refusal("a.example", 80) == "The person did not allow a.example."
    assert len(person.questions) == 1


async def test_chosen_scope_is_stored_as_a_rule() -> None:
    rules, person = Rules(), Person(SCOPE.label)
    found = access(rules)
    found.begin(asking(person))
    assert await found.refusal("a.example", 80) is None
    assert (rules.verdicts, rules.by) == ({"a.example": "allow"}, "fake:boss")


@pytest.mark.parametrize("person", [Person("x", "no"), Person(None)])
async def test_without_a_person_the_refusal_says_how_to_grant(person: Person) -> None:
    found = access(Rules())
    found.begin(asking(person))
    refusal = await found.refusal("a.example", 443)
    assert "`hookline permissions add allow 'network(a.example)'`" in str(refusal)


async def test_background_process_reaches_only_what_rules_allow() -> None:
    person = Person("Allow once")
    found, command = access(Rules(b_example="allow")), asking(person)
    assert await found.refusal("b.example", 80) is not None  # no command yet
    found.begin(command)
    await found.end(command)
    assert await found.refusal("b.example", 80) is None
    assert "background" in str(await found.refusal("a.example", 80))
    assert person.questions == []


async def test_question_ends_with_the_command() -> None:
    found, person = access(), Person("Allow once")
    command = asking(person)
    found.begin(command)
    waiting = asyncio.create_task(found.refusal("a.example", 80))
    await asyncio.sleep(0.01)
    await found.end(command)
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_rules_private_addresses_and_own_ports_are_not_asked() -> None:
    found, person = access(Rules(c_example="deny")), Person("Allow once")
    found.begin(asking(person))
    assert "denies" in str(await found.refusal("c.example", 80))
    assert await found.refusal("169.254.169.254", 80) == "It is a private address."
    assert await found.refusal("127.0.0.1", 5432) is None
    assert "network(localhost:6379)" in str(await found.refusal("localhost", 6379))
    assert person.questions == []


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("Example.COM.", "example.com"),
        ("[::1]", "localhost"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("a b", ""),
        ("..", ""),
        ("a" * 300, ""),
    ],
)
def test_host_is_normalized(host: str, expected: str) -> None:
    assert normalized(host) == expected
