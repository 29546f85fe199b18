"""Every name that leaves the process, in one list: `stored_names.txt`.

Logs, files, answers and command lines of earlier versions hold these names, and programs ask for them. A class or a
field may be renamed in Python; the name that is stored or printed stays. A name that is gone fails here and is told;
a new one is written into the list by hand, under its heading. Names are computed from the code and from what the
commands print about the stored files: nothing here names a class.

Two headings are for information (`saved states`): a session and a world save their state under a version that is
made of its shape, and one of another shape is passed over and folded anew. `show --state --json` prints the first.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import compatibility_internals as internals
import msgspec
import pytest
from compatibility_files import HERE

NAMES = HERE / "stored_names.txt"
WITH_OPERATIONS = ("rooms", "memory", "compactions", "config", "sections", "sessions")
SOURCE = Path(internals.package().__file__ or "").parent

Names = dict[str, set[str]]

# -- from types ---------------------------------------------------------------------------------------------------


def structs_in(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """The structs that a type is made of, not those within them."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
    for inner in get_args(kind):
        if not isinstance(inner, str):
            yield from structs_in(inner)


def values_in(kind: Any) -> Iterator[str]:
    """The words that a type allows: of a literal, of an enumeration."""
    if get_origin(kind) is Literal:
        yield from (repr(value) for value in get_args(kind))
    elif isinstance(kind, type) and hasattr(kind, "__members__"):
        yield from (repr(one.value) for one in kind.__members__.values())
    for inner in get_args(kind):
        if not isinstance(inner, str):
            yield from values_in(inner)


def word_of(kind: Any) -> str:
    """A type in a few words: what JSON would hold."""
    if get_origin(kind) is not None and hasattr(kind, "__metadata__"):
        return word_of(get_args(kind)[0])
    if kind is Any:
        return "anything"
    if values := sorted(set(values_in(kind))):
        rest = [word_of(one) for one in get_args(kind) if one is type(None)]
        return " | ".join([*values, *rest])
    if get_origin(kind) in (Union, UnionType):
        return " | ".join(sorted({word_of(one) for one in get_args(kind)}))
    if get_origin(kind) in (tuple, list, frozenset) or kind in (tuple, list):
        return "list"
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return "list" if kind.__struct_config__.array_like else "object"
    plain = {str: "text", int: "integer", float: "number", bool: "truth", bytes: "bytes", type(None): "null"}
    return plain.get(kind, "object")


def fields_of(kind: type[msgspec.Struct], before: str = "", above: tuple[Any, ...] = ()) -> Iterator[str]:
    """Each field by its encoded name, with its type, and those of the structs in it; an array has places."""
    array = kind.__struct_config__.array_like
    tag = kind.__struct_config__.tag
    if tag is not None and above:
        yield f"{before}{kind.__struct_config__.tag_field}={tag}"
    for place, field in enumerate(msgspec.structs.fields(kind)):
        name = f"{before}[{place}]" if array else f"{before}{field.encode_name}"
        yield f"{name}: {word_of(field.type)}"
        for inner in structs_in(field.type):
            if inner not in above:
                mark = "[]" if word_of(field.type) == "list" and not inner.__struct_config__.array_like else ""
                yield from fields_of(inner, f"{name}{mark}.", (*above, kind, inner))


def schema_keys(node: Any, before: str = "") -> Iterator[str]:
    """The names of a JSON schema's properties."""
    if isinstance(node, Mapping):
        for name, inner in node.get("properties", {}).items():
            yield f"{before}{name}"
            yield from schema_keys(inner, f"{before}{name}.")
        for name in ("items", "additionalProperties"):
            yield from schema_keys(node.get(name), before)
        for name in ("anyOf", "oneOf"):
            for inner in node.get(name, ()):
                yield from schema_keys(inner, before)


def subclasses(kind: type) -> Iterator[type]:
    for one in kind.__subclasses__():
        yield one
        yield from subclasses(one)


# -- from databases, source and command lines ---------------------------------------------------------------------


OTHERS = re.compile(r"^sqlite_|_(data|idx|content|docsize|config)$")
"""Tables that SQLite makes for itself."""


def tables_of(statements: Iterable[str]) -> Iterator[str]:
    """Tables with their columns, and indexes, as SQLite has them after these statements."""
    db = sqlite3.connect(":memory:")
    for statement in statements:
        db.execute(statement)
    for kind, name, sql in db.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall():
        if kind == "index" and sql:
            yield f"index {name}"
        elif (
            kind == "table"
            and not name.startswith("sqlite_")
            and not re.search(r"_(data|idx|content|docsize|config)$", name)
        ):
            yield from (f"{name}.{row[1]}: {row[2]}" for row in db.execute(f"PRAGMA table_info({name})"))
    yield f"application_id {db.execute('PRAGMA application_id').fetchone()[0]:#x}"
    db.close()


def environment() -> Iterator[str]:
    """Variables that the source asks for, and every name of ours."""
    asked = re.compile(r"""(?:environ|env|variables?)(?:\.get\(|\[|\.pop\()\s*["']([A-Z][A-Z0-9_]{2,})["']""")
    ours = re.compile(r"\b(?:HUDKIT_[A-Z_]+[A-Z]|OTEL_[A-Z_]+[A-Z]|[A-Z]+_API_KEY)\b")
    for path in SOURCE.rglob("*"):
        if path.suffix in (".py", ".js"):
            text = path.read_text(encoding="utf-8")
            yield from asked.findall(text)
            yield from ours.findall(text)


def options_of(parser: argparse.ArgumentParser, before: str) -> Iterator[str]:
    """Options and places of a command line, with what may stand there."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield f"{before} {name}"
                yield from options_of(inner, f"{before} {name}")
            continue
        name = "/".join(action.option_strings) or str(action.metavar or action.dest)
        if name != "-h/--help":
            yield f"{before} {name}"
            yield from (f"{before} {name} = {choice}" for choice in action.choices or ())


def paths_of(value: Any, before: str = "") -> Iterator[str]:
    """The keys of JSON, from the top; what a number, a digest, a path or an id names is one key."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            key = (
                name if re.fullmatch(r"[a-zA-Z$_][\w$-]*", name) and not re.fullmatch(r"(ses|msg)_.*", name) else "*"
            )
            yield f"{before}{key}"
            yield from paths_of(inner, f"{before}{key}.")
    elif isinstance(value, list):
        for inner in value:
            yield from paths_of(inner, f"{before.removesuffix('.')}[].")


# -- the list -----------------------------------------------------------------------------------------------------


def read_names() -> Names:
    """The list as it is written: names below their headings."""
    found: Names = {}
    heading = ""
    for line in NAMES.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
            found[heading] = set()
        elif line and heading:
            assert line not in found[heading], f"{NAMES.name} has {line!r} twice"
            found[heading].add(line)
    return found


def compare(computed: Names, *, update: bool) -> None:
    """Raise for names that are gone, and for new ones that nobody has written down."""
    if update:
        known = {**(read_names() if NAMES.exists() else {}), **computed}
        text = "".join(
            f"\n## {name}\n\n" + "".join(f"{one}\n" for one in sorted(known[name])) for name in sorted(known)
        )
        NAMES.write_text(HEAD + text, encoding="utf-8")
    known = read_names()
    gone = [f"{group}: {name}" for group in computed for name in sorted(known.get(group, set()) - computed[group])]
    new = [f"{group}: {name}" for group in computed for name in sorted(computed[group] - known.get(group, set()))]
    told = ["these names are gone, which earlier versions wrote or programs ask for:", *gone] if gone else []
    told += ["these names are new; write them into stored_names.txt:", *new] if new else []
    assert not told, "\n".join(told)


HEAD = """\
Names that leave the process

Each name below is in somebody's log, file, request or program. None of them goes away: a field that is renamed in the
code keeps its name here, or is read under both. See test_stored_names.py, which computes them.
"""


@pytest.fixture
def check(request: pytest.FixtureRequest) -> Callable[[Names], None]:
    return lambda computed: compare(computed, update=bool(request.config.getoption("--update-goldens")))


def by_tag(root: type, kinds: Mapping[str, type[msgspec.Struct]]) -> set[str]:
    """Tags with versions, and their fields; every type below the root has to be in a table of its union."""
    types = [
        one
        for one in subclasses(root)
        if one.__module__.startswith("hudkit.")
        and not one.__module__.startswith("hudkit.testing.")  # the conformance suites make some up
        and not one.__subclasses__()
    ]
    untold = set(types) - {*internals.EVENT_TYPES.values(), *internals.WORLD_EVENT_TYPES.values()}
    assert not untold, "a type is not in the table of its union"
    found = {f"{tag} v{getattr(kind, 'V', 1)}" for tag, kind in kinds.items()}
    return found | {f"{tag}.{name}" for tag, kind in kinds.items() for name in fields_of(kind)}


def test_names_of_events(check: Callable[[Names], None]) -> None:
    origins = {f"origin: {one}" for one in internals.ORIGINS}
    check(
        {
            "events": by_tag(internals.EVENT_ROOT, internals.EVENT_TYPES),
            "events: envelope": {field.encode_name for field in msgspec.structs.fields(internals.ENVELOPE)} | origins,
            "events of worlds": by_tag(internals.WORLD_EVENT_ROOT, internals.WORLD_EVENT_TYPES),
            "saved states of sessions (for information)": set(fields_of(internals.STATE)),
            "saved states of worlds (for information)": set(fields_of(internals.WORLD)),
        }
    )


@pytest.mark.slow
def test_names_of_the_wire_and_of_hooks(check: Callable[[Names], None]) -> None:
    """A struct of an answer is one line: which fields it has is what a host reads."""
    answers = {", ".join(sorted(fields_of(one))) for one in internals.wire_answers()}
    asked = {f"{path} {name}" for path, kind in internals.wire_requests().items() for name in fields_of(kind)}
    hooks = {
        f"{name} {side} {field}"
        for name, pair in internals.HOOK_TABLE.items()
        for side, kind in zip(("given", "output"), pair, strict=True)
        for field in (*fields_of(kind), "(there)")
    }
    headers = {f"header {name}" for name in internals.WIRE_HEADERS}
    check(
        {
            "wire: requests": asked | headers | {f"version {internals.WIRE_VERSION}"} | routes(),
            "wire: answers, a struct a line": answers,
            "hooks of plugins": hooks,
            "entry-point groups": set(internals.ENTRY_POINT_GROUPS),
            "telemetry": set(internals.telemetry()),
            "codes of errors": error_codes(),
        }
    )


def error_codes() -> set[str]:
    """What errors of ours are called by machines; read from the source, so that it does not matter what is loaded."""
    told = re.compile(r'^    code(?:: [\w\[\]]+)? = "([a-z-]+)"$', re.MULTILINE)
    texts = (path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    return {code for text in texts for code in told.findall(text)}


def routes() -> set[str]:
    told = re.compile(r"""["'`](/v1/[a-z]+)["'`]""")
    return {
        name for path in (SOURCE / "daemon").rglob("*.py") for name in told.findall(path.read_text(encoding="utf-8"))
    }


def test_names_of_databases(check: Callable[[Names], None]) -> None:
    records = {f"{name}: {field}" for name, kind in internals.RECORDS.items() for field in fields_of(kind)}
    parts = {
        f"part {one.__struct_config__.tag}: {field}" for one in structs_in(internals.PART) for field in fields_of(one)
    }
    check(
        {
            "database: log": set(tables_of(internals.LOG_STEPS)),
            "database: sessions of the agent": set(tables_of(internals.SESSION_STEPS)),
            "database: requests of the agent": set(tables_of(internals.REQUEST_STEPS)),
            "database: index (made again at any time)": set(tables_of(internals.INDEX_STEPS)),
            "records of the agent": records | parts,
            "records of requests": set(fields_of(internals.REQUEST)),
        }
    )


AGENT_KEYS = {
    "description": "description: x",
    "model": "model: x:y",
    "mode": "mode: subagent",
    "temperature": "temperature: 0.5",
    "steps": "steps: 3",
    "maxSteps": "maxSteps: 3",
    "tools": "tools: [read]",
    "disallowedTools": "disallowedTools: bash",
    "permission": "permission:\n  edit: deny",
}
COMMAND_KEYS = {"description": "description: x", "agent": "agent: plan", "model": "model: x:y"}


def heard(parse: Callable[[str], object], keys: Mapping[str, str]) -> set[str]:
    """The keys of a front matter that make a difference."""
    plain = parse("---\nnothing: 1\n---\nDo it.")
    return {name for name, line in keys.items() if parse(f"---\n{line}\n---\nDo it.") != plain}


def test_names_of_files(check: Callable[[Names], None]) -> None:
    settings = with_old(set(fields_of(internals.SETTINGS)), internals.RENAMED_SETTINGS)
    world = with_old(set(fields_of(internals.WORLD_FILE)), internals.RENAMED_WORLD_KEYS)
    rules = internals.RENAMED_WORLD_KEYS.items()
    renamed_rules = {old[6:]: new[6:] for old, new in rules if old.startswith("rules.")}
    manifests = {f"{name}: {field}" for name, kind in internals.MANIFESTS.items() for field in fields_of(kind)}
    check(
        {
            "settings": settings,
            "world file": world,
            "rules of worlds": with_old(set(fields_of(internals.RULES)), renamed_rules),
            "prompts of worlds": set(internals.PROMPT_NAMES) | {f"{{{{{one}}}}}" for one in internals.PROMPT_PLACES},
            "actions of worlds": arguments_of(internals.WORLD_ACTIONS),
            "front matter of agents": heard(internals.parsed_agent, AGENT_KEYS),
            "front matter of commands": heard(internals.parsed_command, COMMAND_KEYS),
            "answers of scripts": set(fields_of(internals.SCRIPT_ANSWER)),
            "manifests of installations": manifests,
        }
    )


def with_old(fields: set[str], renamed: Mapping[str, str]) -> set[str]:
    """The fields, and those that have another name now under their old ones, too."""
    types = dict(line.split(": ", 1) for line in fields)
    return fields | {f"{old}: {types[new]}" for old, new in renamed.items()}


def arguments_of(kinds: Mapping[str, type[msgspec.Struct]]) -> set[str]:
    return set(kinds) | {f"{name} {field}" for name, kind in kinds.items() for field in fields_of(kind)}


def test_names_that_models_use(check: Callable[[Names], None]) -> None:
    tools = {f"{name} {key}" for name, node in internals.MODEL_TOOLS.items() for key in schema_keys(node)}
    own = {f"{name} {key}" for name, node in internals.AGENT_TOOLS.items() for key in schema_keys(node)}
    also = {f"{name} = {other}" for name, others in internals.SECTION_NAMES.items() for other in others}
    check(
        {
            "operations": arguments_of(internals.OPERATION_ARGUMENTS),
            "operations: aliases": arguments_of(internals.ALIAS_ARGUMENTS),
            "operations: sections": set(internals.SECTION_NAMES) | also,
            "tools of hudkit": set(internals.MODEL_TOOLS) | tools,
            "tools of hudkit: words taken for `tool`": set(internals.INSTEAD_OF_TOOL),
            "tools of the agent": set(internals.AGENT_TOOLS) | own,
            "agents that are built in": set(internals.BUILT_IN_AGENTS),
            "formats": set(internals.FORMAT_NAMES),
        }
    )


@pytest.mark.slow
def test_names_of_the_command_line(hudkit: Any, check: Callable[[Names], None]) -> None:
    """Commands, their options, exit codes as their help tells them, and variables of the environment."""
    options: set[str] = set()
    codes: set[str] = set()
    for name, parser in internals.command_parsers():
        options |= {name, *options_of(parser, name)}
        told = re.search(r"^exit codes:(.*)$", parser.format_help(), re.MULTILINE)
        codes |= {f"{name}: {code}" for code in re.findall(r"\b\d+\b", told[1] if told else "")}
    check({"command line": options, "exit codes": codes, "environment": set(environment())})


@pytest.mark.slow
def test_keys_that_commands_print(
    hudkit: Any, stored: Path, check: Callable[[Names], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command with `--json` is run on the stored files; the keys of what it prints are names."""
    for name in ("CLAUDECODE", "CODEX_THREAD_ID", "OPENCODE"):  # `review` answers no agent
        monkeypatch.delenv(name, raising=False)
    (stored / "secret.txt").write_text("metric units")
    (stored / "home" / "config" / "opencode").rename(stored / "home" / "config" / "away")
    shutil.copytree(stored / "data", stored / "spare")
    printed: set[str] = set()
    ran: set[str] = set()
    for words in command_lines(stored):
        code, out, err = hudkit(*words, *(() if "jsonl" in words else ("--json",)))
        assert code in (0, 1, 2) and out, f"{words}: {err}"
        name = " ".join(words[: 2 if words[0] in WITH_OPERATIONS else 1])
        name += "".join(f" {one}" for one in words if one in ("--state", "--window", "--cache", "--sessions"))
        ran.add(words[0])
        for told in documents(out):
            printed |= {f"{name}: {path}" for path in paths_of(told)}
            if words[0] == "doctor":
                printed |= {f"doctor check {one['name']}" for one in told["checks"]}
            if words[0] == "run":
                printed |= {f"run event {told.get('type')}"}
    offering = {name for name, one in internals.command_parsers() if "--json" in one.format_help() or name == "rooms"}
    assert ran == offering, f"no command line for {sorted(offering - ran)}"
    check({"keys of --json": printed})


def documents(out: str) -> Iterator[Any]:
    """One JSON document, or one a line."""
    try:
        yield json.loads(out)
    except json.JSONDecodeError:
        yield from map(json.loads, out.splitlines())


def command_lines(stored: Path) -> list[tuple[str, ...]]:
    """A command line for each thing that is printed as JSON."""
    db = ("--db", str(stored / "data" / "hudkit.db"))
    world = ("--world", str(stored / "rooms" / "harbour.db"))
    orchard = next(one for one in internals.session_keys(stored / "data" / "hudkit.db") if "ses_orchard" in one)
    script = ("--data", str(stored / "fresh"), "--script", str(stored / "script.toml"))
    glance = str(stored / "config" / "sections" / "glance.py")
    house = str(stored / "project" / ".hudkit" / "sections" / "house.py")
    return [
        ("verify", *db),
        ("log", "ses_child", *db),
        ("show", "ses_orchard", *db),
        ("watch", "ses_orchard", *db),
        ("show", "--sessions", *db),
        ("show", "ses_orchard", "--window", *db),
        ("show", "ses_orchard", "--cache", *db),
        ("show", "--cache", "--sessions", *db),
        ("compactions", "list", "--session", "ses_orchard", *db),
        ("compactions", "show", "1", "--session", "ses_orchard", *db),
        ("compactions", "diff", "1", "--session", "ses_orchard", *db),
        ("archive", "--dry-run", *db),
        ("backup", *db),
        ("backup", "--list", *db),
        ("repair", "--dry-run", *db),
        ("restore", *db),
        ("redact", "--text-file", str(stored / "secret.txt"), "--dry-run", *db),
        ("pin", "Reports go out on Mondays", "--session", "ses_orchard", *db),
        ("review", "ses_orchard", *db),
        ("review", "ses_orchard", "--keep", "c1", "--for-me", "c2", *db),
        ("review", "--always"),
        ("review", "--forget", "o", *db),
        ("gateway", "receipts", *db),
        ("gateway", "on"),
        ("config", "show"),
        ("config", "check"),
        ("project", *db),
        ("sections", "list"),
        ("sections", "trust", house),
        ("sections", "try", glance, "--session", "ses_orchard", *db),
        ("doctor",),
        ("upgrade",),
        ("install", "opencode", "--dry-run", "--anyway"),
        ("uninstall", "opencode", "--dry-run"),
        ("sessions", "list", "--data", str(stored / "data")),
        ("sessions", "search", "trees", "--data", str(stored / "data")),
        ("sessions", "export", "ses_kinds", "--output", str(stored / "kinds.md"), "--data", str(stored / "data")),
        ("sessions", "fork", "ses_kinds", "--data", str(stored / "data")),
        ("sessions", "trim", "--keep-megabytes", "1000", "--data", str(stored / "data")),
        ("sessions", "delete", "ses_kinds", "--yes", "--data", str(stored / "spare")),
        ("memory", "summary", *db),
        ("memory", "sessions", *db),
        ("memory", "search", "metric", *db),
        ("memory", "messages", orchard, *db),
        ("memory", "message", orchard, f"{orchard}#23", *db),
        ("memory", "children", orchard, *db),
        ("memory", "compactions", orchard, *db),
        ("memory", "context", orchard, *db),
        ("memory", "compare", orchard, "ses_every", *db),
        ("memory", "plans", *db),
        ("memory", "index", *db),
        ("memory", "export", orchard, *db),
        ("rooms", "show", *world),
        ("rooms", "show", "Ann", "--at", "120", *world),
        ("rooms", "replay", *world),
        ("rooms", "fork", str(stored / "rooms" / "again.db"), *world),
        ("rooms", "new", str(stored / "rooms" / "new.db")),
        ("rooms", "prompts", *world),
        ("rooms", "export", "--format", "jsonl", *world),
        ("rooms", "export", "--output", str(stored / "harbour.txt"), *world),
        ("rooms", "say", "1", "Good evening.", *world),
        ("rooms", "run", "--beats", "2", "--fast", "--model", "improviser", *world),
        ("run", *script, "How many trees?"),
        ("demo",),
        ("replay", str(HERE.parent / "fixtures" / "opencode.db")),
        ("replay", str(HERE.parent / "transcripts" / "data" / "claude-long.jsonl")),
        ("resume", "--list", "--project", str(stored), *db),
        ("resume", "--undo", "--project", str(stored), *db),
    ]
