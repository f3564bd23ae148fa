"""Applies Landlock and seccomp to this process and its children (landlock(7), seccomp(2)).

It needs three system calls and a short filter, and uses ctypes for them: of the libraries on PyPI,
``landlock`` is a development release and ``py-landlock`` a first one.
"""

import ctypes
import os
import socket
import stat
import struct

from . import filters
from .system_calls import system_calls

CREATE, ADD, RESTRICT = 444, 445, 446
"""Numbers of the system calls, the same on every machine (include/uapi/asm-generic/unistd.h)."""
# include/uapi/linux/landlock.h
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
_ALL = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
READING = EXECUTE | READ_FILE | READ_DIR
LISTING = READ_DIR
_NET = 0b11
_SCOPES = 0b11  # abstract Unix sockets, signals
_PATH_BENEATH = 1
_SET_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2

_PIDFD_OPEN = 434  # on every machine type
_NEW_LISTENER, _WAIT_KILLABLE = 1 << 3, 1 << 5
"""Flags of seccomp(2): with the second (Linux 5.19), signals do not repeat a notification."""

LEAST_ABI = 4
"""The first version that can refuse TCP and truncation. The filter refuses the rest."""
_CAPABILITIES = 0x2008_0522  # version 3 (capset(2))
_DROP_FROM_BOUNDS, _MOST_CAPABILITIES = 24, 64


def abi() -> int:
    """Return the version of Landlock's interface; 0 if there is none."""
    found: int = _libc().syscall(CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    return max(found, 0)


def probe() -> None:
    """Exit with an error if Landlock cannot be used here. Restricts this process."""
    if abi() < LEAST_ABI:
        raise SystemExit(f"its version is {abi()}; at least {LEAST_ABI} is needed (Linux 6.7)")
    restrict({"write": [], "read": ["/"], "list": []})


def restrict(settings: dict[str, list[str]], supervisor: socket.socket | None = None) -> None:
    """Restrict this process to ``write``, ``read`` and ``list``; no ptrace.

    supervisor: gets the descriptor of notifications about sockets. Without one, there are no
    sockets. TCP is refused by Landlock in any case: the supervisor connects in its own name.

    Raises:
        OSError: it cannot be done here.
    """
    libc, version = _libc(), abi()
    everything = next(_ALL[v] for v in sorted(_ALL, reverse=True) if v <= version)
    rules = _made(libc, everything, version)
    for name, rights in (("write", everything), ("read", READING), ("list", LISTING)):
        for path in settings[name]:
            _allow(libc, rules, path, rights & everything)
    _checked(libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _checked(libc.syscall(RESTRICT, rules, ctypes.c_uint32(0)), "landlock_restrict_self")
    os.close(rules)
    drop_capabilities(libc)
    if supervisor is None:
        _filter(libc)
    else:
        _supervise(libc, supervisor)


def probe_supervision() -> None:
    """Exit with an error if the network cannot be supervised here. Restricts this process."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        _checked(_libc().prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
        _supervise(_libc(), theirs)
        _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
    thread = _libc().syscall(_PIDFD_OPEN, os.getpid(), 0)
    os.close(_checked(thread, "pidfd_open"))
    os.close(descriptors[0])


def _made(libc: ctypes.CDLL, files: int, version: int) -> int:
    words = [files, _NET if version >= 4 else 0, _SCOPES if version >= 6 else 0]
    attributes = struct.pack("=3Q", *words)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    made = libc.syscall(CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    return _checked(made, "landlock_create_ruleset")


def _allow(libc: ctypes.CDLL, rules: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # deleted meanwhile
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _ON_FILES
        rule = struct.pack("=Qi", rights, place)
        done = libc.syscall(ADD, rules, _PATH_BENEATH, rule, ctypes.c_uint32(0))
        _checked(done, f"landlock_add_rule for {path}")
    finally:
        os.close(place)


def drop_capabilities(libc: ctypes.CDLL) -> None:
    """Drop every capability permanently; root could otherwise reboot the machine."""
    for number in range(_MOST_CAPABILITIES):
        libc.prctl(_DROP_FROM_BOUNDS, number, 0, 0, 0)  # fails for numbers that do not exist
    header = struct.pack("=Ii", _CAPABILITIES, 0)
    _checked(libc.capset(header, bytes(24)), "capset")


def _filter(libc: ctypes.CDLL) -> None:
    lines = filters.no_sockets()
    held = ctypes.create_string_buffer(lines)
    program = struct.pack("@HP", len(lines) // filters.LINE, ctypes.addressof(held))
    _checked(libc.prctl(_SET_SECCOMP, _FILTER, program, 0, 0), "seccomp")


def _supervise(libc: ctypes.CDLL, supervisor: socket.socket) -> None:
    """Apply the filter that notifies a supervisor, and send it the descriptor."""
    lines = filters.supervised_sockets()
    held = ctypes.create_string_buffer(lines)
    program = struct.pack("@HP", len(lines) // filters.LINE, ctypes.addressof(held))
    flags = ctypes.c_uint(_NEW_LISTENER | _WAIT_KILLABLE)
    listener = _checked(
        libc.syscall(system_calls()["seccomp"], 1, flags, program), "seccomp with notifications"
    )
    socket.send_fds(supervisor, [b"x"], [listener])
    os.close(listener)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result
