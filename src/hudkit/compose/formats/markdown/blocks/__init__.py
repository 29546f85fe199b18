"""One writer per kind of block; none of them knows another, and `write` has the table."""
