"""Where to listen, as people write it."""

from __future__ import annotations

import pytest
from hookline_webkit.address import Address, is_loopback, parse_address


@pytest.mark.parametrize(
    ("written", "address"),
    [("127.0.0.1:80", Address("127.0.0.1", 80)), ("[::1]:8780", Address("::1", 8780))],
)
def test_an_address_is_read_and_written_alike(written: str, address: Address) -> None:
    assert parse_address(written) == address
    assert str(address) == written


@pytest.mark.parametrize("written", ["", "80", ":80", "::1:80", "host:", "host:65536", "host:٣"])
def test_a_bad_address_gets_a_sentence(written: str) -> None:
    with pytest.raises(ValueError, match=r"write host:port|is not a port"):
        parse_address(written)


def test_only_this_machine_reaches_a_loopback_address() -> None:
    assert [is_loopback(one) for one in ("127.8.0.1", "::1", "localhost")] == [True] * 3
    assert [is_loopback(one) for one in ("0.0.0.0", "::", "example.org")] == [False] * 3
