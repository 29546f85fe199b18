"""One folder per host: what the host tells becomes events, and frames go into its calls."""
