"""What tools may do: rules by tool and pattern, the last that matches decides; a callback asks the user.

A path is judged by all its names (as given, and without links): one denied name denies, and all must be allowed. A
command is judged by every simple command in it: one denied denies the whole, all must be allowed, and what cannot be
told (see `commands`) is asked about wherever a rule is about particular commands.
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from hudkit.agent.area import Area
from hudkit.agent.commands import DYNAMIC, Simple, bare, line, read, texts
from hudkit.agent.patterns import literal, meet, path_matches, wild
from hudkit.agent.tools import Need
from hudkit.agent.wrappers import RUNNERS, opened, rests
from hudkit.compose import shorten, visible
from hudkit.errors import ConfigError, Refused

Action: TypeAlias = Literal["allow", "ask", "deny"]

ACTIONS = ("allow", "ask", "deny")
PATHS = frozenset({"read", "edit", "glob", "grep", "outside"})
"""Kinds whose patterns are over paths; those of `bash` are over words, and all others over names."""

_MOVING = frozenset({"cd", "pushd", "popd", "chroot"})

MOST_STEPS = 1_000_000
"""Steps of comparing a command with the rules; a command that would need more is asked about."""


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`tool` is a tool's name or a pattern of names; `pattern` is one of paths, of words or of names.

    What leads out of the project is allowed only by a rule that names `outside`: a pattern that allows all tools does
    not mean it.
    """

    tool: str
    pattern: str
    action: Action


DEFAULTS: tuple[Rule, ...] = (
    Rule("*", "*", "allow"),
    Rule("bash", "*", "ask"),
    Rule("outside", "**", "ask"),
    Rule("read", "*.env", "ask"),
    Rule("read", "*.env.*", "ask"),
    Rule("read", "*.env.example", "allow"),
    Rule("edit", "**/.git/**", "deny"),
    Rule("edit", ".git/**", "deny"),
    Rule("edit", "**/.git", "deny"),
    Rule("edit", "**/.hudkit/**", "ask"),
    Rule("edit", "**/.envrc", "ask"),
)
"""What holds where nobody says otherwise: work in the project, ask for commands and for what is outside of it."""


class Verdict(msgspec.Struct, frozen=True):
    """What the rules say, and why in one line."""

    action: Action
    why: str = ""


class Ask(msgspec.Struct, frozen=True):
    """A question for the user: what the call needs, why it is asked, and what `always` would allow."""

    session_id: str
    tool: str
    need: Need
    why: str = ""
    always: tuple[str, ...] = ()
    call_id: str = ""
    arguments: dict[str, Any] = {}


class Reply(msgspec.Struct, frozen=True):
    """`always` holds for the session and allows `pattern`, or what the question says where it is empty."""

    answer: Literal["once", "always", "reject"]
    pattern: str = ""
    said: str = ""


Asking: TypeAlias = Callable[[Ask], Awaitable[Reply]]


async def nobody(ask: Ask) -> Reply:  # noqa: ARG001 (it answers all alike)
    """The callback of a session that nobody watches."""
    return Reply("reject", said="nobody is there to be asked")


class Permissions:
    """The rules of one session. `always` answers become rules behind the others; what is denied stays denied."""

    def __init__(self, rules: Iterable[Rule] = (), *, ask: Asking = nobody, area: Area | None = None) -> None:
        self._rules = (*DEFAULTS, *rules)
        self._always: tuple[Rule, ...] = ()
        self._ask = ask
        self._area = area
        self._turn = asyncio.Lock()

    @property
    def rules(self) -> tuple[Rule, ...]:
        return (*self._rules, *self._always)

    def verdict(self, need: Need) -> Verdict:
        """What the rules say about a need. Never raises, asks nobody."""
        if need.kind == "bash":
            return self._command(*need.values)
        return self._named(need.kind, self._names(need))

    def hides(self, path: str) -> bool:
        """Whether a file (relative to the project) may not be read unasked: searches pass over it."""
        return self._last("read", path).action != "allow"

    async def permit(
        self,
        tool: str,
        needs: Sequence[Need],
        *,
        session_id: str = "",
        call_id: str = "",
        arguments: dict[str, Any] | None = None,
        settled: Callable[[Need], Awaitable[Action]] | None = None,
    ) -> None:
        """Let a call through, or raise `Refused`. `settled` is asked before the user is (the hook `permission_ask`).

        Questions are asked one after the other; an answer that covers the next question spares it.
        """
        for need in needs:
            verdict = self.verdict(need)
            if verdict.action == "ask" and settled is not None:
                verdict = Verdict(await settled(need), verdict.why)
            if verdict.action == "ask":
                async with self._turn:
                    verdict = self.verdict(need)
                    if verdict.action == "ask":
                        always = self._suggested(need)
                        ask = Ask(session_id, tool, need, verdict.why, always, call_id, arguments or {})
                        verdict = await self._answered(ask)
            if verdict.action == "deny":
                raise Refused(
                    f"{tool} is not permitted: {verdict.why}",
                    hint="Do it in another way that is permitted, or ask the user",
                )

    async def _answered(self, ask: Ask) -> Verdict:
        try:
            reply = await self._ask(ask)
        except Exception as error:  # a broken question is no permission
            return Verdict("deny", f"the question failed ({type(error).__name__})")
        if reply.answer == "always":
            patterns = (reply.pattern,) if reply.pattern else ask.always
            self._always += tuple(Rule(ask.need.kind, pattern, "allow") for pattern in patterns)
        if reply.answer in ("once", "always"):
            return Verdict("allow")
        said = f": {shorten(visible(reply.said), 300)}" if reply.said else ""
        return Verdict("deny", f"the user said no{said}")

    def _suggested(self, need: Need) -> tuple[str, ...]:
        """Patterns that match this need and little else; none where it could not be told what a command does."""
        if need.kind != "bash":
            return tuple(literal(value) for value in self._names(need))
        script = opened(read(need.values[0]))
        if script.doubts or any(simple.dynamic for simple in script.commands):
            return ()
        return tuple(dict.fromkeys(literal(line(simple.words)) for simple in script.commands if simple.words))

    def _names(self, need: Need) -> tuple[str, ...]:
        return need.values or ("",)

    def _named(self, kind: str, values: Sequence[str]) -> Verdict:
        found = [self._last(kind, value) for value in values]
        return _worst(found)

    def _last(self, kind: str, value: str) -> Verdict:
        for rule in reversed(self.rules):
            if _about(rule, kind) and _matches(kind, rule.pattern, value, exactly=rule.action == "allow"):
                if self._denied_before(rule, kind, value):
                    continue
                return Verdict(rule.action, _because(rule, value))
        return Verdict("ask", "no rule is about it")

    def _denied_before(self, rule: Rule, kind: str, value: str) -> bool:
        """Whether an `always` answer is not to count, because the rules deny what it would allow."""
        if rule not in self._always:
            return False
        for one in reversed(self._rules):
            if _about(one, kind) and _matches(kind, one.pattern, value):
                return one.action == "deny"
        return False

    def _command(self, command: str, path: str = ".") -> Verdict:
        script = opened(read(command))
        rules = tuple(rule for rule in self.rules if wild(rule.tool, "bash"))
        particular = any(rule.pattern.strip("*") for rule in rules)
        forms = [(simple, _forms(simple) if particular else ((), ())) for simple in script.commands]
        size = sum(len(text) + 1 for _, both in forms for named in both for text in named)
        if size * sum(len(rule.pattern) + 1 for rule in rules) > MOST_STEPS:
            return Verdict("ask", "it is too long to be compared with the rules")
        if particular:
            found = [self._simple(simple, rules, *both) for simple, both in forms]
        else:
            found = [_general(rules)]
        moves = any(simple.words and bare(simple.words[0]) in _MOVING for simple in script.commands)
        found += [self._write(target, path, moves) for target in script.writes]
        if not found:
            found.append(_general(rules))
        if script.doubts and particular:
            found.append(Verdict("ask", f"it cannot be told what it does: {shorten(visible(script.doubts[0]), 120)}"))
        elif script.doubts:
            found.append(_general(rules))
        return _worst(found)

    def _simple(self, simple: Simple, rules: Sequence[Rule], forms: Sequence[str], hidden: Sequence[str]) -> Verdict:
        """The last rule that matches a simple command; one before it that may deny or ask makes it asked."""
        if not simple.words:
            return Verdict("allow")  # an assignment; what it may change is a doubt
        shown = shorten(visible(" ".join(simple.words).replace(DYNAMIC, "…")), 80)
        runs = bare(simple.words[0]) in RUNNERS
        doubt = ""
        for rule in reversed(rules):
            names = forms if rule.action != "allow" or _standard(simple.words[0]) else forms[:1]
            if any(_sure(rule.pattern, text) for text in names):
                if rule in self._always and _denies(self._rules, names):
                    continue
                if doubt and rule.action == "allow":
                    return Verdict("ask", doubt)
                return Verdict(rule.action, _because(rule, shown))
            if rule.action == "deny" and any(_maybe(rule.pattern, text) for text in (*forms, *hidden)):
                if runs and any(_sure(rule.pattern, text) for text in hidden):
                    return Verdict("deny", f'"{shown}" runs what is denied ({rule.pattern})')
                doubt = doubt or f'"{shown}" may come to what is denied ({rule.pattern})'
            elif rule.action == "ask" and any(_maybe(rule.pattern, text) for text in (*forms, *hidden)):
                doubt = doubt or f'"{shown}" may come to what is asked about ({rule.pattern})'
        return Verdict("ask", doubt or "no rule is about it")

    def _write(self, target: str, path: str, moves: bool) -> Verdict:
        """A redirection is judged as `edit` would be; `moves`: the command changes its directory on the way."""
        if self._area is None or (moves and not target.startswith("/")):
            return Verdict("ask", f'it writes "{shorten(visible(target), 80)}"')
        try:
            place = self._area.locate(target if target.startswith("/") else f"{path}/{target}")
        except Refused as error:
            return Verdict("ask", error.message)
        if not place.own:
            return _worst([self._named("edit", (str(place.real),)), self._named("outside", (str(place.real),))])
        return self._named("edit", tuple(name for name in (place.shown, place.named) if name))


def tightening(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Those rules that a project may bring along before the user trusts it: they only ask or deny."""
    return tuple(rule for rule in rules if rule.action != "allow")


def rules_from(table: object, where: str = "the permissions") -> tuple[Rule, ...]:
    """Rules from settings: `{tool: action}` or `{tool: {pattern: action}}`, in order. Raises `ConfigError`."""
    if table in ACTIONS:
        return (Rule("*", "*", table),)  # type: ignore[arg-type]
    if not isinstance(table, dict):
        raise ConfigError(f"{where} must be a table of tools", hint='Write bash = "ask"')
    found = []
    for tool, inner in table.items():
        for pattern, action in (inner if isinstance(inner, dict) else {"*": inner}).items():
            if action not in ACTIONS:
                said = f"{where}: {visible(str(tool))} has the action {shorten(visible(str(action)), 40)!r}"
                raise ConfigError(said, hint="An action is allow, ask or deny")
            every = "**" if pattern == "*" and tool in PATHS else str(pattern)
            found.append(Rule(str(tool), every, action))
    return tuple(found)


def _forms(simple: Simple) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts by which rules name a command, and those of what else it may be running."""
    return tuple(map(line, texts(simple))), tuple(dict.fromkeys(map(line, rests(simple))))


def _about(rule: Rule, kind: str) -> bool:
    """Whether a rule is about a kind; one that allows must name what leads out of the project."""
    return wild(rule.tool, kind) and (kind != "outside" or rule.action != "allow" or rule.tool == kind)


def _matches(kind: str, pattern: str, value: str, *, exactly: bool = True) -> bool:
    """Whether a pattern matches a value; unless `exactly`, paths that a file system may take for the same do too."""
    if pattern in ("*", "**"):
        return True
    if kind not in PATHS:
        return wild(pattern, value)
    return path_matches(pattern, value) or (not exactly and path_matches(_folded(pattern), _folded(value)))


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _sure(pattern: str, text: str) -> bool:
    """Whether a pattern matches a command whatever its unknown parts are: a `*` over them, or everything else."""
    if pattern == "*":
        return True
    bare = pattern.removesuffix(" *")
    return wild(pattern, text) or (bare != pattern and wild(bare, text))


def _maybe(pattern: str, text: str) -> bool:
    """Whether a pattern could match a command, as its unknown parts may turn out."""
    if DYNAMIC not in text:
        return _sure(pattern, text)
    known = text.replace("*", "?").replace(DYNAMIC, "*")
    bare = pattern.removesuffix(" *")
    return meet(pattern, known) or (bare != pattern and meet(bare, known))


def _denies(rules: Sequence[Rule], names: Sequence[str]) -> bool:
    for rule in reversed(rules):
        if wild(rule.tool, "bash") and any(_sure(rule.pattern, text) for text in names):
            return rule.action == "deny"
    return False


def _standard(program: str) -> bool:
    """Whether a program's path is where the system has its own: its bare name means the same."""
    folder = program.rpartition("/")[0]
    return folder in ("", "/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin")


def _general(rules: Sequence[Rule]) -> Verdict:
    """What the last rule about all commands says."""
    last = next((rule for rule in reversed(rules) if not rule.pattern.strip("*")), None)
    return Verdict(last.action, _because(last, "it")) if last else Verdict("ask", "no rule is about it")


def _worst(found: Sequence[Verdict]) -> Verdict:
    return max(found, key=lambda verdict: ACTIONS.index(verdict.action))


def _because(rule: Rule, value: str) -> str:
    pattern = shorten(visible(rule.pattern), 80)
    return f'"{shorten(visible(value), 80)}" by the rule {rule.action} {rule.tool} {pattern}'
