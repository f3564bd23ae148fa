"""Every class of refused address, in every spelling, on several ports, wherever it can turn up:
asked for, among the answers of the resolver, as a rebinding, as a redirect. And every public one
passes, at the connection itself."""

import asyncio
import contextlib
import ipaddress
import re
import ssl
from pathlib import Path

import pytest
from hookline.io.http import GuardedHttp, HttpFailed, HttpRefused, NetworkPolicy
from hypothesis import given
from hypothesis import strategies as st
from support.matrices import sampled

CLASSES = {
    "loopback": ["127.0.0.1", "127.255.255.254"],
    "this network": ["0.0.0.0", "0.1.2.3"],
    "ten": ["10.0.0.1", "10.255.255.255"],
    "172": ["172.16.0.1", "172.31.255.254"],
    "192.168": ["192.168.0.1", "192.168.255.254"],
    "carrier": ["100.64.0.1", "100.127.255.254"],
    "link-local": ["169.254.0.1", "169.254.255.254"],
    "metadata": ["169.254.169.254", "169.254.170.2", "169.254.170.23", "169.254.0.23"],
    "metadata elsewhere": ["100.100.100.200", "168.63.129.16", "192.0.0.192", "169.254.42.42"],
    "protocols": ["192.0.0.1", "192.88.99.1"],
    "documentation": ["192.0.2.1", "198.51.100.1", "203.0.113.1"],
    "benchmarks": ["198.18.0.1", "198.19.255.254"],
    "multicast": ["224.0.0.1", "239.255.255.250"],
    "reserved": ["240.0.0.1", "255.255.255.255"],
}
CLASSES6 = [
    "::", "::1", "fe80::1", "febf::1", "fc00::1", "fd00::1", "fd00:ec2::254", "fd00:ec2::23",
    "fd20:ce::254", "fd00:42::42", "fe80::a9fe:a9fe", "fec0::1", "ff02::1", "ff0e::1", "100::1",
    "2001:db8::1", "2001:2::1", "2001:10::1", "3fff::1", "5f00::1", "4000::1", "8000::1",
    "64:ff9b:1::1",
]  # fmt: skip
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # loading them costs time, each time
PORTS = [None, 80, 443, 8080, 22, 65535]


def number(address):
    return int(ipaddress.IPv4Address(address))


def v6(prefix, value, shift=0):
    return f"[{ipaddress.IPv6Address(int(ipaddress.IPv6Address(prefix)) | value << shift)}]"


def each(write, separator="."):
    return lambda a: separator.join(write(int(part)) for part in a.split("."))


def digits(zero):
    return lambda a: "".join(chr(zero + int(c)) if c.isdigit() else c for c in a)


SPELLINGS = {
    "plain": lambda a: a,
    "final dot": lambda a: a + ".",
    "decimal": lambda a: str(number(a)),
    "hex": lambda a: hex(number(a)),
    "upper hex": lambda a: hex(number(a)).upper(),
    "octal": lambda a: f"0{number(a):o}",
    "long octal": lambda a: f"000000{number(a):o}",
    "hex parts": each(hex),
    "octal parts": each(lambda n: f"0{n:o}"),
    "padded": each(lambda n: f"{n:03}"),
    "mixed": lambda a: hex(int(a.split(".")[0])) + a[a.index(".") :],
    "three parts": lambda a: "{}.{}.".format(*a.split(".")[:2]) + str(number(a) & 0xFFFF),
    "two parts": lambda a: a.split(".")[0] + "." + str(number(a) & 0xFFFFFF),
    "overflow": lambda a: str(number(a) + 2**32),
    "negative": lambda a: str(number(a) - 2**32),
    "fullwidth": digits(0xFF10),
    "arabic": digits(0x660),
    "devanagari": digits(0x966),
    "bold": digits(0x1D7CE),
    "double struck": digits(0x1D7D8),
    "circled": lambda a: a.replace("0", "⓪").translate({48 + n: 0x245F + n for n in range(1, 10)}),
    "superscript": lambda a: a.translate(dict(zip(b"0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹", strict=True))),
    "ideographic dots": lambda a: a.replace(".", "。"),
    "halfwidth dots": lambda a: a.replace(".", "｡"),
    "fullwidth dots": lambda a: a.replace(".", "．"),
    "one dot leaders": lambda a: a.replace(".", "․"),
    "escaped": lambda a: "".join(f"%{ord(c):02x}" for c in a),
    "escaped dots": lambda a: a.replace(".", "%2E"),
    "zero width": lambda a: "\u200b".join(a),
    "soft hyphen": lambda a: a.replace(".", ".\u00ad"),
    "user": lambda a: f"example.org@{a}",
    "user and password": lambda a: f"example.org:80@{a}",
    "user after": lambda a: f"{a}@example.org",
    "two users": lambda a: f"a@example.org@{a}",
    "fullwidth at": lambda a: f"example.org＠{a}",
    "backslash": lambda a: f"{a}\\@example.org",
    "backslash first": lambda a: f"example.org\\@{a}",
    "number sign": lambda a: f"{a}#@example.org/",
    "question mark": lambda a: f"{a}?@example.org/",
    "escaped number sign": lambda a: f"example.org%23@{a}",
    "tab": lambda a: a.replace(".", ".\t", 1),
    "new line": lambda a: a.replace(".", ".\n", 1),
    "space": lambda a: f" {a}",
    "space between": lambda a: f"example.org {a}",
    "NUL": lambda a: f"{a}\0.example.org",
    "comma": lambda a: f"{a},example.org",
    "brackets": lambda a: f"[{a}]",
    "mapped": lambda a: v6("::ffff:0:0", number(a)),
    "mapped, dotted": lambda a: f"[::ffff:{a}]",
    "mapped, long": lambda a: f"[0:0:0:0:0:ffff:{a}]",
    "mapped, upper": lambda a: f"[::FFFF:{a}]",
    "translated": lambda a: v6("::ffff:0:0:0", number(a)),
    "compatible": lambda a: f"[::{a}]",
    "nat64": lambda a: v6("64:ff9b::", number(a)),
    "nat64, dotted": lambda a: f"[64:ff9b::{a}]",
    "nat64 local": lambda a: v6("64:ff9b:1::", number(a)),
    "6to4": lambda a: v6("2002::", number(a), 80),
    "6to4 with an interface": lambda a: v6("2002::abcd:1", number(a), 80),
    "teredo server": lambda a: v6("2001::", number(a), 64),
    "teredo client": lambda a: v6("2001:0:808:808::", number(a) ^ 0xFFFFFFFF),
    "isatap": lambda a: v6("2606:4700::5efe:0:0", number(a)),
    "isatap universal": lambda a: v6("2606:4700::200:5efe:0:0", number(a)),
    "zone": lambda a: f"[::ffff:{a}%25eth0]",
}


def spelled_url(spelling, address, port, scheme="http"):
    place = "" if port is None else f":{port}"
    return f"{scheme}://{SPELLINGS[spelling](address)}{place}/"


def fixed_resolver(*answers):
    """A resolver that gives the answers in turn, the last one for ever."""
    left = list(answers)

    async def resolve(host, port):
        return left.pop(0) if len(left) > 1 else left[0]

    return resolve


async def outcome(http, url):
    """``refused``, ``failed`` or the status."""
    try:
        return (await http.get(url)).status
    except HttpRefused:
        return "refused"
    except HttpFailed:
        return "failed"


def make_http(resolve=None, **policy):
    return GuardedHttp(
        NetworkPolicy(**policy),
        resolve=resolve or fixed_resolver(["8.8.8.8"]),
        timeout=5,
        ssl_context=NO_CERTIFICATES,
    )


@pytest.mark.long
@sampled("spelling", SPELLINGS, quick=9)
@pytest.mark.parametrize("kind", CLASSES)
async def test_refused_address_in_a_url_is_refused(kind, spelling):
    http = make_http()
    for address in CLASSES[kind]:
        for port in PORTS:
            url = spelled_url(spelling, address, port, "https" if port == 443 else "http")
            if spelling in ("number sign", "question mark"):
                url = url.replace(f":{port}", "")
            assert http.check_url(url), url
            assert await outcome(http, url) == "refused", url


@sampled("address", CLASSES6)
async def test_refused_ipv6_address_is_refused_in_url_and_resolver_answer(address):
    http = make_http()
    value = ipaddress.IPv6Address(address)
    for text in {str(value), value.exploded, str(value).upper()}:
        for port in PORTS:
            url = f"http://[{text}]{'' if port is None else f':{port}'}/"
            assert http.check_url(url), url
            assert await outcome(http, url) == "refused", url
        for answer in ([text], ["8.8.8.8", text], [text, "8.8.8.8"], [f"{text}%1"]):
            assert (
                await outcome(make_http(fixed_resolver(answer)), "http://name.example/")
                == "refused"
            )


RESOLVED = ["plain", "mapped", "translated", "compatible", "nat64", "nat64 local", "6to4",
            "teredo server", "teredo client", "isatap", "isatap universal"]  # fmt: skip


@pytest.mark.long
@sampled("spelling", RESOLVED, quick=3)
@pytest.mark.parametrize("kind", CLASSES)
async def test_refused_address_among_resolver_answers_is_refused(kind, spelling):
    for address in CLASSES[kind]:
        bad = SPELLINGS[spelling](address).strip("[]")
        for answer in ([bad], ["8.8.8.8", bad], [bad, "8.8.8.8"], ["1.1.1.1", bad, "8.8.8.8"],
                       ["2606:4700::1", bad]):  # fmt: skip
            for port in (80, 443, 8080):
                http = make_http(fixed_resolver(answer))
                assert http.check_url(f"http://name.example:{port}/") is None
                found = await outcome(http, f"http://name.example:{port}/")
                assert found == "refused", (answer, port)


@pytest.mark.parametrize("spelling", RESOLVED)
@pytest.mark.parametrize("kind", ["metadata", "metadata elsewhere"])
async def test_metadata_address_is_refused_whatever_the_settings(kind, spelling):
    for address in CLASSES[kind]:
        bad = SPELLINGS[spelling](address)
        places = ["0.0.0.0/0", "::/0", "name.example", "*.example", address, bad.strip("[]")]
        for policy in ({"block_private": False}, {"allow_hosts": places}):
            assert await outcome(make_http(**policy), f"http://{bad}/") == "refused"
            http = make_http(fixed_resolver([bad.strip("[]")]), **policy)
            assert await outcome(http, "http://name.example/") == "refused"


class Listener:
    """A server on loopback that counts connections and answers by path."""

    def __init__(self):
        self.connections = 0
        self.hosts = []
        self.answers = {}

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self.server.close()

    async def serve(self, reader, writer):
        self.connections += 1
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.hosts += [line[6:] for line in head.split("\r\n") if line.startswith("Host: ")]
            location = self.answers.get(head.split(" ")[1])
            first = f"302 X\r\nLocation: {location}" if location else "200 OK"
            writer.write(f"HTTP/1.1 {first}\r\nContent-Length: 0\r\n\r\n".encode())
            await writer.drain()
            writer.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", CLASSES)
async def test_redirect_to_a_refused_address_is_refused(kind):
    """The first server is allowed by the operator; the redirect target is checked again."""
    async with Listener() as listener:
        http = make_http(fixed_resolver(["127.0.0.1"]), allow_hosts=["first.example"])
        for address in CLASSES[kind]:
            for spelling in SPELLINGS:
                target = spelled_url(spelling, address, None)
                if set(target) & set("\t\n\0 "):
                    continue  # no header can carry it
                listener.answers["/"] = target
                before = listener.connections
                found = await outcome(http, f"http://first.example:{listener.port}/")
                # What is no address to a reader of headers is a path on the first server.
                assert found in ("refused", "failed"), target
                assert listener.connections == before + 1, target
        await http.aclose()


@pytest.mark.parametrize(
    "target",
    ["file:///etc/passwd", "ftp://8.8.8.8/", "gopher://8.8.8.8/", "data:text/plain,x", "ws://x/",
     "javascript:alert(1)", "http://", "//", "dict://127.0.0.1:11211/", "jar:http://x"],
)  # fmt: skip
async def test_redirect_to_another_scheme_is_refused(target):
    async with Listener() as listener:
        http = make_http(fixed_resolver(["127.0.0.1"]), allow_hosts=["first.example"])
        listener.answers["/"] = target
        found = await outcome(http, f"http://first.example:{listener.port}/")
        # These two are references to the same server.
        assert found == ("failed" if target in ("//", "http://") else "refused")
        assert listener.connections <= 11
        await http.aclose()


async def test_dns_rebinding_before_the_connection_is_refused():
    """The name resolves to an allowed address when checked, and to a refused one later."""
    async with Listener() as listener:  # on 127.0.0.1; nobody listens on 127.0.0.3
        resolve = fixed_resolver(["127.0.0.3"], ["127.0.0.1"])
        http = make_http(resolve, allow_hosts=["127.0.0.3"])
        url = f"http://name.example:{listener.port}/"
        assert await outcome(http, url) == "failed"
        assert await outcome(http, url) == "refused"
        assert listener.connections == 0
        await http.aclose()


async def test_loopback_is_not_dialled_in_any_spelling():
    """As above, with a listener that counts connections to this machine."""
    async with Listener() as listener:
        for resolve in (
            None,
            fixed_resolver(["127.0.0.1"]),
            fixed_resolver(["8.8.8.8", "127.0.0.1"]),
        ):
            http = GuardedHttp(NetworkPolicy(), resolve=resolve, timeout=5)
            hosts = ["localhost", "LOCALHOST", "localhost.", "a.localhost", "name.example", "0"]
            hosts += [write("127.0.0.1") for write in SPELLINGS.values()]
            for host in hosts:
                with contextlib.suppress(HttpRefused, HttpFailed):
                    await http.get(f"http://{host}:{listener.port}/", timeout=0.5)
            await http.aclose()
        assert listener.connections == 0


# --- what is public ------------------------------------------------------------------------------

FILE = Path(__file__).with_name("public_urls.txt")
PUBLIC = [
    line for line in FILE.read_text("utf-8").splitlines() if line and not line.startswith("# ")
]


def test_public_url_corpus_is_large():
    assert len(PUBLIC) == len(set(PUBLIC)) >= 200


@pytest.mark.parametrize("url", PUBLIC)
def test_public_addresses_are_allowed(url):
    assert GuardedHttp(NetworkPolicy()).check_url(url) is None


@pytest.mark.slow
async def test_public_names_are_reached():
    """Each name, on the listener's port, is resolved to loopback, which the operator allows."""
    async with Listener() as listener:
        allowed = [f"127.0.0.1:{listener.port}"]
        http = make_http(fixed_resolver(["127.0.0.1"]), allow_hosts=allowed)
        for url in PUBLIC:
            rest = url.partition("://")[2]
            host = rest.split("/")[0].split("?")[0].split("#")[0]
            if re.fullmatch(r"\[.*|[0-9.:]+", host):
                continue  # an address is dialled as it is
            path = rest[len(host) :].partition("#")[0]
            path = path if path.startswith("/") else "/" + path
            target = f"http://{host.partition(':')[0]}:{listener.port}{path}"
            assert await outcome(http, target) == 200, url
        await http.aclose()
    assert len(listener.hosts) == listener.connections > 150
    assert all(host.isascii() for host in listener.hosts)


# --- anything at all -----------------------------------------------------------------------------

HOSTS = st.sampled_from([a for kind in CLASSES.values() for a in kind])
NOISE = st.sampled_from(
    ["", "@", "#", "?", "\\", "%00", "\t", " ", ".", "..", ":", "/", "\u200b", "x.example@", "[",
     "]", "%25", "\u2024", "；", "&", "//", ":80"]
)  # fmt: skip


@given(HOSTS, st.sampled_from(sorted(SPELLINGS)), NOISE, NOISE, st.sampled_from(PORTS))
def test_refused_address_with_text_around_it_is_refused(address, spelling, before, after, port):
    """The host parsed from a decorated address is never the refused address."""
    http = GuardedHttp(NetworkPolicy())
    place = "" if port is None else f":{port}"
    url = f"http://{before}{SPELLINGS[spelling](address)}{after}{place}/"
    if http.check_url(url) is None:
        from hookline.io.http import parse_url

        host = parse_url(url).host
        with pytest.raises(ValueError, match=host):
            ipaddress.ip_address(host)  # a name: it is checked again when resolved
        assert not host.rpartition(".")[2].isdigit()


@pytest.mark.slow
@given(st.text(max_size=60))
def test_check_url_accepts_any_text(text):
    for url in (text, "http://" + text, f"http://127.0.0.1{text}"):
        reason = GuardedHttp(NetworkPolicy()).check_url(url)
        assert reason is None or reason.endswith(".")
