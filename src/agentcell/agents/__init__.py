"""Agents: a model with instructions, declared fields, tools, skills and a memory."""
