"""Markdown files with front matter (agents, skills): the settings between `---` lines, and the text below them.

Read is the part of YAML that such files use: `key: value`, quoted text, numbers, true and false, `[a, b]`, `- item`
lists, folded and literal blocks, mappings by indentation. What is stranger is a `ConfigError` that names the line.
"""

from __future__ import annotations

import re
from typing import Any

from hudkit.compose import shorten, visible
from hudkit.errors import ConfigError

MOST_LINES = 400
MOST_LEVELS = 6
MOST_LINE = 1_000

_KEY = re.compile(r"^(\"[^\"]*\"|'[^']*'|[^\s#:'\"-][^:]*?|\*+|-[^\s:][^:]*?)\s*:(?:\s+(.*))?$")
_NUMBER = re.compile(r"^-?\d{1,15}(\.\d{1,15})?$")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": None}

Line = tuple[int, int, str]
"""Its number in the file, its indentation, its text."""


def split(text: str) -> tuple[dict[str, Any], str]:
    """The settings and the body of a file; no settings where it does not begin with `---`. Raises `ConfigError`."""
    text = text.replace("\r\n", "\n")
    if not text.startswith("---\n"):
        return {}, text
    lines = text.split("\n")
    end = next((at for at, line in enumerate(lines[1 : MOST_LINES + 1], 1) if line.rstrip() == "---"), 0)
    if not end:
        raise ConfigError("the front matter has no end", hint=f"End it with --- within {MOST_LINES} lines")
    long = next((at for at, line in enumerate(lines[1:end], 2) if len(line) > MOST_LINE), 0)
    if long:
        raise ConfigError(f"line {long} of the front matter has more than {MOST_LINE:,} characters")
    found = [
        (number, len(line) - len(line.lstrip(" ")), line.strip())
        for number, line in enumerate(lines[1:end], 2)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    value, rest = _mapping(found, 0)
    if rest:
        raise _wrong(rest[0])
    return value, "\n".join(lines[end + 1 :]).strip("\n")


def _mapping(lines: list[Line], level: int) -> tuple[dict[str, Any], list[Line]]:
    found: dict[str, Any] = {}
    indent = lines[0][1] if lines else 0
    if level > MOST_LEVELS:
        raise _wrong(lines[0])
    while lines and lines[0][1] == indent:
        match = _KEY.match(lines[0][2])
        if match is None or lines[0][2].startswith("- "):
            raise _wrong(lines[0])
        head, lines = lines[0], lines[1:]
        key, value = _unquoted(match[1]), (match[2] or "").strip()
        if key in found:
            raise ConfigError(f"line {head[0]} of the front matter has {_echo(key)} again")
        below = bool(lines) and lines[0][1] > indent
        listed = bool(lines) and lines[0][1] >= indent and lines[0][2].startswith("- ")
        if value in ("|", ">", "|-", ">-"):
            block = []
            while lines and lines[0][1] > indent:
                block.append(lines[0][2])
                lines = lines[1:]
            found[key] = ("\n" if value[0] == "|" else " ").join(block)
        elif value:
            found[key] = _scalar(value, head)
        elif listed:
            found[key] = []
            inner = lines[0][1]
            while lines and lines[0][1] == inner and lines[0][2].startswith("- "):
                found[key].append(_scalar(lines[0][2][2:].strip(), lines[0]))
                lines = lines[1:]
        elif below:
            found[key], lines = _mapping(lines, level + 1)
        else:
            found[key] = None
    if lines and lines[0][1] > indent:
        raise _wrong(lines[0])
    return found, lines


def _scalar(text: str, line: Line) -> Any:
    if text[0] == "[":
        if not text.endswith("]"):
            raise _wrong(line)
        return [_scalar(one.strip(), line) for one in text[1:-1].split(",") if one.strip()]
    if text[0] in "\"'":
        if len(text) < 2 or text[-1] != text[0]:
            raise _wrong(line)
        return _unquoted(text)
    if text[0] in "{&*!|>%@`":
        raise _wrong(line)
    text = re.sub(r"\s+#.*$", "", text)
    if text in _WORDS:
        return _WORDS[text]
    if _NUMBER.match(text):
        return float(text) if "." in text else int(text)
    return text


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _wrong(line: Line) -> ConfigError:
    return ConfigError(
        f"line {line[0]} of the front matter cannot be read: {_echo(line[2])}", hint='Write `key: "value"`'
    )


def _echo(text: str) -> str:
    return f'"{shorten(visible(text), 80)}"'
