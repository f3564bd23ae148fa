"""Addresses of APIs as people write them."""

from __future__ import annotations

import pytest
from hookline.config.choose import api_address


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
        ("https://api.example.org/v1/", "https://api.example.org/v1"),
        ("http://127.0.0.1:1234/v1//", "http://127.0.0.1:1234/v1"),
        ("127.0.0.1:1234/v1/chat/completions", "http://127.0.0.1:1234/v1"),
        ("https://api.example.org/v1/chat/completions/", "https://api.example.org/v1"),
        ("https://api.example.org/v1/responses", "https://api.example.org/v1"),
        ("https://api.example.org/v1/messages", "https://api.example.org/v1"),
        ("https://api.example.org/models", "https://api.example.org/models"),
        ('"http://127.0.0.1:1234/v1"', "http://127.0.0.1:1234/v1"),
        ("'localhost:1234/v1' ", "http://localhost:1234/v1"),
        ("http:/127.0.0.1:1234", "http://127.0.0.1:1234"),
        ("https//api.example.org/v1", "https://api.example.org/v1"),
        ('""', ""),
    ],
)
def test_address_is_read_as_it_was_meant(written: str, read: str) -> None:
    assert api_address(written) == read
