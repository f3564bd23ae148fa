"""Starts ``hookline`` quickly: every process is forked from one that has imported everything.

Two thirds of a cold start are imports. ``Popen`` and ``run`` are those of ``subprocess``, and
differ for ``[sys.executable, "-m", "hookline", …]`` and ``[sys.executable, "-c", script, …]``
alone. These one server for each process of the test runner answers with a fork: its own
environment, folder, streams, signals and exit code, and its own sight of what is installed. What
looks at the start itself (which modules are imported, what ``/proc`` tells of the environment)
starts an interpreter with ``subprocess``.

As a script this file is that server.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import inspect
import json
import os
import pickle
import re
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import types
from collections.abc import Mapping, Sequence
from importlib.metadata import PathDistribution, distributions, entry_points
from pathlib import Path
from typing import IO, Any, NoReturn
from weakref import WeakKeyDictionary

LIBRARIES = (
    *("aiosql", "anthropic", "asyncio", "blinker", "concurrent.futures.thread", "httpx2"),
    *("logging.handlers", "openai", "openai.types.responses", "pluggy", "prompt_toolkit"),
    *("pydantic", "rich.console", "rich.markdown", "sqlite3", "stevedore", "typer", "yaml"),
    *("hookline.cli.app", "hookline.runtime", "hookline.testing"),
)
BARE = ("hookline_hookspecs", "pydantic")
"""What alone a process has imported that :func:`run_bare` starts."""
GROUPS = ("hookline.plugins", "hookline.providers", "hookline.stores")
FIRST_RUNS = (
    "--help",
    "run hi --model scripted/model.yaml --no-input",
    "doctor",
    "sessions list",
    "config show",
)
"""What is run once in a fork, to learn which modules and patterns a run needs beside those."""
QUERIES: dict[str, Any] = {}
"""What ``aiosql`` has read from files so far, by file, its state and the reader."""
READ_AT_IMPORT = ("hookline.clock", "hookline_hookspecs.crash")
"""What reads its environment when it is imported, and is imported again in each process."""
STORE = ("HOOKLINE_STORE", "HOOKLINE_TEST_STORE")
HOOKLINE = [sys.executable, "-m", "hookline"]
SCRIPT = [sys.executable, "-c"]
LENGTH = struct.Struct("!I")
STATUS = struct.Struct("!i")
STREAMS = 3
PARAMETERS = [*inspect.signature(subprocess.Popen._execute_child).parameters][1:]  # type: ignore[attr-defined]


def _kept() -> dict[str, str]:
    """What says where the homes of this run keep their data (see :mod:`support.on_postgres`)."""
    return {name: os.environ[name] for name in STORE if name in os.environ}


class Popen(subprocess.Popen[Any]):
    """``subprocess.Popen`` with a short cut for ``hookline``."""

    _told: int | None = None
    """Where the server tells how the process has ended; None for a child of this one."""
    _bare = False

    def _execute_child(self, args: Any, *rest: Any) -> None:
        words = [os.fspath(word) for word in args] if isinstance(args, Sequence) else []
        if words[: len(HOOKLINE)] == HOOKLINE:
            script, arguments = None, ["hookline", *words[len(HOOKLINE) :]]
        elif words[: len(SCRIPT)] == SCRIPT:
            script, arguments = words[2], ["-c", *words[3:]]
        else:
            super()._execute_child(args, *rest)  # type: ignore[misc]
            return
        given = dict(zip(PARAMETERS, (args, *rest), strict=True))
        streams = [given["p2cread"], given["c2pwrite"], given["errwrite"]]
        request = {
            "script": script,
            "arguments": arguments,
            "env": _kept() | dict(os.environ if given["env"] is None else given["env"]),
            "folder": os.fspath(given["cwd"] or Path.cwd()),
            "session": bool(given["start_new_session"]),
        }
        told, tells = os.pipe()
        try:
            files = [number if fd == -1 else fd for number, fd in enumerate(streams)]
            self.pid = _server(self._bare).start(request, [*files, tells])
        finally:
            os.close(tells)
            ends = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
            self._close_pipe_fds(*(given[end] for end in ends))  # type: ignore[attr-defined]
        self._child_created = True
        self._told = told

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if self._told is None:
            return super()._try_wait(wait_flags)  # type: ignore[misc, no-any-return]
        if wait_flags & os.WNOHANG and not select.select([self._told], [], [], 0)[0]:
            return 0, 0
        status = os.read(self._told, STATUS.size)
        os.close(self._told)
        return self.pid, STATUS.unpack(status)[0] if status else signal.SIGKILL

    def _internal_poll(self, *args: Any, **options: Any) -> int | None:
        if self._told is None:
            return super()._internal_poll(*args, **options)  # type: ignore[misc, no-any-return]
        if self.returncode is None and self._waitpid_lock.acquire(False):  # type: ignore[attr-defined]
            try:
                pid, status = self._try_wait(os.WNOHANG)
                if pid:
                    self._handle_exitstatus(status)  # type: ignore[attr-defined]
            finally:
                self._waitpid_lock.release()  # type: ignore[attr-defined]
        return self.returncode


class BarePopen(Popen):
    """One that forks a process which has imported next to nothing."""

    _bare = True


def run(
    argv: Sequence[Any],
    *,
    input: Any = None,  # noqa: A002
    capture_output: bool = False,
    timeout: float | None = None,
    check: bool = False,
    kind: type[Popen] = Popen,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """``subprocess.run`` with a short cut for ``hookline``."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options["stdout"] = options["stderr"] = subprocess.PIPE
    with kind(argv, **options) as process:
        try:
            out, err = process.communicate(input, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


run_bare = functools.partial(run, kind=BarePopen)
"""``run`` for a script that looks at what is imported."""


class Server:
    """The serving process, seen from the tests."""

    def __init__(self, bare: bool) -> None:
        self._socket, theirs = socket.socketpair()
        self._lock = threading.Lock()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno()), *(["bare"] if bare else [])],
                env={
                    **os.environ,
                    "LANG": "C.UTF-8",
                    "PYTHONPATH": "",
                    "XDG_CACHE_HOME": os.devnull,
                },
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    def start(self, request: Mapping[str, Any], files: list[int]) -> int:
        """Start ``hookline`` with these three streams, and a fourth for its status; its id."""
        text = json.dumps(request).encode()
        with self._lock:
            socket.send_fds(self._socket, [LENGTH.pack(len(text))], files)
            self._socket.sendall(text)
            return int(LENGTH.unpack(_exactly(self._socket, LENGTH.size))[0])

    def close(self) -> None:
        """End the serving process."""
        self._socket.close()
        self._process.wait()


@functools.cache
def _server(bare: bool = False) -> Server:
    """The one of this process, of either kind."""
    made = Server(bare)
    atexit.register(made.close)
    return made


def _exactly(connection: socket.socket, size: int) -> bytes:
    """So many bytes; fewer only where the other end is closed."""
    data = b""
    while len(data) < size and (part := connection.recv(size - len(data))):
        data += part
    return data


# The server


def serve(connection: socket.socket, bare: bool) -> None:
    """Fork a process for each request until there are no more."""
    sys.path.pop(0)  # the folder of this script
    if bare:
        for name in BARE:
            importlib.import_module(name)
    else:
        _import_everything()
    gc.collect()
    gc.freeze()
    wake, ended = os.pipe2(os.O_NONBLOCK)
    signal.set_wakeup_fd(ended)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tells: dict[int, int] = {}
    while True:
        readable, _, _ = select.select([connection, wake], [], [])
        if wake in readable:
            os.read(wake, 4096)
            _reap(tells)
        if connection in readable and not _answer(connection, tells):
            return


def _import_everything() -> None:
    """Do what no run then has to do again."""
    for name in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for group in GROUPS:
        for point in entry_points(group=group):
            with contextlib.suppress(Exception):
                point.load()
    keep_entry_points()
    keep_queries()
    keep_tools()
    _describe_tools()
    _learn()
    inspect.getmodule(serve.__code__)  # lists all modules, as pydantic will for each of its models


def keep_entry_points() -> None:
    """Read those of what is installed here once; what a path adds later is read as it is."""
    here = {str(dist._path): dist.entry_points for dist in distributions()}  # type: ignore[attr-defined]
    read: Any = PathDistribution.entry_points

    def points(dist: Any) -> Any:
        path = str(dist._path)
        return here[path] if path in here else read.fget(dist)

    PathDistribution.entry_points = property(points)  # type: ignore[assignment]
    _keep_groups()


def _keep_groups() -> None:
    """Let ``stevedore`` search ``sys.path`` once, and again where more is installed."""
    from stevedore import _cache as known

    cache: Any = known._c
    look, base = cache._get_data_for_path, {*sys.path}
    data = look(None)

    def seen(path: tuple[str, ...] | None) -> Any:
        more = {*(sys.path if path is None else path)} - base
        same = not any(next(distributions(path=[folder]), None) for folder in more)
        return data if same else look(path)

    cache._get_data_for_path = seen


def keep_queries() -> None:
    """Parse each file of queries once, and again when it has changed."""
    from aiosql.query_loader import QueryLoader

    parse: Any = QueryLoader.load_query_data_from_file

    def load(loader: Any, path: Path, ns_parts: Any = (), encoding: Any = None) -> Any:
        options = {**vars(loader), "_driver_adapter": type(loader._driver_adapter)}
        seen = path.stat()
        key = repr((path, seen.st_mtime_ns, seen.st_size, options, ns_parts, encoding))
        if key not in QUERIES:
            QUERIES[key] = parse(loader, path, [*ns_parts], encoding)
        return [*QUERIES[key]]

    QueryLoader.load_query_data_from_file = load  # type: ignore[assignment, method-assign]


def keep_tools() -> None:
    """Describe each function that is a tool once, however often it is registered."""
    from hookline_hookspecs import Tool

    kept: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()

    def keep(part: str) -> None:
        made: Any = vars(Tool)[part].func

        def look(tool: Any) -> Any:
            function = getattr(tool.run, "__func__", tool.run)
            if not isinstance(function, types.FunctionType):
                return made(tool)
            known = kept.setdefault(function, {})
            key = repr((part, tool.name, tool.description, tool.parameters))
            if key not in known:
                known[key] = made(tool)
            return known[key]

        kept_property = functools.cached_property(look)
        kept_property.__set_name__(Tool, part)
        setattr(Tool, part, kept_property)

    keep("_model")
    keep("schema")


def _describe_tools() -> None:
    """Describe the tools of what is installed."""
    from hookline_hookspecs import Tool
    from hookline_hookspecs.tools import TOOL_MARK

    for point in entry_points(group=GROUPS[0]):
        with contextlib.suppress(Exception):
            for _, function in inspect.getmembers(point.load(), inspect.isfunction):
                if hasattr(function, TOOL_MARK):
                    options = {**getattr(function, TOOL_MARK), "effects": None}
                    Tool.from_function(types.MethodType(function, point), **options).schema  # noqa: B018


def _learn() -> None:
    """Import the modules, compile the patterns and parse the queries that the first runs need."""
    re._MAXCACHE = 10_000  # type: ignore[attr-defined]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as learnt:
        child = os.fork()
        if not child:
            _tell_of_first_runs(Path(folder), learnt)
        os.waitpid(child, 0)
        learnt.seek(0)
        modules, patterns, queries = pickle.load(learnt)
    QUERIES.update(queries)
    for name in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for pattern, flags in patterns:
        re.compile(pattern, flags)


def _tell_of_first_runs(folder: Path, learnt: IO[bytes]) -> NoReturn:
    """Write the names of all modules, all patterns and all queries; does not return."""
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in range(STREAMS):
            os.dup2(nowhere, number)
        _remake_streams()
        (folder / "model.yaml").write_text("steps: [{text: hello}]\n", "utf-8")
        os.chdir(folder)
        own = {"HOME": str(folder), "HOOKLINE_HOME": str(folder / "home"), "LANG": "C.UTF-8"}
        path = os.environ["PATH"]
        os.environ.clear()
        os.environ.update(own, PATH=path)
        for words in FIRST_RUNS:
            sys.argv = ["hookline", *words.split()]
            with contextlib.suppress(BaseException):
                runpy.run_module("hookline", run_name="__main__", alter_sys=True)
        patterns = [(pattern, flags) for _, pattern, flags in re._cache]  # type: ignore[attr-defined]
        pickle.dump(([*sys.modules], patterns, QUERIES), learnt)
        learnt.flush()
    finally:
        os._exit(0)


def _reap(tells: dict[int, int]) -> None:
    """Tell of each process that has ended how it has."""
    while tells:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        with contextlib.suppress(BrokenPipeError):  # nobody waits for it any more
            os.write(tells[pid], STATUS.pack(status))
        os.close(tells.pop(pid))


def _answer(connection: socket.socket, tells: dict[int, int]) -> bool:
    """Fork for the next request; False if there is none."""
    size, files, _, _ = socket.recv_fds(connection, LENGTH.size, STREAMS + 1)
    if not size:
        return False
    size += _exactly(connection, LENGTH.size - len(size))
    request = json.loads(_exactly(connection, LENGTH.unpack(size)[0]))
    child = os.fork()
    if not child:
        become(request, files)
    tells[child] = files.pop()
    for file in files:
        os.close(file)
    connection.sendall(LENGTH.pack(child))
    return True


def become(request: dict[str, Any], files: list[int]) -> NoReturn:
    """Be what was asked for, with these streams and this environment; does not return."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    high = [os.dup(file) for file in files[:STREAMS]] if min(files) < STREAMS else files[:STREAMS]
    for number, file in enumerate(high):
        os.dup2(file, number)
    os.closerange(STREAMS, os.sysconf("SC_OPEN_MAX") if sys.platform != "linux" else _last_file())
    if request["session"]:
        os.setsid()
        if os.isatty(0):  # opened by its name, a terminal becomes the controlling one
            os.close(os.open(os.ttyname(0), os.O_RDWR))
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    tempfile.tempdir = None  # it was found with the server's environment
    os.chdir(request["folder"])
    _remake_streams()
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:0] = [request["folder"], *paths]
    for name in READ_AT_IMPORT:
        if name in sys.modules:
            importlib.reload(sys.modules[name])
    sys.argv = request["arguments"]
    code = _to_the_end(request["script"])
    os._exit(code)  # taking all those modules apart again would cost more than the run


def _last_file() -> int:
    """One more than the highest open file."""
    return 1 + max(map(int, (path.name for path in Path("/proc/self/fd").iterdir())))


def _remake_streams() -> None:
    """Python's streams, as a new interpreter would open them."""
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "").partition(":")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream: Any = open(  # noqa: SIM115
            number,
            "r" if number == 0 else "w",
            encoding=encoding or "utf-8",
            errors=errors or ("backslashreplace" if number == 2 else "surrogateescape"),
            closefd=False,
            buffering=1 if number == 2 or os.isatty(number) else -1,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _to_the_end(script: str | None) -> int:
    """Run the script, or ``hookline``; end like an interpreter would, and give its exit code."""
    import traceback

    code: Any = 0
    try:
        if script is None:
            runpy.run_module("hookline", run_name="__main__", alter_sys=True)
        else:
            sys.modules["__main__"] = main = types.ModuleType("__main__")
            exec(compile(script, "<string>", "exec"), vars(main))
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
        code = 1
    if not isinstance(code, int | None):
        sys.stderr.write(f"{code}\n")
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or 120
    return code or 0


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), bare=len(sys.argv) > 2)
