"""The address of Google's API, as people give it, to those of a version of it and of uploads."""

from __future__ import annotations

import re

from agentcell.adapters.addresses import joined, without_query

VERSION = "v1beta"


def versioned(url: str) -> str:
    """Return `url` with a version at the end of its path; one that is there stays."""
    has_one = re.search(r"/v\d+[a-z0-9]*$", without_query(url))
    return url if has_one else joined(url, f"/{VERSION}")


def uploading(url: str) -> str:
    """Return where files are sent: ``…/v1beta`` becomes ``…/upload/v1beta/files``."""
    base, mark, query = versioned(url).partition("?")
    root, _, version = base.rpartition("/")
    return f"{root}/upload/{version}/files{mark}{query}"
