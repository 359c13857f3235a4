"""A model, to whether it costs nothing for certain: it says so, or runs on one's own server."""

from __future__ import annotations

import ipaddress
import re

from agentcell.adapters.addresses import PLACEHOLDER_KEY, host_of, is_local_address
from agentcell.adapters.model import Model
from agentcell.adapters.remote import RemoteModel
from agentcell.errors import AgentcellError

_ONLY_OF_A_PROVIDER = re.compile(r"(.*/)?(gpt-\d|gpt-image|chatgpt|o[134](-|$)|claude|gemini-)")
"""Ids of models that no server on this machine can hold: it would be a way to the provider."""

_IN_THE_CLOUD = ("-cloud", ":cloud")
"""Ends of ids that Ollama passes on to its makers' own, paid servers
(https://docs.ollama.com/cloud, read 2026-11-30)."""


def is_free(model: Model) -> bool:
    """Return whether an answer of `model` costs nothing for certain.

    A server on this machine that asks for no key is one's own, unless the model's id is one that
    only a provider has. One that is given a key may be a way to a service that is paid.
    """
    if model.is_free:
        return True
    if not isinstance(model, RemoteModel):
        return False
    try:
        url = model.base_url
        if model.is_own_server:
            return is_local_address(url) and not model.model_name.lower().endswith(_IN_THE_CLOUD)
        needs_no_key = _is_this_machine(url) and model._key() == PLACEHOLDER_KEY  # noqa: SLF001
    except AgentcellError:
        return False
    return needs_no_key and _ONLY_OF_A_PROVIDER.match(model.model_name.lower()) is None


def _is_this_machine(url: str) -> bool:
    host = host_of(url)
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
