"""What is said in the scripted sessions: texts of four kinds of work, and how often each kind of fact changes.

`{x}` is the fact's own word, which no other text of the session has. An agent that looks for a fact knows what stands
in front of the bar, not the word.
"""

from __future__ import annotations

import msgspec

KINDS = ("task", "constraint", "decision", "step", "note", "blocker", "error", "file")


class Rhythm(msgspec.Struct, frozen=True):
    """How a kind of fact changes: the chance per turn, and between how many live ones it stays."""

    chance: float
    least: int
    most: int


class Scene(msgspec.Struct, frozen=True):
    """One kind of work: statements of each kind of fact, by kind, and their rhythms."""

    name: str
    texts: dict[str, tuple[str, ...]]
    rhythms: dict[str, Rhythm]


ENDINGS: dict[str, tuple[str, ...]] = {
    "task": ("The work on {x} is done and merged.",),
    "constraint": ("The rule about {x} is lifted.", "You no longer have to mind the rule about {x}."),
    "decision": ("The decision on {x} is withdrawn.", "What we decided on {x} no longer holds."),
    "step": ("The step about {x} is done.", "Step on {x}: done."),
    "note": ("What I noted on {x} is outdated.", "The note on {x} no longer applies."),
    "blocker": ("We are no longer blocked by {x}.", "The blocker {x} is resolved."),
    "file": ("The file of {x} is closed for good, nothing more to do there.",),
}
"""How the end of a fact is told, in a line of its own. An error ends with the run that passes."""

_REFACTORING = Scene(
    "refactoring",
    {
        "task": (
            "Split {x} out of the importer and keep its callers working",
            "Move {x} behind the storage protocol and delete the old path",
            "Replace the {x} globals by arguments, module by module",
        ),
        "constraint": (
            "Never change the public signature of {x}|public signature never change",
            "Don't add a dependency for {x}|dependency",
            "Always keep {x} importable from the old place|importable old place",
            "The {x} fixtures must not be edited|fixtures edited",
            "No new globals in {x}, please|globals",
        ),
        "decision": (
            "I'll use a frozen dataclass for {x} instead of a dict|frozen dataclass",
            "We go with a registry for {x}, not with subclasses|registry subclasses",
            "Decided: {x} raises a typed error and returns nothing|typed error returns",
            "Let's keep {x} as a plain function|plain function",
            "I'm going with generators for {x}, lists were too slow|generators lists",
            "{x} gets its own module, that is decided|own module",
        ),
        "step": (
            "Next: move the callers of {x} over|move callers",
            "To do: write the adapter for {x}|adapter",
            "Next: delete the shim in {x}|delete shim",
            "To do: type the return values of {x}|return values",
        ),
        "note": (
            "Note: {x} is also called by the nightly job|nightly job",
            "Note: {x} sorts its input in place|sorts input place",
            "Found out that {x} swallows a KeyError|swallows KeyError",
        ),
        "blocker": (
            "I'm blocked: waiting for the owner's answer about {x}|waiting owner answer",
            "Blocked by {x}: its branch has not landed|branch landed",
        ),
        "error": ("tests/test_{x}.py",),
        "file": ("src/importer/{x}.py", "src/storage/{x}.py", "tests/unit/{x}_cases.py"),
    },
    {
        "task": Rhythm(0.012, 1, 1),
        "constraint": Rhythm(0.07, 3, 5),
        "decision": Rhythm(0.22, 4, 7),
        "step": Rhythm(0.16, 2, 4),
        "note": Rhythm(0.07, 2, 4),
        "blocker": Rhythm(0.02, 0, 1),
        "error": Rhythm(0.06, 0, 1),
        "file": Rhythm(0.16, 3, 6),
    },
)

_DEBUGGING = Scene(
    "debugging",
    {
        "task": (
            "Find out why {x} loses messages under load, and fix it",
            "The {x} worker hangs after a restart; make it stop",
            "Get the {x} suite green on the slow machine",
        ),
        "constraint": (
            "Don't touch the retry logic of {x}|retry logic",
            "Never log the payloads of {x}|log payloads",
            "Only reproduce {x} against the staging queue|staging queue",
            "{x} must stay compatible with the old clients|compatible old clients",
        ),
        "decision": (
            "I'll bisect {x} by commits rather than by flags|bisect commits flags",
            "We use a lock around {x} instead of a queue|lock queue",
            "Going with a timeout of two seconds for {x}|timeout seconds",
            "Decided: {x} gets a counter and no sleep|counter sleep",
        ),
        "step": (
            "Next: trace {x} with timestamps|trace timestamps",
            "To do: write a failing test for {x}|failing test",
            "Next: compare {x} on both machines|compare machines",
        ),
        "note": (
            "Note: {x} fails only with two workers|only two workers",
            "Found out that {x} reads a stale offset|stale offset",
            "Note: the {x} counter starts at one|counter starts",
            "The cause in {x} is a race on close|cause race close",
        ),
        "blocker": (
            "I'm blocked: no access to the {x} logs yet|access logs",
            "Blocked by {x}: the staging box is down|staging box down",
        ),
        "error": ("tests/test_{x}.py", "tests/load/test_{x}.py"),
        "file": ("worker/{x}.py", "tests/load/{x}_helpers.py", "worker/queue/{x}.py"),
    },
    {
        "task": Rhythm(0.012, 1, 1),
        "constraint": Rhythm(0.05, 2, 4),
        "decision": Rhythm(0.12, 3, 5),
        "step": Rhythm(0.15, 2, 4),
        "note": Rhythm(0.14, 3, 6),
        "blocker": Rhythm(0.04, 0, 2),
        "error": Rhythm(0.22, 1, 3),
        "file": Rhythm(0.12, 2, 5),
    },
)

_OPERATIONS = Scene(
    "operations",
    {
        "task": (
            "Move the {x} cluster to the new region without downtime",
            "Rotate the certificates of {x} and write the runbook",
            "Bring the bill of {x} down by a third",
        ),
        "constraint": (
            "Never restart {x} during office hours|restart office hours",
            "Always take a snapshot before you change {x}|snapshot before change",
            "Do not touch the firewall of {x}|firewall",
            "{x} must never have fewer than three nodes|fewer three nodes",
            "Nobody but you may write to {x} this week|write week",
            "Use the read replica for queries on {x}|read replica queries",
        ),
        "decision": (
            "We drain {x} node by node instead of switching over|drain node switching",
            "I'll use a blue-green rollout for {x}|blue-green rollout",
            "Decided: {x} keeps its old addresses|keeps old addresses",
            "Let's go with weekly backups for {x}|weekly backups",
        ),
        "step": (
            "Next: drain the second node of {x}|drain second node",
            "To do: raise the quota of {x}|raise quota",
            "Next: check the alerts of {x}|check alerts",
            "To do: write down the rollback for {x}|write rollback",
        ),
        "note": (
            "Note: {x} answers on port 9443|answers port",
            "Note: the runbook of {x} starts with a health check|runbook health check",
            "Found out that {x} still has the old certificate|old certificate",
        ),
        "blocker": (
            "I'm blocked: the quota request for {x} is pending|quota request pending",
            "Blocked by {x}: its maintenance window has not opened|maintenance window",
        ),
        "error": ("checks/test_{x}.py",),
        "file": ("deploy/{x}.yaml", "runbooks/{x}.md", "terraform/{x}.tf"),
    },
    {
        "task": Rhythm(0.01, 1, 1),
        "constraint": Rhythm(0.11, 5, 8),
        "decision": Rhythm(0.1, 3, 5),
        "step": Rhythm(0.2, 3, 5),
        "note": Rhythm(0.1, 3, 5),
        "blocker": Rhythm(0.05, 0, 2),
        "error": Rhythm(0.06, 0, 2),
        "file": Rhythm(0.1, 2, 4),
    },
)

_DOCUMENTATION = Scene(
    "documentation",
    {
        "task": (
            "Write the guide to {x} for people who are new to it",
            "Bring the {x} reference up to date with the code",
            "Turn the notes on {x} into a tutorial",
        ),
        "constraint": (
            "Never use screenshots in the {x} chapter|screenshots",
            "Always show a runnable example for {x}|runnable example",
            "Keep the {x} page under two screens|page under screens",
            "Don't mention prices near {x}|mention prices",
            "Please write {x} in lower case everywhere|lower case everywhere",
        ),
        "decision": (
            "I'll put {x} into the appendix instead of the guide|appendix guide",
            "We explain {x} by one long example|long example",
            "Decided: the {x} table moves to the reference|table reference",
            "Let's call it {x} and not a plugin|call plugin",
        ),
        "step": (
            "Next: draft the section on {x}|draft section",
            "To do: check the links of {x}|check links",
            "Next: shorten the introduction of {x}|shorten introduction",
        ),
        "note": (
            "Note: readers confuse {x} with the old name|readers confuse name",
            "Note: the {x} example needs version 3|example needs version",
            "Found out that {x} has no page at all|no page",
        ),
        "blocker": ("I'm blocked: the reviewer of {x} has not answered|reviewer answered",),
        "error": ("docs/test_{x}.py",),
        "file": ("docs/guide/{x}.md", "docs/reference/{x}.md", "examples/{x}.py"),
    },
    {
        "task": Rhythm(0.015, 1, 1),
        "constraint": Rhythm(0.08, 3, 6),
        "decision": Rhythm(0.14, 3, 6),
        "step": Rhythm(0.18, 2, 5),
        "note": Rhythm(0.08, 2, 4),
        "blocker": Rhythm(0.02, 0, 1),
        "error": Rhythm(0.04, 0, 1),
        "file": Rhythm(0.2, 4, 8),
    },
)

SCENES = (_REFACTORING, _DEBUGGING, _OPERATIONS, _DOCUMENTATION)

_TALK = """
value column index number result string option config module return import class filter reader writer buffer window
cursor record header footer schema field parser token branch commit merge update insert select delete server client
socket thread signal handle stream format output memory object method vector matrix length offset target source report
metric sample series region bucket policy worker queue batch chunk block where while until before after about other
every again still first second third small large under count total limit range order group level state event trace
debug print error warn info start stop reset
"""
FILLER = tuple(_TALK.split())
"""Words of tool outputs and of talk that carries no fact."""
