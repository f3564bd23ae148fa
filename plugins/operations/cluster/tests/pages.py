"""The page and the API of a cluster, with helpers of other plugins' tests."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from support.openai_server import OpenAIServer, Reply, Use

from .conftest import Cluster, free_port

PLUGINS = Path(__file__).parents[3]
COUNT = " ".join(f"number{n}" for n in range(60))
SECONDS = 6
"""For which the model says :data:`COUNT`, about."""

DIES = """
if os.environ.get("DIES"):  # once the gateway was told so often that there may be a reply
    from hookline_cluster.owned_channels import OwnedChannels

    announce, left = OwnedChannels.announce_reply, [int(os.environ["DIES"])]

    async def told(self, channel, chat_id):
        await announce(self, channel, chat_id)
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), 9)

    OwnedChannels.announce_reply = told
"""


def module_of(plugin: str, name: str) -> Any:
    """A module of another plugin's tests."""
    package = f"_{plugin.replace('-', '_')}_tests"
    if package not in sys.modules:
        made = ModuleType(package)
        made.__path__ = [str(next(PLUGINS.glob(f"*/{plugin}/tests")))]
        sys.modules[package] = made
    return import_module(f"{package}.{name}")


def model_says(asked: Any) -> Reply | str:
    """Answers by the last words of the person, and what tools gave."""
    last = asked["messages"][-1]
    texts = re.findall(r"(?:count|look|launch|hello)\b", json.dumps(last["content"]))
    verb = texts[-1] if texts and last["role"] == "user" else ""
    if verb == "count":
        return Reply(COUNT, reasoning="Let me think.", pace=0.1, piece=10)
    if verb == "look":
        return Reply("First this.", tools=[Use("bash", {"command": "echo seen"})])
    if verb == "launch":
        return Reply(tools=[Use("bash", {"command": "sudo true"})])
    return "finished" if last["role"] == "tool" else "answered"


def configure(cluster: Cluster, model: OpenAIServer, **plugins: Any) -> None:
    """Have machines with the page and the API, whose model is a server."""
    door = module_of("web-ui", "browser").DOOR + DIES
    site = cluster.folder / "site"
    info = site / "extra_door-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "extra_door.py").write_text(door)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: extra-door\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[hookline.plugins]\ndoor = extra_door:Extra\n")
    provider = {"base_url": model.base_url, "api_key": "none", "wire": "chat"}
    cluster.core |= {"model": "openai/gpt-4.1", "providers": {"openai": provider}}
    cluster.plugins |= {
        "webhook": False,
        "permissions": False,
        "provenance": False,
        "shell": {},
        "clarify": {},
        "access": {},
        "web-ui": True,
        "openai-api": True,
        "door": True,
        **plugins,
    }


def start(cluster: Cluster, *names: str, **env: str) -> None:
    """Start gateways (``g…``) and workers, each with a page's address of its own."""
    for name in names:
        if name not in cluster.machines:
            cluster.machine(name, **{"web-server": {"listen": f"127.0.0.1:{free_port()}"}})
        site = {"PYTHONPATH": str(cluster.folder / "site")}
        command = ("gateway", "--no-turns") if name[0] == "g" else ("worker",)
        cluster.start(name, *command, env=site | env)


def address(cluster: Cluster, name: str) -> str:
    """Where a machine's page is."""
    config = json.loads((cluster.machines[name].home / "config.yaml").read_text())
    return f"http://{config['plugins']['web-server']['listen']}"


async def person(cluster: Cluster, gateway: str = "g1", name: str = "owner") -> Any:
    """Somebody's browser, logged in at a gateway."""
    module = module_of("web-ui", "browser")
    made = module.Gateway(cluster.machines[gateway].home.parent / "none")
    made.port = int(address(cluster, gateway).rpartition(":")[2])
    codes = cluster.machines[gateway].home / "codes.json"
    while not codes.exists():
        await asyncio.sleep(0.02)
    made.cookies[name] = await _login(
        address(cluster, gateway), json.loads(codes.read_text())[name]
    )
    return await made.person(name)


async def _login(url: str, code: str) -> str:
    import httpx2

    headers = {"Origin": url, "Sec-Fetch-Site": "same-origin"}
    async with httpx2.AsyncClient(base_url=url, trust_env=False, headers=headers) as client:
        answer = await client.post("/login", json={"code": code})
        assert answer.status_code == 200, answer.text
        return str(answer.headers["set-cookie"]).partition(";")[0]
