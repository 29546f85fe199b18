"""What the user asks of a session: what fills its window, what it cost, what it changed in files."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from rich.text import Text

from hudkit.agent.file_changes import FileChange
from hudkit.agent.loop import AgentLoop
from hudkit.agent.message_history import is_prompt
from hudkit.agent.records import ReportedUsage, StoredSession
from hudkit.agent.terminal.changed_lines import clip_code
from hudkit.agent.terminal.panel import Panel, dollars
from hudkit.agent.terminal.screen import clip, one_line, wrap_text
from hudkit.agent.terminal.window_bar import forecast_text, part_lines, window_text
from hudkit.errors import ToolError
from hudkit.hud.window_usage import budget_lines
from hudkit.tokens import usage_of

_MOST_LINES = 400
"""Lines of a difference that are shown of one file."""

_MOST_BYTES = 2 * 1024 * 1024


def context_lines(loop: AgentLoop, panel: Panel, columns: int) -> Iterator[Text]:
    """Yield how full the window is, when it will be full, and what fills it."""
    used, window = loop.used_tokens, loop.window
    yield window_text(usage_of(used, window), cells=20)
    if window.source == "assumed":
        words = "Nobody told the size of this model's window; `windows` in the settings does."
        yield from wrap_text(words, columns, style="dim")
    usage = panel.window_usage()
    if usage is None:
        yield Text("The HUD, which knows the parts of the window, has seen no model call of this session.", "dim")
        return
    if forecast := forecast_text(usage, used):
        rate = f", {usage.trend.rate:+,.0f} tokens a call" if usage.trend is not None else ""
        yield Text(f"{forecast[0].upper()}{forecast[1:]}{rate}.")
    rows = list(part_lines(usage, columns))
    if rows:
        yield Text()
        yield from rows
        reported = usage.usage.used_tokens
        of = "they add up to the estimate" if reported is None else f"they add up to its {reported:,} tokens"
        words = f"~ estimated; the parts are of the last request whose usage the HUD was told, {of}"
        yield from wrap_text(words, columns, style="dim")
    if usage.budget:
        yield Text()
        yield from (Text(line) for line in budget_lines(usage))


def cost_lines(loop: AgentLoop) -> Iterator[Text]:
    """Yield the tokens of a session and what they cost, sub-agents apart; without a price, that none is known."""
    store, session = loop.setup.store, loop.session
    below = list(_below(store.sessions(), session.id))
    yield _cost_line("this session", session.usage, session.cost)
    for child in below:
        yield _cost_line(f"sub-agent {child.agent}: {clip(child.title, 40)}", child.usage, child.cost)
    if below:
        every = [session, *below]
        yield Text(f"together: {dollars(sum(each.cost for each in every))}", "bold")
    prices = loop.prices
    if prices is None:
        yield Text(f"No price of {one_line(session.model)} is known: tokens are counted, money is not.", "yellow")
        return
    figures = f"${prices.input:g} in, ${prices.cached_read:g} cached, ${prices.output:g} out"
    yield Text(f"prices per million tokens: {figures} ({one_line(prices.source)})", "dim")


def _below(sessions: Sequence[StoredSession], id: str) -> Iterator[StoredSession]:
    for session in sessions:
        if session.parent_id == id:
            yield session
            yield from _below(sessions, session.id)


def _cost_line(who: str, usage: ReportedUsage, cost: float) -> Text:
    cached = f" ({usage.cache_read * 100 / usage.prompt:.0f}% from the cache)" if usage.prompt else ""
    money = dollars(cost) if cost else "cost not known" if usage.prompt else "nothing yet"
    return Text.assemble(
        f"{who}: {usage.prompt:,} tokens in{cached}, {usage.output:,} out, ", (money, "bold" if cost else "")
    )


def changed_since(loop: AgentLoop, *, start: bool) -> tuple[FileChange, ...]:
    """Return the changes of files since the session's `start`, else since its last prompt; sub-agents' too."""
    messages = loop.messages
    if not start:
        last = next((index for index in reversed(range(len(messages))) if is_prompt(messages[index])), 0)
        messages = messages[last:]
    return loop.setup.store.changes.of_messages(loop.id, [message.id for message in messages])


def difference_lines(loop: AgentLoop, changes: Sequence[FileChange], columns: int) -> Iterator[Text]:
    """Yield what files are now against what they were before these changes, a coloured difference for each."""
    first: dict[str, FileChange] = {}
    for change in changes:
        first.setdefault(change.path, change)
    for path, change in first.items():
        before = _text(loop.setup.store.changes.content(change.before) if change.before else b"")
        after = _text(_now(loop, path))
        if before is None or after is None:
            yield Text(f"{clip(path, columns - 30)}: cannot be shown", "yellow")
            continue
        lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=3, lineterm=""))[2:]
        added, removed = (sum(line.startswith(mark) for line in lines) for mark in "+-")
        state = " (new)" if not change.before else " (gone)" if not _exists(loop, path) else ""
        if not lines and not state:
            yield Text(f"{clip(path, columns - 30)}: as it was", "dim")
            continue
        yield Text.assemble(
            (f"{clip(path, columns - 30)}{state} ", "bold"), (f"+{added} ", "green"), (f"-{removed}", "red")
        )
        for line in lines[:_MOST_LINES]:
            yield Text(f"  {clip_code(line, columns - 2)}", _style(line))
        if len(lines) > _MOST_LINES:
            yield Text(f"  … {len(lines) - _MOST_LINES} more lines", "dim")


def _style(line: str) -> str:
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim")


def _now(loop: AgentLoop, path: str) -> bytes | None:
    """What is in a file now, nothing where it is gone; `None` where it is too long or may not be read."""
    workspace = loop.setup.workspace
    try:
        target = workspace.resolve_inside(str(workspace.root / path), writing=False)
        with workspace.open_file(target) as fd, open(fd, "rb", closefd=False) as file:
            raw = file.read(_MOST_BYTES + 1)
    except (ToolError, OSError):
        return None if _exists(loop, path) else b""
    return raw if len(raw) <= _MOST_BYTES else None


def _exists(loop: AgentLoop, path: str) -> bool:
    return (loop.setup.workspace.root / path).exists()


def _text(raw: bytes | None) -> str | None:
    if raw is None or b"\0" in raw:
        return None
    return raw.decode("utf-8", "replace")
