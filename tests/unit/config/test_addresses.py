"""Addresses without a scheme."""

from __future__ import annotations

import pytest
from hookline.config.choose import with_scheme


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("127.0.0.1:1234/v1", "http://127.0.0.1:1234/v1"),
        ("localhost:8080/v1", "http://localhost:8080/v1"),
        ("localhost.:8080", "http://localhost.:8080"),
        ("[::1]:8080/v1", "http://[::1]:8080/v1"),
        ("gpu-box:8000/v1", "http://gpu-box:8000/v1"),
        ("api.example.org/v1", "https://api.example.org/v1"),
        ("http://api.example.org", "http://api.example.org"),
    ],
)
def test_address_without_a_scheme_gets_one(written: str, read: str) -> None:
    assert with_scheme(written) == read
