"""Part of agentcell."""
