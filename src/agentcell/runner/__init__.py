"""Messages, a way to ask a model and tools → events, a result and a trace; a loop with limits."""
