"""A gateway starts only if something decides who may write to it."""

from __future__ import annotations

import json

import pytest

from .conftest import Gateways, Platform, end

OTHER_ACCESS = """
from hookline_hookspecs import Plugin

class Extra(Plugin):
    '''Another plugin of that name, so that neither is taken.'''
"""
OTHER_DOOR = """
from hookline_hookspecs import Access, Plugin, hookimpl

class Extra(Plugin):
    '''Decides who may write, in place of access.'''

    @hookimpl
    def setup(self, host):
        host.services.provide(Access, self)

    def is_operator(self, inbound):
        return False
"""


@pytest.mark.slow
def test_gateway_does_not_start_without_plugin_access(gateways: Gateways) -> None:
    gateways.install("access", OTHER_ACCESS)
    gateways.configure()
    code, _, err = gateways.run("gateway")
    assert code == 1
    last = err.splitlines()[-1]
    assert "plugin access is not on" in last
    assert "uninstall one of them" in last
    assert "anyone could write on webhook" in last
    assert "ready" not in err.splitlines()


@pytest.mark.slow
def test_access_switched_off_gives_one_warning_and_starts(
    gateways: Gateways, platform: Platform
) -> None:
    gateways.configure(platform, access=False)
    process, lines = gateways.start()
    warnings = [line for line in lines if "WARNING" in line]
    assert len(warnings) == 1
    assert "ANYONE WHO REACHES webhook MAY WRITE" in warnings[0]
    gateways.say("m1")
    assert platform.answer_to("m1") == "answered"
    assert end(process)[0] == 0


@pytest.mark.slow
def test_another_plugin_may_provide_access(gateways: Gateways) -> None:
    gateways.install("door", OTHER_DOOR)
    gateways.configure(access=False, door=True)
    process, lines = gateways.start()
    assert not [line for line in lines if "WARNING" in line]
    assert end(process)[0] == 0


@pytest.mark.slow
def test_claim_code_is_printed_once_at_start(gateways: Gateways) -> None:
    gateways.configure(access={})
    process, lines = gateways.start("there is no admin yet")
    assert lines.count("ready\n") == 1
    code, said = end(process)
    assert code == 0
    assert json.dumps([*lines, said]).count("there is no admin yet") == 1
