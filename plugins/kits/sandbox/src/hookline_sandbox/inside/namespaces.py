"""Makes namespaces as bubblewrap does, where that is not installed (user_namespaces(7)).

Run as ``python -I -S -c "…; namespaces.main()" FILTER OPTION… -- PROGRAM…`` with the options of
bwrap(1) that ``bubblewrap.py`` writes; FILTER is a file with a system call filter, or empty. Needs
Linux 5.12, and that users may create namespaces. Everything inside ends with the program.
"""

import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys

from . import filters
from .landlock import drop_capabilities

# include/uapi/linux/mount.h, sched.h
_RDONLY, _NOSUID, _NODEV, _NOEXEC = 1, 2, 4, 8
_BIND, _REC, _SLAVE, _DETACH = 4_096, 16_384, 1 << 19, 2
_NAMESPACES = {
    "user": 0x10000000,
    "mount": 0x20000,
    "pid": 0x20000000,
    "network": 0x40000000,
    "ipc": 0x08000000,
    "hostname": 0x04000000,
    "cgroup": 0x02000000,
}
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE = 442, -100, 0x8000
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_SET_PDEATHSIG, _SET_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 1, 38, 22, 2
_SET_FLAGS, _UP_AND_RUNNING = 0x8914, 0x41  # SIOCSIFFLAGS (netdevice(7))
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_DEVICE_LINKS = (
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
)
_OLD, _NEW = "/old", "/new"
_FAILED = 125
_LIBC = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Make the namespaces of the command line and run its program in them."""
    filter_file, *words = sys.argv[1:]
    end = words.index("--")
    try:
        options, program = list(_options(words[:end])), words[end + 1 :]
        lines = b""
        if filter_file:
            with open(filter_file, "rb") as file:  # noqa: PTH123
                lines = file.read()
        _unshare()
        if any(name == "--die-with-parent" for name, _ in options):
            _LIBC.prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # a new user namespace resets it
        if child := os.fork():  # the PID namespace begins with the child
            os._exit(_exit_code(os.waitpid(child, 0)[1]))
        _LIBC.prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        _set_up_network()
        _mount_all(options)
        _restrict(lines)
    except (OSError, KeyError) as error:
        print(f"the sandbox failed: {error}", file=sys.stderr)  # noqa: T201
        os._exit(_FAILED)
    _run(program)


def _options(words: list[str]) -> list[tuple[str, list[str]]]:
    """Return the options with their values."""
    found: list[tuple[str, list[str]]] = []
    for word in words:
        if word.startswith("--"):
            found.append((word, []))
        else:
            found[-1][1].append(word)
    return found


def _unshare() -> None:
    user, group = os.getuid(), os.getgid()
    flags = 0
    for flag in _NAMESPACES.values():
        flags |= flag
    _check(_LIBC.unshare(flags), "unshare")
    maps = {"uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"}
    for name, text in {"setgroups": "deny", **maps}.items():
        with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123
            file.write(text)


def _set_up_network() -> None:
    socket.sethostname("sandbox")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        request = struct.pack("16sh22x", b"lo", _UP_AND_RUNNING)
        fcntl.ioctl(made, _SET_FLAGS, request)


def _mount_all(options: list[tuple[str, list[str]]]) -> None:
    """Mount what the options name on an empty root, and leave the old root."""
    _mount(None, "/", None, _SLAVE | _REC)
    _mount("tmpfs", "/tmp", "tmpfs", _NOSUID | _NODEV, "mode=0755")  # noqa: S108
    for name in (_OLD, _NEW):
        os.mkdir(f"/tmp{name}")  # noqa: PTH102, S108
    _mount(f"/tmp{_NEW}", f"/tmp{_NEW}", None, _BIND)  # noqa: S108
    _pivot("/tmp", f"/tmp{_OLD}")  # noqa: S108
    os.chdir("/")
    size, folder = "", "/"
    for name, values in options:
        if name == "--size":
            size = values[0]
        elif name == "--chdir":
            folder = values[0]
        elif name in _ACTIONS:
            _ACTIONS[name](values, size)
            size = ""
    _check(_LIBC.umount2(_OLD.encode(), _DETACH), "umount")
    os.chdir(_NEW)
    _pivot(".", ".")
    _check(_LIBC.umount2(b".", _DETACH), "umount")
    os.chdir(folder)


def _bind(values: list[str], attributes: int) -> None:
    source = _OLD + values[0]
    target = _place(values[1], is_folder=os.path.isdir(source))  # noqa: PTH112
    _mount(source, target, None, _BIND | _REC)
    _set_attributes(target, attributes | _NOSUID | _NODEV, recursive=True)


def _make_tmpfs(values: list[str], size: str) -> None:
    data = "mode=0755" + (f",size={size}" if size else "")
    _mount("tmpfs", _place(values[0]), "tmpfs", _NOSUID | _NODEV, data)


def _make_proc(values: list[str], _size: str) -> None:
    _mount("proc", _place(values[0]), "proc", _NOSUID | _NODEV | _NOEXEC)


def _make_dev(values: list[str], _size: str) -> None:
    target = _place(values[0])
    _mount("tmpfs", target, "tmpfs", _NOSUID | _NOEXEC, "mode=0755")
    for name in _DEVICES:
        device = _place(f"{values[0]}/{name}", is_folder=False)
        _mount(f"{_OLD}/dev/{name}", device, None, _BIND)
    for name, leads_to in _DEVICE_LINKS:
        os.symlink(leads_to, f"{target}/{name}")  # noqa: PTH211
    _place(f"{values[0]}/shm")
    data = "newinstance,ptmxmode=0666,mode=620"
    _mount("devpts", _place(f"{values[0]}/pts"), "devpts", _NOSUID | _NOEXEC, data)


def _make_link(values: list[str], _size: str) -> None:
    link = _NEW + values[1]
    os.makedirs(os.path.dirname(link), exist_ok=True)  # noqa: PTH103, PTH120
    if not os.path.lexists(link):
        os.symlink(values[0], link)  # noqa: PTH211


def _seal(values: list[str], _size: str) -> None:
    _set_attributes(_NEW + values[0].rstrip("/"), _RDONLY, recursive=False)


_ACTIONS = {
    "--bind": lambda values, _size: _bind(values, 0),
    "--ro-bind": lambda values, _size: _bind(values, _RDONLY),
    "--tmpfs": _make_tmpfs,
    "--proc": _make_proc,
    "--dev": _make_dev,
    "--symlink": _make_link,
    "--remount-ro": _seal,
}


def _place(target: str, *, is_folder: bool = True) -> str:
    """Make a mount point in the new root and return its path."""
    path = _NEW + target
    if is_folder:
        os.makedirs(path, exist_ok=True)  # noqa: PTH103
    elif not os.path.lexists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    return path


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    words = [word.encode() if word else None for word in (source, target, kind)]
    done = _LIBC.mount(*words, ctypes.c_ulong(flags), data.encode() or None)
    _check(done, f"mount {target.removeprefix(_NEW)}")


def _set_attributes(target: str, attributes: int, *, recursive: bool) -> None:
    """Add attributes to a mount, and to those below it (mount_setattr(2))."""
    words = struct.pack("=4Q", attributes, 0, 0, 0)
    flags = ctypes.c_uint(_AT_RECURSIVE if recursive else 0)
    folder, size = ctypes.c_int(_AT_FDCWD), ctypes.c_size_t(len(words))
    done = _LIBC.syscall(_MOUNT_SETATTR, folder, target.encode(), flags, words, size)
    _check(done, f"mount_setattr {target.removeprefix(_NEW)}")


def _pivot(new: str, old: str) -> None:
    number = _PIVOT_ROOT[os.uname().machine]
    _check(_LIBC.syscall(number, new.encode(), old.encode()), "pivot_root")


def _restrict(lines: bytes) -> None:
    """Drop every capability, and apply the filter."""
    drop_capabilities(_LIBC)
    _check(_LIBC.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    if lines:
        held = ctypes.create_string_buffer(lines)
        program = struct.pack("@HP", len(lines) // filters.LINE, ctypes.addressof(held))
        _check(_LIBC.prctl(_SET_SECCOMP, _FILTER, program, 0, 0), "seccomp")


def _run(program: list[str]) -> None:
    """Run the program as a child, because process 1 ignores signals; reap orphans until it ends."""
    child = os.fork()
    if child == 0:
        try:
            os.execv(program[0], program)  # noqa: S606
        finally:
            os._exit(_FAILED)
    while True:
        ended, status = os.wait()
        if ended == child:
            os._exit(_exit_code(status))


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
