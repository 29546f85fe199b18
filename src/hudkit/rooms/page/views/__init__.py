"""The parts of the page, each a function from what there is to elements."""
