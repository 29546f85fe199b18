"""A world in partitions: each a log of its own, so that they advance side by side; what concerns another one is sent
to its inbox, and taken up there once."""
