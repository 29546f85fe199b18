"""Every name that is exported: the one place to change while OpenTelemetry's conventions for generative AI move."""

from __future__ import annotations

from collections.abc import Mapping

SCOPE = "hudkit"
"""The instrumentation scope of all spans and metrics."""

# -- operations, which begin the names of spans -------------------------------------------------------------------

INVOKE_AGENT = "invoke_agent"
CHAT = "chat"
EXECUTE_TOOL = "execute_tool"

# -- attributes of the conventions --------------------------------------------------------------------------------

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
CONVERSATION = "gen_ai.conversation.id"
AGENT = "gen_ai.agent.name"
REQUEST_MODEL = "gen_ai.request.model"
REQUEST_STREAM = "gen_ai.request.stream"
REQUEST_MAX_TOKENS = "gen_ai.request.max_tokens"
REQUEST_TEMPERATURE = "gen_ai.request.temperature"
REQUEST_TOP_P = "gen_ai.request.top_p"
RESPONSE_ID = "gen_ai.response.id"
RESPONSE_MODEL = "gen_ai.response.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ = "gen_ai.usage.cache_read.input_tokens"
CACHE_CREATION = "gen_ai.usage.cache_creation.input_tokens"
REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens"
TOOL = "gen_ai.tool.name"
TOOL_CALL = "gen_ai.tool.call.id"
TOOL_TYPE = "gen_ai.tool.type"
TOKEN_TYPE = "gen_ai.token.type"
ERROR_TYPE = "error.type"

# -- attributes that hold what was said ----------------------------------------------------------------------------

SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_RESULT = "gen_ai.tool.call.result"

# -- our own -------------------------------------------------------------------------------------------------------

WINDOW_USED = "hudkit.window.used"
WINDOW_LIMIT = "hudkit.window.limit"
FRAME_TOKENS = "hudkit.frame.tokens"
BEAT = "hudkit.beat.number"
BEAT_LATE = "hudkit.beat.late"
FRAME_DENSITY = "hudkit.frame.density"
FRAME_PLACED = "hudkit.frame.placed"
COST = "hudkit.cost"
ENDED = "hudkit.ended"
STEPS = "hudkit.steps"
OMITTED = "hudkit.content.omitted"
COMPACTION_TRIGGER = "hudkit.compaction.trigger"
COMPACTION_AUTHOR = "hudkit.compaction.author"
PRUNED_CALLS = "hudkit.pruning.calls"
RETRY_ATTEMPT = "hudkit.retry.attempt"
RETRY_DELAY = "hudkit.retry.delay"

RETRY_EVENT = "hudkit.retry"
COMPACTION_EVENT = "hudkit.compaction"
PRUNING_EVENT = "hudkit.pruning"

# -- metrics -------------------------------------------------------------------------------------------------------

TOKEN_USAGE = "gen_ai.client.token.usage"
DURATION = "gen_ai.client.operation.duration"

TOKEN_BUCKETS = tuple(float(4**power) for power in range(14))
"""1 to 67,108,864 tokens, as the conventions advise."""
SECOND_BUCKETS = tuple(0.01 * 2**power for power in range(14))
"""0.01 to 81.92 seconds, as the conventions advise."""

# -- values --------------------------------------------------------------------------------------------------------

UNKNOWN = "unknown"
"""The provider of a model whose name has none."""

PROVIDERS: Mapping[str, str] = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "google": "gcp.gen_ai",
    "google-gla": "gcp.gemini",
    "google-vertex": "gcp.vertex_ai",
    "grok": "x_ai",
    "mistral": "mistral_ai",
    "moonshotai": "moonshot_ai",
    "openai-chat": "openai",
    "openai-responses": "openai",
    "xai": "x_ai",
}
"""Providers that the conventions call otherwise than a model's name does."""

FINISHES: Mapping[str, str] = {"tool-calls": "tool_call", "refusal": "content_filter"}
"""Reasons why an answer ended that the conventions call otherwise."""


def provider_and_model(name: str) -> tuple[str, str]:
    """Return the provider in the conventions' words, and the model as asked for, of a name such as `openai:gpt-5`."""
    provider, colon, model = name.partition(":")
    if not colon:
        return UNKNOWN, name
    return PROVIDERS.get(provider, provider), model
