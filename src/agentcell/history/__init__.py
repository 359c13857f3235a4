"""Earlier turns: where they are kept, and what of them is sent again."""
