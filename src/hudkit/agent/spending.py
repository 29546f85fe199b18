"""What a session may cost: limits of dollars and tokens for a prompt and for a session, sub-agents included."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hudkit.agent.run_context import LoopSettings, RunContext
    from hudkit.agent.session_store import SessionStore


class Spending(NamedTuple):
    """What was spent: tokens of requests and answers, and US dollars."""

    tokens: int
    cost: float


def spent(store: SessionStore, session_id: str) -> Spending:
    """Return what a session and the sub-sessions below it have spent so far."""
    tokens, cost = 0, 0.0
    for id in (session_id, *store.changes.sub_sessions(session_id)):
        session = store.session(id)
        if session is not None:
            tokens += session.usage.prompt + session.usage.output
            cost += session.cost
    return Spending(tokens, cost)


class SpendingLimit:
    """The limits of the settings, as they hold for one prompt: for its session and all sub-agents that it starts."""

    def __init__(self, run: RunContext) -> None:
        """Begin a prompt: what was spent before counts for the session only."""
        self._store = run.setup.store
        self._root = run.id
        self._settings = run.settings
        self._is_limited = _limits(run.settings)
        self._before = self._spent()

    def reached(self, run: RunContext) -> str:
        """Return which limit forbids another model call, in one line; empty where none does."""
        settings = self._settings
        if not self._is_limited:
            return ""
        if run.model.prices is None and (settings.prompt_cost or settings.session_cost) is not None:
            return f"nobody knows what {run.model.name} costs, so that a limit of dollars cannot be kept"
        total = self._spent()
        prompt = Spending(total.tokens - self._before.tokens, total.cost - self._before.cost)
        limits = (
            ("prompt", prompt, settings.prompt_tokens, settings.prompt_cost),
            ("session", total, settings.session_tokens, settings.session_cost),
        )
        for name, used, tokens, cost in limits:
            if tokens is not None and used.tokens >= tokens:
                return f"the {name} has used {used.tokens:,} tokens, its limit is {tokens:,}"
            if cost is not None and used.cost >= cost:
                return f"the {name} has cost ${used.cost:.4f}, its limit is ${cost:.2f}"
        return ""

    def _spent(self) -> Spending:
        return spent(self._store, self._root) if self._is_limited else Spending(0, 0.0)


def _limits(settings: LoopSettings) -> bool:
    limits = (settings.prompt_cost, settings.session_cost, settings.prompt_tokens, settings.session_tokens)
    return any(limit is not None for limit in limits)
