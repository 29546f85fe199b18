"""pi as a host."""
