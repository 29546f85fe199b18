"""Rooms: a society of agents whose whole working memory is their HUD, on one log."""
