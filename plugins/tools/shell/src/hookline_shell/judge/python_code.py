"""Python code: parsed with ``ast``, constants folded, calls judged by what they do."""

from __future__ import annotations

import ast
import binascii
import re
from dataclasses import dataclass, field

from . import files, interpreters, literals, reach, statements
from .deeds import delete
from .places import is_device, is_loopback, judge_host, judge_path
from .python_values import compute, mapped, operate, sliced
from .record import join
from .shell import Shell
from .values import NETWORK, UNKNOWN

_SHELL = frozenset({"system", "popen", "getoutput", "getstatusoutput", "create_subprocess_shell"})
_PROCESS = frozenset({"run", "call", "Popen", "check_call", "check_output"})
_EXEC = re.compile(r"(exec[lv]p?e?|spawn[lv]p?e?|posix_spawnp?|create_subprocess_exec)\Z")
_DELETE = frozenset({"rmtree", "removedirs", "rmdir", "remove", "unlink", "remove_tree"})
_CODE = frozenset({"exec", "eval", "compile", "execfile", "runsource", "runcode"})
_INTERNALS = re.compile(r"__(subclasses|globals|reduce|reduce_ex|code|builtins)__")
_HOME = re.compile(
    r"\bPath\.home\(|expanduser|environ\W{1,6}HOME|getenv\W+HOME|walk\(\s*['\"]/['\"]"
)
_FILES = frozenset({"open", "Path", "copy", "copyfile", "copytree", "move", "read_text", "listdir"})
_FILES |= {"chmod", "chown", "rename", "replace", "symlink", "link", "walk", "scandir", "glob"}
_FILES |= {
    "run_path",
    "iglob",
    "chdir",
    "makedirs",
    "mkdir",
    "FileIO",
    "load_module",
    "stat",
    "truncate",
}
_COPIES = frozenset({"copy", "copyfile", "move", "rename", "replace"})
_PATH_WRITES = re.compile(r"\.(write_(text|bytes)|unlink|touch|rename|replace|mkdir|rmdir)\s*\(")
_IMPORTS = frozenset({"__import__", "import_module", "run_module", "run_path", "load_source"})
_IMPORTS |= {"CDLL", "LoadLibrary", "SourceFileLoader", "spec_from_file_location", "exec_module"}
_OWN = re.compile(r"hookline(\.(?!testing\b|_)|_hookspecs\.|\Z(?<!hookline)|\.__main__)")
_DROPS = re.compile(
    r"flush_?(all|db)|drop_(database|collection|all|table|index)|terminate_\w+|truncate\w*"
    r"|delete_(bucket|table|stack|db_\w+|function|cluster|instances?|volume|database|objects?|many)"
)
_STORES = re.compile(
    r"\b(boto3|redis|pymongo|google\.cloud|azure|sqlalchemy|elasticsearch|psycopg\w*)\b"
)
_MAIL = frozenset({"sendmail", "send_message", "upload_file", "upload_fileobj", "put_object"})
_SENDING = _MAIL | {"post", "put", "patch", "request", "urlopen", "Request", "sendall", "send"}
_SENDING |= {"sendto", "storbinary", "storlines", "upload"}
_SENT_FILE = re.compile(
    r"\bopen\s*\((?![^)]{0,120},\s*['\"][wax]b?\+?['\"])|read_(text|bytes)\s*\(|\bfiles\s*=|storbinary|storlines"
)
_URL_HOST = re.compile(r"://(\[[^\]]+\]|[^/:\s]+)")
_MODULES = frozenset({"os", "subprocess", "builtins", "__builtins__", "sys", "shutil", "pty"})


def judge(code: str, shell: Shell, command: str) -> None:
    """Judge Python code; what it runs in a shell is judged as a script."""
    if NETWORK in code:
        shell.record.add("ask", f"{command} runs what came over the network")
    try:
        tree = ast.parse(_dedent(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        _judge_unparsed(code, shell, command)
        return
    visitor = _Visitor(code, shell, command)
    visitor.visit_all(tree)


def _dedent(code: str) -> str:
    import textwrap

    return textwrap.dedent(code.replace(UNKNOWN, "0"))


def _judge_unparsed(code: str, shell: Shell, command: str) -> None:
    _, strings = literals.fold(code)
    for text in [*strings, " ".join(strings)]:
        if re.search(r"system|subprocess|popen|exec|spawn", code):
            interpreters.run_code(text, shell.child(), "", command)
    if re.search(r"\b(exec|eval|system|subprocess|popen|rmtree|__import__)\b", code):
        shell.record.add("ask", f"{command} holds Python that cannot be read", "doubt")


@dataclass
class _Visitor:
    code: str
    shell: Shell
    command: str
    constants: dict[str, object] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    rounds: dict[str, list[object]] = field(default_factory=dict)
    """The values of loop variables."""

    def visit_all(self, tree: ast.AST) -> None:
        for node in ast.walk(tree):
            self._learn(node)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                self._call(node)
        self._whole(tree)

    def once(self) -> None:
        """The program itself is started or changed from within."""
        self.shell.record.effect("configure", "hookline")
        self.shell.record.add("once", f"{self.command} runs hookline's own code")

    def ask(self, what: str) -> None:
        self.shell.record.add("ask", f"{self.command} {what}")

    def _learn(self, node: ast.AST) -> None:
        """Names that stand for constants and functions."""
        if isinstance(node, ast.ImportFrom | ast.Import):
            for alias in node.names:
                self.names[alias.asname or alias.name] = alias.name
                source = node.module or "" if isinstance(node, ast.ImportFrom) else ""
                self._imported(source or alias.name)
                if source == "hookline" and alias.name not in (
                    "__version__",
                    "__file__",
                    "testing",
                ):
                    self.once()
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, self.fold(node.value)
            if value is not None:
                self.constants[name] = value
            elif isinstance(node.value, ast.Attribute | ast.Name | ast.Call):
                self.names[name] = self.called(node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
            value = operate(self.constants.get(name), node.op, self.fold(node.value))
            self.constants[name] = UNKNOWN if value is None else value
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            self._grown(node.value)
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            value = self.fold(node.iter)
            if isinstance(value, list) and value:
                self.constants[node.target.id] = value[0]
                self.rounds[node.target.id] = value

    def _grown(self, call: ast.Call) -> None:
        """``x.append(…)`` and ``x.extend(…)`` on a known list."""
        if not isinstance(call.func, ast.Attribute) or not isinstance(call.func.value, ast.Name):
            return
        name, more = call.func.value.id, [self.fold(a) for a in call.args]
        known = self.constants.get(name)
        if isinstance(known, list) and call.func.attr == "append" and more:
            self.constants[name] = [*known, UNKNOWN if more[0] is None else more[0]]
        elif isinstance(known, list) and call.func.attr == "extend" and isinstance(more[0], list):
            self.constants[name] = [*known, *more[0]]

    def _imported(self, module: str) -> None:
        """A module that this command wrote, or the program's own."""
        if _OWN.match(module):
            self.once()
        path = join(self.shell.cwd, module.replace(".", "/") + ".py")
        inner = self.shell.entering("import:" + path) if path in self.shell.files else None
        if inner is not None:
            judge(self.shell.files[path], inner, f"{self.command}: import {module}")

    def called(self, node: ast.AST) -> str:
        """The last name of what is called, through aliases and ``getattr``."""
        if isinstance(node, ast.Attribute):
            return node.attr
        if isinstance(node, ast.Name):
            return self.names.get(node.id, node.id).rpartition(".")[2]
        if isinstance(node, ast.Subscript):
            key = self.fold(node.slice)
            return str(key) if key is not None else "?"
        if (
            isinstance(node, ast.Call)
            and self.called(node.func) == "getattr"
            and len(node.args) > 1
        ):
            key = self.fold(node.args[1])
            return str(key) if key is not None else "?"
        if isinstance(node, ast.Call) and self.called(node.func) == "partial" and node.args:
            return self.called(node.args[0])
        return ""

    def fold(self, node: ast.AST | None) -> object:
        """The constant a node is, or None: strings, bytes, numbers and lists of them."""
        match node:
            case ast.Constant(value=str() | bytes() | int() as value):
                return value
            case ast.Name(id=name):
                return self.constants.get(name)
            case ast.List(elts=items) | ast.Tuple(elts=items):
                values = [self.fold(item) for item in items]
                return [UNKNOWN if v is None else v for v in values]
            case ast.JoinedStr(values=values):
                parts = [self.fold(v) for v in values]
                return "".join(UNKNOWN if p is None else str(p) for p in parts)
            case ast.FormattedValue(value=value):
                return self.fold(value)
            case ast.BinOp(left=left, op=op, right=right):
                return operate(self.fold(left), op, self.fold(right))
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                number = self.fold(inner)
                return -number if isinstance(number, int) else None
            case ast.Subscript(value=inner, slice=ast.Slice() as cut):
                return sliced(
                    self.fold(inner), *(self.fold(p) for p in (cut.lower, cut.upper, cut.step))
                )
            case ast.Subscript(value=inner, slice=ast.Constant(value="HOME")) if (
                self.called(inner) == "environ"
            ):
                return self.shell.record.home
            case ast.Attribute(attr="sep"):
                return "/"
            case ast.Attribute(attr="executable"):
                return "python"
            case ast.Call():
                return self._folded_call(node)
        return None

    def _folded_call(self, node: ast.Call) -> object:
        name = self.called(node.func)
        args = [self.fold(a) for a in node.args]
        if name == "map" and len(args) == 2 and isinstance(args[1], list):
            return mapped(self.called(node.args[0]), args[1])
        if name == "read" and isinstance(node.func, ast.Attribute):
            return self._written(node.func.value)
        if name in ("getenv", "get") and args[:1] == ["HOME"]:
            return self.shell.record.home
        owner = self.fold(node.func.value) if isinstance(node.func, ast.Attribute) else None
        try:
            return compute(name, owner, args)
        except (ValueError, TypeError, IndexError, AttributeError, binascii.Error, OverflowError):
            return None

    def _written(self, node: ast.AST) -> str | None:
        """What ``open(…).read()`` gives for a file that this command wrote."""
        if isinstance(node, ast.Call) and self.called(node.func) == "open" and node.args:
            path = self.fold(node.args[0])
            return (
                self.shell.files.get(join(self.shell.cwd, path)) if isinstance(path, str) else None
            )
        return None

    def _call(self, node: ast.Call) -> None:
        name = self.called(node.func)
        first = self.fold(node.args[0]) if node.args else self._keyword(node)
        if name == "?" and _MODULES & {
            n.id for n in ast.walk(node.func) if isinstance(n, ast.Name)
        }:
            self.ask("calls a function whose name cannot be known")
        if (
            name in _SHELL
            or (name == "spawn" and "pty" in self.code)
            or name == "shell_exec"
            or (name in _PROCESS and ("subprocess" in self.code or name == "Popen"))
        ):
            for value in self._values(first, node):
                self._run(value, node)
        elif _EXEC.match(name):
            args = [self.fold(a) for a in node.args]
            flat = [x for a in args for x in (a if isinstance(a, list) else [a])]
            self._run([x for x in flat[1:] if isinstance(x, str)] or flat[:1], node)
        elif name in _CODE and isinstance(
            node.func, ast.Name | ast.Attribute | ast.Call | ast.Subscript
        ):
            self._code(name, first, node)
        elif name in _IMPORTS:
            self._loaded(name, first, node)
        elif name in ("execute", "executescript", "executemany") and isinstance(first, str):
            statements.judge("sql", first, self.shell, self.command)
        elif name in _DELETE:
            self._delete(name, first, node)
        elif name in ("kill", "killpg") and first in (-1, 1):
            severity, what = ("deny", "every") if first == -1 else ("ask", "the machine's first")
            self.shell.record.add(severity, f"{self.command} kills {what} process")  # type: ignore[arg-type]
        elif _DROPS.fullmatch(name) and _STORES.search(self.code):
            self.shell.record.effect("delete", name)
            self.ask(f"throws away what a database or a cloud holds, by {name}")
        elif name == "loads" and first is not None and re.search(r"pickle|marshal|dill", self.code):
            self.ask("runs what it unpacks")
        elif name in ("setuid", "seteuid", "setreuid", "setresuid", "setgid"):
            self.ask("changes the user it runs as")
        self._files(name, first, node)
        if reach.NETWORKS.search(self.code):
            self._hosts(node)

    def _hosts(self, node: ast.Call) -> None:
        """The hosts among a call's arguments."""
        given = [self.fold(a) for a in (*node.args, *(k.value for k in node.keywords))]
        for value in given:
            for text in value if isinstance(value, list) else [value]:
                if isinstance(text, str):
                    judge_host(text, self.shell, self.command)

    def _loaded(self, name: str, first: object, node: ast.Call) -> None:
        """A module or a file that is run by its name."""
        if isinstance(first, str):
            if first == "hookline" or _OWN.match(first.rpartition("/")[2]):
                self.once()
            self._imported(first.removesuffix(".py"))
            if NETWORK in self.shell.files.get(join(self.shell.cwd, first), ""):
                self.ask(f"loads {first}, which came over the network")
            if "://" in first:
                self.ask("runs what came over the network")
        elif first is None and node.args and name in ("__import__", "import_module"):
            self.ask("imports a module whose name cannot be known")

    def _values(self, first: object, node: ast.Call) -> list[object]:
        """What the first argument is in each round of a loop."""
        if node.args and isinstance(node.args[0], ast.Name) and node.args[0].id in self.rounds:
            return self.rounds[node.args[0].id]
        return [first]

    def _keyword(self, node: ast.Call) -> object:
        for keyword in node.keywords:
            if keyword.arg in ("args", "command", "cmd", "path", "source"):
                return self.fold(keyword.value)
        return None

    def _run(self, what: object, node: ast.Call) -> None:
        text = what.decode("utf-8", "replace") if isinstance(what, bytes) else what
        if isinstance(text, list):
            words = [str(x) for x in text]
            self.shell.follow(words, "")
            if any(k.arg == "shell" for k in node.keywords) and words:
                self.shell.child().run_text(words[0], "")
        elif isinstance(text, str):
            interpreters.run_code(text, self.shell.child(), "", self.command)
        elif node.args or node.keywords:
            self.ask("runs a command that cannot be known")

    def _code(self, name: str, first: object, node: ast.Call) -> None:
        text = first.decode("utf-8", "replace") if isinstance(first, bytes) else first
        if isinstance(node.func, ast.Attribute) and name in ("compile", "eval"):
            return  # re.compile, frame.eval
        if isinstance(text, str) and UNKNOWN not in text:
            if text != self.code:
                judge(text, self.shell, self.command)
        elif not any(
            isinstance(a, ast.Call) and self.called(a.func) == "compile" for a in node.args
        ):
            self.ask("runs code that cannot be known")

    def _delete(self, name: str, first: object, node: ast.Call) -> None:
        if isinstance(first, str):
            if first.startswith("~"):
                first = self.shell.record.home + first[1:]
            if name in ("rmtree", "remove_tree"):
                delete(first, self.shell, self.command)
            judge_path(first, self.shell, self.command)
            files.delete(first, self.shell, self.command)
        elif name in ("rmtree", "remove_tree") and node.args:
            home = "expanduser" in ast.dump(node) or "home" in ast.dump(node)
            if home:
                delete(self.shell.record.home, self.shell, self.command)
            else:
                self.ask("deletes a folder that cannot be known")

    def _files(self, name: str, first: object, node: ast.Call) -> None:
        if name not in _FILES or not isinstance(first, str):
            return
        judge_path(first, self.shell, self.command)
        if name == "run_path" and (content := self.shell.files.get(join(self.shell.cwd, first))):
            judge(content, self.shell, self.command)
        second = self.fold(node.args[1]) if len(node.args) > 1 else ""
        modes = [second, *(self.fold(k.value) for k in node.keywords)]
        writing = any(isinstance(m, str) and re.search(r"[wax+]", m) for m in modes)
        writing |= bool(re.search(r"O_(WRONLY|RDWR|TRUNC|APPEND)", ast.dump(node)))
        if name in _COPIES and isinstance(second, str):
            files.write(second, self.shell, self.command)
            if name not in ("copy", "copyfile"):
                files.delete(first, self.shell, self.command)
        elif writing or (name == "Path" and _PATH_WRITES.search(self.code)):
            files.write(first, self.shell, self.command)
        for path in (first, second) if name in _COPIES else (first,):
            if (
                isinstance(path, str)
                and is_device(path, self.shell)
                and (writing or name != "open")
            ):
                self.shell.record.add("deny", f"{self.command} writes over the device {path}")

    def _whole(self, tree: ast.AST) -> None:
        """Acts that show only in the code as a whole."""
        if _INTERNALS.search(self.code):
            self.ask("reaches for the internals of Python")
        if passed := self._passed_on(tree):
            self.ask(f"hands on {passed}, which runs commands")
        calls = {self.called(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
        if "fork" in calls and any(_forks(self, n) for n in ast.walk(tree)):
            self.shell.record.add("deny", f"{self.command} starts copies of itself (a fork bomb)")
        if calls & _DELETE and _HOME.search(self.code):
            self.ask("deletes what lies in a home folder or everywhere")
        if not reach.NETWORKS.search(self.code):
            return
        if "socket" in self.code and calls & (
            _SHELL | _PROCESS | {"dup2", "spawn", "exec", "eval"}
        ):
            self.ask("opens a shell to the network")
        elif calls & (_CODE | _SHELL) - {"compile"}:
            self.ask("fetches from the network and runs code")
        if calls & _SENDING and (calls & _MAIL or _SENT_FILE.search(self.code)):
            self._sends(tree)
        if calls & _IMPORTS & {"run_path", "run_module", "exec_module"}:
            self.ask("fetches from the network and runs code")
        if re.search(r"\benviron\b|\bgetenv\b|environb", self.code):
            self.ask("may send the environment out")

    def _sends(self, tree: ast.AST) -> None:
        texts = [self.fold(n) for n in ast.walk(tree) if isinstance(n, ast.Constant)]
        hosts = [m[1] for t in texts if isinstance(t, str) and (m := _URL_HOST.search(t))]
        if not hosts or not all(map(is_loopback, hosts)):
            self.shell.record.effect("send", hosts[0] if hosts else "")
            self.ask(f"may send a file or mail to {hosts[0] if hosts else 'a host'}")

    def _passed_on(self, tree: ast.AST) -> str | None:
        """A function that runs commands and is used in another way than by calling it."""
        runs = _SHELL | {"Popen", "check_output", "check_call"}
        called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
        held = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Assign)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in runs and id(node) not in called:
                owner = node.value
                if id(node) not in held and not (
                    isinstance(owner, ast.Name) and owner.id == "self"
                ):
                    return node.attr
        return None


def _forks(visitor: _Visitor, node: ast.AST) -> bool:
    loops = isinstance(node, ast.While | ast.For | ast.ListComp | ast.GeneratorExp)
    return loops and any(
        isinstance(n, ast.Call) and visitor.called(n.func) == "fork" for n in ast.walk(node)
    )
