"""One module a page; each is a function from what was read to elements."""
