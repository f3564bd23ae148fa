"""Makes system call filters as classic BPF programs (seccomp(2)): listed calls are refused.

They read ``struct seccomp_data``: number at 0, architecture at 4, arguments from 16.
"""

import platform
import struct

LINE = 8
"""Bytes of one instruction."""
_LOAD, _EQUAL, _ABOVE, _SAY = 0x20, 0x15, 0x35, 0x06
_KILL, _REFUSE, _ALLOW = 0x8000_0000, 0x0005_0001, 0x7FFF_0000  # refused with EPERM
# audit(7) architecture; socket; ioctl; ptrace, process_vm_readv, process_vm_writev; bpf,
# userfaultfd, perf_event_open, keyctl, add_key, request_key, mount, unshare, setns.
_MACHINES = {
    "x86_64": (0xC000003E, 41, 16, (101, 310, 311), (321, 323, 298, 250, 248, 249, 165, 272, 308)),
    "aarch64": (0xC00000B7, 198, 29, (117, 270, 271), (280, 282, 241, 219, 217, 218, 40, 97, 268)),
}
# The same number everywhere: io_uring_setup, pidfd_getfd, and the newer calls about mounts.
_COMMON = (425, 438, 428, 429, 430, 431, 432, 442)
_FAMILIES = (1, 2, 10, 16)  # Unix, IPv4, IPv6, netlink: those that a network namespace isolates
_TERMINAL = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX (ioctl_tty(2))

_Lines = list[tuple[int, int, int, int]]


def no_sockets() -> bytes:
    """Return a filter against sockets and tracing. Raises OSError for an unknown machine type."""
    architecture, socket, ioctl, tracing, others = _machine()
    lines = _refused((socket, *tracing, *others, *_COMMON)) + _terminal(ioctl)
    return _packed(architecture, lines)


def held_sockets() -> bytes:
    """Return a filter against sockets that network namespaces do not isolate. Raises OSError."""
    architecture, socket, ioctl, _, others = _machine()
    families: _Lines = [(_EQUAL, 0, len(_FAMILIES) + 3, socket), (_LOAD, 0, 0, 16)]
    families += [
        (_EQUAL, len(_FAMILIES) - place, 0, family) for place, family in enumerate(_FAMILIES)
    ]
    families += [(_SAY, 0, 0, _REFUSE), (_SAY, 0, 0, _ALLOW)]
    return _packed(architecture, _refused((*others, *_COMMON)) + families + _terminal(ioctl))


def _machine() -> tuple[int, int, int, tuple[int, ...], tuple[int, ...]]:
    found = _MACHINES.get(platform.machine())
    if found is None:
        raise OSError(f"no system call filter is known for {platform.machine()}")
    return found


def _refused(numbers: tuple[int, ...]) -> _Lines:
    lines: _Lines = []
    for number in numbers:
        lines += [(_EQUAL, 0, 1, number), (_SAY, 0, 0, _REFUSE)]
    return lines


def _terminal(ioctl: int) -> _Lines:
    lines: _Lines = [(_EQUAL, 1, 0, ioctl), (_SAY, 0, 0, _ALLOW), (_LOAD, 0, 0, 24)]
    return [*lines, *_refused(_TERMINAL), (_SAY, 0, 0, _ALLOW)]


def _packed(architecture: int, lines: _Lines) -> bytes:
    start: _Lines = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, architecture), (_SAY, 0, 0, _KILL)]
    start += [(_LOAD, 0, 0, 0), (_ABOVE, 0, 1, 0x4000_0000), (_SAY, 0, 0, _REFUSE)]  # x32
    return b"".join(struct.pack("=HBBI", *line) for line in start + lines)
