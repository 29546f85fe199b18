"""What it takes to put hudkit into another program's configuration: careful edits, and a record of them."""
