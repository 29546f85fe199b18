"""Make text safe to show: characters that hide, move or end a line become visible escapes, chat markup is broken.

Covered: C0 and C1 controls, DEL, line and paragraph separators, zero-width and bidirectional marks, the byte order
mark, interlinear and tag characters, variation of nothing, lone surrogates, noncharacters. Source: Unicode general
categories Cc, Cf, Cs, Zl, Zp, as far as they have no visible form; the abuse cases O3, A2 and A4.

Chat markup is what models' chat templates put around turns and tool calls. Many servers take it for that wherever it
stands, so a note with `<|im_start|>system` in it would begin a turn of the system. A backslash behind its first
character breaks it: `<\\|im_start|>`, `[\\INST]`, `<\\/think>`; before the colon of a speaker at a line's start:
`Human\\:`. Only known shapes are broken; other code with `<|` or `|>` in it stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from hudkit.lazy import lazy_pattern

_HIDDEN = lazy_pattern(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_HIDDEN_KEEP_BREAKS = lazy_pattern(_HIDDEN.pattern.replace("\x00-\x1f", "\x00-\x09\x0b-\x1f"))
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e", "\x00": "\\0", "\xad": "\\u00ad"}


_MARKUP_FORMS = (
    # ChatML, Llama, Phi, Granite, Command R and most others; DeepSeek with full-width bars; Gemma 4 with one bar
    r"<(?=[|\uff5c][A-Za-z0-9_./:\u2581\-]{1,48}[|\uff5c]?>|[a-z_]{2,32}\|>|\|\"\|>)",
    # Mistral, Llama 2, GLM
    r"\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_RESULTS|TOOL_CALLS|TOOL_CONTENT|MODEL_SETTINGS)\])",
    r"\[(?=/?(?:ARGS|CALL_ID|THINK|IMG|BEGIN_TOOL_REQUEST|END_TOOL_REQUEST|gMASK)\])",
    r"<(?=</?SYS>>)",
    # EXAONE
    r"\[(?=\|(?:system|user|assistant|tool|endofturn)\|\])",
    # MiniMax
    r"\](?=~!?b[\[\]])|\[(?=e~\[)",
    # Gemma, T5, GPT-2, BERT, Nemotron and their descendants
    r"<(?=(?:start_of_turn|end_of_turn|start_of_image|end_of_utterance|beginning_of_sentence|end_of_sentence)>)",
    r"<(?=(?:begin_of_document|bos|eos|pad|unk|sop|eop|eot|eod|BOS_TOKEN|EOS_TOKEN|s)>|/s>)",
    r"<(?=(?:extra_id_[0-9]{1,3}|SPECIAL_[0-9]{1,4}|reserved_[0-9]{1,4}|tool_def_sep|tool_sep)>)",
    # Ling, Ring
    r"<(?=role>(?:SYSTEM|HUMAN|ASSISTANT|OBSERVATION)</role>)",
    # speakers, tool calls, their results, thoughts: Hermes, Qwen, Claude, Llama, Nemotron, GLM, Seed, MiniMax
    r"<(?=/?(?:[a-z]{2,12}:)?(?:tool_call|tool_result|tool_response|tool_output|function_call|function_result)s?>)",
    r"<(?=/?(?:function_responses?|TOOLCALL|TOOL_RESPONSE|think|thinking|arg_key|arg_value|available_tools)>)",
    r"<(?=/?(?:system|assistant|human|system-reminder|seed:[a-z_]{2,24})>)",
    r"<(?=(?:[a-z]{2,12}:)?(?:invoke|parameter) name=|/(?:[a-z]{2,12}:)?invoke>|function=[A-Za-z_])",
)
"""What begins a piece of chat markup. Facts of the templates that llama.cpp ships and of what providers document."""


_ANGLE_MARKUP = lazy_pattern("|".join(form for form in _MARKUP_FORMS if form.startswith("<")))
_BRACKET_MARKUP = lazy_pattern("|".join(form for form in _MARKUP_FORMS if not form.startswith("<")))
_SPEAKERS = ("Human:", "Assistant:", "User:", "System:", "USER:", "ASSISTANT:", "SYSTEM:")
_SPEAKER = lazy_pattern("^([ ]{0,3}(?:" + "|".join(_SPEAKERS).replace(":", "") + "))(?=:)", re.MULTILINE)


LINE_SEPARATOR = " · "
"""What stands between the items of a section that is one line. A section of which a text has it is never one."""

_WORD_CUT_FROM = 0.6
"""A cut at a word loses at most the last 40 % of the room."""


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(text: str, *, breaks: bool = False) -> str:
    """Return `text` with every hidden character written out and chat markup broken.

    With `breaks`, line feeds stay line feeds.

    `visible("a\\u200bb\\n")` is `a\\u200bb\\n` with the backslashes as characters: seven letters more, nothing
    hidden.
    """
    # Nearly all texts: scans in C instead of a search by a large class of characters.
    if not (text.isascii() and text.isprintable()):
        text = (_HIDDEN_KEEP_BREAKS if breaks else _HIDDEN).sub(_escape, text)
    text = break_markup(text, r"\g<0>\\")
    if any(speaker in text for speaker in _SPEAKERS):
        text = _SPEAKER.sub(r"\1\\", text)
    return text


def break_markup(text: str, replacement: str | Callable[[re.Match[str]], str]) -> str:
    """Return `text` with the first character of each piece of chat markup replaced, as `re.sub` does it."""
    if "<" in text:
        text = _ANGLE_MARKUP.sub(replacement, text)
    if "[" in text or "]" in text:
        text = _BRACKET_MARKUP.sub(replacement, text)
    return text


def shorten(text: str, limit: int) -> str:
    """Return the first characters of `text`, at most `limit` with the marker, cut at a word where one is near."""
    if len(text) <= limit:
        return text
    room = max(limit - 1, 0)  # one character is the marker
    cut = text[:room]
    space = cut.rfind(" ")
    # Only near the end: a long word, a path for example, would take most of the room with it.
    if space > room * _WORD_CUT_FROM:
        cut = cut[:space]
    return cut.rstrip() + "…"


def shorten_middle(text: str, limit: int) -> str:
    """Return the beginning and, twice as long, the end of `text`, at most `limit` characters with the marker between.

    `shorten_middle("pytest tests: 12 lines of a traceback, KeyError: 7", 30)` is `pytest… KeyError: 7`.
    """
    if len(text) <= limit:
        return text
    room = max(limit - 1, 0)
    head, end = text[: room // 3], text[len(text) - (room - room // 3) :]
    space = head.rfind(" ")
    if space > len(head) * _WORD_CUT_FROM:
        head = head[:space]
    space = end.find(" ")
    if 0 <= space <= len(end) * (1 - _WORD_CUT_FROM):
        end = end[space:]
    return f"{head.rstrip()}…{end}"
