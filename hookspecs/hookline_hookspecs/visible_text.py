r"""Text from outside, made safe to show: nothing in it is invisible or passes for something else.

A command, file name, title or link of a model, a web page or another person can hold characters
that show nothing, reorder the text around them, or look like Latin letters. A person would approve
something other than what they read. Such characters are written as escapes, such as ``\u202e``.

:func:`spell_out` is for whatever names or describes an action, :func:`spell_out_prose` for answers,
whose emoji and scripts need some invisible characters. Both keep line breaks and tabs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import urlsplit

_SPACES = r"\xa0\u1680\u2000-\u200a\u202f\u205f"
_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"
_REORDERING = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"
_LINE_ENDS = r"\u2028\u2029"
_BLANK = (
    r"\xad\u034f\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b\u2060-\u2065\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb"
    r"\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff"
)
"""Characters without a glyph: Unicode category Cf, and those that Unicode's
DerivedCoreProperties.txt calls ``Default_Ignorable_Code_Point``; and BRAILLE PATTERN BLANK."""
_PRIVATE = r"\ue000-\uf8ff\U000f0000-\U0010ffff"
_EMOJI = r"\u2194-\u21aa\u231a-\u23ff\u25aa-\u27bf\u2934-\u2b55\U0001f000-\U0001faff"
_JOINED_SCRIPTS = r"\u0600-\u06ff\u0750-\u077f\u0900-\u0dff"
"""Arabic and the scripts of India, whose letters a joiner separates or joins."""
_WIDE = r"\u2e80-\u2fff\u3001-\u9fff\uac00-\ud7a3\uff01-\uff60"
_MARKS = r"\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff"
_HIDDEN = re.compile(
    f"[{_CONTROLS}{_REORDERING}{_LINE_ENDS}{_BLANK}{_PRIVATE}{_SPACES}]"
    # An emoji may choose its colours, be joined to another or be a key.
    rf"|(?<![{_EMOJI}])\ufe0f(?!(?<=[0-9#*]\ufe0f)\u20e3)"
    rf"|\u200d(?!(?<=[{_EMOJI}\ufe0f]\u200d)[{_EMOJI}])(?!(?<=[{_JOINED_SCRIPTS}]\u200d)"
    rf"[{_JOINED_SCRIPTS}])"
    rf"|\u200c(?!(?<=[{_JOINED_SCRIPTS}]\u200c)[{_JOINED_SCRIPTS}])"
    rf"|\u3000(?!(?<=[{_WIDE}]\u3000)[{_WIDE}])"
    # More marks above a letter than any script writes cover the lines around it.
    rf"|(?<=[{_MARKS}]{{3}})[{_MARKS}]"
)
_RESERVED_EMOJI = re.compile(r"[\U0001f000-\U0001faff]")
"""Unicode keeps unassigned code points here for emoji: newer ones than Python knows are shown."""
_FLAG = r"(?<!\U0001f3f4)(?<![\U000e0061-\U000e007a])[\U000e0000-\U000e007f]"
"""Tag characters, but not those of a flag, which follow BLACK FLAG."""
_HIDDEN_IN_PROSE = re.compile(
    rf"[{_CONTROLS}{_LINE_ENDS}\u202a-\u202e\u2066-\u206f]|{_FLAG}|(?<=[{_MARKS}]{{3}})[{_MARKS}]"
)
_LOOKALIKE_LETTERS = (
    "аеорсухіїјѕԁԛԝѡһӏԍүѵмнтгкАВЕКМНОРСТУХЅІЈҮԌԜԚҺ"  # Cyrillic
    "αοργνικυχτηωϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿ"  # Greek
    "օոսցգհյզԼՍՏՕ"  # Armenian
    "ᎪᏴᏟᎠᎬᏀᎻᎥᎫᏦᏞᎷᏢᏒᏚᎢᏙᎳᏃ"  # Cherokee
    "ⲟⲥⲣⲭⲁⲓⲏꓐꓑꓒꓓꓔꓖꓗꓙꓚꓜꓝꓡꓢꓣꓤꓦꓧꓨꓪꓫꓬꓮꓰꓲꓳꓴ"  # Coptic, Lisu
    "ɑɡɩƅᴄᴏᴠᴡᴢꜱ"  # Latin letters of phonetic alphabets, small capitals
    "ⅰⅴⅹⅼⅽⅾⅿⅠⅤⅩⅬⅭⅮⅯℂℊℋℎℐℒℓℕℙℚℛℜℝℤℬℭℯℰℱℳℴ"
)
"""Letters that look like Latin ones: Unicode Technical Standard 39, ``confusables.txt``."""
_LIKE_LATIN = f"{_LOOKALIKE_LETTERS}\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff"
_LATIN = r"A-Za-z\xc0-\xd6\xd8-\xf6\xf8-\u0130\u0132-\u024f\u1e00-\u1eff"
_TOKEN = re.compile(r"[\w./:@\u2044\u2215\u2024\u29f8\uff0e\uff0f]+")
"""A path, file name or address: words that are read as one."""
_LETTERS = re.compile(r"[^\W\d_]+")
_PASSES_FOR_LATIN = re.compile(f"[{_LATIN}{_LIKE_LATIN}]+")
_LOOKALIKE = re.compile(f"[{_LIKE_LATIN}]")
_LOOKALIKE_MARK = re.compile(
    r"(?<=[A-Za-z0-9])[\u2044\u2215\u2024\u29f8\uff0e\uff0f](?=[A-Za-z0-9])"
)
"""Marks that look like ``/`` and ``.`` between Latin letters."""
_MARKUP = re.compile(r"[\\`*\[\]<>~|]|(?<!\w)_|_(?!\w)")
"""Characters that begin or end inline markup. An underscore within a word does not."""
_BLOCK_START = re.compile(r"^([ \t]*(?:\d+)?)(#|[-+](?=\s|$)|(?<=\d)[.)](?=\s|$))", re.MULTILINE)
"""What makes a line a heading or an item of a list. Quotes are escaped as inline markup."""
_BACKTICKS = re.compile("`+")
_ADDRESS = re.compile(
    r"\s*(?:[a-z][a-z+.-]*:/*)?(?:[^\s/@]*@)?((?:[\w-]+\.)+[^\W\d_]{2,})(?=[/:?#\s]|$)", re.I
)
"""An address at the beginning of a link's text; group 1 is its host."""


def spell_out(text: str) -> str:
    r"""Write invisible and misleading characters as escapes, such as ``\x1b`` and ``\u0430``.

    A letter of another script is misleading if its word passes for a Latin one, as in ``pаypal``,
    and stands in a path or name with Latin letters. Words that are wholly of another script stay.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(escape(piece) if hidden else piece for piece, hidden in pieces(text))


def spell_out_prose(text: str) -> str:
    r"""Write as escapes only what controls a screen or reorders text; ``\r\n`` becomes ``\n``.

    For answers: joined emoji and the scripts that need invisible characters stay as they are.
    """
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN_IN_PROSE.sub(lambda found: escape(found[0]), text.replace("\r\n", "\n"))


def escape(character: str) -> str:
    r"""Return a character as an escape, such as ``\u202e``."""
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Split ``text`` for screens that mark what is escaped themselves.

    Yields pieces of text; True with single characters that must be escaped.
    """
    end = 0
    for place in _misleading_places(text):
        if place > end:
            yield text[end:place], False
        yield text[place], True
        end = place + 1
    if end < len(text):
        yield text[end:], False


def _misleading_places(text: str) -> list[int]:
    """Return the offsets of the characters to escape, in order."""
    places = {found.start() for found in _HIDDEN.finditer(text)}
    if not text.isascii():
        places.update(_unassigned(text))
        for token in _TOKEN.finditer(text):
            if not token[0].isascii():
                places.update(token.start() + place for place in _lookalikes(token[0]))
    return sorted(places)


def _unassigned(text: str) -> Iterator[int]:
    """Yield the offsets of code points that are no character; screens show them in any way."""
    unassigned = {
        one
        for one in set(text)
        if unicodedata.category(one) == "Cn" and not _RESERVED_EMOJI.match(one)
    }
    if unassigned:
        yield from (place for place, one in enumerate(text) if one in unassigned)


def _lookalikes(token: str) -> Iterator[int]:
    """Yield the offsets of the characters of a name that only look Latin."""
    if not any("a" <= character <= "z" for character in token.lower()):
        return
    for word in _LETTERS.finditer(token):
        if _PASSES_FOR_LATIN.fullmatch(word[0]):
            for letter in _LOOKALIKE.finditer(word[0]):
                yield word.start() + letter.start()
    for mark in _LOOKALIKE_MARK.finditer(token):
        yield mark.start()


def on_one_line(text: str, max_chars: int) -> str:
    """Return ``text`` spelled out on one line, its middle left out beyond ``max_chars``."""
    return shorten_middle(spell_out(" ".join(text.split())), max_chars)


def shorten_middle(text: str, max_chars: int) -> str:
    """Leave out the middle of a text that is too long, and say how many characters that is.

    Both ends stay, because what matters in a command often stands at its end.
    """
    if len(text) <= max_chars:
        return text
    note = f"[… {len(text):,} characters left out …]"
    room = max_chars - len(note)
    if room < 8:
        return text[: max(0, max_chars - 1)] + "…"
    tail = room // 3
    left_out = len(text) - room
    return f"{text[: room - tail]}[… {left_out:,} characters left out …]{text[-tail:]}"


def other_host(label: str, address: str) -> str:
    """Return the host to which a link leads if its text names another one; else an empty text."""
    named = _ADDRESS.match(label)
    try:
        target = urlsplit(address)
        host = target.hostname or target.path.rpartition("@")[2]
    except ValueError:  # an address that no browser opens
        return ""
    if named is None or label.strip() in target.path:
        return ""
    name = named[1].lower().removeprefix("www.")
    return "" if f".{host}".endswith(f".{name}") else host


def escape_markdown(text: str) -> str:
    """Return Markdown that shows exactly ``text``: no emphasis, link, heading, quote or list."""
    return _BLOCK_START.sub(r"\1\\\2", _MARKUP.sub(r"\\\g<0>", text))


def code_block(text: str) -> str:
    """Return ``text`` as a Markdown code block that nothing in it can end."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}\n{text}\n{fence}"


def code_span(text: str) -> str:
    """Return ``text`` as Markdown code within a line; empty for an empty text."""
    longest = _longest_run(text)
    fence = "`" * (longest + 1)
    if longest:
        return f"{fence} {text} {fence}"
    return f"`{text}`" if text else ""


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)
