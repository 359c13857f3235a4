"""The magics, under the package's public name. The code is in `magics/agentcell_magics/`."""

from agentcell_magics import (
    current_session,
    load_ipython_extension,
    unload_ipython_extension,
)

__all__ = ["current_session", "load_ipython_extension", "unload_ipython_extension"]
