"""What others need to test their own parts of hudkit: one conformance suite per protocol."""
