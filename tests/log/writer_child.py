"""A process that appends until it is killed and says each acknowledged number; run by the durability tests.

usage: writer_child.py DATABASE SESSION COUNT GROUP      (DATABASE: a file or a URL; COUNT 0: until killed)
"""

from __future__ import annotations

import os
import sys

from hudkit.log import Batch, EventDraft, Origin
from hudkit.log.payloads import NoteAdd
from hudkit.log.stores import open_log


def draft(session: str, number: int) -> EventDraft:
    return EventDraft(f"{os.getpid()}-{number}", number, 0, Origin.AGENT, NoteAdd(f"{session} {number}"))


def main() -> None:
    path, session, count, group = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    log = open_log(path, busy_timeout=30.0)
    done = 0
    while not count or done < count:
        drafts = [draft(session, done + at) for at in range(group)]
        if group == 1:
            seqs = [log.append(session, drafts)[0].seq]
        else:
            answers = log.append_many([Batch(session, (draft,)) for draft in drafts])
            seqs = [answer[0].seq for answer in answers]  # type: ignore[index]
        done += group
        os.write(1, b"".join(b"%d\n" % seq for seq in seqs))
    log.close()


if __name__ == "__main__":
    main()
