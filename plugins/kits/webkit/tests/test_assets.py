"""Files of pages: found by name, compressed, cached by browsers."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hookline.testing.pages import FakeRequest
from hookline_hookspecs.web import Content, Problem
from hookline_webkit.assets import Assets

SCRIPT = "export const answer = 42;\n" * 100


@pytest.fixture
def assets(tmp_path: Path) -> Assets:
    (tmp_path / "a.js").write_text(SCRIPT)
    (tmp_path / "a.woff2").write_bytes(b"font" * 1000)
    (tmp_path / "folder").mkdir()
    return Assets(tmp_path, "/x/assets")


def get_asset(assets: Assets, name: str, query: str = "", **headers: str) -> Content:
    sent = [(key.replace("_", "-").encode(), value.encode()) for key, value in headers.items()]
    scope: dict[str, Any] = {
        "path_params": {"name": name},
        "query_string": query.encode(),
        "headers": sent,
    }
    return assets(FakeRequest(scope, b""))


def test_asset_url_has_a_version_and_is_cached_forever(assets: Assets) -> None:
    path, _, query = assets.url("a.js").partition("?")
    assert path == "/x/assets/a.js"
    newest, old = get_asset(assets, "a.js", query), get_asset(assets, "a.js", "v=old")
    assert newest.body == old.body == SCRIPT.encode()
    assert newest.content_type == "text/javascript; charset=utf-8"
    assert "immutable" in newest.headers["Cache-Control"]
    assert old.headers["Cache-Control"] == "no-cache"


def test_text_asset_is_sent_compressed_if_accepted(assets: Assets) -> None:
    found = get_asset(assets, "a.js", accept_encoding="br, gzip")
    assert found.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(found.body) == SCRIPT.encode()
    font = get_asset(assets, "a.woff2", accept_encoding="gzip")
    assert "Content-Encoding" not in font.headers
    assert font.content_type == "font/woff2"


def test_unchanged_asset_gets_304(assets: Assets) -> None:
    tag = get_asset(assets, "a.js").headers["ETag"]
    found = get_asset(assets, "a.js", if_none_match=tag)
    assert (found.status, found.body) == (304, b"")


@pytest.mark.parametrize("name", ["folder", "b.js", "../a.js", "", ".", ".."])
def test_unknown_asset_gets_404(assets: Assets, name: str) -> None:
    with pytest.raises(Problem) as caught:
        get_asset(assets, name)
    assert caught.value.status == 404
