"""`hookline.io.http`: one address, one URL, one policy; nothing here touches the network."""

import ipaddress
import json
import subprocess
import sys
from ipaddress import IPv6Address

import pytest
from hookline.io.http import HttpRefused, NetworkPolicy, check_address, parse_url
from hypothesis import given
from hypothesis import strategies as st

PRIVATE = {
    "loopback": "127.0.0.1",
    "loopback far": "127.9.8.7",
    "ten": "10.1.2.3",
    "172": "172.31.255.255",
    "192": "192.168.0.1",
    "carrier": "100.64.0.1",
    "link-local": "169.254.1.1",
    "metadata": "169.254.169.254",
    "alibaba": "100.100.100.200",
    "azure": "168.63.129.16",
    "zero": "0.0.0.0",
    "multicast": "224.0.0.1",
    "reserved": "240.0.0.1",
    "broadcast": "255.255.255.255",
    "documentation": "192.0.2.1",
    "benchmark": "198.19.0.1",
}
METADATA = ["169.254.169.254", "100.100.100.200", "168.63.129.16", "169.254.170.2"]
PUBLIC = ["8.8.8.8", "1.1.1.1", "93.184.216.34", "172.32.0.1", "100.128.0.1", "168.63.129.17"]
PUBLIC6 = ["2606:4700:4700::1111", "2001:4860:4860::8888", "2a00:1450:4001:80b::200e"]


def v6(prefix, value, shift=0):
    return str(ipaddress.IPv6Address(int(ipaddress.IPv6Address(prefix)) | value << shift))


def number(address):
    return int(ipaddress.IPv4Address(address))


FORMS = {
    "itself": lambda a: a,
    "mapped": lambda a: v6("::ffff:0:0", number(a)),
    "translated": lambda a: v6("::ffff:0:0:0", number(a)),
    "compatible": lambda a: v6("::", number(a)),
    "nat64": lambda a: v6("64:ff9b::", number(a)),
    "nat64 local /96": lambda a: v6("64:ff9b:1::", number(a)),
    "nat64 local /48": lambda a: v6(v6("64:ff9b:1::", number(a) >> 16, 64), number(a) & 0xFFFF, 40),
    "6to4": lambda a: v6("2002::1", number(a), 80),
    "teredo server": lambda a: v6("2001::", number(a), 64),
    "teredo client": lambda a: v6("2001:0:808:808::", number(a) ^ 0xFFFFFFFF),
    "isatap": lambda a: v6("2606:4700::5efe:0:0", number(a)),
    "isatap universal": lambda a: v6("2606:4700::200:5efe:0:0", number(a)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("address", PRIVATE.values(), ids=PRIVATE)
def test_private_addresses_are_refused_in_every_form(address, form):
    spelled = FORMS[form](address)
    assert check_address(spelled)
    assert check_address(ipaddress.ip_address(spelled))
    host = f"[{spelled}]" if ":" in spelled else spelled
    with pytest.raises(HttpRefused):
        NetworkPolicy().check_name(parse_url(f"http://{host}/").host, 80)
    with pytest.raises(HttpRefused):
        NetworkPolicy().check_addresses("example.org", 80, ["8.8.8.8", spelled])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("address", METADATA)
def test_metadata_services_are_never_exempt(address, form):
    spelled = FORMS[form](address)
    for policy in (
        NetworkPolicy(block_private=False),
        NetworkPolicy(allow_hosts=["0.0.0.0/0", "::/0", "example.org", spelled]),
    ):
        with pytest.raises(HttpRefused, match="metadata"):
            policy.check_addresses("example.org", 80, [spelled])
        with pytest.raises(HttpRefused, match="metadata"):
            policy.check_name(spelled, 80)


@pytest.mark.parametrize(
    "host",
    ["metadata.google.internal", "METADATA.google.internal.", "x.metadata.google.internal",
     "metadata", "instance-data.ec2.internal"],
)  # fmt: skip
def test_metadata_names_are_never_exempt(host):
    policy = NetworkPolicy(block_private=False, allow_hosts=["*.google.internal", "metadata"])
    with pytest.raises(HttpRefused, match="metadata"):
        policy.check_name(host, 80)


@pytest.mark.parametrize("address", PUBLIC + PUBLIC6)
def test_public_addresses_pass(address):
    assert check_address(address) is None
    NetworkPolicy().check_addresses("example.org", 443, [address])


@pytest.mark.parametrize("form", ["mapped", "nat64", "6to4", "isatap"])
@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_pass_in_nat64_and_other_network_forms(address, form):
    assert check_address(FORMS[form](address)) is None


@pytest.mark.parametrize(
    "address",
    ["::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1",
     "2001:db8::1", "3fff::1", "5f00::1", "100::1", "4000::1", "2001:2::1", "", "x", "1.2.3"],
)  # fmt: skip
def test_special_and_invalid_addresses_are_refused(address):
    assert check_address(address)
    with pytest.raises(HttpRefused):
        NetworkPolicy().check_addresses("example.org", 80, [address])


@given(st.ip_addresses())
def test_public_addresses_are_global_in_the_ipaddress_module(address):
    # Of mapped and 6to4 addresses, patch releases of Python think differently.
    if isinstance(address, IPv6Address) and (address.ipv4_mapped or address.sixtofour):
        return
    if check_address(address) is None:
        assert address.is_global
        assert not address.is_multicast


# --- URLs ---------------------------------------------------------------------------------------

GOOD = {
    "http://example.org": ("http", "example.org", 80, "/"),
    "HTTPS://Example.ORG./A?b=c#d": ("https", "example.org", 443, "/A?b=c"),
    "https://example.org:8443/x": ("https", "example.org", 8443, "/x"),
    "https://example.org?q=1": ("https", "example.org", 443, "/?q=1"),
    "http://a_b.example-site.co.uk/": ("http", "a_b.example-site.co.uk", 80, "/"),
    "http://bücher.example/": ("http", "xn--bcher-kva.example", 80, "/"),
    "http://straße.de/": ("http", "xn--strae-oqa.de", 80, "/"),
    "http://例え.テスト/": ("http", "xn--r8jz45g.xn--zckzah", 80, "/"),
    "http://xn--i-7iq.ws/": ("http", "xn--i-7iq.ws", 80, "/"),
    "http://8.8.8.8:80/": ("http", "8.8.8.8", 80, "/"),
    "http://[2606:4700:4700:0::1111]/": ("http", "2606:4700:4700::1111", 80, "/"),
    "http://example.org/a@b\\c d%00": ("http", "example.org", 80, "/a@b\\c d%00"),
    "http://1.2.3.4.example.org/": ("http", "1.2.3.4.example.org", 80, "/"),
    "http://localhost/": ("http", "localhost", 80, "/"),
}


@pytest.mark.parametrize("url", GOOD)
def test_ordinary_urls_are_parsed(url):
    target = parse_url(url)
    assert (target.scheme, target.host, target.port, target.path) == GOOD[url]
    assert parse_url(target.url) == target
    assert target.origin == GOOD[url][:3]


BAD = [
    "", "example.org", "//example.org/", "http:example.org", "http:/example.org", "http://",
    "http:///x", "http://:80/", "http://?x", "ftp://example.org/", "file:///etc/passwd",
    "gopher://example.org/", "javascript://example.org/%0a", "data:text/plain,x",
    "http://user@example.org/", "http://user:pw@example.org/", "http://a@b@example.org/",
    "http://@example.org/", "http://example.org\\@evil.org/", "http://example.org\\.evil.org/",
    "http:\\\\example.org/", "http://exa mple.org/", "http:// example.org/", " http://example.org/",
    "http://example.org /", "http://exa\tmple.org/", "http://example.org/\n", "http://exam\0ple.org/",
    "http://example%2eorg/", "http://%31%32%37.0.0.1/", "http://[fe80::1%25eth0]/",
    "http://[::1%eth0]/", "http://example.org:/", "http://example.org:0/", "http://example.org:65536/",
    "http://example.org:080/", "http://example.org:8o/", "http://example.org:-1/",
    "http://example.org:٨٠/", "http://example.org:80:80/", "http://[::1/", "http://::1/", "http://[]/",
    "http://[1.2.3.4]/", "http://[v1.x]/", "http://[::1]x/", "http://x[::1]/", "http://[[::1]]/",
    "http://a..example.org/", "http://.example.org/", "http://example.org../", "http://./",
    "http://" + "a" * 64 + ".org/", "http://" + "a." * 127 + "org/", "http://exa!mple.org/",
    "http://*.example.org/", "http://example.org,evil.org/", "http://example.org;x/",
    "http://example\u3002org/", "http://example\uff0eorg/", "http://example\uff61org/",
    "http://example\u2024org/", "http://example.org\uff0fx/", "http://example.org\uff20evil.org/",
    "http://ｅxample.org/", "http://\u2100.example/", "http://exam\u00adple.org/",
    "http://exam\u200bple.org/", "http://exa\u202emple.org/", "http://\U0001f4a9.la/", "http://xn--a\u2063.de/",
]  # fmt: skip
SPELLINGS = {
    "decimal": lambda a: str(number(a)),
    "hex": lambda a: hex(number(a)),
    "octal": lambda a: "0" + oct(number(a))[2:],
    "hex parts": lambda a: ".".join(hex(int(p)) for p in a.split(".")),
    "octal parts": lambda a: ".".join("0" + oct(int(p))[2:] for p in a.split(".")),
    "padded": lambda a: ".".join(p.zfill(3) for p in a.split(".")),
    "long zero": lambda a: "0000" + a,
    "three parts": lambda a: "{}.{}.{}".format(*a.split(".")[:2], number(a) & 0xFFFF),
    "two parts": lambda a: "{}.{}".format(a.split(".")[0], number(a) & 0xFFFFFF),
    "five parts": lambda a: a + ".1",
    "mixed": lambda a: a.replace(a.split(".")[0], hex(int(a.split(".")[0])), 1),
    "bare 0x": lambda a: "0x." + a,
    "fullwidth digits": lambda a: "".join(
        chr(ord(c) + 0xFEE0) if c.isdigit() else c for c in a
    ),
    "arabic digits": lambda a: "".join(
        chr(0x660 + int(c)) if c.isdigit() else c for c in a
    ),
    "circled digits": lambda a: "".join(
        chr(0x245F + int(c)) if c in "123456789" else c for c in a
    ),
    "superscript": lambda a: a.replace("1", "\u00b9").replace("2", "\u00b2"),
    "ideographic dots": lambda a: a.replace(".", "\u3002"),
    "fullwidth dots": lambda a: a.replace(".", "\uff0e"),
    "escaped dots": lambda a: a.replace(".", "%2e"),
}  # fmt: skip


@pytest.mark.parametrize("url", BAD)
def test_bad_and_ambiguous_urls_are_refused(url):
    with pytest.raises(HttpRefused) as caught:
        parse_url(url)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("address", PRIVATE.values(), ids=PRIVATE)
def test_odd_spellings_of_ipv4_are_refused(address, spelling):
    odd = SPELLINGS[spelling](address)
    try:
        target = parse_url(f"http://{odd}/")
    except HttpRefused:
        return
    # A spelling that means the same address is checked like the address.
    assert check_address(target.host)


def test_overlong_url_is_refused():
    assert parse_url("http://example.org/" + "a" * 8000)
    with pytest.raises(HttpRefused, match="characters"):
        parse_url("http://example.org/" + "a" * 9000)


LABEL = st.from_regex(r"[a-z]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)
HOST = st.tuples(LABEL, LABEL, st.sampled_from(["org", "com", "co.uk", "xn--p1ai"])).map(".".join)


@given(
    scheme=st.sampled_from(["http", "https", "HTTP"]),
    host=HOST,
    port=st.none() | st.integers(1, 65535),
    path=st.text(st.characters(exclude_categories=["C", "Z"]), max_size=30),
)
def test_every_ordinary_public_url_passes(scheme, host, port, path):
    path = path.replace("#", "")
    target = parse_url(f"{scheme}://{host}{'' if port is None else f':{port}'}/{path}")
    assert target.host == host
    assert target.path == "/" + path
    NetworkPolicy().check_name(target.host, target.port)


@given(
    st.text(max_size=40)
    | st.text("htps:/@[]%.\\0123456789ax．。１", max_size=30).map("http://".__add__)
)
def test_parse_url_never_crashes_or_returns_an_odd_host(url):
    try:
        target = parse_url(url)
    except HttpRefused:
        return
    assert target.host.isascii()
    assert target.host == target.host.lower()
    assert not set(target.host) & set("/\\@%?# ")
    assert parse_url(target.url) == target


# --- policy -------------------------------------------------------------------------------------


def allowed(policy, host, port=80, addresses=("10.0.0.5",)):
    try:
        policy.check_name(host, port)
        policy.check_addresses(host, port, addresses)
    except HttpRefused:
        return False
    return True


@pytest.mark.parametrize(
    ("entry", "host", "port", "expected"),
    [
        ("intra.example", "intra.example", 80, True),
        ("Intra.Example.", "INTRA.example", 80, True),
        ("intra.example", "x.intra.example", 80, False),
        ("*.intra.example", "x.intra.example", 80, True),
        ("*.intra.example", "a.b.intra.example", 80, True),
        ("*.intra.example", "intra.example", 80, False),
        ("*.intra.example", "evilintra.example", 80, False),
        ("intra.example:8080", "intra.example", 8080, True),
        ("intra.example:8080", "intra.example", 80, False),
        ("*.intra.example:8080", "x.intra.example", 8080, True),
        ("bücher.example", "xn--bcher-kva.example", 80, True),
        ("10.0.0.5", "any.example", 80, True),
        ("10.0.0.0/8", "any.example", 80, True),
        ("10.0.0.0/8:8080", "any.example", 80, False),
        ("10.0.0.0/8:8080", "any.example", 8080, True),
        ("10.0.0.6", "any.example", 80, False),
        ("0.0.0.0/0", "10.0.0.5", 80, True),
        ("other.example", "intra.example", 80, False),
    ],
)
def test_allow_hosts_exempts_exactly_what_it_names(entry, host, port, expected):
    assert allowed(NetworkPolicy(allow_hosts=[entry]), host, port) is expected


@pytest.mark.parametrize(
    ("entry", "address"),
    [("::1", "::1"), ("[::1]", "::1"), ("[::1]:80", "::1"), ("fd00::/8", "fd00::1"),
     ("[fd00::/8]:80", "fd00::1"), ("[fd00::]/8:80", "fd00::1"), ("10.0.0.5", "::ffff:10.0.0.5")],
)  # fmt: skip
def test_allow_hosts_takes_ipv6(entry, address):
    assert allowed(NetworkPolicy(allow_hosts=[entry]), "x.example", 80, [address])
    assert allowed(NetworkPolicy(allow_hosts=[entry]), address, 80, [address])


def test_allow_hosts_does_not_exclude_others_and_is_per_address():
    policy = NetworkPolicy(allow_hosts=["10.0.0.5", "intra.example"])
    assert allowed(policy, "example.org", 443, ["8.8.8.8"])
    assert allowed(policy, "example.org", 443, ["8.8.8.8", "10.0.0.5"])
    assert not allowed(policy, "example.org", 443, ["8.8.8.8", "10.0.0.5", "10.0.0.6"])
    assert not allowed(policy, "x.example", 80, [FORMS["nat64"]("10.0.0.5")])


@pytest.mark.parametrize(
    ("entry", "host", "address"),
    [("example.org", "example.org", "8.8.8.8"), ("*.org", "example.org", "8.8.8.8"),
     ("8.8.8.0/24", "example.org", "8.8.8.8"), ("8.8.8.8", "8.8.8.8", "8.8.8.8"),
     ("8.8.8.8", "x.org", FORMS["mapped"]("8.8.8.8")),
     ("8.8.8.8", "x.org", FORMS["nat64"]("8.8.8.8"))],
)  # fmt: skip
def test_block_hosts_overrides_allow_hosts(entry, host, address):
    for more in ({}, {"allow_hosts": [host, "0.0.0.0/0"]}, {"block_private": False}):
        assert not allowed(NetworkPolicy(block_hosts=[entry], **more), host, 80, [address])
    assert allowed(NetworkPolicy(block_hosts=[entry + ":81"]), host, 80, [address])


def test_localhost_is_private_by_name():
    for host in ("localhost", "LOCALHOST.", "app.localhost", "ip6-localhost"):
        assert not allowed(NetworkPolicy(), host, 80, ["8.8.8.8"])
    assert allowed(
        NetworkPolicy(allow_hosts=["localhost:80"]), "localhost", 80, ["127.0.0.1", "::1"]
    )
    assert allowed(NetworkPolicy(block_private=False), "localhost", 80, ["127.0.0.1"])


@pytest.mark.parametrize(
    "entry",
    ["", "*", "*.", "https://example.org", "https://example.org:80/x", "example.org/path", "a b",
     "example.org:0", "example.org:x", "10.0.0.1/8", "10.0.0.0/99", "*.10.0.0.1", "u@example.org",
     "127.1", "0x7f000001", "ex*mple.org", "::1%lo", "[::1", 10, None],
)  # fmt: skip
@pytest.mark.parametrize("key", ["allow_hosts", "block_hosts"])
def test_invalid_host_entry_is_named(entry, key):
    with pytest.raises(ValueError, match=rf"network\.{key}: .*Write a host"):
        NetworkPolicy(**{key: [entry]})


@pytest.mark.slow
def test_importing_the_package_does_not_import_httpx2():
    code = "import hookline.io.http, sys, json; print(json.dumps(list(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert not {"httpx2", "httpcore2", "anyio", "idna"} & set(json.loads(found.stdout))
