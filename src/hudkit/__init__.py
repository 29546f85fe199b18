"""A heads-up display for LLM agents."""
