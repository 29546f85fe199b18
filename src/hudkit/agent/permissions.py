"""What tools may do: rules by tool and pattern, of which the last that matches decides; a callback asks the user.

A path is judged by all its names (as given, and without links): one denied name denies, and all must be allowed.

A command is judged by every simple command in it: one denied denies the whole, and all must be allowed. For a simple
command the rules are read from the last to the first. The first of them that surely matches decides; but if a later
rule that denies or asks *may* match (a part of the command is not known before it runs, or the program may run
another), an allowing rule behind it becomes a question. What the reader of commands could not follow is a question
wherever a rule is about particular commands. With the rules

    1  bash *           ask
    2  bash git *       allow
    3  bash git push *  deny

    git status            2 decides: allow
    git push origin       3 decides: deny
    git $VERB             3 may match, 2 matches: ask
    git status && rm -r x ask, because 1 decides the second command
    env git push          deny: `env` runs the command behind it
    xargs git push        deny: what it runs is denied by 3
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from hudkit.agent.shell_parser import (
    DYNAMIC,
    RUNNER_PROGRAMS,
    SimpleCommand,
    parse_script,
    program_name,
    unwrap_script,
)
from hudkit.agent.tools import RequiredPermission
from hudkit.agent.wildcard import matches_path, matches_wildcard, wildcards_overlap
from hudkit.agent.workspace import Workspace
from hudkit.compose import shorten, visible
from hudkit.errors import ConfigError, ToolRefused

_CARRIERS = RUNNER_PROGRAMS | frozenset(
    {
        "su",
        "watch",
        "strace",
        "ltrace",
        "gdb",
        "script",
        "chroot",
        "unshare",
        "nsenter",
        "runuser",
        "flock",
        "taskset",
    }
    | {"chrt", "prlimit", "find", "fd", "entr", "ssh", "docker", "podman", "kubectl", "npx", "bunx", "uvx", "pipx"}
    | {"poetry", "uv", "hatch", "tmux", "screen", "at", "batch", "expect", "setarch", "firejail", "bwrap", "ld.so"}
)
"""Programs of which a later word may be a program to run: each rest of their words is looked at."""

_MAX_RESTS = 64

PermissionAction: TypeAlias = Literal["allow", "ask", "deny"]

ACTIONS = ("allow", "ask", "deny")

PATH_KINDS = frozenset({"read", "edit", "glob", "grep", "outside"})
"""Kinds whose patterns are over paths; those of `bash` are over words, and all others over names."""

# after one of these a relative path in a redirection may mean another file
_DIRECTORY_CHANGERS = frozenset({"cd", "pushd", "popd", "chroot"})

_MAX_STEPS = 1_000_000
"""Steps of comparing a command with the rules; a command that would need more is asked about."""


class PermissionRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule: `tool` is a tool's name or a pattern of names; `pattern` is one of paths, of words or of names.

    What leads out of the project is allowed only by a rule that names `outside`: a pattern that allows all tools does
    not mean it.
    """

    tool: str
    pattern: str
    action: PermissionAction


DEFAULT_RULES: tuple[PermissionRule, ...] = (
    # first what is harmless: rules behind it narrow it, as the last match decides
    PermissionRule("*", "*", "allow"),
    PermissionRule("bash", "*", "ask"),
    PermissionRule("outside", "**", "ask"),
    PermissionRule("read", "*.env", "ask"),
    PermissionRule("read", "*.env.*", "ask"),
    # behind the rule that it is an exception to
    PermissionRule("read", "*.env.example", "allow"),
    # hooks in there run on the next commit: writing them is running a command
    PermissionRule("edit", "**/.git/**", "deny"),
    PermissionRule("edit", ".git/**", "deny"),
    PermissionRule("edit", "**/.git", "deny"),
    PermissionRule("edit", "**/.hudkit/**", "ask"),
    # direnv runs it when the directory is entered
    PermissionRule("edit", "**/.envrc", "ask"),
)
"""What holds where nobody says otherwise: work in the project, ask for commands and for what is outside of it."""


class PermissionVerdict(msgspec.Struct, frozen=True):
    """What the rules say, and why in one line."""

    action: PermissionAction
    reason: str = ""


class PermissionRequest(msgspec.Struct, frozen=True):
    """A question for the user: what the call needs, why it is asked, and what `always` would allow."""

    session_id: str
    tool: str
    need: RequiredPermission
    reason: str = ""
    always: tuple[str, ...] = ()
    call_id: str = ""
    arguments: dict[str, Any] = {}


class PermissionReply(msgspec.Struct, frozen=True):
    """The user's answer, with a `message` for the model.

    `always` holds for the session and allows `pattern`, or what the question suggests where it is empty.
    """

    answer: Literal["once", "always", "reject"]
    pattern: str = ""
    message: str = ""


AskUser: TypeAlias = Callable[[PermissionRequest], Awaitable[PermissionReply]]


async def reject_all(ask: PermissionRequest) -> PermissionReply:  # noqa: ARG001 (it answers all alike)
    """Return a refusal: the callback of a session that nobody watches."""
    return PermissionReply("reject", message="nobody is there to be asked")


class Permissions:
    """The rules of one session. `always` answers become rules behind the others; what is denied stays denied."""

    def __init__(
        self,
        rules: Iterable[PermissionRule] = (),
        *,
        ask_user: AskUser = reject_all,
        workspace: Workspace | None = None,
    ) -> None:
        self._rules = (*DEFAULT_RULES, *rules)
        self._always: tuple[PermissionRule, ...] = ()
        self._ask_user = ask_user
        self._workspace = workspace
        self._turn = asyncio.Lock()

    @property
    def rules(self) -> tuple[PermissionRule, ...]:
        """Return all rules: the defaults, those of the session, those of `always` answers."""
        return (*self._rules, *self._always)

    def verdict(self, need: RequiredPermission) -> PermissionVerdict:
        """Return what the rules say about a need. Never raises, asks nobody."""
        if need.kind == "bash":
            return self._judge_command(*need.values)
        return self._judge_names(need.kind, self._names(need))

    def hides(self, path: str) -> bool:
        """Return whether a file (relative to the project) may not be read unasked: searches pass over it."""
        return self._last_match("read", path).action != "allow"

    async def check(
        self,
        tool: str,
        needs: Sequence[RequiredPermission],
        *,
        session_id: str = "",
        call_id: str = "",
        arguments: dict[str, Any] | None = None,
        decide: Callable[[RequiredPermission], Awaitable[PermissionAction]] | None = None,
    ) -> None:
        """Let a call through and return nothing, or raise `Refused`.

        `decide` is asked before the user is (the hook `permission_ask`). Questions are asked one after the other; an
        answer that covers the next question spares it.
        """
        for need in needs:
            verdict = self.verdict(need)
            if verdict.action == "ask" and decide is not None:
                verdict = PermissionVerdict(await decide(need), verdict.reason)
            if verdict.action == "ask":
                # one question at a time, and judged again: the answer before may have settled this one
                async with self._turn:
                    verdict = self.verdict(need)
                    if verdict.action == "ask":
                        always = self._suggested(need)
                        ask = PermissionRequest(
                            session_id, tool, need, verdict.reason, always, call_id, arguments or {}
                        )
                        verdict = await self._answered(ask)
            if verdict.action == "deny":
                raise ToolRefused(
                    f"{tool} is not permitted: {verdict.reason}",
                    hint="Do it in another way that is permitted, or ask the user",
                )

    async def _answered(self, ask: PermissionRequest) -> PermissionVerdict:
        try:
            reply = await self._ask_user(ask)
        except Exception as error:  # a broken question is no permission
            return PermissionVerdict("deny", f"the question failed ({type(error).__name__})")
        if reply.answer == "always":
            patterns = (reply.pattern,) if reply.pattern else ask.always
            self._always += tuple(PermissionRule(ask.need.kind, pattern, "allow") for pattern in patterns)
        if reply.answer in ("once", "always"):
            return PermissionVerdict("allow")
        remark = f": {shorten(visible(reply.message), 300)}" if reply.message else ""
        return PermissionVerdict("deny", f"the user said no{remark}")

    def _suggested(self, need: RequiredPermission) -> tuple[str, ...]:
        """Return patterns that match this need and little else; none where it is not known what a command does."""
        if need.kind != "bash":
            return tuple(_literal_pattern(value) for value in self._names(need))
        script = unwrap_script(parse_script(need.values[0]))
        # a pattern for what is not known would allow more than was seen
        if script.doubts or any(simple.dynamic for simple in script.commands):
            return ()
        return tuple(
            dict.fromkeys(_literal_pattern(_command_line(simple.words)) for simple in script.commands if simple.words)
        )

    def _names(self, need: RequiredPermission) -> tuple[str, ...]:
        return need.values or ("",)

    def _judge_names(self, kind: str, values: Sequence[str]) -> PermissionVerdict:
        verdicts = [self._last_match(kind, value) for value in values]
        return _strictest(verdicts)

    def _last_match(self, kind: str, value: str) -> PermissionVerdict:
        for rule in reversed(self.rules):
            if _concerns(rule, kind) and _matches(kind, rule.pattern, value, exactly=rule.action == "allow"):
                # `always` to a directory must not reach a file in it that is denied
                if self._denied_before(rule, kind, value):
                    continue
                return PermissionVerdict(rule.action, _reason(rule, value))
        return PermissionVerdict("ask", "no rule is about it")

    def _denied_before(self, rule: PermissionRule, kind: str, value: str) -> bool:
        """Return whether an `always` answer is not to count, because the rules deny what it would allow."""
        if rule not in self._always:
            return False
        for other in reversed(self._rules):
            if _concerns(other, kind) and _matches(kind, other.pattern, value):
                return other.action == "deny"
        return False

    def _judge_command(self, command: str, path: str = ".") -> PermissionVerdict:
        script = unwrap_script(parse_script(command))
        rules = tuple(rule for rule in self.rules if matches_wildcard(rule.tool, "bash"))
        particular = any(rule.pattern.strip("*") for rule in rules)
        # worked out only where some rule needs them: most sessions have rules for all commands alone
        forms = [(simple, _rule_forms(simple) if particular else ((), ())) for simple in script.commands]
        size = sum(len(text) + 1 for _, both in forms for named in both for text in named)
        # the time of matching is text times pattern: a model can write a command of 100,000 characters
        if size * sum(len(rule.pattern) + 1 for rule in rules) > _MAX_STEPS:
            return PermissionVerdict("ask", "it is too long to be compared with the rules")
        if particular:
            verdicts = [self._judge_simple(simple, rules, *both) for simple, both in forms]
        else:
            verdicts = [_general_verdict(rules)]
        moves = any(
            simple.words and program_name(simple.words[0]) in _DIRECTORY_CHANGERS for simple in script.commands
        )
        verdicts += [self._judge_write(target, path, moves) for target in script.writes]
        if not verdicts:
            verdicts.append(_general_verdict(rules))
        if script.doubts and particular:
            verdicts.append(
                PermissionVerdict("ask", f"it cannot be told what it does: {shorten(visible(script.doubts[0]), 120)}")
            )
        elif script.doubts:
            verdicts.append(_general_verdict(rules))
        return _strictest(verdicts)

    def _judge_simple(
        self, simple: SimpleCommand, rules: Sequence[PermissionRule], forms: Sequence[str], hidden: Sequence[str]
    ) -> PermissionVerdict:
        """Judge a simple command by the last rule that matches it.

        A later one that may deny or ask turns leave into a question. `forms` are the texts by which rules name the
        command, `hidden` those of what else it may be running.
        """
        if not simple.words:
            return PermissionVerdict("allow")  # an assignment; what it may change is a doubt
        shown = shorten(visible(" ".join(simple.words).replace(DYNAMIC, "…")), 80)
        runs = program_name(simple.words[0]) in RUNNER_PROGRAMS
        doubt = ""
        for rule in reversed(rules):
            # `/tmp/git` is not `git`: an allowing rule means the system's program, a denying one every program of
            # that name
            names = forms if rule.action != "allow" or _is_system_program(simple.words[0]) else forms[:1]
            if any(_surely_matches(rule.pattern, text) for text in names):
                # an answer of `always` does not lift what the rules deny
                if rule in self._always and _denies(self._rules, names):
                    continue
                # a later rule could deny or ask, as the unknown part turns out
                if doubt and rule.action == "allow":
                    return PermissionVerdict("ask", doubt)
                return PermissionVerdict(rule.action, _reason(rule, shown))
            if rule.action == "deny" and any(_may_match(rule.pattern, text) for text in (*forms, *hidden)):
                # `env git push` names in plain words what it runs: that is denied, not only doubted
                if runs and any(_surely_matches(rule.pattern, text) for text in hidden):
                    return PermissionVerdict("deny", f'"{shown}" runs what is denied ({rule.pattern})')
                doubt = doubt or f'"{shown}" may come to what is denied ({rule.pattern})'
            elif rule.action == "ask" and any(_may_match(rule.pattern, text) for text in (*forms, *hidden)):
                doubt = doubt or f'"{shown}" may come to what is asked about ({rule.pattern})'
        return PermissionVerdict("ask", doubt or "no rule is about it")

    def _judge_write(self, target: str, path: str, moves: bool) -> PermissionVerdict:
        """Judge a redirection as `edit` would be; `moves`: the command changes its directory on the way."""
        if self._workspace is None or (moves and not target.startswith("/")):
            return PermissionVerdict("ask", f'it writes "{shorten(visible(target), 80)}"')
        try:
            # the shell opens it relative to the directory that the call names
            resolved = self._workspace.resolve(target if target.startswith("/") else f"{path}/{target}")
        # a path that cannot be used is the user's to judge, not a reason to fail
        except ToolRefused as error:
            return PermissionVerdict("ask", error.message)
        if not resolved.in_project:
            names = (str(resolved.real),)
            return _strictest([self._judge_names("edit", names), self._judge_names("outside", names)])
        return self._judge_names("edit", tuple(name for name in (resolved.display, resolved.lexical) if name))


def restrictive_rules(rules: Iterable[PermissionRule]) -> tuple[PermissionRule, ...]:
    """Return those rules that a project may bring along before the user trusts it: they only ask or deny."""
    return tuple(rule for rule in rules if rule.action != "allow")


def parse_rules(table: object, where: str = "the permissions") -> tuple[PermissionRule, ...]:
    """Return rules from settings, in order: `{tool: action}` or `{tool: {pattern: action}}`. Raises `ConfigError`.

    `where` names the settings in errors.
    """
    if table in ACTIONS:
        return (PermissionRule("*", "*", table),)  # type: ignore[arg-type]
    if not isinstance(table, dict):
        raise ConfigError(f"{where} must be a table of tools", hint='Write bash = "ask"')
    rules = []
    for tool, inner in table.items():
        for pattern, action in (inner if isinstance(inner, dict) else {"*": inner}).items():
            if action not in ACTIONS:
                problem = f"{where}: {visible(str(tool))} has the action {shorten(visible(str(action)), 40)!r}"
                raise ConfigError(problem, hint="An action is allow, ask or deny")
            # over paths a single star would stop at the first `/`
            every = "**" if pattern == "*" and tool in PATH_KINDS else str(pattern)
            rules.append(PermissionRule(str(tool), every, action))
    return tuple(rules)


def _rule_forms(simple: SimpleCommand) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the texts by which rules name a command, and those of what else it may be running."""
    return tuple(map(_command_line, _command_forms(simple))), tuple(
        dict.fromkeys(map(_command_line, _possible_commands(simple)))
    )


def _concerns(rule: PermissionRule, kind: str) -> bool:
    """Return whether a rule is about a kind; one that allows must name what leads out of the project."""
    return matches_wildcard(rule.tool, kind) and (kind != "outside" or rule.action != "allow" or rule.tool == kind)


def _matches(kind: str, pattern: str, value: str, *, exactly: bool = True) -> bool:
    """Return whether a pattern matches a value.

    Unless `exactly`, paths that a file system may take for the same match too: those that differ in case, or in how
    accents are written.
    """
    if pattern in ("*", "**"):
        return True
    if kind not in PATH_KINDS:
        return matches_wildcard(pattern, value)
    return matches_path(pattern, value) or (not exactly and matches_path(_case_folded(pattern), _case_folded(value)))


def _case_folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _surely_matches(pattern: str, text: str) -> bool:
    """Return whether a pattern matches a command whatever its unknown parts turn out to be."""
    if pattern == "*":
        return True
    bare = pattern.removesuffix(" *")
    return matches_wildcard(pattern, text) or (bare != pattern and matches_wildcard(bare, text))


def _may_match(pattern: str, text: str) -> bool:
    """Return whether a pattern could match a command, as its unknown parts may turn out."""
    if DYNAMIC not in text:
        return _surely_matches(pattern, text)
    # a star in the command itself is one character; the unknown part stands for anything
    template = text.replace("*", "?").replace(DYNAMIC, "*")
    bare = pattern.removesuffix(" *")
    return wildcards_overlap(pattern, template) or (bare != pattern and wildcards_overlap(bare, template))


def _denies(rules: Sequence[PermissionRule], names: Sequence[str]) -> bool:
    for rule in reversed(rules):
        if matches_wildcard(rule.tool, "bash") and any(_surely_matches(rule.pattern, text) for text in names):
            return rule.action == "deny"
    return False


def _is_system_program(program: str) -> bool:
    """Return whether a program's path is where the system has its own: its bare name means the same."""
    folder = program.rpartition("/")[0]
    return folder in ("", "/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin")


def _general_verdict(rules: Sequence[PermissionRule]) -> PermissionVerdict:
    """Return what the last rule about all commands says."""
    last = next((rule for rule in reversed(rules) if not rule.pattern.strip("*")), None)
    return (
        PermissionVerdict(last.action, _reason(last, "it"))
        if last
        else PermissionVerdict("ask", "no rule is about it")
    )


def _strictest(verdicts: Sequence[PermissionVerdict]) -> PermissionVerdict:
    # the actions are in the order of their strictness
    return max(verdicts, key=lambda verdict: ACTIONS.index(verdict.action))


def _reason(rule: PermissionRule, value: str) -> str:
    pattern = shorten(visible(rule.pattern), 80)
    return f'"{shorten(visible(value), 80)}" by the rule {rule.action} {rule.tool} {pattern}'


def _command_forms(simple: SimpleCommand) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command as rules may name it: as it is, and with the bare name of its program."""
    yield simple.words
    name = program_name(simple.words[0]) if simple.words else ""
    if name and name != simple.words[0]:
        yield (name, *simple.words[1:])


def _command_line(words: Sequence[str]) -> str:
    """Return words as the text that patterns are compared with; a word with white space in it stands in quotes."""
    return " ".join(f"'{word}'" if not word or any(char.isspace() for char in word) else word for word in words)


def _possible_commands(simple: SimpleCommand) -> Iterator[tuple[str, ...]]:
    """Yield what a command may run besides what its first words say: behind a carrier, or behind options."""
    words = simple.words
    name = program_name(words[0]) if words else ""
    if name in _CARRIERS:
        for index in range(1, min(len(words), _MAX_RESTS)):
            rest = words[index:]
            # which of its words is the program only the carrier knows: each may be
            yield (program_name(rest[0]), *rest[1:])
            if " " in rest[0]:  # a whole command in one word, as for `watch` or `ssh`
                for inner in parse_script(rest[0]).commands:
                    if inner.words:
                        yield (program_name(inner.words[0]), *inner.words[1:])
    if len(words) > 1 and words[1].startswith("-"):  # `git -C . push`
        for index in range(2, min(len(words), _MAX_RESTS)):
            yield (name, *words[index:])


def _literal_pattern(text: str) -> str:
    """Return a pattern that matches little but this text: each special character becomes `?`."""
    return "".join("?" if char in "*?[]{}" else char for char in text)
