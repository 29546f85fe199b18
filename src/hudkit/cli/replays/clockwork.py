"""Time and ids of a replay: the recorded time, and ids that are the same in every run."""

from __future__ import annotations

from hashlib import blake2b


class Clockwork:
    """Tells `at` (Unix ms) as the time, and gives UUIDv7 texts that follow from the seed and their number."""

    def __init__(self, seed: str) -> None:
        self.at = 0
        self._seed = seed
        self._given = 0

    def clock(self) -> int:
        return self.at

    def ids(self) -> str:
        self._given += 1
        digest = blake2b(f"{self._seed}/{self._given}".encode("utf-8", "replace"), digest_size=10).hexdigest()
        time = f"{max(self.at, 0) & 0xFFFF_FFFF_FFFF:012x}"
        return f"{time[:8]}-{time[8:]}-7{digest[:3]}-8{digest[3:6]}-{digest[6:18]}"
