"""Models behind services: messages out, events in. One module for each protocol.

Nothing is imported here; `agentcell.adapters.registry.resolve` imports what a name needs.
"""
