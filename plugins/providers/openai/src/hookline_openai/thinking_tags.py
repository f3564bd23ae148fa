"""Separates thinking from text in content in which a server left the model's thinking tags."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

TAGS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<thoughts>": "</thoughts>",
    "<reasoning>": "</reasoning>",
    "<seed:think>": "</seed:think>",
    "<mm:think>": "</mm:think>",
    "[think]": "[/think]",
    "◁think▷": "◁/think▷",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|start_thinking|>": "<|end_thinking|>",
    "<|channel|>analysis<|message|>": "<|end|>",
    "<|channel>thought": "<channel|>",
    "<unused94>thought": "<unused95>",
}
"""The tags of DeepSeek, Qwen and others, of Gemini, Seed, MiniMax, Magistral, Kimi, OpenThinker,
Cohere, gpt-oss and Gemma, in lower case."""
ANSWER_TAGS = {
    "<|begin_of_solution|>": "<|end_of_solution|>",
    "<|start_response|>": "<|end_response|>",
    "<|start|>assistant<|channel|>final<|message|>": "<|return|>",
    "<|channel|>final<|message|>": "<|return|>",
}
"""Tags around the answer, which are left out."""
_LONE_END = re.compile(
    r"(?:\A|\n)[ \t]*</think(?:ing)?>[ \t]*(?:\n|\Z)"
    r"|\A(?:(?!<think).)*?(?<![`'\"])(</think(?:ing)?>)[ \t]*\n[ \t]*\n",
    re.DOTALL,
)
"""The end of thinking that began in the prompt: on a line of its own, or before an empty line."""

Part = tuple[Literal["text", "thinking"], str]


class ThinkingTags:
    """Splits streamed content. Only tags at its beginning count, so that an answer may name them.

    A second block of thinking directly after the first counts too.
    """

    def __init__(self) -> None:
        self._buffer = ""
        self._end = ""
        self._answer_end = ""
        self._in_text = False

    def add(self, text: str) -> Iterator[Part]:
        """Yield what can be told apart so far."""
        self._buffer += text
        while self._buffer and not self._in_text:
            if self._end:
                yield from self._thinking()
                if self._end:
                    return
            elif not self._begins():
                return
        cut = len(self._buffer) - _overlap(self._buffer, self._answer_end)
        shown, self._buffer = self._buffer[:cut], self._buffer[cut:]
        if shown:
            yield "text", shown

    def finish(self) -> Iterator[Part]:
        """Yield the rest at the end of the content."""
        if self._buffer and self._buffer.lower() != self._answer_end:
            yield ("thinking" if self._end else "text"), self._buffer
        self._buffer = ""

    def _thinking(self) -> Iterator[Part]:
        """Yield thinking up to its end tag, of which the buffer may hold only the beginning."""
        found = re.search(re.escape(self._end), self._buffer, re.IGNORECASE)
        if found:
            thought, self._buffer = self._buffer[: found.start()], self._buffer[found.end() :]
            self._end = ""
        else:
            keep = _overlap(self._buffer, self._end)
            cut = len(self._buffer) - keep
            thought, self._buffer = self._buffer[:cut], self._buffer[cut:]
        if thought:
            yield "thinking", thought

    def _begins(self) -> bool:
        """Decide what the content begins with; False if more of it is needed."""
        start = self._buffer.lstrip()
        for begin, end in (TAGS | ANSWER_TAGS).items():
            if start[: len(begin)].lower() == begin:
                self._buffer = start[len(begin) :]
                if begin in TAGS:
                    self._end = end
                else:
                    self._answer_end, self._in_text = end, True
                return True
        if not any(begin.startswith(start.lower()) for begin in (*TAGS, *ANSWER_TAGS)):
            self._in_text = True
        return self._in_text


def _overlap(text: str, end: str) -> int:
    """Return how many last characters of ``text`` are ``end``, or may begin it."""
    return next((n for n in range(len(end), 0, -1) if text[-n:].lower() == end[:n]), 0)


def split_at_lone_end(text: str) -> tuple[str, str]:
    """Return thinking and answer of a text in which only the thinking's end is marked."""
    match = _LONE_END.search(text)
    if match is None:
        return "", text
    start = match.start(1) if match[1] else match.start()
    return text[:start].rstrip("\n"), text[match.end() :].lstrip("\n")
