"""The page of a world: a person watches the rooms, sees what each agent sees, and takes part as the Architect."""
