"""One pass over all rows of a log in the order in which they were written: the first bad event of each session."""

from __future__ import annotations

from hudkit.errors import StoreDamaged
from hudkit.log import Finding
from hudkit.log.codec import GENESIS
from hudkit.log.stores.rows import MESSAGES, Head, Row, open_row, redacted_by


class _Chain:
    """What the scan knows of one session."""

    def __init__(self) -> None:
        self.head = Head(0, GENESIS)
        self.bad: Finding | None = None
        self.empty: set[int] = set()
        self.erased: set[int] = set()


class Scan:
    """Takes rows one by one; `findings` says at the end which events do not verify.

    Rules: positions and, within a session, sequence numbers count from 1 without a gap; each row's body matches its
    digest and its envelope the chain; a body is absent exactly where a later `redact` event of the session names it.
    """

    def __init__(self) -> None:
        self._chains: dict[str, _Chain] = {}
        self._position = 0
        self._hole: Finding | None = None

    def take(self, position: int, row: Row) -> None:
        """The next row; a session is not looked at any further after its first broken link."""
        if position != self._position + 1 and self._hole is None:
            message = f"position {self._position + 1}: the event is missing or was moved"
            self._hole = Finding("gap", "", self._position + 1, message)
        self._position = position
        chain = self._chains.setdefault(row.session_id, _Chain())
        if chain.bad is not None:
            return
        if row.seq != chain.head.seq + 1:
            chain.bad = missing(row.session_id, chain.head.seq + 1)
            return
        try:
            open_row(row, chain.head.link)
        except StoreDamaged as error:
            finding = error.details["finding"]
            assert isinstance(finding, Finding)
            chain.bad = finding
            return
        chain.head = Head(row.seq, row.link)
        if row.body is None:
            chain.empty.add(row.seq)
        target = redacted_by(row)
        if target is not None:
            chain.erased.add(target)

    def expect(self, session_id: str, head: Head) -> None:
        """The medium says that the session's chain ends in `head`: rows that fall short of it were taken away."""
        chain = self._chains.setdefault(session_id, _Chain())
        if chain.bad is not None or chain.head == head:
            return
        if head.seq > chain.head.seq:
            chain.bad = missing(session_id, chain.head.seq + 1)
        else:
            message = f"the session's head says {head.seq}, its events end at {chain.head.seq}"
            chain.bad = Finding("chain", session_id, min(head.seq + 1, chain.head.seq), message)

    def sessions(self) -> tuple[str, ...]:
        """Ids of the sessions seen so far."""
        return tuple(self._chains)

    def findings(self) -> list[Finding]:
        """One finding per bad session, in order of first events; a hole between sessions where no gap explains it."""
        found = [finding for id_, chain in self._chains.items() if (finding := _first(id_, chain))]
        if self._hole is not None and not any(finding.code == "gap" for finding in found):
            found.append(self._hole)
        return found


def missing(session_id: str, seq: int) -> Finding:
    """A sequence number that is not there."""
    return Finding("gap", session_id, seq, f"event {seq}: {MESSAGES['gap']}")


def _first(session_id: str, chain: _Chain) -> Finding | None:
    if chain.bad is not None:
        return chain.bad
    odd = chain.empty ^ chain.erased
    if not odd:
        return None
    seq = min(odd)
    what = "the payload was removed without a redaction" if seq in chain.empty else "the redacted payload is back"
    return Finding("payload", session_id, seq, f"event {seq}: {what}")
