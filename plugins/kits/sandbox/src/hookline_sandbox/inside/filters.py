"""Makes system call filters as classic BPF programs (seccomp(2)): listed calls are refused.

They read ``struct seccomp_data``: number at 0, architecture at 4, arguments from 16.
"""

import struct

from .system_calls import architecture, system_calls

LINE = 8
"""Bytes of one instruction."""
_LOAD, _EQUAL, _ABOVE, _SET, _AND, _SAY = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_KILL, _REFUSE, _ALLOW = 0x8000_0000, 0x0005_0001, 0x7FFF_0000  # refused with EPERM
_NOTIFY = 0x7FC0_0000
_TRACING = ("ptrace", "process_vm_readv", "process_vm_writev")
_OTHERS = (
    *("bpf", "userfaultfd", "perf_event_open", "keyctl", "add_key", "request_key", "mount"),
    *("unshare", "setns"),
)
# The same number everywhere: io_uring_setup, pidfd_getfd, and the newer calls about mounts.
_COMMON = (425, 438, 428, 429, 430, 431, 432, 442)
_FAMILIES = (1, 2, 10, 16)  # Unix, IPv4, IPv6, netlink: those that a network namespace isolates
_TERMINAL = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX (ioctl_tty(2))

SUPERVISED = ("connect", "bind", "listen")
"""Calls that the supervisor answers."""
_UNIX, _IPV4, _IPV6, _NETLINK = 1, 2, 10, 16
_STREAM, _SEQPACKET, _TYPE_MASK = 1, 5, 0xF  # the rest of the type are flags (socket(2))
_ANY_PROTOCOL, _TCP, _NETLINK_ROUTE = 0, 6, 0
_FAST_OPEN = 0x2000_0000
"""MSG_FASTOPEN: a message that connects (tcp(7))."""
_FIRST, _SECOND, _THIRD, _FOURTH = 16, 24, 32, 40
"""Places of a call's arguments in ``struct seccomp_data``."""

_Lines = list[tuple[int, int, int, int]]


def no_sockets() -> bytes:
    """Return a filter against sockets and tracing. Raises OSError for an unknown machine type."""
    lines = _refused((*_numbers("socket", *_TRACING, *_OTHERS), *_COMMON))
    return _packed(lines + _terminal())


def held_sockets() -> bytes:
    """Return a filter against sockets that network namespaces do not isolate. Raises OSError."""
    (socket,) = _numbers("socket")
    families: _Lines = [(_EQUAL, 0, len(_FAMILIES) + 3, socket), (_LOAD, 0, 0, 16)]
    families += [
        (_EQUAL, len(_FAMILIES) - place, 0, family) for place, family in enumerate(_FAMILIES)
    ]
    families += [(_SAY, 0, 0, _REFUSE), (_SAY, 0, 0, _ALLOW)]
    return _packed(_refused((*_numbers(*_OTHERS), *_COMMON)) + families + _terminal())


def supervised_sockets() -> bytes:
    """Return a filter that leaves connect, bind and listen to a supervisor.

    Sockets are TCP, Unix ones that need a connection, and those with which programs read the
    machine's own addresses. Nothing else reaches an address: no datagrams, no fast open.

    Raises OSError for a machine type whose numbers are not known.
    """
    calls = system_calls()
    lines = _refused((*_numbers(*_TRACING, *_OTHERS), *_COMMON))
    for number in _numbers(*SUPERVISED):
        lines += _if_equal(number, [(_SAY, 0, 0, _NOTIFY)])
    lines += _if_equal(calls["socket"], _checked_socket())
    pair: _Lines = [(_LOAD, 0, 0, _FIRST), *_if_equal(_UNIX, _only_types(_STREAM, _SEQPACKET))]
    lines += _if_equal(calls["socketpair"], [*pair, (_SAY, 0, 0, _REFUSE)])
    for name, place in (("sendto", _FOURTH), ("sendmsg", _THIRD), ("sendmmsg", _FOURTH)):
        flags: _Lines = [(_LOAD, 0, 0, place), (_SET, 0, 1, _FAST_OPEN)]
        lines += _if_equal(calls[name], [*flags, (_SAY, 0, 0, _REFUSE), (_SAY, 0, 0, _ALLOW)])
    return _packed(lines + _terminal())


def _checked_socket() -> _Lines:
    """Return the lines for a call of socket(2), by family."""
    protocol = [(_LOAD, 0, 0, _THIRD), *_allowed_values(_ANY_PROTOCOL, _TCP)]
    stream: _Lines = [(_LOAD, 0, 0, _SECOND), (_AND, 0, 0, _TYPE_MASK)]
    stream += [*_if_equal(_STREAM, protocol), (_SAY, 0, 0, _REFUSE)]
    route: _Lines = [(_LOAD, 0, 0, _THIRD), *_allowed_values(_NETLINK_ROUTE)]
    lines: _Lines = [(_LOAD, 0, 0, _FIRST)]
    lines += _if_equal(_UNIX, _only_types(_STREAM, _SEQPACKET))
    lines += _if_equal(_IPV4, stream) + _if_equal(_IPV6, stream) + _if_equal(_NETLINK, route)
    return [*lines, (_SAY, 0, 0, _REFUSE)]


def _only_types(*types: int) -> _Lines:
    return [(_LOAD, 0, 0, _SECOND), (_AND, 0, 0, _TYPE_MASK), *_allowed_values(*types)]


def _allowed_values(*values: int) -> _Lines:
    """Return lines that allow the call if the loaded value is one of these, else refuse it."""
    lines: _Lines = []
    for value in values:
        lines += _if_equal(value, [(_SAY, 0, 0, _ALLOW)])
    return [*lines, (_SAY, 0, 0, _REFUSE)]


def _if_equal(value: int, block: _Lines) -> _Lines:
    """Return lines that run ``block``, which must end the program, for the loaded ``value``."""
    return [(_EQUAL, 0, len(block), value), *block]


def _numbers(*names: str) -> tuple[int, ...]:
    known = system_calls()
    return tuple(known[name] for name in names)


def _refused(numbers: tuple[int, ...]) -> _Lines:
    lines: _Lines = []
    for number in numbers:
        lines += [(_EQUAL, 0, 1, number), (_SAY, 0, 0, _REFUSE)]
    return lines


def _terminal() -> _Lines:
    (ioctl,) = _numbers("ioctl")
    lines: _Lines = [(_EQUAL, 1, 0, ioctl), (_SAY, 0, 0, _ALLOW), (_LOAD, 0, 0, 24)]
    return [*lines, *_refused(_TERMINAL), (_SAY, 0, 0, _ALLOW)]


def _packed(lines: _Lines) -> bytes:
    start: _Lines = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, architecture()), (_SAY, 0, 0, _KILL)]
    start += [(_LOAD, 0, 0, 0), (_ABOVE, 0, 1, 0x4000_0000), (_SAY, 0, 0, _REFUSE)]  # x32
    return b"".join(struct.pack("=HBBI", *line) for line in start + lines)
