"""An agent's session on a terminal: what is shown while it works, how it asks, and where it is told what to do."""
