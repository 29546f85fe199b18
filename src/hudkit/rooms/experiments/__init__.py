"""Experiments: one world played with many seeds in several variants, and what came out of it as tables and a page.

`experiment_file` reads what is to be played, `run_queue` plays it in processes, `play_run` is one run, `run_tables`
makes rows of a world's log, and `results` writes them all.
"""
