"""Providers that packages add by entry points of the group ``hookline.providers``."""

from __future__ import annotations

import pytest
from support.machine import Machine
from support.site_packages import Site

ORACLE = """
from hookline_hookspecs import CachePrice, ModelResponse, TextBlock, Usage, WireRequest

class Oracle:
    def __init__(self, settings):
        self.name = settings.name
        self.address = settings.base_url
        self.cache_price = CachePrice(read=1.0, write=1.0)

    def render(self, request):
        return WireRequest(provider=self.name, fields={}, fragments=())

    async def send(self, wire, on_delta):
        return ModelResponse((TextBlock(f"asked at {self.address}"),), "end", Usage(input=1))

    async def aclose(self):
        pass
"""


@pytest.mark.long
def test_installed_provider_with_an_address_is_not_replaced(machine: Machine, site: Site) -> None:
    site.path.joinpath("oracle_driver.py").write_text(ORACLE)
    site.metadata("oracle", b"[hookline.providers]\noracle = oracle_driver:Oracle\n")
    machine.home.mkdir(exist_ok=True)
    (machine.home / "config.yaml").write_text(
        "model: oracle/delphi\nproviders: {oracle: {base_url: http://127.0.0.1:9/delphi}}\n"
    )
    done = machine.run("run", "What will be?")
    assert done.out == "asked at http://127.0.0.1:9/delphi\n", done.err
