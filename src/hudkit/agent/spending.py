"""What a session may cost: limits of dollars and tokens for a prompt and for a session, sub-agents included."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from hudkit.agent.session_store import SessionStore
from hudkit.models import Model


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


class _LimitSettings(Protocol):
    """The limits among the settings of the loop; `None` where there is none."""

    @property
    def prompt_cost(self) -> float | None: ...
    @property
    def session_cost(self) -> float | None: ...
    @property
    def prompt_tokens(self) -> int | None: ...
    @property
    def session_tokens(self) -> int | None: ...


class SpendingLimit:
    """The limits of the settings, as they hold for one prompt: for its session and all sub-agents that it starts."""

    def __init__(self, store: SessionStore, session_id: str, settings: _LimitSettings) -> None:
        """Begin a prompt: what was spent before counts for the session only."""
        self._store = store
        self._root = session_id
        self._settings = settings
        self._is_limited = _limits(settings)
        self._before = self._spent()

    def reached(self, model: Model) -> str:
        """Return which limit forbids another call of a model, in one line; empty where none does."""
        settings = self._settings
        if not self._is_limited:
            return ""
        if unpriced := self.unpriced(model):
            return unpriced
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

    def unpriced(self, model: Model) -> str:
        """Return that a limit of dollars cannot be kept with a model whose price nobody knows; empty where it can."""
        settings = self._settings
        if model.prices is not None or (settings.prompt_cost is None and settings.session_cost is None):
            return ""
        return f"nobody knows what {model.name} costs, so that a limit of dollars cannot be kept"

    def _spent(self) -> Spending:
        return spent(self._store, self._root) if self._is_limited else Spending(0, 0.0)


def _limits(settings: _LimitSettings) -> bool:
    limits = (settings.prompt_cost, settings.session_cost, settings.prompt_tokens, settings.session_tokens)
    return any(limit is not None for limit in limits)
