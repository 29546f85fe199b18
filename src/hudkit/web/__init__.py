"""What all pages share: the guard before them, addresses of this machine, and the elements that they are made of."""
