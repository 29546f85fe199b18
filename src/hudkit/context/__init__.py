"""What a model's window holds and what that costs: prefix caches, compactions, shares of the budget."""

from hudkit.tokens.counting import count_tokens

__all__ = ["count_tokens"]
