"""Listen addresses, as people write them."""

from __future__ import annotations

import pytest
from hookline_webkit.address import Address, is_loopback, parse_address


@pytest.mark.parametrize(
    ("written", "address"),
    [("127.0.0.1:80", Address("127.0.0.1", 80)), ("[::1]:8780", Address("::1", 8780))],
)
def test_address_is_parsed_and_formatted_alike(written: str, address: Address) -> None:
    assert parse_address(written) == address
    assert str(address) == written


@pytest.mark.parametrize("written", ["", "80", ":80", "::1:80", "host:", "host:65536", "host:٣"])
def test_invalid_address_gets_an_error_sentence(written: str) -> None:
    with pytest.raises(ValueError, match=r"write host:port|is not a port"):
        parse_address(written)


def test_is_loopback_accepts_only_loopback_addresses() -> None:
    assert [is_loopback(one) for one in ("127.8.0.1", "::1", "localhost")] == [True] * 3
    assert [is_loopback(one) for one in ("0.0.0.0", "::", "example.org")] == [False] * 3
