"""edit_file through the tool: each strategy by its name, in every encoding and line ending."""

from __future__ import annotations

import codecs

import pytest
from hookline_hookspecs import ToolError
from support.matrices import sampled

FILE = (
    "# — notes “kept” as they are…\n"
    "class Shop:\n"
    "    def total(self, items):\n"
    "        price  =  sum(items)\n"
    "        return price\n"
    "\n"
    "    # it’s “open” — now…\n"
    "    def close(self):\n"
    "        first = lock(1)\n"
    "        second = lock(2)\n"
    "        return True"
)
EDITS = {
    "exact": ("return price", "return 2 * price", ("return price", "return 2 * price")),
    "line_trimmed": (
        "def total(self, items):\n    price  =  sum(items)\n",
        "def total(self, items, tax):\n    price  =  sum(items)\n    price += tax\n",
        (
            "items):\n        price  =  sum(items)\n",
            "items, tax):\n        price  =  sum(items)\n        price += tax\n",
        ),
    ),
    "whitespace_normalized": (
        "price = sum(items)",
        "price = max(items)",
        ("sum(items)", "max(items)"),
    ),
    "indentation_flexible": (
        "price = sum(items)\nreturn price\n",
        "price = sum(items)\nprice += 1\nreturn price\n",
        ("sum(items)\n", "sum(items)\n        price += 1\n"),
    ),
    "escape_normalized": (
        "    def close(self):\\n        first",
        "    def close(self, key):\\n        first",
        ("close(self)", "close(self, key)"),
    ),
    "trimmed_boundary": (
        "\n\n\n  second = lock(2)\n\n\n",
        "\n\n\n  pass\n\n\n",
        ("second = lock(2)", "pass"),
    ),
    "unicode_normalized": (
        '# it\'s "open" -- now...',
        '# it\'s "shut" -- now...',
        ("“open” — now", "“shut” — now"),
    ),
    "block_anchor": (
        "def close(self):\n    first = lock(3)\n    second = lock(2)\n    return True",
        "def close(self):\n    first = lock(3)\n    second = lock(4)\n    return True",
        ("lock(2)", "lock(4)"),
    ),
}
STORED = {
    "utf-8": (b"", "utf-8"),
    "utf-8 with mark": (codecs.BOM_UTF8, "utf-8"),
    "utf-16": (codecs.BOM_UTF16_LE, "utf-16-le"),
    "utf-32 big": (codecs.BOM_UTF32_BE, "utf-32-be"),
    "cp1252": (b"", "cp1252"),
}


@sampled("stored", STORED)
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@sampled("strategy", EDITS)
def test_strategy_changes_only_the_changed_words(bench, strategy, ending, stored):
    old, new, (before, after) = EDITS[strategy]
    mark, encoding = STORED[stored]

    def on_disk(text: str) -> bytes:
        return mark + text.replace("\n", ending).encode(encoding)

    path = bench.put("a.py", on_disk(FILE))
    answer = bench("edit_file", path="a.py", old_string=old, new_string=new)
    assert answer == f"Edited a.py: 1 replacement(s), strategy {strategy}"
    assert FILE.count(before) == 1
    assert path.read_bytes() == on_disk(FILE.replace(before, after))


@pytest.mark.parametrize(
    ("old", "new", "everywhere", "says"),
    [
        ("lock( 1 )", "x", False, r"old_string was not found in a.py: the closest lines are"),
        ("   ", "x", False, r"only white space"),
        ("self", "x", False, r"occurs 2 times in a.py \(lines 3, 8\)"),
        ("sum(itemz)", "x", True, r"closest lines are\n4\t        price  =  sum\(items\)"),
        (
            '"open" -- now',
            "x",
            True,
            r"replace_all needs old_string.*unicode_normalized \(line 7\)",
        ),
        ("price = sum(items)", 'price = \\"1\\"', False, r"no backslash before a quote"),
        ("price =  sum(items)", "price  =  sum(items)", False, r"already has|are the same"),
    ],
)
def test_refused_edit_leaves_the_file_unchanged(bench, old, new, everywhere, says):
    path = bench.put("a.py", FILE)
    with pytest.raises(ToolError, match=says):
        bench("edit_file", path="a.py", old_string=old, new_string=new, replace_all=everywhere)
    assert path.read_text() == FILE


def test_latin1_survives_a_loose_edit(bench):
    path = bench.put("a.txt", b"caf\xe9   \x81 old  \r\nnext")
    answer = bench(
        "edit_file", path="a.txt", old_string="caf\xe9 \x81 old", new_string="caf\xe9 \x81 new"
    )
    assert "whitespace_normalized" in answer
    assert path.read_bytes() == b"caf\xe9   \x81 new  \r\nnext"
