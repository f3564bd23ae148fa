"""Vault secrets and ``vault:NAME`` references."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hookline.config.references import References
from hookline_hookspecs.vault import Secret, name_in, names_in

VALUE = "the-value-of-it"


@pytest.mark.parametrize("show", [str, repr, lambda one: f"{[one]}"])
def test_secret_is_shown_as_dots(show: Callable[[Any], str]) -> None:
    shown = show(Secret("db/prod", VALUE))
    assert "•••" in shown
    assert VALUE not in shown


@pytest.mark.parametrize(
    "use",
    [
        json.dumps,
        pickle.dumps,
        lambda one: f"{one}",
        lambda one: f"{one:>10}",
        "{}".format,
        vars,
        lambda one: one + "",
        list,
    ],
)
def test_secret_cannot_be_serialized_or_formatted(use: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError) as refused:
        use(Secret("db/prod", VALUE))
    assert VALUE not in str(refused.value)


def test_copy_of_a_secret_is_the_same_object() -> None:
    secret = Secret("db/prod", VALUE)
    assert copy.copy(secret) is copy.deepcopy([secret])[0] is secret
    assert secret.get_secret_value() == VALUE


def test_vault_reference_must_be_the_whole_text() -> None:
    assert name_in("vault:db/prod") == "db/prod"
    for text in ("vault:", "vault: x", "x vault:y", "vault:a b", "vault:a|b", "vault:/a", 7, None):
        assert name_in(text) is None
    config = {"a": ["vault:x", {"b": "vault:y"}], "c": "vault: no", "d": 1}
    assert list(names_in(config)) == ["x", "y"]


def test_vault_reference_stays_unresolved_until_the_vault_is_open() -> None:
    references = References()
    assert references.value("vault:x") == "vault:x"
    assert references.fault("vault:x") is None
    references.fill({"x": VALUE}, {"y": "no key."})
    assert references.value("vault:x") == VALUE
    assert references.value("vault:y") == "vault:y"
    assert references.fault("vault:x") is references.fault("plain") is None
    assert references.fault("vault:y") == "no key."
    assert "named z" in (references.fault("vault:z") or "")
