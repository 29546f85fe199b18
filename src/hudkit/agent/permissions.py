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

from hudkit.agent.shell_parser import (
    DYNAMIC,
    RUNNER_PROGRAMS,
    SimpleCommand,
    command_forms,
    command_line,
    parse_script,
    possible_commands,
    program_name,
    unwrap_script,
)
from hudkit.agent.tools import RequiredPermission
from hudkit.agent.wildcard import literal_pattern, matches_path, matches_wildcard, wildcards_overlap
from hudkit.agent.workspace import Workspace
from hudkit.compose import shorten, visible
from hudkit.errors import ConfigError, Refused

PermissionAction: TypeAlias = Literal["allow", "ask", "deny"]

ACTIONS = ("allow", "ask", "deny")
PATH_KINDS = frozenset({"read", "edit", "glob", "grep", "outside"})
"""Kinds whose patterns are over paths; those of `bash` are over words, and all others over names."""

_DIRECTORY_CHANGERS = frozenset({"cd", "pushd", "popd", "chroot"})

_MAX_STEPS = 1_000_000
"""Steps of comparing a command with the rules; a command that would need more is asked about."""


class PermissionRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`tool` is a tool's name or a pattern of names; `pattern` is one of paths, of words or of names.

    What leads out of the project is allowed only by a rule that names `outside`: a pattern that allows all tools does
    not mean it.
    """

    tool: str
    pattern: str
    action: PermissionAction


DEFAULT_RULES: tuple[PermissionRule, ...] = (
    PermissionRule("*", "*", "allow"),
    PermissionRule("bash", "*", "ask"),
    PermissionRule("outside", "**", "ask"),
    PermissionRule("read", "*.env", "ask"),
    PermissionRule("read", "*.env.*", "ask"),
    PermissionRule("read", "*.env.example", "allow"),
    PermissionRule("edit", "**/.git/**", "deny"),
    PermissionRule("edit", ".git/**", "deny"),
    PermissionRule("edit", "**/.git", "deny"),
    PermissionRule("edit", "**/.hudkit/**", "ask"),
    PermissionRule("edit", "**/.envrc", "ask"),
)
"""What holds where nobody says otherwise: work in the project, ask for commands and for what is outside of it."""


class PermissionVerdict(msgspec.Struct, frozen=True):
    """What the rules say, and why in one line."""

    action: PermissionAction
    why: str = ""


class PermissionRequest(msgspec.Struct, frozen=True):
    """A question for the user: what the call needs, why it is asked, and what `always` would allow."""

    session_id: str
    tool: str
    need: RequiredPermission
    why: str = ""
    always: tuple[str, ...] = ()
    call_id: str = ""
    arguments: dict[str, Any] = {}


class PermissionReply(msgspec.Struct, frozen=True):
    """`always` holds for the session and allows `pattern`, or what the question says where it is empty."""

    answer: Literal["once", "always", "reject"]
    pattern: str = ""
    said: str = ""


AskUser: TypeAlias = Callable[[PermissionRequest], Awaitable[PermissionReply]]


async def reject_all(ask: PermissionRequest) -> PermissionReply:  # noqa: ARG001 (it answers all alike)
    """The callback of a session that nobody watches."""
    return PermissionReply("reject", said="nobody is there to be asked")


class Permissions:
    """The rules of one session. `always` answers become rules behind the others; what is denied stays denied."""

    def __init__(
        self, rules: Iterable[PermissionRule] = (), *, ask: AskUser = reject_all, area: Workspace | None = None
    ) -> None:
        self._rules = (*DEFAULT_RULES, *rules)
        self._always: tuple[PermissionRule, ...] = ()
        self._ask = ask
        self._area = area
        self._turn = asyncio.Lock()

    @property
    def rules(self) -> tuple[PermissionRule, ...]:
        return (*self._rules, *self._always)

    def verdict(self, need: RequiredPermission) -> PermissionVerdict:
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
        needs: Sequence[RequiredPermission],
        *,
        session_id: str = "",
        call_id: str = "",
        arguments: dict[str, Any] | None = None,
        settled: Callable[[RequiredPermission], Awaitable[PermissionAction]] | None = None,
    ) -> None:
        """Let a call through, or raise `Refused`. `settled` is asked before the user is (the hook `permission_ask`).

        Questions are asked one after the other; an answer that covers the next question spares it.
        """
        for need in needs:
            verdict = self.verdict(need)
            if verdict.action == "ask" and settled is not None:
                verdict = PermissionVerdict(await settled(need), verdict.why)
            if verdict.action == "ask":
                async with self._turn:
                    verdict = self.verdict(need)
                    if verdict.action == "ask":
                        always = self._suggested(need)
                        ask = PermissionRequest(session_id, tool, need, verdict.why, always, call_id, arguments or {})
                        verdict = await self._answered(ask)
            if verdict.action == "deny":
                raise Refused(
                    f"{tool} is not permitted: {verdict.why}",
                    hint="Do it in another way that is permitted, or ask the user",
                )

    async def _answered(self, ask: PermissionRequest) -> PermissionVerdict:
        try:
            reply = await self._ask(ask)
        except Exception as error:  # a broken question is no permission
            return PermissionVerdict("deny", f"the question failed ({type(error).__name__})")
        if reply.answer == "always":
            patterns = (reply.pattern,) if reply.pattern else ask.always
            self._always += tuple(PermissionRule(ask.need.kind, pattern, "allow") for pattern in patterns)
        if reply.answer in ("once", "always"):
            return PermissionVerdict("allow")
        said = f": {shorten(visible(reply.said), 300)}" if reply.said else ""
        return PermissionVerdict("deny", f"the user said no{said}")

    def _suggested(self, need: RequiredPermission) -> tuple[str, ...]:
        """Patterns that match this need and little else; none where it could not be told what a command does."""
        if need.kind != "bash":
            return tuple(literal_pattern(value) for value in self._names(need))
        script = unwrap_script(parse_script(need.values[0]))
        if script.doubts or any(simple.dynamic for simple in script.commands):
            return ()
        return tuple(
            dict.fromkeys(literal_pattern(command_line(simple.words)) for simple in script.commands if simple.words)
        )

    def _names(self, need: RequiredPermission) -> tuple[str, ...]:
        return need.values or ("",)

    def _named(self, kind: str, values: Sequence[str]) -> PermissionVerdict:
        found = [self._last(kind, value) for value in values]
        return _strictest(found)

    def _last(self, kind: str, value: str) -> PermissionVerdict:
        for rule in reversed(self.rules):
            if _concerns(rule, kind) and _matches(kind, rule.pattern, value, exactly=rule.action == "allow"):
                if self._denied_before(rule, kind, value):
                    continue
                return PermissionVerdict(rule.action, _reason(rule, value))
        return PermissionVerdict("ask", "no rule is about it")

    def _denied_before(self, rule: PermissionRule, kind: str, value: str) -> bool:
        """Whether an `always` answer is not to count, because the rules deny what it would allow."""
        if rule not in self._always:
            return False
        for one in reversed(self._rules):
            if _concerns(one, kind) and _matches(kind, one.pattern, value):
                return one.action == "deny"
        return False

    def _command(self, command: str, path: str = ".") -> PermissionVerdict:
        script = unwrap_script(parse_script(command))
        rules = tuple(rule for rule in self.rules if matches_wildcard(rule.tool, "bash"))
        particular = any(rule.pattern.strip("*") for rule in rules)
        forms = [(simple, _rule_forms(simple) if particular else ((), ())) for simple in script.commands]
        size = sum(len(text) + 1 for _, both in forms for named in both for text in named)
        if size * sum(len(rule.pattern) + 1 for rule in rules) > _MAX_STEPS:
            return PermissionVerdict("ask", "it is too long to be compared with the rules")
        if particular:
            found = [self._simple(simple, rules, *both) for simple, both in forms]
        else:
            found = [_general_verdict(rules)]
        moves = any(
            simple.words and program_name(simple.words[0]) in _DIRECTORY_CHANGERS for simple in script.commands
        )
        found += [self._write(target, path, moves) for target in script.writes]
        if not found:
            found.append(_general_verdict(rules))
        if script.doubts and particular:
            found.append(
                PermissionVerdict("ask", f"it cannot be told what it does: {shorten(visible(script.doubts[0]), 120)}")
            )
        elif script.doubts:
            found.append(_general_verdict(rules))
        return _strictest(found)

    def _simple(
        self, simple: SimpleCommand, rules: Sequence[PermissionRule], forms: Sequence[str], hidden: Sequence[str]
    ) -> PermissionVerdict:
        """The last rule that matches a simple command; one before it that may deny or ask makes it asked."""
        if not simple.words:
            return PermissionVerdict("allow")  # an assignment; what it may change is a doubt
        shown = shorten(visible(" ".join(simple.words).replace(DYNAMIC, "…")), 80)
        runs = program_name(simple.words[0]) in RUNNER_PROGRAMS
        doubt = ""
        for rule in reversed(rules):
            names = forms if rule.action != "allow" or _is_system_program(simple.words[0]) else forms[:1]
            if any(_surely_matches(rule.pattern, text) for text in names):
                if rule in self._always and _denies(self._rules, names):
                    continue
                if doubt and rule.action == "allow":
                    return PermissionVerdict("ask", doubt)
                return PermissionVerdict(rule.action, _reason(rule, shown))
            if rule.action == "deny" and any(_may_match(rule.pattern, text) for text in (*forms, *hidden)):
                if runs and any(_surely_matches(rule.pattern, text) for text in hidden):
                    return PermissionVerdict("deny", f'"{shown}" runs what is denied ({rule.pattern})')
                doubt = doubt or f'"{shown}" may come to what is denied ({rule.pattern})'
            elif rule.action == "ask" and any(_may_match(rule.pattern, text) for text in (*forms, *hidden)):
                doubt = doubt or f'"{shown}" may come to what is asked about ({rule.pattern})'
        return PermissionVerdict("ask", doubt or "no rule is about it")

    def _write(self, target: str, path: str, moves: bool) -> PermissionVerdict:
        """A redirection is judged as `edit` would be; `moves`: the command changes its directory on the way."""
        if self._area is None or (moves and not target.startswith("/")):
            return PermissionVerdict("ask", f'it writes "{shorten(visible(target), 80)}"')
        try:
            place = self._area.locate(target if target.startswith("/") else f"{path}/{target}")
        except Refused as error:
            return PermissionVerdict("ask", error.message)
        if not place.own:
            return _strictest([self._named("edit", (str(place.real),)), self._named("outside", (str(place.real),))])
        return self._named("edit", tuple(name for name in (place.shown, place.named) if name))


def restrictive_rules(rules: Iterable[PermissionRule]) -> tuple[PermissionRule, ...]:
    """Those rules that a project may bring along before the user trusts it: they only ask or deny."""
    return tuple(rule for rule in rules if rule.action != "allow")


def parse_rules(table: object, where: str = "the permissions") -> tuple[PermissionRule, ...]:
    """Rules from settings: `{tool: action}` or `{tool: {pattern: action}}`, in order. Raises `ConfigError`."""
    if table in ACTIONS:
        return (PermissionRule("*", "*", table),)  # type: ignore[arg-type]
    if not isinstance(table, dict):
        raise ConfigError(f"{where} must be a table of tools", hint='Write bash = "ask"')
    found = []
    for tool, inner in table.items():
        for pattern, action in (inner if isinstance(inner, dict) else {"*": inner}).items():
            if action not in ACTIONS:
                said = f"{where}: {visible(str(tool))} has the action {shorten(visible(str(action)), 40)!r}"
                raise ConfigError(said, hint="An action is allow, ask or deny")
            every = "**" if pattern == "*" and tool in PATH_KINDS else str(pattern)
            found.append(PermissionRule(str(tool), every, action))
    return tuple(found)


def _rule_forms(simple: SimpleCommand) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts by which rules name a command, and those of what else it may be running."""
    return tuple(map(command_line, command_forms(simple))), tuple(
        dict.fromkeys(map(command_line, possible_commands(simple)))
    )


def _concerns(rule: PermissionRule, kind: str) -> bool:
    """Whether a rule is about a kind; one that allows must name what leads out of the project."""
    return matches_wildcard(rule.tool, kind) and (kind != "outside" or rule.action != "allow" or rule.tool == kind)


def _matches(kind: str, pattern: str, value: str, *, exactly: bool = True) -> bool:
    """Whether a pattern matches a value; unless `exactly`, paths that a file system may take for the same do too."""
    if pattern in ("*", "**"):
        return True
    if kind not in PATH_KINDS:
        return matches_wildcard(pattern, value)
    return matches_path(pattern, value) or (not exactly and matches_path(_case_folded(pattern), _case_folded(value)))


def _case_folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _surely_matches(pattern: str, text: str) -> bool:
    """Whether a pattern matches a command whatever its unknown parts are: a `*` over them, or everything else."""
    if pattern == "*":
        return True
    bare = pattern.removesuffix(" *")
    return matches_wildcard(pattern, text) or (bare != pattern and matches_wildcard(bare, text))


def _may_match(pattern: str, text: str) -> bool:
    """Whether a pattern could match a command, as its unknown parts may turn out."""
    if DYNAMIC not in text:
        return _surely_matches(pattern, text)
    known = text.replace("*", "?").replace(DYNAMIC, "*")
    bare = pattern.removesuffix(" *")
    return wildcards_overlap(pattern, known) or (bare != pattern and wildcards_overlap(bare, known))


def _denies(rules: Sequence[PermissionRule], names: Sequence[str]) -> bool:
    for rule in reversed(rules):
        if matches_wildcard(rule.tool, "bash") and any(_surely_matches(rule.pattern, text) for text in names):
            return rule.action == "deny"
    return False


def _is_system_program(program: str) -> bool:
    """Whether a program's path is where the system has its own: its bare name means the same."""
    folder = program.rpartition("/")[0]
    return folder in ("", "/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin")


def _general_verdict(rules: Sequence[PermissionRule]) -> PermissionVerdict:
    """What the last rule about all commands says."""
    last = next((rule for rule in reversed(rules) if not rule.pattern.strip("*")), None)
    return (
        PermissionVerdict(last.action, _reason(last, "it"))
        if last
        else PermissionVerdict("ask", "no rule is about it")
    )


def _strictest(found: Sequence[PermissionVerdict]) -> PermissionVerdict:
    return max(found, key=lambda verdict: ACTIONS.index(verdict.action))


def _reason(rule: PermissionRule, value: str) -> str:
    pattern = shorten(visible(rule.pattern), 80)
    return f'"{shorten(visible(value), 80)}" by the rule {rule.action} {rule.tool} {pattern}'
