"""``hookline demo web``: the page over HTTP, until a signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hookline_demo.command import demo
from hookline_demo.stories.web.visitor import Visitor

PASSED_ON = ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV")


def test_missing_web_plugins_error_names_the_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hookline_demo.stories.find_spec", lambda _name: None)
    with pytest.raises(SystemExit) as ended:
        demo("web")
    assert ended.value.code == 2
    assert "web-server and web-ui" in (told := capsys.readouterr().err)
    assert "`hookline plugins enable web-server && hookline plugins enable web-ui`" in told


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_demo_page_works_and_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    # A parallel test runner ignores SIGINT, and what it starts would too.
    listens = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "os.execv(sys.executable, [sys.executable, '-m', 'hookline', *sys.argv[1:]])"
    )
    shown: list[str] = []
    with subprocess.Popen(
        [sys.executable, "-c", listens, "demo", "web", "--no-open"],
        cwd=tmp_path,
        env={**env, "HOME": str(tmp_path), "TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            shown.append(line)
            if "until Ctrl+C" in line:
                break
        told = "".join(shown)
        assert shown[0].startswith("The model's words in this demo are recorded"), told
        link = next(line.strip() for line in shown if "/login#" in line)
        _look(Visitor.by(link))
        running.send_signal(number)
        rest, errors = running.communicate(timeout=60)
    assert (running.returncode, errors) == (0, ""), rest + errors
    assert list(tmp_path.glob("hookline-demo-*")) == []


def _look(visitor: Visitor) -> None:
    rows = visitor.ask("GET", "/api/sessions")["sessions"]
    by_name = {row["title"] or row["first_words"]: row for row in rows}
    assert [row["title"] for row in rows if row["title"]] == ["Shipping at exactly 50.00"]
    mended = visitor.ask("GET", f"/api/sessions/{by_name['Shipping at exactly 50.00']['id']}")
    texts = [b.get("text", "") for m in mended["messages"] for b in m["blocks"]]
    assert any("All seven tests pass" in text for text in texts)
    assert any("| goods |" in text for text in texts)
    waits = by_name["Install the linter."]
    assert waits["question"]
    said = _decide(visitor, waits["id"], "Deny")
    assert said == "Refused, or not approved in time. The script did not run."
    said = _decide(visitor, visitor.say("Install the linter."), "Allow once")
    assert said.startswith("You allowed it, so it ran, but it failed")
    typed = visitor.say("Who are you?")
    visitor.answered(typed)
    assert "my words are recorded" in _last(visitor, typed)


def _decide(visitor: Visitor, session: str, choice: str) -> str:
    """Answer the approval that a session waits for; what the model says then."""
    visitor.asked(session)
    asked = visitor.ask("GET", f"/api/sessions/{session}")["question"]
    assert "example.invalid" in asked["preview"]
    answer = {"question": asked["id"], "choice": choice}
    visitor.ask("POST", f"/api/sessions/{session}/answer", answer)
    visitor.answered(session)
    return _last(visitor, session)


def _last(visitor: Visitor, session: str) -> str:
    """What the model said last in a session."""
    return str(visitor.ask("GET", f"/api/sessions/{session}")["messages"][-1]["blocks"][-1]["text"])
