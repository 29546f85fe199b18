"""What the HUD does for one model call, in counts: how often it asks and writes its log, and looks at a message."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from loops import QUICK, opened
from msgspec.structs import replace

from hudkit.agent import hud_plugin
from hudkit.agent.hud_hooks import HudPlugin
from hudkit.agent.plugins import PluginInput
from hudkit.log.stores.sqlite_log import SqliteLog
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply
from hudkit.models.scripted_model import InProcessModel

pytestmark = pytest.mark.anyio

STEADY = replace(QUICK, prune=False)


def steps(count: int) -> InProcessModel:
    """A model that writes its list anew in each of so many steps."""

    def answer(request: CapturedRequest) -> ScriptedReply:
        if request.number > count:
            return ScriptedReply("done")
        return ScriptedReply("looking", (ScriptedCall("todo", {"todos": [{"content": f"step {request.number}"}]}),))

    return InProcessModel(answer)


async def test_the_log_is_asked_thrice_for_a_model_call_and_written_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: Counter[str] = Counter()
    for name in ("last_seq", "read", "append_together"):
        method = getattr(SqliteLog, name)

        def counted(self: SqliteLog, *args: Any, name: str = name, method: Any = method, **more: Any) -> Any:
            asked[name] += 1
            return method(self, *args, **more)

        monkeypatch.setattr(SqliteLog, name, counted)
    counts = []
    for number, calls in enumerate((10, 30)):
        asked.clear()
        place = tmp_path / f"{number}"
        place.mkdir()
        plugins = [("hud", hud_plugin(place / "hud.db"))]
        async with opened(place, steps(calls), plugins=plugins, settings=STEADY) as loop:
            await loop.prompt("go")
        counts.append(dict(asked))
    per_call = {name: (counts[1][name] - counts[0][name]) / 20 for name in counts[1] if name != "read"}
    assert counts[0].get("read", 0) == counts[1].get("read", 0), "what the session wrote itself is not read again"
    # before the frame whether anything was taken back, for the frame, and the project's own log
    assert per_call == {"last_seq": 3, "append_together": 1}


async def test_the_work_for_a_call_hardly_grows_with_the_session(tmp_path: Path) -> None:
    work: list[int] = []

    class CountingHud(HudPlugin):
        """Counts the functions that are called for each request."""

        def messages_transform(self, *given: Any) -> None:
            entered = [0]

            def count(frame: Any, event: str, argument: Any) -> None:
                entered[0] += event == "call"

            sys.setprofile(count)
            try:
                super().messages_transform(*given)
            finally:
                sys.setprofile(None)
            work.append(entered[0])

    def plugin(given: PluginInput) -> CountingHud:
        return CountingHud(tmp_path / "hud.db", given)

    async with opened(tmp_path, steps(60), plugins=[("hud", plugin)], settings=STEADY) as loop:
        await loop.prompt("go")
    early, late = sorted(work[10:20])[5], sorted(work[50:60])[5]
    assert late <= 1.25 * early
    # 1,480; looking for files of sections with path objects, and sums of generators in what is learned, were 180 more
    assert late <= 1_570
