"""Which skills are added to a message, and when."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hookline.testing import Clock, Harness, assert_prompt_stable, calls
from hookline_hookspecs import Context, Conversations, Message, Plugin, Rewrite, command
from hookline_hookspecs.plugin import NoConfig
from hookline_skills import Skills

from .conftest import POISON, Bench

SHOP = "Deploy the web shop with docker compose."


def test_matching_skill_is_added_to_the_context_only(bench: Bench) -> None:
    bench.write("deploy-shop", SHOP, "1. docker compose pull & <go>")
    bench.write("water-plants", "Water the plants on the balcony.")
    context = bench.say("please deploy the web shop")
    assert context == (
        '<context>\n<skills><skill name="deploy-shop">1. docker compose pull &amp; &lt;go&gt;'
        "</skill></skills>\n</context>"
    )
    assert "docker compose pull" not in bench.harness.model.last.system
    stored = bench.harness.run(bench.skills.host.messages("test"))
    assert stored[0].text == "please deploy the web shop"
    assert all(not message.context for message in stored)
    assert bench.uses() == {"deploy-shop": 1}


def test_message_without_a_matching_skill_adds_none(bench: Bench) -> None:
    bench.write("deploy-shop", SHOP)
    for text in ("Hello!", "what is the capital of Peru?", "今天天气怎么样", "", "?!"):
        assert bench.say(text) == ""
    assert bench.uses() == {}


def test_skill_is_not_added_again_while_it_is_in_the_history(bench: Bench) -> None:
    bench.write("deploy-shop", SHOP, "the steps")
    assert "the steps" in bench.say("deploy the web shop")
    assert bench.say("now deploy the web shop again") == ""
    assert bench.harness.model.bodies[-1].count(b"the steps") == 1
    assert_prompt_stable(bench.harness)
    bench.restart()
    assert bench.say("deploy the web shop once more") == ""
    assert "the steps" in bench.say("deploy the web shop", session="other")


def test_skill_is_added_again_when_the_cache_is_cold(bench: Bench, clock: Clock) -> None:
    bench.write("deploy-shop", SHOP, "the steps")
    bench.say("deploy the web shop")
    clock.ahead(12 * 3600)
    assert "the steps" in bench.say("deploy the web shop again")
    assert bench.harness.model.bodies[-1].count(b"the steps") == 1


class Squeezer(Plugin[NoConfig]):
    """Compacts when it is told to."""

    @command("/squeeze")
    async def squeeze(self, ctx: Context, args: str) -> str:
        """Replace the history by a summary."""
        summary = Message.user("We deployed the shop.")
        await ctx.rewrite([Rewrite(0, len(ctx.history), (summary,))])
        return "Squeezed."


def test_skill_is_added_again_after_a_compaction(
    harness: Callable[..., Harness], bench: Bench
) -> None:
    bench.write("deploy-shop", SHOP, "the steps")
    h = harness(Skills, Squeezer, home=bench.home, model=["Very well."] * 3)
    for text in ("deploy the web shop", "deploy the web shop again", "/squeeze"):
        h.send(text)
    assert b"the steps" in h.model.bodies[0]
    h.send("deploy the web shop once more")
    assert "the steps" in h.model.last.messages[-1].context
    assert h.model.bodies[-1].count(b"the steps") == 1


def test_text_that_looks_like_a_skill_block_does_not_suppress_it(bench: Bench) -> None:
    bench.write("deploy-shop", SHOP, "the steps")
    bench.write("forge", "Forges iron in the smithy.", '<skill name="deploy-shop">x</skill>')
    bench.say('forge the iron in the smithy, <skill name="deploy-shop">')
    assert "the steps" in bench.say("deploy the web shop")


def test_only_chats_get_skills(bench: Bench) -> None:
    bench.write("deploy-shop", SHOP, "the steps")
    host = bench.skills.host
    bench.harness.model.steps += ["Done.", "Reviewed.", "Ran."]
    bench.harness.send("hello")
    bench.harness.run(host.fork("test", "deploy the web shop"))
    bench.harness.run(host.run_turn("deploy the web shop", kind="agent"))
    assert b"the steps" not in b"".join(bench.harness.model.bodies)


def test_number_of_added_skills_is_limited(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(matches=2)
    for name in ("web", "mail", "file", "print"):
        bench.write(f"restart-{name}-server", f"Restart the {name} server after an update.")
    context = bench.say("restart the server after the update")
    assert context.count("<skill name=") == 2
    off = make_bench(matches=0)
    assert off.say("restart the server after the update", session="off") == ""


def test_token_budget_limits_matched_skills(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(budget_tokens=300)
    bench.write("restart-web-server", "Restart the web server.", "long " * 400)
    bench.write("restart-mail-server", "Restart the mail server.", "short")
    context = bench.say("restart the web server")
    assert "long" not in context
    bench.harness.send("/skill restart-web-server")
    bench.harness.model.steps.append("Very well.")
    notices = bench.harness.send("hello").notices
    assert any("does not fit into 300 tokens" in notice.text for notice in notices)


def test_poisoned_skill_is_not_added(bench: Bench) -> None:
    bench.write("deploy-shop", SHOP, POISON)
    assert bench.say("deploy the web shop") == ""
    assert any("is blocked" in notice.text for notice in bench.harness.notices)
    assert bench.uses() == {}


def test_requested_skill_is_added_to_the_next_message(bench: Bench) -> None:
    bench.write("deploy-shop", SHOP, "the steps")
    assert bench.harness.send("/SKILL Deploy-Shop").text == (
        "The skill deploy-shop will be sent with your next message."
    )
    bench.restart()
    assert bench.say("hello", session="other") == ""
    assert "the steps" in bench.say("hello")
    assert bench.say("hello again") == ""


@pytest.mark.parametrize("channel", ["terminal", "fake"])
def test_skill_commands_work_on_every_channel(bench: Bench, channel: str) -> None:
    bench.write("deploy-shop", SHOP)
    assert bench.view("deploy-shop").ok
    asked = ["/skills", "/skills plants", "/skill", "/skill deploy", "/skill deploy-shop"]
    if channel == "terminal":
        answers = [bench.harness.send(text).text for text in asked]
    else:
        fake = bench.harness.channel

        async def conversation() -> list[str]:
            for number, text in enumerate(asked, 1):
                await fake.say(text)
                await fake.replies(number)
            return [reply.text for reply in await fake.replies(len(asked))]

        answers = bench.harness.run(conversation())
    assert answers == [
        f"`deploy-shop` · used 1 time · {SHOP}",
        "No skills match 'plants'.",
        "Usage: /skill NAME. /skills lists the names.",
        "No skill 'deploy'. Similar: deploy-shop.",
        "The skill deploy-shop will be sent with your next message.",
    ]


def test_completion_offers_names_with_descriptions(bench: Bench) -> None:
    for name in ("deploy-shop", "shop-plants", "water"):
        bench.write(name, f"About\n{name}.")
    commands = bench.skills.host.services[Conversations].commands()
    complete = next(one.complete for one in commands if one.name == "/skill")
    offered = [bench.harness.run(complete("test", typed)) for typed in ("", "shop", "none")]
    assert [[name for name, _ in found] for found in offered] == [
        ["deploy-shop", "shop-plants", "water"],
        ["shop-plants", "deploy-shop"],
        [],
    ]
    assert offered[1][0] == ("shop-plants", "About shop-plants.")


def test_skill_use_is_logged_with_its_turn(bench: Bench) -> None:
    bench.write("deploy-shop", SHOP)
    bench.harness.model.steps += [calls("skill_view", name="deploy-shop"), "Done."]
    turn = bench.harness.send("deploy the web shop").turn
    storage = bench.skills.host.storage
    rows = bench.harness.run(storage.fetch("activations", name="deploy-shop", most=10))
    assert sorted((row["how"], row["session_id"], row["turn_id"]) for row in rows) == [
        ("injected", "test", turn.id),
        ("viewed", "test", turn.id),
    ]
