"""Answers connect, bind and listen of sandboxed programs that have no network namespace.

The kernel reports each call and waits (seccomp_unotify(2)). The call itself never goes on, because
its address could be changed after it was looked at: the supervisor reads the address once, takes
the socket (pidfd_getfd(2)), connects or binds it itself, and returns the result. Programs reach

- the loopback port that stands for the proxy, and ports of this machine that were granted;
- loopback ports on which a socket listens that was bound here. They are found by the socket, so
  that a port which another program takes over later is another one;
- Unix sockets with a path in the writable folders.

Everything is bound to loopback. A socket can be anything else only for reading the machine's
addresses (netlink), and Landlock refuses TCP if a call goes on.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import socket
import stat
import struct

from .system_calls import system_calls

_LIBC = ctypes.CDLL(None, use_errno=True)
# include/uapi/linux/seccomp.h
_RECEIVE, _SEND, _IS_VALID = 0xC050_2100, 0xC018_2101, 0x4008_2102
_NOTIFICATION_BYTES = 80
_GO_ON = 1
_PIDFD_OPEN, _PIDFD_GETFD, _OPENAT2 = 434, 438, 437
_PIDFD_THREAD = 0o200
"""O_EXCL: the id may be a thread's (pidfd_open(2), Linux 6.9)."""
_BENEATH_WITHOUT_LINKS = 0x02 | 0x04 | 0x08
"""RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH (openat2(2))."""
_MAX_ADDRESS_BYTES = 128
_SEND_TIMEOUT = struct.pack("@ll", 2, 0)
"""Seconds for which a connect may block the supervisor, as ``struct timeval``."""
_LISTEN_STATE = "0A"
_LOOPBACK4, _LOOPBACK6, _MAPPED = b"\x7f\0\0\1", bytes(15) + b"\1", bytes(10) + b"\xff\xff"
_V6_HEAD, _V6_HOST = 8, slice(8, 24)


class Supervisor:
    """Decides about the sockets of one sandbox.

    ports: the port inside, and the port of the forwarder to the proxy that stands for it.
    granted: ports of this machine. folders: where Unix sockets may be, and hidden: where not.
    """

    def __init__(
        self, ports: dict[int, int], granted: list[int], folders: list[str], hidden: list[str]
    ) -> None:
        self._ports, self._granted = ports, frozenset(granted)
        self._folders, self._hidden = folders, hidden
        self._own_sockets: set[int] = set()

    def answer(self, listener: int) -> None:
        """Receive one notification and answer it."""
        request = bytearray(_NOTIFICATION_BYTES)
        try:
            fcntl.ioctl(listener, _RECEIVE, request)
        except OSError:
            return  # the program was killed meanwhile
        number, thread, _, call = struct.unpack_from("=QIIi", request)
        arguments = struct.unpack_from("=6Q", request, 32)
        flags = 0
        try:
            if self._act(listener, number, thread, call, arguments):
                flags = _GO_ON
            failure = 0
        except OSError as error:
            failure = -(error.errno or errno.EACCES)
        except Exception:
            failure = -errno.EACCES  # such as an address of memory that is none
        reply = struct.pack("=QqiI", number, 0, failure, flags)
        with contextlib.suppress(OSError):  # the program was killed meanwhile
            fcntl.ioctl(listener, _SEND, reply)

    def _act(
        self, listener: int, number: int, thread: int, call: int, arguments: tuple[int, ...]
    ) -> bool:
        """Carry out a call. Return whether it may go on by itself. Raises OSError with its result.

        The identity of the thread is checked after everything of it was opened.
        """
        calls = system_calls()
        address = b"" if call == calls["listen"] else _read_address(thread, arguments)
        process = _open_process(thread)
        try:
            fcntl.ioctl(listener, _IS_VALID, struct.pack("=Q", number))
            descriptor = _checked(
                _LIBC.syscall(_PIDFD_GETFD, process, ctypes.c_int(arguments[0] & 0xFFFF_FFFF), 0)
            )
        finally:
            os.close(process)
        with _as_socket(descriptor) as taken:
            if call == calls["listen"]:
                self._listen(taken, ctypes.c_int(arguments[1] & 0xFFFF_FFFF).value)
                return False
            family = _family(taken, address)
            if call == calls["bind"]:
                return self._bind(taken, family, address)
            self._connect(taken, family, address, thread)
            return False

    def _connect(self, taken: socket.socket, family: int, address: bytes, thread: int) -> None:
        if family == socket.AF_UNIX:
            self._connect_path(taken, address, thread)
        elif family == socket.AF_NETLINK:
            if struct.unpack_from("=I", address, 4)[0]:
                raise PermissionError(errno.EACCES, "only the kernel")
            _connect(taken, address)
        else:
            _connect(taken, self._reachable(family, address))

    def _reachable(self, family: int, address: bytes) -> bytes:
        """Return the loopback address to connect to. Raises OSError if it may not be reached."""
        kind = _loopback_kind(family, address)
        if kind is None:
            raise PermissionError(errno.EACCES, "not a loopback address")
        port = int.from_bytes(address[2:4], "big")
        if kind == 4 and port in self._ports:
            return _loopback(family, 4, self._ports[port])
        if port not in self._granted and not _listening(kind, port) & self._own_sockets:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "no socket of this sandbox")
        return _loopback(family, kind, port)

    def _connect_path(self, taken: socket.socket, address: bytes, thread: int) -> None:
        """Connect to a Unix socket in a writable folder, which is opened without links first."""
        path = os.fsdecode(address[2:].split(b"\0", 1)[0])
        if not path:
            raise PermissionError(errno.EACCES, "an abstract name")
        base = os.readlink(f"/proc/{thread}/cwd")  # noqa: PTH115
        real = os.path.realpath(os.path.join(base, path))  # noqa: PTH118
        folder = next((f for f in self._folders if real.startswith(f + "/")), None)
        if folder is None or any(real == h or real.startswith(h + "/") for h in self._hidden):
            raise PermissionError(errno.EACCES, "outside of the writable folders")
        opened = _open_beneath(folder, os.path.relpath(real, folder))
        try:
            if not stat.S_ISSOCK(os.fstat(opened).st_mode):
                raise ConnectionRefusedError(errno.ECONNREFUSED, "not a socket")
            name = f"/proc/self/fd/{opened}".encode()
            _connect(taken, struct.pack("=H", socket.AF_UNIX) + name + b"\0")
        finally:
            os.close(opened)

    def _bind(self, taken: socket.socket, family: int, address: bytes) -> bool:
        """Bind a TCP socket to loopback. Others may go on: Landlock holds paths, and TCP too."""
        if family not in (socket.AF_INET, socket.AF_INET6):
            return True
        kind = _loopback_kind(family, address)
        if kind is None:
            raise OSError(errno.EADDRNOTAVAIL, "not a loopback address")
        if kind == 4 and int.from_bytes(address[2:4], "big") in self._granted:
            raise OSError(errno.EADDRINUSE, "a port of this machine")
        # Another program's socket could share the port, and its connections.
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 0)
        port = int.from_bytes(address[2:4], "big")
        if family == socket.AF_INET6 and taken.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY):
            kind = 6
        _call(_LIBC.bind, taken, _loopback(family, kind, port))
        self._own_sockets.add(os.fstat(taken.fileno()).st_ino)
        return False

    def _listen(self, taken: socket.socket, backlog: int) -> None:
        """Listen; a TCP socket without an address would otherwise listen on every one."""
        family = taken.getsockopt(socket.SOL_SOCKET, socket.SO_DOMAIN)
        if family in (socket.AF_INET, socket.AF_INET6) and not taken.getsockname()[1]:
            size = 16 if family == socket.AF_INET else 28
            self._bind(taken, family, struct.pack("=H", family) + bytes(size - 2))
        _checked(_LIBC.listen(taken.fileno(), backlog))


def _read_address(thread: int, arguments: tuple[int, ...]) -> bytes:
    """Return the address of a call, read once."""
    size = arguments[2] & 0xFFFF_FFFF
    if not 2 <= size <= _MAX_ADDRESS_BYTES:
        raise OSError(errno.EINVAL, "no address")
    with open(f"/proc/{thread}/mem", "rb", 0) as memory:  # noqa: PTH123
        memory.seek(arguments[1])
        address = memory.read(size)
    if len(address) != size:
        raise OSError(errno.EFAULT, "no address")
    return address


def _open_process(thread: int) -> int:
    """Open the thread, or before Linux 6.9 its process."""
    found: int = _LIBC.syscall(_PIDFD_OPEN, thread, ctypes.c_uint(_PIDFD_THREAD))
    if found >= 0:
        return found
    with open(f"/proc/{thread}/status", "rb") as file:  # noqa: PTH123
        fields = dict(line.split(b":", 1) for line in file.read().splitlines() if b":" in line)
    return _checked(_LIBC.syscall(_PIDFD_OPEN, int(fields[b"Tgid"]), ctypes.c_uint(0)))


def _as_socket(descriptor: int) -> socket.socket:
    """Return the descriptor as a socket. Raises OSError, and closes it, if it is none."""
    try:
        return socket.socket(fileno=descriptor)
    except OSError:
        os.close(descriptor)
        raise


_ADDRESS_BYTES: dict[int, int] = {
    socket.AF_UNIX: 2,
    socket.AF_INET: 16,
    socket.AF_INET6: 28,
    socket.AF_NETLINK: 12,
}
"""The least bytes of an address by family."""


def _family(taken: socket.socket, address: bytes) -> int:
    """Return the family, which the socket and the address must have in common."""
    (family,) = struct.unpack_from("=H", address)
    domain = taken.getsockopt(socket.SOL_SOCKET, socket.SO_DOMAIN)
    if family != domain or len(address) < _ADDRESS_BYTES.get(domain, _MAX_ADDRESS_BYTES + 1):
        raise OSError(errno.EAFNOSUPPORT, "another kind of address")
    return domain


def _loopback_kind(family: int, address: bytes) -> int | None:
    """Return 4 or 6 for a loopback or unspecified address; None for others."""
    if family == socket.AF_INET:
        host = address[4:8]
        return 4 if host == bytes(4) or host[0] == _LOOPBACK4[0] else None
    host = address[_V6_HOST]
    if host == _LOOPBACK6:
        return 6
    if host == bytes(16):
        return 4  # reached over both, if it is bound to the mapped address
    is_mapped = host.startswith(_MAPPED) and (host[12] == _LOOPBACK4[0] or host[12:] == bytes(4))
    return 4 if is_mapped else None


def _loopback(family: int, kind: int, port: int) -> bytes:
    """Return the address of a port of this machine, in IPv4 or IPv6 (``kind`` 4 or 6)."""
    head = struct.pack("=H", family) + port.to_bytes(2, "big")
    if family == socket.AF_INET:
        return head + _LOOPBACK4 + bytes(8)
    host = _LOOPBACK6 if kind == 6 else _MAPPED + _LOOPBACK4
    return head + bytes(_V6_HEAD - 4) + host + bytes(4)


def _listening(kind: int, port: int) -> set[int]:
    """Return the sockets (inodes) that listen on a loopback port (proc_net_tcp(5))."""
    own4 = f"{int.from_bytes(_LOOPBACK4, 'little'):08X}"
    hosts = {own4, f"0000000000000000FFFF0000{own4}"} if kind == 4 else {f"{1 << 24:032X}"}
    found = set()
    for name in ("tcp", "tcp6"):
        with open(f"/proc/net/{name}", "rb") as file:  # noqa: PTH123
            for line in file.read().decode().splitlines()[1:]:
                fields = line.split()
                host, _, own_port = fields[1].partition(":")
                if fields[3] == _LISTEN_STATE and int(own_port, 16) == port and host in hosts:
                    found.add(int(fields[9]))
    return found


def _open_beneath(folder: str, path: str) -> int:
    """Open a path in a folder (O_PATH) in which no part is a link."""
    opened = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        how = struct.pack("=3Q", os.O_PATH | os.O_CLOEXEC, 0, _BENEATH_WITHOUT_LINKS)
        size = ctypes.c_size_t(len(how))
        return _checked(_LIBC.syscall(_OPENAT2, opened, os.fsencode(path), how, size))
    finally:
        os.close(opened)


def _connect(taken: socket.socket, address: bytes) -> None:
    """Connect, without blocking the supervisor for long. Raises OSError with the result."""
    before = taken.getsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, len(_SEND_TIMEOUT))
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _SEND_TIMEOUT)
    try:
        _call(_LIBC.connect, taken, address)
    except BlockingIOError:
        if not fcntl.fcntl(taken, fcntl.F_GETFL) & os.O_NONBLOCK:
            raise TimeoutError(errno.ETIMEDOUT, "connect") from None
        raise
    finally:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, before)


def _call(function, taken: socket.socket, address: bytes) -> None:  # type: ignore[no-untyped-def]
    _checked(function(taken.fileno(), address, len(address)))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
