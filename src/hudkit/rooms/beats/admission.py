"""How many beats a model may be asked for: requests and tokens a minute, and how many at once. Times in seconds."""

from __future__ import annotations

from collections import deque

import msgspec

MINUTE = 60.0


class Quota(msgspec.Struct, frozen=True):
    """What a model's server allows, of which 0 is no limit; `tokens` are those of requests and answers, a minute."""

    requests: int = 0
    tokens: int = 0
    at_once: int = 64


UNLIMITED = Quota()


class Admission:
    """The requests of the last minute to one model. In no span of a minute are there more than its quota allows.

    Tokens of an answer are not known before it is there; until then, `expected` are counted for it.
    """

    def __init__(self, quota: Quota, expected: int = 500) -> None:
        self.quota = quota
        self.at_once = 0
        self._expected = expected
        self._closed_until = 0.0
        self._taken: deque[list[float]] = deque()  # time and tokens of each
        self._tokens = 0.0

    def admit(self, now: float, tokens: int) -> list[float] | None:
        """Take a request of so many tokens; the entry to `settle` when it is answered, `None` where it must wait."""
        if self.wait(now, tokens) > 0:
            return None
        entry = [now, float(tokens + self._expected)]
        self._taken.append(entry)
        self._tokens += entry[1]
        self.at_once += 1
        return entry

    def settle(self, entry: list[float], now: float, tokens: int, rest: float | None = None) -> None:
        """A request is answered: what it really took, and the seconds for which the server wants to be left alone."""
        self.at_once -= 1
        if tokens:
            if entry[0] > now - MINUTE:
                self._tokens += tokens - entry[1]
            entry[1] = float(tokens)
        if rest:
            self._closed_until = max(self._closed_until, now + rest)

    def wait(self, now: float, tokens: int) -> float:
        """Seconds until such a request could be admitted; infinite where one must be answered first."""
        while self._taken and self._taken[0][0] <= now - MINUTE:
            self._tokens -= self._taken.popleft()[1]
        quota, until = self.quota, self._closed_until
        if quota.at_once and self.at_once >= quota.at_once:
            return float("inf")
        if quota.requests and len(self._taken) >= quota.requests:
            until = max(until, self._taken[len(self._taken) - quota.requests][0] + MINUTE)
        if quota.tokens and self._taken:  # one that is larger than the quota goes alone
            over = self._tokens + tokens + self._expected - quota.tokens
            for at, taken in self._taken:
                if over <= 0:
                    break
                until = max(until, at + MINUTE)
                over -= taken
        return max(0.0, until - now)
