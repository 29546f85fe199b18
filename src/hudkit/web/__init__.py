"""What all pages share: the guard before them, answers, styles, and the elements that they are made of."""
