"""Decides whether an assigned value is a secret, or code, prose, a path or a variable."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .secret_names import SecretName, Strength
from .secret_references import is_reference

_HASH = re.compile(
    r"(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})\Z"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z|(?:md5|sha\d{1,3}|blake\w{1,4})[-:$].*\Z",
    re.IGNORECASE | re.DOTALL,
)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,30}://")
_PATH = re.compile(
    r"(?:~|\.{0,2}|[A-Za-z]:)(?:[/\\][\w@.+ -]{1,80}){1,20}[/\\]?\Z|[\w-]{1,60}\.(?:pem|"
    r"key|crt|txt|json|ya?ml|env|gpg|asc|pub)\Z"
)
_BASE64 = re.compile(r"[A-Za-z0-9+/]{20,}={0,2}\Z")
# Unquoted code in place of a value.
_CODE = re.compile(
    r"[A-Za-z_][\w.]{0,80}[(\[].*|(?:self|this|cls|os|process|env|ENV|config|settings|secrets|args|opts|options"
    r"|params|request|req|ctx|props|data|input|var|local|module|app|vault|Deno|import)(?:\.|\?\.|\[|->|::).*"
    r"|(?:lambda|await|new|function|async|not|return|typeof|if|yield)\b.*|[A-Za-z_]\w*(?:->|::)\w.*"
    r"|&?(?:'?static )?(?:str|String|string|bytes|number|boolean|bool|int|Optional|"
    r"Union|List|list|SecretStr"
    r"|Secret|Option|Vec|any|unknown|undefined|void|char|byte)\b(?:[\[<(|&?].*)?|\|\|?.*|&&.*|=>.*|[<>]=?.*"
    r"|[?:;,.)\]}]+|\{.*|\[.*",
    re.DOTALL,
)
_DOTTED = re.compile(r"[a-z_][a-z_]*(?:\.[A-Za-z_]+)+\Z|[A-Z][a-z]+(?:\.[A-Za-z_]+)+\Z")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*[.,;:!?]?\Z")
_SENTENCE = re.compile(
    r"\b(?:the|a|an|is|are|was|must|should|shall|be|been|your|you|for|to|of|at|least|required|enter|please|and|or|not"
    r"|cannot|can|will|with|this|that|it|in|has|have|does|do|from|by|on|if|as|characters|forgot|reset|change"
    r"|confirm|again|new|old|invalid|incorrect|wrong|der|die|das|ist|ein|eine|und|bitte|le|la|les|est|un|une|et"
    r"|votre|el|los|es|una|su|y|o|il|per|che|seu|sua|uma|não)\b",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"[A-Za-z][A-Za-z_.]*\Z")


@dataclass(frozen=True, slots=True)
class AssignedValue:
    """A value in a text: ``sign`` is ``=`` or ``:``, ``rest`` is the rest of its line."""

    text: str
    quoted: bool
    sign: str
    rest: str


def is_secret(name: SecretName, value: AssignedValue) -> bool:
    """Whether the value assigned to ``name`` is a secret."""
    text = value.text
    if name.strength is Strength.NONE or is_reference(text) or _URL.match(text):
        return False
    if _is_path(text) or _repeats_name(name, text) or (text.isdigit() and len(text) < 4):
        return False
    if not value.quoted and _CODE.fullmatch(text):
        return False
    if name.strength is Strength.WEAK:
        return is_random(text)
    if name.strength is Strength.FAIR:
        return _is_fair(name, value)
    return _is_strong(name, value)


def is_random(text: str) -> bool:
    """Whether a text is random letters and digits, not a word, hash, date, version or path."""
    if len(text) < 12 or _HASH.match(text) or not re.fullmatch(r"[\w+/=.~!-]{12,}", text):
        return False
    parts = re.split(r"[-_./:=+~]", text)
    mixed = [p for p in parts if re.search(r"\d", p) and re.search(r"[A-Za-z]", p)]
    digits = sum(char.isdigit() for char in text)
    return digits >= 2 and any(len(part) >= 8 for part in mixed)


def _is_strong(name: SecretName, value: AssignedValue) -> bool:
    text = value.text
    if len(text) < 3:
        return False
    if value.quoted:
        return " " not in text.strip() or not _is_prose(text)
    if _DOTTED.match(text) and value.sign == "=":
        return False
    if value.sign == "=" or name.qualified:
        return not (_is_word(text) and _follows_prose(value)) if value.sign == ":" else True
    return not (_is_word(text) and _follows_prose(value))


def _is_fair(name: SecretName, value: AssignedValue) -> bool:
    text = value.text
    if len(text) < 5 or (" " in text.strip() and not is_random(text)):
        return False
    if _is_word(text) or _DOTTED.match(text):
        return len(text) >= 8 and value.sign == "=" and not value.quoted and name.word != "key"
    return (any(char.isdigit() for char in text) and any(char.isalpha() for char in text)) or len(
        text
    ) >= 16


def _is_prose(text: str) -> bool:
    return bool(_SENTENCE.search(text)) or text.rstrip().endswith(("?", "…", "..."))


def _is_word(text: str) -> bool:
    return _WORD.match(text) is not None


def _follows_prose(value: AssignedValue) -> bool:
    """Whether the line goes on with words."""
    rest = value.rest.strip()
    if value.text[-1:] in ".,;:!?" and not rest:
        return value.text[-1:] in ".?"
    return bool(re.match(r"[^\W\d_]", rest)) and not re.match(
        r"(?:und|and|user|username|login)\b.{0,40}[:=]", rest
    )


def _is_path(text: str) -> bool:
    if not _PATH.match(text):
        return False
    return not (_BASE64.match(text) and re.search(r"\d", text) and re.search(r"[A-Z]", text))


def _repeats_name(name: SecretName, text: str) -> bool:
    """Whether the value only repeats the name: ``password=password``, ``"token": "Token"``."""
    plain = re.sub(r"[\W_]", "", text).lower()
    return plain == name.word or (
        plain.endswith(name.word)
        and not re.search(r"\d", plain)
        and _LETTERS.match(text) is not None
    )
