"""A home with all plugins on, and gateways on it, one after the other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from support.channels.model_script import STEPS
from support.channels.plugin_fakes import bot_api, multimedia, telegram, webhook

BOSS = 111
"""The first admin, on every channel."""
OFF = ("titles", "review", "osv", "demo")
"""Of the standard set: what asks the model by itself, the network, or nothing here."""


class ChannelHome(telegram.Gateways):  # type: ignore[misc]
    """A home whose secrets are in ``.env``; its people are on Telegram and on the webhook."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, bot_api.BotApi())
        self.replies = webhook.ReplyServer()
        self.media = multimedia.MediaServer()
        self._serving = threading.Thread(target=self.media.serve_forever, args=(0.02,))
        self._serving.start()
        self.port = webhook.free_port()
        self.workspace.mkdir()

    @property
    def workspace(self) -> Path:
        return self.folder / "work"

    def folder_to_remove(self, name: str) -> Path:
        """A folder listed in the file that names what the model removes."""
        made = self.folder / name
        made.mkdir()
        (self.folder / f"{name}.txt").write_text(str(made))
        return made

    def install(self, *channels: str) -> None:
        """Write ``.env``, ``config.yaml`` and what the model says."""
        self.home.mkdir(mode=0o700)
        secrets = {
            "TELEGRAM_BOT_TOKEN": bot_api.TOKEN,
            "HOOKLINE_WEBHOOK_SECRET": webhook.SECRET,
            "SPEECH_KEY": multimedia.KEY,
        }
        env = self.home / ".env"
        env.touch(0o600)
        env.write_text("".join(f'{name}="{value}"\n' for name, value in secrets.items()))
        model = self.folder / "model.yaml"
        model.write_text(json.dumps({"steps": STEPS}))
        every: dict[str, Any] = {
            "telegram": {
                "base_url": self.api.base_url,
                "base_file_url": self.api.base_file_url,
                "poll_seconds": 1,
                "edit_every": 0.3,
            },
            "webhook": {
                "listen": f"127.0.0.1:{self.port}",
                "secret": "${HOOKLINE_WEBHOOK_SECRET}",
                "reply_url": self.replies.url,
            },
        }
        speech = {"base_url": self.media.base_url, "api_key": "${SPEECH_KEY}"}
        plugins = {
            **dict.fromkeys(OFF, False),
            **{name: every[name] if name in channels else False for name in every},
            "multimedia": {**speech, "transcription": {"model": "whisper-1"}},
            "voice": {"round_trip": True},
            "scheduler": {"timezone": "UTC", "look_every": 1},
            # Its commands meet the tests in the person's home, which a sandbox hides from them.
            "shell": {"sandbox": {"enabled": False}},
        }
        config = {"model": f"scripted/{model}", "plugins": plugins}
        (self.home / "config.yaml").write_text(json.dumps(config))

    def spawn(self, *arguments: str, **env: str) -> subprocess.Popen[bytes]:
        """Start ``hookline`` in the workspace; nothing secret is in its environment."""
        base = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8"}
        with (self.folder / f"{len(self.running):03}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "hookline", *arguments],
                cwd=self.workspace,
                env=base | {"HOOKLINE_HOME": str(self.home)} | env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.running.append(process)
        return process

    @property
    def gateway(self) -> subprocess.Popen[bytes]:
        """The newest one."""
        return next(one for one in reversed(self.running) if "gateway" in one.args)

    def claim_code(self) -> str:
        """The claim code of the first admin, from the gateway's log."""
        self.says("there is no admin yet")
        line = next(line for line in self.said.splitlines() if "there is no admin yet" in line)
        return line.split()[-1]

    @property
    def works(self) -> int:
        """How many times the model's long command has started."""
        log = self.folder / "work.runs"
        return len(log.read_text().splitlines()) if log.exists() else 0

    def wait_until(self, so: Callable[[], bool]) -> None:
        """Return once the condition holds."""
        until = time.monotonic() + bot_api.PATIENCE
        while not so():
            assert time.monotonic() < until, self.said
            time.sleep(0.02)

    def post(self, id_: str, text: str, chat: str, user: str | None = None) -> None:
        """Write on the webhook, signed."""
        body = webhook.message(id_, text, chat=chat, user=user or chat)
        url = f"http://127.0.0.1:{self.port}/webhook"
        answer = httpx2.post(
            url,
            content=body,
            headers=webhook.signed(body),
            timeout=webhook.PATIENCE,
            trust_env=False,
        )
        assert answer.status_code == 202, answer.text

    def close(self) -> None:
        super().close()
        (self.folder / "work.go").touch()  # the command that outlived its gateway ends
        self.api.close()
        self.replies.close()
        self.media.shutdown()
        self._serving.join()
        self.media.server_close()


@pytest.fixture(scope="module")
def new_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChannelHome]:
    """A home for the tests of a module; its output holds no secret."""
    made = ChannelHome(tmp_path_factory.mktemp("home"))
    yield made
    made.close()
    for secret in (bot_api.TOKEN.partition(":")[2], webhook.SECRET, multimedia.KEY):
        assert secret not in made.said
