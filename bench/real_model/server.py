"""A real llama.cpp server with a small instruct model, whose own chat template makes the prompts.

One slot: a prompt that begins as the one before costs only what differs. Temperature 0: a run can be repeated.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from bench.figures import Skipped
from bench.real_model.weights import Weights, model_file

_SECONDS = 1800.0
_GREEDY = {"temperature": 0, "top_k": 1, "seed": 1, "cache_prompt": True}


class ModelServer:
    """The server's address, and what is asked of it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def prompt(self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]] = ()) -> str:
        """A request as the model reads it. `messages` and `tools` are those of chat completions."""
        body = {"messages": list(messages), **({"tools": list(tools)} if tools else {})}
        return str(self._ask("/apply-template", body)["prompt"])

    def complete(self, prompt: str, most: int, stop: Sequence[str] = ()) -> str:
        """At most `most` tokens behind the prompt, up to one of `stop`."""
        return str(
            self._ask("/completion", {"prompt": prompt, "n_predict": most, "stop": [*stop], **_GREEDY})["content"]
        )

    def letters(self, prompt: str, letters: str) -> dict[str, float]:
        """How likely each of these letters is as the next token: natural logarithms, one beyond the first hundred
        tokens as the last of them."""
        body = {"prompt": prompt, "n_predict": 1, "n_probs": 100, **_GREEDY}
        first = self._ask("/completion", body)["completion_probabilities"][0]["top_logprobs"]
        known = {str(token["token"]): float(token["logprob"]) for token in reversed(first)}
        least = min(known.values())
        return {letter: known.get(letter, least) for letter in letters}

    def chat(self, messages: Sequence[dict[str, Any]], **options: Any) -> tuple[str, dict[str, int]]:
        """An answer with the sampler of `options`, and the tokens `in`, `cached` (of those) and `out`."""
        body = {"messages": list(messages), "cache_prompt": True, **options}
        answer = self._ask("/v1/chat/completions", body)
        usage = answer["usage"]
        spent = {
            "in": int(usage["prompt_tokens"]),
            "cached": int(usage["prompt_tokens_details"]["cached_tokens"]),
            "out": int(usage["completion_tokens"]),
        }
        return str(answer["choices"][0]["message"]["content"]), spent

    def tokens(self, text: str) -> int:
        return len(self._ask("/tokenize", {"content": text})["tokens"])

    def _ask(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(
            self.address + path, json.dumps(body).encode(), {"content-type": "application/json"}
        )
        with self._opener.open(request, timeout=_SECONDS) as answer:
            return dict(json.loads(answer.read()))


@contextmanager
def model_server(
    weights: Weights,
    context: int = 8192,
    threads: int = 1,
    slots: int = 1,
    *,
    ram_cache: int = 0,
    own_words: bool = False,
) -> Iterator[ModelServer]:
    """A server in this process. Where others compute, one thread is faster than two. Raises `Skipped`.

    `slots` share the `context`; a prompt goes to the one whose last prompt began most like it. `ram_cache`:
    MiB for prompts of a slot that others took, so that each agent goes on from its own.
    """
    try:
        module = import_module("xllamacpp")
    except ImportError:
        raise Skipped("the package xllamacpp is not installed; it is in the dependency group `bench`") from None
    parameters = module.CommonParams()
    parameters.model.path = str(model_file(weights))
    parameters.n_ctx, parameters.n_parallel, parameters.cache_ram_mib = context, slots, ram_cache
    # Below that likeness, a slot that is free is taken: who has one of his own keeps it.
    parameters.slot_prompt_similarity = 0.8 if slots > 1 else parameters.slot_prompt_similarity
    # What stands in the prompt is not said again word for word, as small models do with what others said.
    parameters.sampling.dry_multiplier, parameters.sampling.dry_penalty_last_n = (0.8, -1) if own_words else (0.0, 0)
    parameters.sampling.dry_allowed_length = 4
    parameters.verbosity, parameters.warmup, parameters.use_jinja = 0, False, True
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    running = module.Server(parameters)
    yield ModelServer(running.listening_address)
    del running
