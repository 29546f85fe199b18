"""Compaction: which old outputs leave a window, when that pays, and what a compaction dropped and kept. Pure."""
