"""The gateway: between any client with a base URL and its provider, with the HUD in the calls of agents."""
