"""Bodies to structs and back; what is wrong with a body is said with its place, never with its content."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

import msgspec

from hudkit.errors import HudkitError

R = TypeVar("R")

encode = msgspec.json.Encoder().encode
"""An answer as JSON."""

_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_LONE = re.compile("[\ud800-\udfff]")


class Refused(HudkitError):
    """A request that cannot be read; `details["status"]` is the HTTP status that says so."""

    code = "request"


def decode(body: bytes, kind: type[R]) -> R:
    """A request of its body. A lone surrogate (a text that was cut in the middle of a character) is replaced.

    Raises `Refused`: not JSON, nested too deeply, a field that is missing, unknown or of the wrong type.
    """
    try:
        try:
            return msgspec.json.decode(body, type=kind)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            if not _HALF.search(body):
                raise
        return msgspec.convert(_mended(json.loads(body)), kind)
    except msgspec.ValidationError as error:
        raise _refused(
            f"the request does not fit: {error}", "Unknown fields are refused outside of messages"
        ) from None
    except RecursionError:
        raise _refused("the request is nested too deeply", "Send plain objects") from None
    except (msgspec.DecodeError, ValueError):
        raise _refused("the request is not JSON", "Send one JSON object in UTF-8") from None


def _refused(message: str, hint: str) -> Refused:
    return Refused(message, hint=hint, status=400)


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    return value
