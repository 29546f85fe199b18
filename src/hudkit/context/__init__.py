"""The context window: prefix caches and what calls cost, compaction and pruning, and each number of theirs once."""
