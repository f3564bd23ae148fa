"""A turn or a command in a process of its own, which a test can kill: HOME WORK SESSION WHAT ….

``write NAME TEXT COUNT`` is a turn whose tool writes TEXT to COUNT files NAME-0, NAME-1, and so on;
``say TEXT`` is a message, or a command. It prints what came back, and ``said`` before that.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hookline.testing import Harness, calls
from hookline_checkpoints import Checkpoints
from hookline_hookspecs import Plugin, tool
from hookline_hookspecs.plugin import NoConfig


class Writer(Plugin[NoConfig]):
    """A tool that writes into the workspace."""

    @tool
    def write(self, name: str, text: str, count: int) -> str:
        """Write some files."""
        for number in range(count):
            (Path(sys.argv[2]) / f"{name}-{number}").write_text(text)
        return "written"


def main() -> None:
    home, work, session, what, *rest = sys.argv[1:]
    harness = Harness(Checkpoints, Writer, home=Path(home), workspace=Path(work))
    try:
        if what == "write":
            name, text, count = rest
            harness.model.steps += [calls("write", name=name, text=text, count=int(count)), "done"]
            outcome = harness.send(f"write {name}", session=session)
        else:
            outcome = harness.send(" ".join(rest), session=session)
        print(outcome.text)
        for notice in outcome.notices:
            print(notice.text)
    finally:
        harness.close()


if __name__ == "__main__":
    main()
