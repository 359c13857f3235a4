"""A media service behind an address and a token: jobs that are submitted, asked for and fetched."""
