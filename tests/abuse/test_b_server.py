"""B: the server on loopback. Most cases are tested with the server itself; here is what needs no socket."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit import Hud
from hudkit.daemon.handlers import HANDLERS, RequestHandlers
from strategies import hostile

FIELDS = sorted({field for kind, _ in HANDLERS.values() for field in kind.__struct_encode_fields__})
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), hostile)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(hostile, inner, max_size=3)),
    max_leaves=8,
)
bodies = st.one_of(
    st.binary(max_size=200),
    values,
    st.builds(
        lambda more: {"host": "opencode", "session": "s", "directory": "", **more},
        st.dictionaries(st.sampled_from(FIELDS), values, max_size=5),
    ),
)
DOCUMENTED = {200, 400, 409, 422, 429}


@pytest.mark.slow
@given(st.sampled_from(sorted(HANDLERS)), bodies)
def test_no_body_is_an_error_of_the_daemon(path: str, body: Any) -> None:
    """B12"""
    with Hud.in_memory() as hud:
        sent = body if isinstance(body, bytes) else msgspec.json.encode(_encodable(body))
        status, answer = RequestHandlers(hud).answer(path, sent)
    assert status in DOCUMENTED, (path, sent, answer)
    text = answer.decode()
    assert "Traceback" not in text and ".py" not in text.partition('"hint"')[0].replace("hudkit.py", "")


def _encodable(value: Any) -> Any:
    """The value with lone surrogates as `?`, which JSON in UTF-8 cannot hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_encodable(entry) for entry in value]
    return value if not isinstance(value, int) or isinstance(value, bool) else max(min(value, 2**62), -(2**62))
