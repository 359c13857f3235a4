"""A provider, and a model named with each call → the model to ask; another provider's is refused.

``create_gemini_llm_call()`` binds the provider with its key and address; which of its models is
asked may be said with each call. The nearest says it: the call, then the prompt file's front
matter, then the factory's own argument, then the provider's default.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Literal

from agentcell.adapters.model import Model
from agentcell.adapters.registry import locate, providers, resolve
from agentcell.errors import UnknownModel
from agentcell.messages import Message

_LOCAL = ("local", "ollama", "lmstudio", "vllm", "llamacpp")
_FAMILIES = (("openai", "openai-chat"), ("anthropic",), ("gemini",), _LOCAL)
_MAKERS = {"openai": "openai", "openai-chat": "openai", "anthropic": "anthropic"}
_MAKERS |= {"gemini": "gemini", **dict.fromkeys(_LOCAL, "local")}


class ModelCall:
    """Asks the models of one provider. Made by ``create_…_llm_call``; calling it asks.

    Parameters
    ----------
    provider
        Its name in the registry, ``"gemini"``.
    default_model
        Who is asked where no call names a model; None: the provider's own default.
    settings
        For every call, under those given with it.
    options
        For the models' constructor: ``api_key``, ``base_url``, ``timeout``, …
    """

    def __init__(
        self,
        provider: str,
        default_model: str | None = None,
        settings: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.provider = provider
        self.settings = dict(settings or {})
        self._options = dict(options or {})
        self._models: dict[str, Model] = {}
        self._lock = threading.Lock()
        self.default_model = default_model
        if default_model is not None:
            self._named(default_model)

    def __repr__(self) -> str:
        return f"ModelCall({self.provider!r}, default_model={self.default_model!r})"

    def model(self, name: str | None = None) -> Model:
        """Return the model to ask. Nothing is sent.

        Parameters
        ----------
        name
            ``"gemini-2.5-flash"``, ``"gemini/gemini-2.5-flash"`` or an alias; None: the default.

        Raises
        ------
        UnknownModel
            If it is another provider's, or there is no default.
        """
        full = self._named(name if name is not None else self.default_model)
        with self._lock:
            if full not in self._models:
                self._models[full] = resolve(full, **self._options)
            return self._models[full]

    async def __call__(
        self,
        messages: list[Message],
        model: str | None = None,
        tools: list[dict[str, Any]] | None = None,
        **settings: Any,
    ) -> dict[str, Any]:
        """Ask once and return the whole answer, as `Model.invoke` does.

        Parameters
        ----------
        messages, tools, settings
            See `Model.invoke`.
        model
            See `model`.

        Raises
        ------
        ModelError
            If there is no such model, or it refuses or fails.
        """
        asked = self.model(model)
        return await asked.ainvoke(messages, tools, {**self.settings, **settings})

    def _named(self, name: str | None) -> str:
        """Return ``provider/model``."""
        if name is None:
            info = next((one for one in providers() if one.name == self.provider), None)
            if info is None or not info.default_model:
                raise UnknownModel(
                    f"No model is named, and {self.provider} has no default.",
                    fix='name one: runner.call(…, model="…").',
                    provider=self.provider,
                )
            return f"{self.provider}/{info.default_model}"
        if not isinstance(name, str) or not name.strip():
            raise UnknownModel(
                f"{name!r} is no model's name.",
                fix='give one, for example model="gemini-2.5-flash".',
                provider=self.provider,
            )
        name = name.strip()
        if self._options.get("base_url"):  # only that server knows its models
            return f"{self.provider}/{name}"
        try:
            info, model = locate(name)
        except UnknownModel:  # nobody's here: only the service knows
            return f"{self.provider}/{name}"
        family = next((one for one in _FAMILIES if self.provider in one), (self.provider,))
        if info.name not in family:
            maker = _MAKERS.get(info.name)
            other = f"create_{maker}_llm_call()" if maker else f'resolve("{info.name}/…")'
            own = self._named(None) if self._has_default() else f"{self.provider}/…"
            raise UnknownModel(
                f"{name[:80]!r} is a model of {info.name}, but this llm_call asks {self.provider}.",
                fix=f"make the runner with llm_call={other}, or name a model of"
                f" {self.provider}, for example {own}.",
                provider=self.provider,
                model=name,
            )
        if self.provider in _LOCAL or info.name == "openai-chat":
            return f"{info.name}/{model}"
        return f"{self.provider}/{model}"  # api="chat" asks all of OpenAI's by that way

    def _has_default(self) -> bool:
        return any(one.name == self.provider and one.default_model for one in providers())


def create_openai_llm_call(
    model: str | None = None,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    api: Literal["responses", "chat"] = "responses",
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> ModelCall:
    """Return what asks OpenAI, or a server that speaks its protocol.

    Parameters
    ----------
    model
        Who is asked where no call names one.
    api_key, base_url, options
        Those of `OpenAIModel`; by default from the environment, when the first call is made.
        With `base_url`, any model's name is sent: only that server knows which it has.
    api
        ``responses``, or ``chat`` for Chat Completions, which most other servers speak.
    settings
        For every call: ``temperature``, ``max_tokens``, …
    """
    if api not in ("responses", "chat"):
        raise ValueError(f"api is {api!r}; 'responses' or 'chat' was expected")
    provider = "openai" if api == "responses" else "openai-chat"
    return ModelCall(provider, model, settings, _given(options, api_key, base_url))


def create_anthropic_llm_call(
    model: str | None = None,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> ModelCall:
    """Return what asks Anthropic.

    Parameters
    ----------
    model, settings
        As for `create_openai_llm_call`.
    api_key, base_url, options
        Those of `AnthropicModel`.
    """
    return ModelCall("anthropic", model, settings, _given(options, api_key, base_url))


def create_gemini_llm_call(
    model: str | None = None,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> ModelCall:
    """Return what asks Google's Gemini.

    Parameters
    ----------
    model, settings
        As for `create_openai_llm_call`.
    api_key, base_url, options
        Those of `GeminiModel`, ``gif_images`` among them.
    """
    return ModelCall("gemini", model, settings, _given(options, api_key, base_url))


def create_local_llm_call(
    model: str | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> ModelCall:
    """Return what asks the built-in reader, or a server on this machine.

    Parameters
    ----------
    model
        None: the built-in reader. ``local/PATH.gguf``, or a server's model:
        ``ollama/llama3.2``, ``lmstudio/…``, ``vllm/…``, ``llamacpp/…``.
    settings
        For every call.
    options
        Those of the model's constructor.
    """
    return ModelCall("local", model, settings, options)


def _given(options: Mapping[str, Any], api_key: str | None, base_url: str | None) -> dict[str, Any]:
    named = {"api_key": api_key, "base_url": base_url}
    return {**options, **{name: value for name, value in named.items() if value}}
