"""The embedded host: sessions of its own, its tools and their permissions, and the prompt that they are told with."""
