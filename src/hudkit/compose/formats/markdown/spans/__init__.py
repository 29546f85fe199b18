"""One writer per kind of span; none of them knows another, and `write` has the table."""
