"""What carries out the operations of `hudkit rooms`."""
