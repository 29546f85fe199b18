"""What a custom section is: its name, its text and what it reads; and the files of the user and of a project.

A project's file runs only where the user trusts its very bytes; what is trusted is a list of digests.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from hashlib import blake2b, sha256
from itertools import islice
from pathlib import Path
from typing import Final, Literal

import msgspec

from hudkit.errors import ConfigError, TreeError
from hudkit.paths import SectionPaths, git_root
from hudkit.sections.sandboxed.inputs import READABLE_FIELDS, section_inputs
from hudkit.sections.sandboxed.markdown_template import fill_template, read_template
from hudkit.sections.state import HudState
from hudkit.sections.table import SECTIONS

SECTION_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,31}")
"""What a section may be called."""

MAX_SOURCE_BYTES: Final = 16_384
"""UTF-8 bytes of a source."""

_MAX_TITLE: Final = 60
_MAX_PRIORITY: Final = 60
"""The highest priority: custom sections go before constraints, blockers, steps, decisions and errors do."""

_TITLES = frozenset(spec.title.casefold() for spec in SECTIONS)
_HEADER = re.compile(r"#\s*(title|reads|priority)\s*:\s*(.*)", re.IGNORECASE)


class SectionDefinition(msgspec.Struct, frozen=True):
    """A section as text: `source` defines `section(...)`, which takes what `reads` names; `priority` is 0 to 60.

    With the `kind` markdown, `source` is a markdown file (`markdown_template`), which runs nothing.
    """

    name: str
    source: str
    title: str = ""
    reads: tuple[str, ...] = ()
    priority: int = 30
    kind: Literal["python", "markdown"] = "python"

    @property
    def heading(self) -> str:
        """Return its title, or its name as one."""
        return self.title or self.name.replace("-", " ").capitalize()

    def digest(self, salt: str = "") -> str:
        """Return sixteen hex digits that stand for its text; another `salt` gives others."""
        # With the salt (which sandbox, or what is wrong): the same text is tried again where that changed.
        kind = () if self.kind == "python" else (self.kind,)
        body = msgspec.json.encode((self.name, self.source, self.heading, self.reads, self.priority, salt, *kind))
        return blake2b(body, digest_size=8).hexdigest()


def check_definition(definition: SectionDefinition) -> None:
    """Raise `ConfigError` for what is out of range in a definition; its source is not looked into."""
    if not SECTION_NAME.fullmatch(definition.name):
        hint = "It is 1 to 32 of a-z, 0-9 and -, a letter first"
        raise ConfigError(f"a custom section cannot be called {definition.name[:60]!r}", hint=hint)
    where = f"custom section {definition.name}"
    try:
        size = len(definition.source.encode())
    except UnicodeEncodeError:
        raise ConfigError(f"{where}: its source is not UTF-8") from None
    if not definition.source.strip() or size > MAX_SOURCE_BYTES:
        raise ConfigError(
            f"{where}: its source has {size} bytes", hint=f"It is 1 to {MAX_SOURCE_BYTES} bytes of text"
        )
    check_presentation(where, definition.heading, definition.reads, definition.priority, definition.title)


def check_presentation(where: str, heading: str, reads: tuple[str, ...], priority: int, title: str = "") -> None:
    """Raise `ConfigError` for a title, reads or a priority that a section may not have; `where` names the section."""
    if len(title) > _MAX_TITLE or not title.isprintable() or title != title.strip():
        raise ConfigError(
            f"{where}: its title is {title[:80]!r}", hint=f"It is one line of at most {_MAX_TITLE} characters"
        )
    # Two sections with one heading could pass for each other.
    if heading.casefold() in _TITLES:
        raise ConfigError(f"{where}: {heading!r} is a built-in section", hint="Give it another title")
    unknown = [name for name in reads if name not in READABLE_FIELDS]
    if unknown or len(set(reads)) != len(reads):
        what = f"reads {unknown[0][:40]!r}" if unknown else "reads a field twice"
        raise ConfigError(f"{where} {what}", hint=f"There are: {', '.join(READABLE_FIELDS)}")
    if not 0 <= priority <= _MAX_PRIORITY:
        raise ConfigError(f"{where}: its priority is {priority}", hint=f"It is 0 to {_MAX_PRIORITY}")


def parse_definition(name: str, text: str) -> SectionDefinition:
    """Return the definition that a file is. Raises `ConfigError`.

    Comment lines `# title: …`, `# reads: steps, todos`, `# priority: 40` at its top, then the source.
    """
    header: dict[str, str] = {}
    for line in text.split("\n"):
        if line.strip() and not line.startswith("#"):
            break
        if match := _HEADER.fullmatch(line.strip()):
            key = match[1].lower()
            if key in header:
                raise ConfigError(f"custom section {name[:60]}: `# {key}:` stands twice", hint="Keep one of them")
            header[key] = match[2].strip()
    priority = header.get("priority", "30")
    if not re.fullmatch(r"[0-9]{1,3}", priority):
        raise ConfigError(
            f"custom section {name[:60]}: its priority is {priority[:40]!r}", hint=f"It is 0 to {_MAX_PRIORITY}"
        )
    reads = tuple(part.strip() for part in header.get("reads", "").split(",") if part.strip())
    definition = SectionDefinition(name, text, header.get("title", ""), reads, int(priority))
    check_definition(definition)
    return definition


def parse_markdown_definition(name: str, text: str) -> SectionDefinition:
    """Return the definition that a markdown file is. Raises `ConfigError` that names the file and the line."""
    try:
        template = read_template(text, READABLE_FIELDS)
        # Once with nothing in it: a wrong name is told where the file is looked at, and not in a frame.
        fill_template(template, section_inputs(HudState(), READABLE_FIELDS))
        definition = SectionDefinition(name, text, template.title, template.reads, template.priority, "markdown")
        check_definition(definition)
    except (ConfigError, TreeError) as error:
        line = error.details.get("line", 1)
        place = {"file": f"{name}.md", "line": line}
        raise ConfigError(f"{name}.md, line {line}: {error.message}", hint=error.hint, **place) from None
    return definition


FOLDER = Path(".hudkit") / "sections"
"""Where a project's sections are, below its root."""

_PARSERS = {".py": parse_definition, ".md": parse_markdown_definition}
"""What is a section's file, by its ending."""

_MAX_FILES = 16
"""Files of one folder; those behind them in order of names are not read."""


class SectionFile(msgspec.Struct, frozen=True):
    """A file: its definition or what is `wrong` with it, the `digest` (SHA-256) of its bytes, whether it runs."""

    path: Path
    level: str  # `user` or `project`
    digest: str = ""
    trusted: bool = False
    definition: SectionDefinition | None = None
    wrong: str = ""

    @property
    def name(self) -> str:
        """Return the section's name, which is the file's."""
        return self.path.stem


class SectionFiles:
    """The files of a user and of one project. They are read again when one of them, or what is trusted, changes."""

    def __init__(self, paths: SectionPaths, project: Path | None = None) -> None:
        self.paths = paths
        self.project = git_root(project) if project is not None else None
        folders = [("user", paths.user)]
        if self.project is not None:
            folders.append(("project", self.project / FOLDER))
        self._folders = tuple(folders)
        # as texts, put together once: they are looked at before every frame
        self._places = tuple([str(folder) for _, folder in folders])
        self._trusted = str(paths.trusted)
        self._signature: object = None
        self._files: tuple[SectionFile, ...] = ()
        self._running: Mapping[str, SectionDefinition] = {}

    def files(self) -> tuple[SectionFile, ...]:
        """Return every file, whether it runs or not: the user's first, each folder by name. Never raises."""
        folders = tuple(map(_folder_signature, self._places))
        # where there are no files, it is all one what is trusted
        signature = (folders, any(folders) and file_signature(self._trusted))
        if signature != self._signature:
            trusted = trusted_digests(self.paths.trusted)
            self._files = tuple(
                _sibling_of(path, level) or read_section_file(path, level, trusted)
                for level, folder in self._folders
                for path in _section_paths(str(folder))
            )
            running: dict[str, SectionDefinition] = {}
            for file in self._files:
                if file.trusted and file.definition is not None:
                    # The user's come first: a project cannot replace what the user wrote.
                    running.setdefault(file.definition.name, file.definition)
            self._signature, self._running = signature, running
        return self._files

    def definitions(self) -> Mapping[str, SectionDefinition]:
        """Return what runs, by name: the user's before the project's; the same object while no file has changed."""
        self.files()
        return self._running


def read_section_file(path: Path, level: str, trusted: frozenset[str]) -> SectionFile:
    """Return a file as it is now; the user's own are trusted, others by their digest. Never raises."""
    try:
        raw = _bytes(path)
        digest = sha256(raw).hexdigest()
        file = SectionFile(path, level, digest, level == "user" or digest in trusted)
        parse = _PARSERS.get(path.suffix, parse_definition)
        return msgspec.structs.replace(file, definition=parse(path.stem, raw.decode("utf-8-sig")))
    except ConfigError as error:
        return SectionFile(path, level, wrong=str(error))
    except OSError as error:
        return SectionFile(path, level, wrong=f"{path.name} cannot be read: {error.strerror}")
    except UnicodeDecodeError as error:
        return SectionFile(path, level, wrong=f"{path.name}: byte {error.start} is not UTF-8")


def _sibling_of(path: Path, level: str) -> SectionFile | None:
    """What is wrong with a Python file that has a markdown file of its name beside it; `None` for all others."""
    if path.suffix == ".md" or not os.path.lexists(path.with_suffix(".md")):
        return None
    return SectionFile(path, level, wrong=f"{path.stem}.md has the same name: one of the two has to go")


def trusted_digests(path: Path) -> frozenset[str]:
    """Return the digests of bytes that the user trusts; none where the file cannot be read."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    return frozenset(line.split(" ", 1)[0] for line in lines if line)


def trust_section(path: Path, paths: SectionPaths) -> SectionFile:
    """Trust a file's bytes as they are now, wherever they are, and return the file: changed bytes are others.

    Raises `ConfigError` where the file is no section.
    """
    path = path.absolute()
    file = read_section_file(path, "project", trusted_digests(paths.trusted))
    if file.wrong:
        raise ConfigError(file.wrong)
    if not file.trusted:
        add_trust(paths, file.digest, path)
    return msgspec.structs.replace(file, trusted=True)


def add_trust(paths: SectionPaths, digest: str, path: Path) -> None:
    """Add a digest to those that the user trusts; `path` is only for who reads the file."""
    paths.trusted.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    # A line break in a path must not begin a line of its own: a digest could be smuggled in.
    line = f"{digest} {path}".encode("utf-8", "backslashreplace").replace(b"\n", b"?")
    with os.fdopen(os.open(paths.trusted, flags, 0o600), "ab") as file:
        file.write(line + b"\n")


def _section_paths(folder: str) -> Sequence[Path]:
    try:
        names = os.listdir(folder)  # noqa: PTH208 (looked at before every frame, as a rule in vain)
    except OSError:
        return ()
    paths = sorted(Path(folder, name) for name in names)
    named = (path for path in paths if path.suffix in _PARSERS and SECTION_NAME.fullmatch(path.stem))
    return tuple(islice(named, _MAX_FILES))


def _folder_signature(folder: str) -> object:
    return tuple([(path.name, file_signature(path)) for path in _section_paths(folder)])


def file_signature(path: str | Path) -> object:
    """Return what changes when a file does (inode, size, times); `None` where there is none."""
    try:
        status = os.lstat(path)  # a path's own method costs more than the call
    except OSError:
        return None
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _bytes(path: Path) -> bytes:
    """A file's bytes; a link, a pipe and a device are no files here, and what is too long is not read."""
    # Not blocking: a pipe of this name would hold the frame for ever.
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ConfigError(f"{path.name} is not a file")
        raw = file.read(MAX_SOURCE_BYTES + 1)
    if len(raw) > MAX_SOURCE_BYTES:
        raise ConfigError(f"{path.name} has more than {MAX_SOURCE_BYTES} bytes", hint="A section is a few lines")
    return raw
