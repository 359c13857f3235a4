"""Makers of pictures and clips, one module each."""
