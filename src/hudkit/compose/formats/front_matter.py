"""Read the front matter of a definition (an agent, a command, a skill, a section), which stands between `---` lines.

It is read by a small reader of our own, because such files need little of YAML, and a full reader of it is slow and
has run code:

    ---
    description: "Reviews a change"      ->  {"description": "Reviews a change", "tools": ["read", "grep"],
    tools: [read, grep]                       "permission": {"bash": "ask"}}
    permission:
      bash: ask
    ---
    You review.                          ->  the body

It knows `key: value`, quoted text, numbers, true and false, `[a, b]`, `- item` lists, folded and literal blocks, and
mappings by indentation. What is stranger is a `ConfigError` that names the line.
"""

from __future__ import annotations

import re
from typing import Any

from hudkit.compose import shorten, visible
from hudkit.errors import ConfigError

_MAX_LINES = 400
_MAX_LEVELS = 6
_MAX_LINE = 1_000

_KEY = re.compile(r"^(\"[^\"]*\"|'[^']*'|[^\s#:'\"-][^:]*?|\*+|-[^\s:][^:]*?)\s*:(?:\s+(.*))?$")
_NUMBER = re.compile(r"^-?\d{1,15}(\.\d{1,15})?$")
_CONSTANTS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": None}

_Line = tuple[int, int, str]
"""Its number in the file, its indentation, its text."""


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Return the settings and the body of a file; no settings where it does not begin with `---`.

    Raises `ConfigError`.
    """
    text = text.replace("\r\n", "\n")
    # no front matter is no fault: such a file is all body
    if not text.startswith("---\n"):
        return {}, text
    lines = text.split("\n")
    end = next((index for index, line in enumerate(lines[1 : _MAX_LINES + 1], 1) if line.rstrip() == "---"), 0)
    if not end:
        raise ConfigError("the front matter has no end", hint=f"End it with --- within {_MAX_LINES} lines")
    # bounded before anything is parsed: patterns below are linear in a line, and lines are short
    long = next((index for index, line in enumerate(lines[1:end], 2) if len(line) > _MAX_LINE), 0)
    if long:
        raise ConfigError(f"line {long} of the front matter has more than {_MAX_LINE:,} characters")
    numbered = [
        (number, len(line) - len(line.lstrip(" ")), line.strip())
        for number, line in enumerate(lines[1:end], 2)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    value, rest = _mapping(numbered, 0)
    if rest:
        raise _unreadable_line(rest[0])
    return value, "\n".join(lines[end + 1 :]).strip("\n")


def _mapping(lines: list[_Line], level: int) -> tuple[dict[str, Any], list[_Line]]:
    settings: dict[str, Any] = {}
    # the first line sets the indentation of its mapping; what stands deeper belongs to the key above it
    indent = lines[0][1] if lines else 0
    if level > _MAX_LEVELS:
        raise _unreadable_line(lines[0])
    while lines and lines[0][1] == indent:
        match = _KEY.match(lines[0][2])
        if match is None or lines[0][2].startswith("- "):
            raise _unreadable_line(lines[0])
        head, lines = lines[0], lines[1:]
        key, value = _unquoted(match[1]), (match[2] or "").strip()
        # YAML takes the last of two; here two permissions tables would silently become one
        if key in settings:
            raise ConfigError(f"line {head[0]} of the front matter has {_quote_line(key)} again")
        below = bool(lines) and lines[0][1] > indent
        # YAML lets a list stand at the indentation of its key, or deeper
        listed = bool(lines) and lines[0][1] >= indent and lines[0][2].startswith("- ")
        if value in ("|", ">", "|-", ">-"):
            block = []
            while lines and lines[0][1] > indent:
                block.append(lines[0][2])
                lines = lines[1:]
            settings[key] = ("\n" if value[0] == "|" else " ").join(block)
        elif value:
            settings[key] = _scalar(value, head)
        elif listed:
            settings[key] = []
            inner = lines[0][1]
            while lines and lines[0][1] == inner and lines[0][2].startswith("- "):
                settings[key].append(_scalar(lines[0][2][2:].strip(), lines[0]))
                lines = lines[1:]
        elif below:
            settings[key], lines = _mapping(lines, level + 1)
        else:
            settings[key] = None
    if lines and lines[0][1] > indent:
        raise _unreadable_line(lines[0])
    return settings, lines


def _scalar(text: str, line: _Line) -> Any:
    if text[0] == "[":
        if not text.endswith("]"):
            raise _unreadable_line(line)
        return [_scalar(item.strip(), line) for item in text[1:-1].split(",") if item.strip()]
    if text[0] in "\"'":
        if len(text) < 2 or text[-1] != text[0]:
            raise _unreadable_line(line)
        return _unquoted(text)
    # flow mappings, anchors, aliases and tags: the parts of YAML that are not read
    if text[0] in "{&*!|>%@`":
        raise _unreadable_line(line)
    # a comment needs white space before it: `C#` is a word
    text = re.sub(r"\s+#.*$", "", text)
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _NUMBER.match(text):
        return float(text) if "." in text else int(text)
    return text


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _unreadable_line(line: _Line) -> ConfigError:
    return ConfigError(
        f"line {line[0]} of the front matter cannot be read: {_quote_line(line[2])}", hint='Write `key: "value"`'
    )


def _quote_line(text: str) -> str:
    return f'"{shorten(visible(text), 80)}"'
