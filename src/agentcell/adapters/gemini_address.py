"""The address of Google's API, as people give it, to those of a version of it and of uploads."""

from __future__ import annotations

import re

VERSION = "v1beta"


def versioned(url: str) -> str:
    """Return `url` with a version at its end; one that is there stays."""
    return url if re.search(r"/v\d+[a-z0-9]*$", url) else f"{url}/{VERSION}"


def uploading(url: str) -> str:
    """Return where files are sent: ``…/v1beta`` becomes ``…/upload/v1beta/files``."""
    root, _, version = versioned(url).rpartition("/")
    return f"{root}/upload/{version}/files"
