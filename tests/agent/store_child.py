"""A process that plays turns into a store until it is killed, and says each step that was acknowledged.

usage: store_child.py DATABASE SESSION WITNESS     (WITNESS: a file that each tool run adds its call id to)
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from msgspec.structs import replace

from hudkit.agent.records import ReportedUsage, StoredCall, StoredMessage, StoredSession, StoredText
from hudkit.agent.session_store import SessionStore


def main() -> None:
    path, session, witness = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    store = SessionStore.open(path, busy_timeout=30.0)
    if store.session(session) is None:
        store.create(StoredSession(session, created=1))
    store.resume(session, 5)
    os.write(1, b"ready\n")
    number = len(store.messages(session))
    while True:
        number += 1
        user = StoredMessage(
            f"{session}-u{number}", session, "user", number, parts=(StoredText(f"{session}-t{number}", "go"),)
        )
        store.put(user)
        answer = StoredMessage(f"{session}-a{number}", session, "assistant", number, parent_id=user.id)
        store.put(answer)
        calls = [StoredCall(f"{answer.id}-{at}", "bash", f"{answer.id}-call{at}") for at in range(2)]
        store.put_parts(session, answer.id, calls)
        for call in calls:
            store.put_parts(session, answer.id, [replace(call, status="running", started=number)])
            with witness.open("a") as file:
                file.write(f"{call.call_id}\n")
            store.put_parts(session, answer.id, [replace(call, status="completed", started=number, output="done")])
            os.write(1, f"{call.call_id}\n".encode())
        store.put(replace(answer, finish="stop", completed=number, usage=ReportedUsage(None, 10, 2), cost=0.5))
        os.write(1, f"{answer.id}\n".encode())


if __name__ == "__main__":
    main()
