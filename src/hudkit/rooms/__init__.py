"""Rooms: a society of agents whose whole working memory is their HUD, on one log."""

FIRST_WORLD = "island"
"""The name of the world that comes with hudkit, for any model, or for none."""

FIRST_RECORDING = "lifeboat"
"""The name of the recorded run that comes with hudkit: what is shown where there is no world yet."""

IMPROVISER_LABEL = "improviser (rules and chance, no language model)"
"""What people read where a model's name stands otherwise."""

MAX_SEED = 2**53
"""The greatest seed of a world's random choices: every reader of JSON has it exactly."""
