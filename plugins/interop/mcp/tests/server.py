"""A small MCP server over stdin and stdout, without an SDK: it does what a JSON file says.

``python server.py PLAN``. The plan is read at each message: ``tools`` are wire objects with an
``answer`` (see :func:`answered`); ``instructions``; ``log``, a file to which every message is
written; ``hello: false``, for no answer to the handshake; ``surplus``, a line that is no message;
``page``, the tools of one page; ``next``, a cursor that every page names; ``notify``, to say after
each call that the tools have changed; ``about``, fields that replace those of the handshake's
answer; ``envelope``, what precedes each message, and fields that replace its own; ``answers``, the
results of other methods, by name; ``lines``, the same as JSON, for results
that no JSON library writes; ``tasks: false``, for a server that knows no tasks, or ``tasks:
refused`` for one that only says so.

A tool with ``taskSupport: required`` is run as a task, one with ``optional`` if the call wants it.
A task is ``working`` for its ``polls`` and then has the tool's ``end``, by default ``completed``. A
tool's ``sends`` are messages, or lines that are none, which come before its answer. An answer's
``raw`` is the whole result.
"""

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

PLAN = Path(sys.argv[1])
HIDDEN = ("answer", "polls", "end", "message", "sends")
waiting: list[str] = []
tasks: dict[str, dict[str, object]] = {}


def say(message: dict[str, object]) -> None:
    begin, envelope = json.loads(PLAN.read_text("utf-8")).get("envelope", ["", {}])
    sys.stdout.write(begin + json.dumps({"jsonrpc": "2.0", **message, **envelope}) + "\n")
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
    if answer == "reach later":
        threading.Thread(target=reach_again, args=(asked["host"],), daemon=True).start()
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


def reach_again(host: object) -> None:
    """Reach for a host until the program ends, and write what came of it beside the plan."""
    while True:
        time.sleep(0.2)
        with socket.create_connection(("127.0.0.1", 3128)) as proxy:
            proxy.sendall(f"CONNECT {host}:443 HTTP/1.1\r\n\r\n".encode())
            PLAN.with_suffix(".reached").write_bytes(proxy.recv(4096))


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
    shown = [
        {k: v for k, v in tool.items() if k not in HIDDEN} if isinstance(tool, dict) else tool
        for tool in tools
    ]
    more = {"nextCursor": str(page + 1)} if (page + 1) * size < len(plan["tools"]) else {}
    if "next" in plan:
        more = {"nextCursor": str(plan["next"])}
    return {"tools": shown, **more}


def task_state(task_id: str) -> dict[str, object]:
    tool = tasks[task_id]
    tool["polls"] = int(str(tool.get("polls", 1))) - 1
    status = "working" if int(str(tool["polls"])) >= 0 else tool.get("end", "completed")
    told = {} if status == "working" else {"statusMessage": tool.get("message", "")}
    times = dict.fromkeys(("createdAt", "lastUpdatedAt"), "2026-11-29T10:00:00Z")
    return {"taskId": task_id, "status": status, "ttl": None, "pollInterval": 100, **times, **told}


def answer_task(method: str, params: dict[str, object]) -> dict[str, object]:
    tool = tasks[str(params["taskId"])]
    if method == "tasks/result":
        return answered(tool.get("answer", "echo"), dict(tool["arguments"]))  # type: ignore[call-overload]
    if method == "tasks/cancel":
        tool |= {"polls": 0, "end": "cancelled"}
    return task_state(str(params["taskId"]))


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
        if method in plan.get("lines", {}):
            result = plan["lines"][method]
            sys.stdout.write(f'{{"jsonrpc": "2.0", "id": {json.dumps(id_)}, "result": {result}}}\n')
            sys.stdout.flush()
        elif method == "initialize":
            able: dict[str, object] = {"tools": {"listChanged": True}}
            if plan.get("tasks", True):
                able["tasks"] = {"cancel": {}, "requests": {"tools": {"call": {}}}}
            about = {
                "protocolVersion": "2025-11-25",
                "capabilities": able,
                "serverInfo": {"name": "small", "version": "1"},
            }
            if "instructions" in plan:
                about["instructions"] = plan["instructions"]
            say({"id": id_, "result": {**about, **plan.get("about", {})}})
        elif method == "tools/list":
            say({"id": id_, "result": listed(plan, params.get("cursor", "0"))})
        elif method == "tools/call":
            tools = [one for one in plan["tools"] if isinstance(one, dict)]
            tool = next(one for one in tools if one.get("name") == params["name"])
            answer = tool.get("answer", "echo")
            execution = tool.get("execution")
            support = execution.get("taskSupport") if isinstance(execution, dict) else None
            if support == "required" and "task" not in params:
                say({"id": id_, "error": {"code": -32601, "message": "only as a task"}})
                continue
            if "task" in params and plan.get("tasks", True) is not True:
                say({"id": id_, "error": {"code": -32601, "message": "never as a task"}})
                continue
            if "task" in params:
                tasks["t1"] = tool | {"arguments": params.get("arguments", {})}
                tasks["t1"]["polls"] = int(tool.get("polls", 1)) + 1
                say({"id": id_, "result": {"task": task_state("t1")}})
                continue
            if isinstance(answer, dict) and "ask" in answer:
                answer = json.dumps(ask(answer["ask"]))
            if isinstance(answer, dict) and "fault" in answer:
                say({"id": id_, "error": {"code": -32000, "message": answer["fault"]}})
                continue
            if isinstance(answer, dict) and "last words" in answer:
                sys.stderr.write(f"{answer['last words']}\n")
                sys.stderr.flush()
                os._exit(3)
            for one in tool.get("sends", ()):
                sys.stdout.write((one if isinstance(one, str) else json.dumps(one)) + "\n")
            if plan.get("notify"):
                say({"method": "notifications/tools/list_changed"})
            if isinstance(answer, dict) and "raw" in answer:
                say({"id": id_, "result": answer["raw"]})
                continue
            say({"id": id_, "result": answered(answer, params.get("arguments", {}))})
        elif str(method).startswith("tasks/"):
            say({"id": id_, "result": answer_task(str(method), params)})
        elif method in plan.get("answers", {}):
            say({"id": id_, "result": plan["answers"][method]})
        else:
            say({"id": id_, "error": {"code": -32601, "message": f"no {method}"}})


main()
