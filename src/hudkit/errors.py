"""The typed errors of hudkit: each says what was wrong, where, and what would be right."""

from __future__ import annotations

from collections.abc import Mapping


class HudkitError(Exception):
    """Root of every error that hudkit raises on purpose.

    `code` is stable and machine-readable, `message` names value and place, `hint` says what would be right.
    """

    code = "error"

    def __init__(self, message: str, *, hint: str = "", **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details: Mapping[str, object] = details

    def __str__(self) -> str:
        return f"{self.message}. {self.hint}" if self.hint else self.message


class ConfigError(HudkitError):
    """A setting or an argument of the library is out of its range."""

    code = "config"


class BudgetError(HudkitError):
    """What must be shown does not fit: `details` has `path`, `need` and `limit` in tokens, and `tree`."""

    code = "budget"


class TreeError(HudkitError):
    """An element tree breaks the schema of its vocabulary."""

    code = "tree"


class FormatError(HudkitError):
    """A text is not of its format, or a value cannot be said in it.

    `details` has `format` and the place: `line` and `column` (from 1) in a text, `path` in a value.
    """

    code = "format"


class OperationError(HudkitError):
    """A call of a tool operation that cannot be carried out; the text tells the agent how to call it right."""

    code = "operation"


class MessageError(HudkitError):
    """A message that was given to be ingested is not one: `details` has its `number` (from 0) and the `field`."""

    code = "message"


class StoreError(HudkitError):
    """A log's medium refused; nothing of the batch was written."""

    code = "store"


class SequenceConflict(StoreError):
    """Another writer appended first: `details` has `session_id`, `expected` and `actual`."""

    code = "conflict"


class StoreBusy(StoreError):
    """Another process holds the write lock for longer than the time-out."""

    code = "busy"


class StoreFull(StoreError):
    """No space left on the medium (or its quota is reached)."""

    code = "full"


class StoreReadOnly(StoreError):
    """The file or its directory cannot be written."""

    code = "read-only"


class StoreGone(StoreError):
    """The file that is open is no longer where it was: removed, moved, or replaced.

    `details["replaced"]` says whether there is a file in its place, which can be opened.
    """

    code = "gone"


class StoreMissing(StoreError):
    """There is no such database on the server, or no log in it."""

    code = "missing"


class StoreUnreachable(StoreError):
    """The database server does not answer, or broke the connection off."""

    code = "unreachable"


class StoreDenied(StoreError):
    """The database server does not let this user in, or not do this."""

    code = "denied"


class StoreTooNew(StoreError):
    """The file was written by a newer version of hudkit; it is left as it is."""

    code = "too-new"


class StoreDamaged(StoreError):
    """The medium holds something that hudkit did not write; `details["finding"]` names the first bad event."""

    code = "damaged"


class StoreUnsafe(StoreError):
    """The path is a symbolic link, or belongs to or can be written by somebody else."""

    code = "unsafe"


class TranscriptError(HudkitError):
    """A host's recorded history cannot be read: absent, foreign, half-written or from an unknown version."""

    code = "transcript"


class HostError(HudkitError):
    """A host that was asked to do something did not, or is not there."""

    code = "host"


class SessionError(HudkitError):
    """A record of a session of our own that cannot be written: unknown, out of order, or in another's hands."""

    code = "session"


class ToolError(HudkitError):
    """A tool of a session could not do its work; the text tells the model what would be right."""

    code = "tool"


class ToolRefused(ToolError):
    """A tool call that is not permitted: by the rules, by the user, or because its path leads out of the project."""

    code = "refused"
