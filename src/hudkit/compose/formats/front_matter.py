"""Read the front matter of a definition (an agent, a command, a skill, a section): YAML between `---` lines.

    ---
    description: "Reviews a change"      ->  {"description": "Reviews a change", "tools": ["read", "grep"],
    tools: [read, grep]                       "permission": {"bash": "ask"}}
    permission:
      bash: ask
    ---
    You review.                          ->  the body

It is YAML 1.2 as other tools read it: `no` and `on` are words, a date is text. PyYAML parses it, and constructs plain
data only. Aliases, tags and keys that come twice are refused.

Files of real users have lines that are no YAML, and mean one thing only: `description: Use this: it helps`,
`argument-hint: [file] [mode]`, `*: ask`. Where YAML stops at such a line, what stands behind its first colon is taken
as text.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from hudkit.compose import shorten, visible
from hudkit.errors import ConfigError

if TYPE_CHECKING:
    from yaml import MappingNode, Node

_MAX_LINES = 400
_MAX_LEVELS = 12
_MAX_LINE = 20_000
"""Characters of a line: generated agents have whole dialogues in one description."""

_TAG = "tag:yaml.org,2002:"
_NUMBERS = {
    "int": re.compile(r"[-+]?[0-9]+$"),
    "float": re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$"),
}
_WORDS = {
    "null": re.compile(r"(?:~|null|Null|NULL|)$"),
    "bool": re.compile(r"(?:true|True|TRUE|false|False|FALSE)$"),
}
_PLAIN_LINE = re.compile(r"^(\s*(?:- )?)(\*+|[^\s:#'\"\[\]{}|>&!%@`,][^:]*?)\s*:\s+(.*\S)\s*$")
"""`key: text`: what stands before the key, the key, and the text."""


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Return the settings and the body of a file; no settings where it does not begin with `---`.

    Raises `ConfigError` with the line, and what would be right.
    """
    text = text.replace("\r\n", "\n")
    start = text.lstrip("\ufeff \t\n")
    # no front matter is no fault: such a file is all body
    if start.partition("\n")[0].rstrip() != "---" or "\n" not in start:
        return {}, text
    lines = start.split("\n")
    end = next((index for index, line in enumerate(lines[1 : _MAX_LINES + 1], 1) if line.rstrip() == "---"), 0)
    if not end:
        raise ConfigError("the front matter has no end", hint=f"End it with --- within {_MAX_LINES} lines")
    # bounded before anything is parsed
    long = next((index for index, line in enumerate(lines[1:end], 2) if len(line) > _MAX_LINE), 0)
    if long:
        raise ConfigError(f"line {long} of the front matter has more than {_MAX_LINE:,} characters")
    return _read_yaml(lines[1:end]), "\n".join(lines[end + 1 :]).strip("\n")


def _read_yaml(lines: list[str]) -> dict[str, Any]:
    """Return the mapping that some lines are; a line at which YAML stops is tried once more as `key: "text"`."""
    # Imported late: it takes 0.04 s, and most processes read no definition.
    from yaml import YAMLError

    # The lines as they are given to the parser.
    tried = list(lines)
    while True:
        try:
            return _parse(tried, lines)
        except YAMLError as error:
            mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
            number = min(mark.line if mark is not None else 0, len(lines) - 1)
            # The parser tells of some mistakes only behind the line, and behind empty ones.
            while number and not lines[number].strip():
                number -= 1
            reason = getattr(error, "problem", None) or "it has a character that YAML does not know"
            places = [place for place in (number, number - 1) if place >= 0]
            place = next((place for place in places if _quoted(tried[place]) not in ("", tried[place])), None)
            if place is None:
                raise _unreadable_line(number, lines, reason) from None
            tried[place] = _quoted(tried[place])


def _quoted(line: str) -> str:
    """Return a line with its text in quotes; empty where it is no `key: text`, or where the text has quotes."""
    match = _PLAIN_LINE.match(line)
    if match is None or match[3][0] in "\"'|>":
        return ""
    return f"{match[1]}{json.dumps(match[2], ensure_ascii=False)}: {json.dumps(match[3], ensure_ascii=False)}"


def _parse(lines: list[str], source: list[str]) -> dict[str, Any]:
    from yaml import AliasEvent, CollectionEndEvent, CollectionStartEvent, MappingNode, compose, parse

    text = "\n".join(lines) + "\n"
    level = 0
    # The events first: they come without recursion, so that nesting is bounded before anything recurses.
    for event in parse(text, Loader=_loader()):
        level += isinstance(event, CollectionStartEvent)
        level -= isinstance(event, CollectionEndEvent)
        if level > _MAX_LEVELS:
            raise _unreadable_line(event.start_mark.line, source, f"it is nested more than {_MAX_LEVELS} levels deep")
        if isinstance(event, AliasEvent):
            raise _unreadable_line(event.start_mark.line, source, "aliases are not read")
    root = compose(text, Loader=_loader())
    if root is None:
        return {}
    if not isinstance(root, MappingNode):
        raise _unreadable_line(root.start_mark.line, source, "it is no `key: value`")
    return _mapping(root, source)


def _mapping(node: MappingNode, source: list[str]) -> dict[str, Any]:
    from yaml import ScalarNode

    values: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, ScalarNode):
            raise _unreadable_line(key.start_mark.line, source, "a key is a word")
        # YAML takes the last of two; here two permissions tables would silently become one
        if key.value in values:
            line = key.start_mark.line + 2
            raise ConfigError(f"line {line} of the front matter has {_quote_line(key.value)} again")
        values[key.value] = _plain(value, source)
    return values


def _plain(node: Node, source: list[str]) -> Any:
    """Return a node as plain data. Raises `ConfigError` for a tag that stands for anything else."""
    from yaml import MappingNode, SequenceNode

    kind = node.tag.removeprefix(_TAG)
    if isinstance(node, MappingNode) and kind == "map":
        return _mapping(node, source)
    if isinstance(node, SequenceNode) and kind == "seq":
        return [_plain(item, source) for item in node.value]
    text = node.value
    if kind == "str":
        return text
    if kind in _WORDS and _WORDS[kind].match(text):
        return text.lower() == "true" if kind == "bool" else None
    if kind in _NUMBERS and _NUMBERS[kind].match(text):
        return int(text) if kind == "int" else float(text)
    raise _unreadable_line(node.start_mark.line, source, "tags are not read")


@cache
def _loader() -> Any:
    """Return a loader with the words and numbers of YAML 1.2: libyaml's where it is there."""
    import yaml

    class FrontMatterLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """PyYAML's own is of YAML 1.1, in which `no` is false and 12:30 a number."""

        yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 (the name is PyYAML's)

    for kind, pattern in (_WORDS | _NUMBERS).items():
        FrontMatterLoader.add_implicit_resolver(_TAG + kind, pattern, None)
    return FrontMatterLoader


def _unreadable_line(index: int, source: list[str], reason: str) -> ConfigError:
    line = source[index].strip() if source else ""
    return ConfigError(
        f"line {index + 2} of the front matter cannot be read: {_quote_line(line)}",
        hint=f'{reason[0].upper()}{reason[1:]}. Write `key: "value"`, as YAML',
    )


def _quote_line(text: str) -> str:
    return f'"{shorten(visible(text), 80)}"'
