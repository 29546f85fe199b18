"""Trees as JSX text: a reader with its own scanner and grammar, and a writer. Nothing in a text is ever executed."""
