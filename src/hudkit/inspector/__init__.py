"""The inspector: pages on coding sessions, read from the log. It changes nothing."""
