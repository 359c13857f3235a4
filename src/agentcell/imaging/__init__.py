"""Image tools and generation: what a model may look at, what it may make, and what came of it."""
