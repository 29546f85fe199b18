"""Almost JSON made JSON: the slips of language models, taken back without guessing at what was meant. Pure."""

from __future__ import annotations

_WORDS = {"True": "true", "False": "false", "None": "null"}
_CONTROL = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_OPENS = {"{": "}", "[": "]"}


def extent(text: str, start: int) -> int | None:
    """Where the object that opens at `start` ends (behind its brace); `None` where it never does."""
    depth, at, before = 0, start, ""
    while at < len(text):
        char = text[at]
        if _quotes(char, before):
            at, before = _string_end(text, at), '"'
            continue
        if char in _OPENS:
            depth += 1
        elif char in "}]":
            depth -= 1
            if not depth:
                return at + 1
        if not char.isspace():
            before = char
        at += 1
    return None


def mended(text: str) -> str:
    """The text with strings in double quotes and on one line, without trailing commas and line comments, and with
    JSON's words for true, false and null."""
    out: list[str] = []
    at, before = 0, ""
    while at < len(text):
        char = text[at]
        if _quotes(char, before):
            end = _string_end(text, at)
            out.append(_string(text[at + 1 : end - 1], text[at]))
            at, before = end, '"'
        elif char.isalpha():
            end = at
            while end < len(text) and text[end].isalnum():
                end += 1
            out.append(_WORDS.get(text[at:end], text[at:end]))
            at, before = end, "a"
        elif char in "}]" and before == ",":
            _drop_comma(out)
            out.append(char)
            at, before = at + 1, char
        elif text.startswith("//", at):
            line = text.find("\n", at)
            at = len(text) if line < 0 else line
        else:
            out.append(char)
            before = before if char.isspace() else char
            at += 1
    return "".join(out)


def _quotes(char: str, before: str) -> bool:
    """Whether a string begins here: a quote, or a single or curly one where only a string can stand."""
    return char == '"' or (char in "'“" and before in ("{", "[", ",", ":"))


def _string_end(text: str, start: int) -> int:
    """Behind the closing quote of the string that opens at `start`; the text's end where there is none."""
    close = "”" if text[start] == "“" else text[start]
    at = start + 1
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text[at] == close and (close != "'" or _closes(text, at)):
            return at + 1
        else:
            at += 1
    return len(text)


def _closes(text: str, at: int) -> bool:
    """Whether a single quote ends its string: what follows is no letter of an `isn't`."""
    rest = text[at + 1 : at + 40].lstrip()
    return not rest or rest[0] in ",:]}"


def _string(inner: str, quote: str) -> str:
    if quote == "'":
        inner = inner.replace("\\'", "'").replace('\\"', '"').replace('"', '\\"')
    elif quote == "“":
        inner = inner.replace('\\"', '"').replace('"', '\\"')
    return '"' + "".join(_CONTROL.get(char, char) if char < " " else char for char in inner) + '"'


def _drop_comma(out: list[str]) -> None:
    for place in range(len(out) - 1, -1, -1):
        if out[place] == ",":
            del out[place]
            return
