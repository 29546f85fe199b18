"""What a custom section is: its name, its text and what it reads; read from a file's header, and checked."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Final

import msgspec

from hudkit.errors import ConfigError
from hudkit.sections.views import SECTIONS as BUILT_IN

NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,31}")
"""What a section may be called."""

FIELDS: Final = (
    "task",
    "constraints",
    "blockers",
    "steps",
    "todos",
    "decisions",
    "errors",
    "notes",
    "files",
    "compacted",
    "project",
    "session",
)
"""Fields of the state that a section may read: those that change with the work, and not with every call."""

MOST_SOURCE: Final = 16_384
"""UTF-8 bytes of a source."""

LONGEST_TITLE: Final = 60
TOP: Final = 60
"""The highest priority: custom sections go before constraints, blockers, steps, decisions and errors do."""

_TITLES = frozenset(section.title.casefold() for section in BUILT_IN)
_HEADER = re.compile(r"#\s*(title|reads|priority)\s*:\s*(.*)", re.IGNORECASE)


class Definition(msgspec.Struct, frozen=True):
    """A section as text: `source` defines `section(...)`, which takes what `reads` names; `priority` is 0 to 60."""

    name: str
    source: str
    title: str = ""
    reads: tuple[str, ...] = ()
    priority: int = 30

    @property
    def heading(self) -> str:
        """Its title, or its name as one."""
        return self.title or self.name.replace("-", " ").capitalize()

    def digest(self, salt: str = "") -> str:
        """Sixteen hex digits that stand for its text."""
        body = msgspec.json.encode((self.name, self.source, self.heading, self.reads, self.priority, salt))
        return blake2b(body, digest_size=8).hexdigest()


def check(definition: Definition) -> None:
    """Raise `ConfigError` for what is out of range in a definition; its source is not looked into."""
    if not NAME.fullmatch(definition.name):
        hint = "It is 1 to 32 of a-z, 0-9 and -, a letter first"
        raise ConfigError(f"a custom section cannot be called {definition.name[:60]!r}", hint=hint)
    where = f"custom section {definition.name}"
    try:
        size = len(definition.source.encode())
    except UnicodeEncodeError:
        raise ConfigError(f"{where}: its source is not UTF-8") from None
    if not definition.source.strip() or size > MOST_SOURCE:
        raise ConfigError(f"{where}: its source has {size} bytes", hint=f"It is 1 to {MOST_SOURCE} bytes of text")
    title = definition.title
    if len(title) > LONGEST_TITLE or not title.isprintable() or title != title.strip():
        raise ConfigError(
            f"{where}: its title is {title[:80]!r}", hint=f"It is one line of at most {LONGEST_TITLE} characters"
        )
    if definition.heading.casefold() in _TITLES:
        raise ConfigError(f"{where}: {definition.heading!r} is a built-in section", hint="Give it another title")
    unknown = [name for name in definition.reads if name not in FIELDS]
    if unknown or len(set(definition.reads)) != len(definition.reads):
        what = f"reads {unknown[0][:40]!r}" if unknown else "reads a field twice"
        raise ConfigError(f"{where} {what}", hint=f"There are: {', '.join(FIELDS)}")
    if not 0 <= definition.priority <= TOP:
        raise ConfigError(f"{where}: its priority is {definition.priority}", hint=f"It is 0 to {TOP}")


def parse(name: str, text: str) -> Definition:
    """The definition that a file is: comment lines `# title: …`, `# reads: steps, todos`, `# priority: 40` at its
    top, then the source. Raises `ConfigError`."""
    told: dict[str, str] = {}
    for line in text.split("\n"):
        if line.strip() and not line.startswith("#"):
            break
        if found := _HEADER.fullmatch(line.strip()):
            key = found[1].lower()
            if key in told:
                raise ConfigError(f"custom section {name[:60]}: `# {key}:` stands twice", hint="Keep one of them")
            told[key] = found[2].strip()
    priority = told.get("priority", "30")
    if not re.fullmatch(r"[0-9]{1,3}", priority):
        raise ConfigError(f"custom section {name[:60]}: its priority is {priority[:40]!r}", hint=f"It is 0 to {TOP}")
    reads = tuple(part.strip() for part in told.get("reads", "").split(",") if part.strip())
    definition = Definition(name, text, told.get("title", ""), reads, int(priority))
    check(definition)
    return definition
