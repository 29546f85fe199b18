"""The call for a summary, where a compaction is due, and the model call that goes on after it."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from langchain_core.messages import AIMessage

from hudkit.hosts.langchain.calls import Calls, ModelCall
from hudkit.hosts.langchain.compaction import CONFIG, Made, Plan
from hudkit.hosts.langchain.models import bare

_LOG = logging.getLogger("hudkit.hosts.langchain")


def summarised(calls: Calls, call: ModelCall) -> tuple[Made | None, ModelCall]:
    """The compaction, if one was due, and the call after it. A model that fails is asked once more, with less."""
    due = calls.due(call)
    if isinstance(due, Plan):
        answer = None
        for question in due.questions():
            try:
                answer = _said(bare(call.model).invoke(question, CONFIG))
                break
            except Exception as error:
                _LOG.warning("no summary from the model: %s", error)
        due = calls.made(call, due, answer)
    return _after(due, call)


async def asummarised(calls: Calls, call: ModelCall) -> tuple[Made | None, ModelCall]:
    """The same, with the log's work off the event loop."""
    due = await asyncio.to_thread(calls.due, call)
    if isinstance(due, Plan):
        answer = None
        for question in due.questions():
            try:
                answer = _said(await bare(call.model).ainvoke(question, CONFIG))
                break
            except Exception as error:
                _LOG.warning("no summary from the model: %s", error)
        due = await asyncio.to_thread(calls.made, call, due, answer)
    return _after(due, call)


def _after(due: Made | None, call: ModelCall) -> tuple[Made | None, ModelCall]:
    return due, call if due is None else call._replace(messages=due.applied(call.messages))


def _said(answer: Any) -> AIMessage | None:
    return answer if isinstance(answer, AIMessage) else None
