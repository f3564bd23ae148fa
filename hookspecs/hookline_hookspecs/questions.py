"""Questions to a person: what is asked, what is stored, and who may answer."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from .bound_files import BoundFile
from .errors import HooklineError
from .forms import FormField, fields_to_json
from .messages import ToolCall

if TYPE_CHECKING:
    from .turns import Session

ALLOW_ONCE = "Allow once"
ALLOW_SESSION = "Allow in this session"
ALLOW_ALWAYS = "Allow always"
DENY = "Deny"
"""The first and last choices of an approval are ``Allow once`` and ``Deny``; those between them
begin with ``Allow `` and name what they allow from now on."""

QUESTIONS_TOPIC = "questions"
"""The store's topic on which the ids of opened and closed questions are sent to all processes."""
MAX_UNSHOWN_CHARS = 4_000
"""Characters of a preview that may be accepted by a question's id alone. A longer one has to be
shown whole first, because lists and notices leave out its middle."""
ABRIDGED_HEAD_CHARS, ABRIDGED_TAIL_CHARS = 2_000, 1_000
"""Characters that are shown of the beginning and the end of such a preview."""
DIGEST_CHARS = 8
AROUND_MARK = 40
"""Characters shown on either side of a marked part."""
_WORD = r"[\w.:/@%+-]"
"""What words, paths and addresses are made of."""

QuestionKind: TypeAlias = Literal["approval", "clarify", "form", "proposal", "trust"]
QuestionState: TypeAlias = Literal["open", "answered", "expired", "closed", "stopped"]
Style: TypeAlias = Literal["", "primary", "danger"]


class QuestionError(HooklineError):
    """A question cannot be answered in this way. Nothing was changed."""


class QuestionClosed(QuestionError):
    """The question is answered, expired or closed."""


class NotAnswerable(QuestionError):
    """This person may not answer the question."""


class NotShown(QuestionError):
    """The question is too long to be accepted without having been shown whole."""


class NoSuchChoice(QuestionError):
    """The answer names none of the choices."""


class AnswerFailed(QuestionError):
    """The plugin that asked could not act on the answer. The question is open again."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice of a reply, as a button.

    Attributes:
        value: identifies the choice to programs; unique among the choices.
        label: the text shown to the person; the value by default.
        style: the style of the button, on platforms that have styles.
    """

    value: str
    label: str = ""
    style: Style = ""

    def __post_init__(self) -> None:
        """Use the value as the label of a choice without one."""
        if not self.label:
            object.__setattr__(self, "label", self.value)


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a person.

    Attributes:
        text: the question.
        choices: the possible answers; without any, the answer is the person's words.
        preview: literal text that the person must see before answering, such as a command.
        marks: the parts of ``preview`` that the reason is about.
        covers: for each choice, what it allows besides this call; empty texts, or none at all, for
            choices that allow nothing else.
        kind: ``approval`` (may this call run), ``clarify`` (the model asks), ``form`` (a program
            asks for values), ``proposal`` (a call that could not be asked about when it was made)
            or ``trust`` (may this person, program or folder be trusted).
        call: the call that an approval is about.
        reason: why an approval is asked.
        id: the id under which it is stored; empty until then.
        fields: the values that a form asks for. Its answer is a JSON object of them, or one of
            ``choices``, of which the last one declines.
        files: the files that the call runs, sends or writes, as they are while it is asked.
    """

    text: str
    choices: tuple[str, ...] = ()
    preview: str = ""
    kind: QuestionKind = "clarify"
    call: ToolCall | None = None
    reason: str = ""
    id: str = ""
    marks: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()
    fields: tuple[FormField, ...] = ()
    files: tuple[BoundFile, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionAnswer:
    """What a person answered.

    Attributes:
        choice: the label of the choice; the person's words if the question had no choices, or the
            values of a form as a JSON object.
        words: what the person added, such as why they denied a call.
        by: who answered, as ``channel:user``; empty if unknown.
    """

    choice: str
    words: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class StoredQuestion:
    """A question as it is stored.

    Attributes:
        tool: the name of the tool that an approval is about.
        session: the id of the session that asks, and ``turn`` of its turn.
        channel: the channel, and ``chat_id`` the chat, that the turn belongs to.
        asker: the user id of the person whose message began the turn; empty if there is none.
        created: when it was asked, and ``expires`` when it can no longer be answered, in Unix
            seconds. None: it does not expire.
        answer: the answer, in state ``answered``.
        ends_turn: the turn has ended with it: the answer is the session's next message.
        handler: the :class:`QuestionHandler` that acts on the answer of a question that belongs to
            no call, ``subject`` what it is about, and ``data`` what the handler needs to act.
        outcome: what the handler has done, for the person who answered; it is not stored.
        files: the files of the call, as they were when the question was asked.
    """

    id: str
    kind: QuestionKind
    text: str
    preview: str
    choices: tuple[str, ...]
    reason: str
    tool: str
    session: str
    channel: str
    chat_id: str
    asker: str
    created: float
    expires: float | None
    state: QuestionState
    answer: QuestionAnswer | None = None
    marks: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()
    ends_turn: bool = False
    turn: str = ""
    handler: str = ""
    subject: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    outcome: str = ""
    fields: tuple[FormField, ...] = ()
    files: tuple[BoundFile, ...] = ()

    @property
    def digest(self) -> str:
        """Identifies what is shown of the question, and the files of its call."""
        files = [[file.path, file.digest] for file in self.files]
        shown = json.dumps([self.text, self.preview, self.choices, self.covers, files])
        return hashlib.sha256(shown.encode()).hexdigest()[:DIGEST_CHARS]

    @property
    def is_long(self) -> bool:
        """Whether the preview has to be shown whole before it can be accepted."""
        return len(self.preview) > MAX_UNSHOWN_CHARS

    @property
    def chat(self) -> str:
        """The chat that the turn belongs to, as ``channel:chat``; empty without one."""
        return f"{self.channel}:{self.chat_id}" if self.channel else ""

    @property
    def origin(self) -> str:
        """Whose turn asks, as ``channel:user``; only the channel if that is unknown."""
        return f"{self.channel}:{self.asker}" if self.asker else self.channel

    def to_dict(self) -> dict[str, Any]:
        """Return the question as commands print it with ``--json``."""
        names = ("id", "kind", "text", "preview", "session", "chat", "origin", "created")
        fields = {name: getattr(self, name) for name in (*names, "expires", "state")}
        fields |= {"choices": list(self.choices), "digest": self.digest}
        return fields | {"fields": fields_to_json(self.fields)} if self.fields else fields


class QuestionHandler(Protocol):
    """Acts on the answers of questions that belong to no call (:meth:`Questions.post`).

    Offer it in ``setup`` with ``host.services.add(QuestionHandler, self)``.
    """

    name: str
    """The ``handler`` of its questions: the plugin's name."""

    async def answered(self, question: StoredQuestion) -> str:
        """Act on ``question.answer`` and return what was done, for the person who answered.

        It is called in the process that took the answer. If that process dies, it is called again
        in another one, so it must notice what is already done.

        Raises:
            HooklineError: it could not be done. The question is opened again.
        """


class Questions(Protocol):
    """The questions of all sessions. ``host.services[Questions]`` is always available.

    The signals ``question_opened`` and ``question_closed`` carry a :class:`StoredQuestion`; they
    are sent in the process that asked, and in the one that answered. Every change is also sent
    as the question's id on the store's topic :data:`QUESTIONS_TOPIC`. The signal ``turn_parked``
    carries the ``Turn`` that waits for an answer without a process.
    """

    async def open(
        self, *, session: str | None = None, chat: tuple[str, str] | None = None
    ) -> Sequence[StoredQuestion]:
        """Return the open questions, oldest first: those that a session's turns wait for, those
        that are shown in or belong to a chat (channel and chat id), or all. Those that
        ``ends_turn`` are left out."""

    async def get(self, question_id: str) -> StoredQuestion | None:
        """Return a question, open or not. Letter case does not matter."""

    async def answer(
        self, question_id: str, typed: str, channel: str, user_id: str, *, shown: str = ""
    ) -> StoredQuestion:
        """Answer an open question: ``typed`` is a choice, its number, or words after ``Deny``.

        ``shown`` is the ``digest`` of the question if the person was shown all of it where they
        answer. Without it, a preview of more than :data:`MAX_UNSHOWN_CHARS` can only be accepted
        if the digest follows the choice.

        The first answer counts. A parked turn then continues in a process that runs turns.

        Raises:
            QuestionClosed: it is not open.
            NotAnswerable: this person may not answer it.
            NotShown: it is too long, and was not shown whole.
            NoSuchChoice: ``typed`` names none of the choices.
            AnswerFailed: the question's handler could not act on the answer.
            StoreError: it could not be stored.
        """

    async def post(
        self,
        question: Question,
        handler: str,
        subject: str,
        *,
        expires: float,
        session: Session,
        asker: str = "",
        data: Mapping[str, Any] | None = None,
        show: bool = False,
    ) -> StoredQuestion:
        """Store a question for which no call waits, and return it.

        While a question of this handler about the same ``subject`` is open, that one is returned.

        Args:
            question: what is asked; it needs choices.
            handler: the name of the :class:`QuestionHandler` that acts on the answer.
            subject: identifies what is asked about.
            expires: when it can no longer be answered, in Unix seconds.
            session: the session and chat that it is about; the session's id may be empty.
            asker: the user id of the person that it is about, on the session's channel.
            data: what the handler needs to act on the answer; JSON values.
            show: also send it to the people who may answer it.

        Raises:
            StoreError: it could not be stored.
        """

    async def wait_until_closed(self, question: StoredQuestion) -> StoredQuestion:
        """Wait until a question is answered, closed or expired, and return it as it is then.

        Raises:
            StoreError: it could not be read.
        """
        return question

    async def close_about(self, handler: str, subject: str, choice: str, by: str) -> None:
        """Close the open question about a subject that was decided elsewhere, such as by a command.

        It counts as answered with ``choice``; the handler is not called. ``by`` is who decided,
        as ``channel:user``.

        Raises:
            StoreError: it could not be stored.
        """


def find_choice(typed: str, choices: Sequence[str]) -> tuple[str, str] | None:
    """Return the choice that a typed answer names, and the words that follow ``Deny``.

    A choice is named by its number, its label, or the start of a label that only one choice has;
    letter case does not matter. ``Deny`` may be followed by a reason. None if nothing matches.
    """
    word = typed.strip()
    folded = word.rstrip(".").casefold()
    if folded.isascii() and folded.isdecimal():
        number = int(folded) if len(folded) < 4 else 0
        return (choices[number - 1], "") if 0 < number <= len(choices) else None
    for choice in choices:
        if folded and folded == choice.casefold():
            return choice, ""
    if DENY in choices:
        first, _, reason = word.partition(" ")
        if first.rstrip(":,.").casefold() in ("deny", "no"):
            return DENY, reason.strip()
    shortened = [choice for choice in choices if _short_form(choice) == folded and folded]
    return (shortened[0], "") if len(shortened) == 1 else None


def _short_form(choice: str) -> str:
    """``once`` for ``Allow once``, ``session`` for ``Allow in this session``."""
    return choice.casefold().removeprefix("allow ").removeprefix("in this ")


def marked_preview(preview: str, marks: Sequence[str]) -> str:
    """Return ``preview``, and below it each marked part between ⟦ and ⟧ with its surroundings.

    Nothing is added for a part that is not in the preview, or that is all of it.
    """
    lines = risky_lines(preview, marks)
    return "\n".join([preview, "", *lines]) if lines else preview


def risky_lines(preview: str, marks: Sequence[str]) -> list[str]:
    """Return the lines that name the marked parts of a preview."""
    spans = mark_spans(preview, marks)
    return [f"Risky: {_excerpt(preview, start, stop)}" for start, stop in spans]


def abridged_preview(preview: str) -> str:
    """Return a preview without the middle of a long one, with how much is left out."""
    left_out = len(preview) - ABRIDGED_HEAD_CHARS - ABRIDGED_TAIL_CHARS
    if len(preview) <= MAX_UNSHOWN_CHARS:
        return preview
    head, tail = preview[:ABRIDGED_HEAD_CHARS], preview[-ABRIDGED_TAIL_CHARS:]
    return f"{head}\n[… {left_out:,} characters are not shown here …]\n{tail}"


def mark_spans(preview: str, marks: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of the marked parts, as start and end, in order and without overlaps.

    Empty if a marked part is the whole preview, which emphasizes nothing.
    """
    spans, whole = list(_spans(preview, marks)), preview.strip()
    is_whole = any(preview[start:stop].strip() == whole for start, stop in spans)
    return [] if is_whole else spans


def _spans(preview: str, marks: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the places of the marks, in order and merged where they overlap."""
    found = sorted(
        match.span()
        for mark in set(marks)
        if mark.strip()
        for match in re.finditer(_as_word(mark), preview)
    )
    begun: tuple[int, int] | None = None
    for start, stop in found:
        if begun is not None and start <= begun[1]:
            begun = (begun[0], max(begun[1], stop))
            continue
        if begun is not None:
            yield begun
        begun = (start, stop)
    if begun is not None:
        yield begun


def _as_word(mark: str) -> str:
    """An expression for a part that is not inside a longer word: ``sh`` is not in ``push``."""
    before = rf"(?<!{_WORD})" if re.match(_WORD, mark[0]) else ""
    after = rf"(?!{_WORD})" if re.match(_WORD, mark[-1]) else ""
    return before + re.escape(mark) + after


def _excerpt(text: str, start: int, stop: int) -> str:
    """Return the marked part with what stands around it on its line."""
    before = text[:start].rpartition("\n")[2]
    after = text[stop:].partition("\n")[0]
    left = before if len(before) <= AROUND_MARK else "…" + before[-AROUND_MARK:]
    right = after if len(after) <= AROUND_MARK else after[:AROUND_MARK] + "…"
    return f"{left}⟦{text[start:stop]}⟧{right}"
