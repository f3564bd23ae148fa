"""A small MCP server over stdin and stdout, without an SDK: it does what a JSON file says.

``python server.py PLAN``. The plan is read at each message: ``tools`` are wire objects with an
``answer`` (see :func:`answered`); ``instructions``; ``log``, a file to which every message is
written; ``hello: false``, for no answer to the handshake; ``surplus``, a line that is no message;
``page``, the tools of one page; ``next``, a cursor that every page names; ``notify``, to say after
each call that the tools have changed.
"""

import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

PLAN = Path(sys.argv[1])
waiting: list[str] = []


def say(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answered(answer: object, asked: dict[str, object]) -> dict[str, object]:
    if answer == "die" or (answer == "die once" and not PLAN.with_suffix(".died").exists()):
        PLAN.with_suffix(".died").touch()
        sys.stderr.write("out of memory\n")
        sys.stderr.flush()
        os._exit(3)
    if answer == "hang":
        time.sleep(60)
    if answer == "endless":
        while True:
            sys.stdout.write("x" * 65_536)
    if answer == "reach":
        with socket.create_connection(("127.0.0.1", 3128)) as proxy:
            proxy.sendall(f"CONNECT {asked['host']}:443 HTTP/1.1\r\n\r\n".encode())
            return {"content": [{"type": "text", "text": proxy.recv(4096).decode()}]}
    if answer == "write":
        Path(str(asked["path"])).write_text("here", "utf-8")
    if isinstance(answer, dict):
        return answer
    texts = {
        "echo": json.dumps(asked),
        "env": json.dumps(dict(os.environ)),
        "cwd": str(Path.cwd()),
        "huge": "word " * 200_000,
    }
    return {"content": [{"type": "text", "text": texts.get(str(answer), str(answer))}]}


def ask(params: dict[str, object]) -> object:
    say({"id": "ask-1", "method": "elicitation/create", "params": params})
    time.sleep(0.3)  # other calls may come meanwhile
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == "ask-1":
            return message.get("result", message.get("error"))
        waiting.append(line)
    return None


def lines() -> Iterator[str]:
    for line in sys.stdin:
        yield line
        while waiting:
            yield waiting.pop(0)


def listed(plan: dict[str, list[dict[str, object]]], cursor: str) -> dict[str, object]:
    page, size = int(cursor) if cursor.isdigit() else 0, int(plan.get("page", 1000))
    tools = plan["tools"][page * size : (page + 1) * size]
    shown = [{k: v for k, v in tool.items() if k != "answer"} for tool in tools]
    more = {"nextCursor": str(page + 1)} if (page + 1) * size < len(plan["tools"]) else {}
    if "next" in plan:
        more = {"nextCursor": str(plan["next"])}
    return {"tools": shown, **more}


def main() -> None:
    for line in lines():
        message, plan = json.loads(line), json.loads(PLAN.read_text("utf-8"))
        if "log" in plan:
            with Path(plan["log"]).open("a", encoding="utf-8") as file:
                file.write(line)
        if "surplus" in plan:
            sys.stdout.write(plan["surplus"] + "\n")
        method, id_, params = message.get("method"), message.get("id"), message.get("params", {})
        if id_ is None or plan.get("hello") is False:
            continue
        if method == "initialize":
            about = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "small", "version": "1"},
            }
            if "instructions" in plan:
                about["instructions"] = plan["instructions"]
            say({"id": id_, "result": about})
        elif method == "tools/list":
            say({"id": id_, "result": listed(plan, params.get("cursor", "0"))})
        elif method == "tools/call":
            tool = next(one for one in plan["tools"] if one["name"] == params["name"])
            answer = tool.get("answer", "echo")
            if isinstance(answer, dict) and "ask" in answer:
                answer = json.dumps(ask(answer["ask"]))
            if isinstance(answer, dict) and "fault" in answer:
                say({"id": id_, "error": {"code": -32000, "message": answer["fault"]}})
                continue
            if isinstance(answer, dict) and "last words" in answer:
                sys.stderr.write(f"{answer['last words']}\n")
                sys.stderr.flush()
                os._exit(3)
            if plan.get("notify"):
                say({"method": "notifications/tools/list_changed"})
            say({"id": id_, "result": answered(answer, params.get("arguments", {}))})
        else:
            say({"id": id_, "error": {"code": -32601, "message": f"no {method}"}})


main()
