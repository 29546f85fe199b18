"""One model of pydantic-ai as the port wants it: streams, errors, and the connection behind them."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import Any, cast

from pydantic_ai.direct import model_request_stream
from pydantic_ai.models import Model as Connected
from pydantic_ai.models import infer_model
from pydantic_ai.providers import Provider as Seller
from pydantic_ai.providers import infer_provider_class

from hudkit.errors import ConfigError
from hudkit.models import breakpoints
from hudkit.models.failures import clean
from hudkit.models.port import Piece, Request
from hudkit.models.pydantic import incoming, outgoing
from hudkit.models.pydantic.signs import model_error
from hudkit.tokens import Prices, Window

_JOINING = frozenset({"OpenAIResponsesModel"})
"""Models of pydantic-ai that make one text of all instructions, and trim it."""

EXTRAS: Mapping[str, str] = {"anthropic": "session", "openai": "session", "google": "google", "bedrock": "bedrock"}
"""The extras of hudkit that bring the client of a provider; others are had from pydantic-ai's extras."""

_GROUP = re.compile(r"pydantic-ai-slim\[([\w-]+)\]")
_ADVICE = re.compile(r" To try Pydantic AI without|, you can use the ")
"""Where the words about what is missing begin to be advice for users of pydantic-ai."""

_PLAIN: Any = {"framing_announcement": "never"}
"""Nothing is put before our own system texts."""


class PydanticModel:
    """A `hudkit.models.Model` over a model of pydantic-ai; see `open_model`."""

    def __init__(
        self, name: str, model: Connected, window: Window, prices: Prices | None, *, secrets: Iterable[str] = ()
    ) -> None:
        self.name = name
        self.window = window
        self.prices = prices
        self._model = model
        self._secrets = (*secrets, *_keys(os.environ))
        self._joins = any(kind.__name__ in _JOINING for kind in type(model).__mro__)
        self._entered = False

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """As the port says."""
        breaks = request.settings.cache and breakpoints.wanted(self._model.system, self._model.model_name)
        within = breaks and request.settings.cache_messages
        said = outgoing.messages(request, self._model.system, breaks=within, joins=self._joins)
        settings = outgoing.settings(request, self._model.system, breaks=breaks, joins=self._joins)
        parameters = outgoing.parameters(request, joins=self._joins)
        begun = False
        try:
            if not self._entered:
                self._entered = True
                await self._model.__aenter__()
            async with model_request_stream(
                self._model, said, model_settings=settings, model_request_parameters=parameters
            ) as events:
                async for event in events:
                    begun = True
                    if piece := incoming.delta(event):
                        yield piece
                end = incoming.ending(events.get(), self.name, self.prices)
        except Exception as error:
            # Nothing is chained: the words of the clients may repeat a key.
            raise model_error(error, self.name, self._secrets, begun=begun) from None
        for call in end.answer.calls:
            yield call
        yield end

    async def close(self) -> None:
        """As the port says."""
        if self._entered:
            self._entered = False
            await self._model.__aexit__(None, None, None)


def connect(name: str, seller: str, options: Mapping[str, Any]) -> Connected:
    """The model of pydantic-ai for `provider:name`. Raises `ConfigError` where there is none."""
    try:
        model = infer_model(name, lambda asked: _provider(asked, options))
        # Built once more, by its public constructor, with settings that hold for every request.
        again: Any = type(model)
        return cast(Connected, again(model.model_name, provider=model.provider, settings=_PLAIN))
    except Exception as error:  # the clients have errors of their own for what is missing
        secrets = (str(options.get("api_key", "")), *_keys(os.environ))
        said = clean(_ADVICE.split(str(error))[0], secrets)
        raise ConfigError(f"the model {name!r} cannot be opened: {said}", hint=_hint(seller, error)) from None


def _hint(seller: str, error: Exception) -> str:
    """What would be right: the extra to install, or what to look at."""
    if isinstance(error, ImportError) and (group := _GROUP.search(str(error))):
        ours = EXTRAS.get(group[1])
        return f'install "hudkit[{ours}]"' if ours else f'install "pydantic-ai-slim[{group[1]}]"'
    return f"check the provider {seller!r}{', its region' if seller == 'bedrock' else ''} and its key"


def _provider(asked: str, options: Mapping[str, Any]) -> Seller[Any]:
    return infer_provider_class(asked)(**options)


def _keys(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Values of environment variables that are keys by their names."""
    return tuple(value for name, value in environment.items() if name.endswith(("_API_KEY", "_TOKEN")) and value)
