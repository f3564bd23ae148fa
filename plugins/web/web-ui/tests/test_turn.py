"""The details of a turn, and no imports where the page is off."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .browser import Person, new


@pytest.mark.long
def test_turn_details_show_parts_of_all_plugins(play: Any) -> None:
    async def story(owner: Person) -> None:
        session = new()
        await owner.say(session, "look twice")
        found = await owner.settled(session)
        turn = found["messages"][0]["turn"]
        view = await owner.get(f"/sessions/{session}/turns/{turn}")

        assert view["title"] == "Turn 1"
        kinds = [part["type"] for part in view["parts"]]
        assert kinds[:2] == ["stats", "timeline"]
        hooks = {step["title"] for step in view["parts"][1]["steps"]}
        assert "on_message" in hooks
        assert "Tokens by tier" in json.dumps(view)
        assert "echo seen" in json.dumps(view)
        await owner.get(f"/sessions/{session}/turns/nothing", 404)

    play(story)


def test_plan_is_one_aside_that_changes_during_turn(play: Any) -> None:
    async def story(owner: Person) -> None:
        session = new()
        await owner.say(session, "hello")
        await owner.settled(session)
        found = await owner.get(f"/sessions/{session}")
        asides = []
        async with owner.events(f"{session}@{found['cursor']}") as events:
            await owner.say(session, "plan please")
            async for event in events:
                if event["type"] == "result" and event["turn"] is None:
                    asides.append(event)
                if event["type"] == "session":
                    break

        assert len({one["id"] for one in asides}) == 1
        assert [one["command"] for one in asides] == ["plan", "plan"]
        assert asides[0]["text"] == "Plan: 0 of 1 done\n○ Say \\[hello\\](http://evil.example)"
        assert asides[1]["text"].startswith("Plan: 1 of 1 done\n✓ Say")

    play(story)


@pytest.mark.slow
def test_disabled_page_is_not_imported(tmp_path: Path) -> None:
    script = tmp_path / "model.yaml"
    script.write_text('steps: [{when: ".", text: "hi"}]')
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    plugins = {"web-ui": False, "web-server": False, "openai-api": False}
    (home / "config.yaml").write_text(json.dumps({"plugins": plugins}))
    code = (
        "import sys, atexit\n"
        "names = ('starlette', 'uvicorn', 'jinja2', 'hookline_web_ui', 'hookline_web_server')\n"
        "atexit.register(lambda: print([n for n in names if n in sys.modules], file=sys.stderr))\n"
        "from hookline.__main__ import main\n"
        "main()\n"
    )
    arguments = ["run", "hello", "--model", f"scripted/{script}", "--no-wait"]
    base = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "HOOKLINE_HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=tmp_path,
        env=base,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.strip() == "hi", done.stderr
    assert done.stderr.strip().endswith("[]")
