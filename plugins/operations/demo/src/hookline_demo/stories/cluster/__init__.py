"""The story ``cluster``: a worker and a gateway are killed, and the conversation goes on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from ...screen import Screen
from ...stage import Stage
from ...turn import RECORDED_NOTICE, tell_failure
from .machines import Machine, MachineNotReady, asked, database, machine, running, until
from .platform import Platform, serving

LOG = "deploy.log"
HELLO = "Who is there?"
DEPLOY = "Deploy version 2."
NEXT = "Is it out?"
ANSWER_SECONDS = 40.0
"""That an answer may take, the time included in which others find out who is gone."""


@dataclass
class ClusterScene:
    """What is on the stage: machines by name, the platform, the database."""

    stage: Stage
    screen: Screen
    platform: Platform
    store: str
    gateways: list[Machine]
    workers: list[Machine]
    asked: list[str] = field(default_factory=list)

    def ask(self, gateway: Machine, text: str) -> str:
        """Send a message to a gateway, as the person's platform does; its id."""
        self.screen.write("\nyou    ", "bold")
        self.screen.write(text)
        self.screen.say(f"   → {gateway.name}", "dim")
        id_ = self.platform.send(gateway.port, text)
        self.asked.append(id_)
        return id_

    def answered(self, id_: str, begin: float, since: str) -> str:
        """Show the answer to a message. Raises :class:`MachineNotReady`."""
        text = self.platform.reply_to(id_, ANSWER_SECONDS)
        if text is None:
            raise MachineNotReady(f"an answer has not come within {ANSWER_SECONDS:.0f} s")
        self.screen.write("agent  ", "bold")
        self.screen.say(text)
        self.screen.say(f"       {time.monotonic() - begin:.1f} s {since}", "dim")
        return text

    def owner(self, key: str, of: Sequence[Machine]) -> Machine | None:
        """Whose a key is among the machines, as the database says."""
        found = asked(
            self.store,
            f"SELECT n.pid FROM owners o JOIN nodes n ON n.id = o.node WHERE o.key LIKE '{key}'",  # noqa: S608
        )
        pids = {int(line) for line in found}
        return next((one for one in of if one.pid in pids), None)


def tell(stage: Stage, screen: Screen) -> bool:
    """Play it, check what came of it, show it. True if all of it really happened."""
    screen.say(RECORDED_NOTICE, "bold")
    screen.say("The database, the processes, the kills and the chat's messages are real, too.")
    screen.say()
    screen.say(f"folder  {stage.folder}  (your own files and sessions are not touched)")
    try:
        with ExitStack() as stack:
            scene = _set_up(stage, screen, stack)
            killed = _play(scene)
            failed = _untrue(scene)
    except (MachineNotReady, OSError) as error:
        tell_failure([str(error)], screen)
        return False
    if failed:
        tell_failure(failed, screen)
        return False
    _show(scene, killed)
    return True


def _set_up(stage: Stage, screen: Screen, stack: ExitStack) -> ClusterScene:
    platform = stack.enter_context(serving())
    begin = time.monotonic()
    store = stack.enter_context(database(stage))
    screen.say(f"        PostgreSQL is up after {time.monotonic() - begin:.1f} s", "dim")
    begin = time.monotonic()
    groups: list[list[Machine]] = []
    for kind, arguments in (("gateway", ("gateway", "--no-turns")), ("worker", ("worker",))):
        names = (f"{kind}-1", f"{kind}-2")
        groups.append([machine(stage, name, arguments, store, platform) for name in names])
    everyone = [one for group in groups for one in group]
    for one in everyone:
        screen.say(f"run     HOOKLINE_HOME={one.home.name} hookline {' '.join(one.arguments)}")
        stack.enter_context(running(stage, one))
    for one in everyone:
        until(f"the start of {one.name}", one.is_ready)
    screen.say(f"        all four are ready after {time.monotonic() - begin:.1f} s", "dim")
    gateways, workers = groups
    return ClusterScene(stage, screen, platform, store, gateways, workers)


def _play(scene: ClusterScene) -> tuple[Machine, Machine]:
    """The conversation; the worker and the gateway that were killed in it."""
    screen, project = scene.screen, scene.stage.project
    id_, begin = scene.ask(scene.gateways[0], HELLO), time.monotonic()
    scene.answered(id_, begin, "after the question")

    id_ = scene.ask(scene.gateways[1], DEPLOY)
    until("the command", (project / LOG).exists)
    worker: Machine = until("a turn's owner", lambda: scene.owner("lane:%", scene.workers))
    screen.say(f"       {worker.name} runs the command, which takes 3 s …", "dim")
    worker.kill()
    begin = time.monotonic()
    screen.say(f"kill   -9 {worker.pid} ({worker.name}), in the middle of the command", "bad")
    scene.answered(id_, begin, "after the kill, from the other worker")

    gateway: Machine = until(
        "the channel's owner", lambda: scene.owner("channel:webhook", scene.gateways)
    )
    gateway.kill()
    begin = time.monotonic()
    screen.say()
    screen.say(f"kill   -9 {gateway.pid} ({gateway.name}), which sends the replies", "bad")
    [other] = [one for one in scene.gateways if one is not gateway]
    id_ = scene.ask(other, NEXT)
    scene.answered(id_, begin, "after the kill, from the other gateway")
    return worker, gateway


def _untrue(scene: ClusterScene) -> list[str]:
    """A sentence for each part of the story that did not come true."""
    found = []
    lines = (scene.stage.project / LOG).read_text("utf-8").splitlines()
    if len(lines) != 1:
        found.append(f"{LOG} should have 1 line; it has {len(lines)}")
    replied = [reply["in_reply_to"] for reply in scene.platform.replies]
    if replied != scene.asked:
        found.append(f"{len(scene.asked)} messages should have had a reply each, in their order")
    return found


def _show(scene: ClusterScene, killed: tuple[Machine, Machine]) -> None:
    screen = scene.screen
    screen.say()
    screen.say("Checked afterwards:", "bold")
    screen.say(f"  killed        {killed[0].name} and {killed[1].name}; nobody started them again")
    screen.say(f"  {LOG}    1 line: the command has not run twice", "good")
    screen.say(f"  replies       {len(scene.asked)} messages, one reply each, in order", "good")
    screen.say()
    screen.say("How to run this on your own machines: docs/cluster.md")
