"""The resident process: it holds tokenizer, projections and the log, and answers hosts over a unix socket."""
