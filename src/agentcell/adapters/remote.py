"""Messages, to the events of a service's answer: what all models behind HTTP have in common.

A subclass says what goes out (`encode`), what comes back (`decoder`) and how it is sent (`send`).
How often that is tried is told in `attempts`.
"""

from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from agentcell.adapters import addresses, failures
from agentcell.adapters.answer import Decoder
from agentcell.adapters.attempts import answered
from agentcell.adapters.body import Body, written
from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.adapters.connection import Timeouts
from agentcell.adapters.events import Event
from agentcell.adapters.extras import check_headers, checked, merged, secrets_of
from agentcell.adapters.failures import Origin
from agentcell.adapters.model import Model
from agentcell.adapters.prepared import Prepared
from agentcell.adapters.rate_limits import Place, RateLimits
from agentcell.adapters.retry import RetryPolicy
from agentcell.errors import AgentcellError, Unsupported
from agentcell.keys import Key
from agentcell.messages import Message

if TYPE_CHECKING:
    import httpx2

_PLACES = ("sent", "user", "refused")


class RemoteModel(Model):
    """One model behind a service. Its constructor does no I/O.

    Parameters
    ----------
    model_name
        The service's own name for it.
    api_key
        None or empty: at the first use, from the environment or where else keys are kept; see
        `agentcell.keys`. One that is given here is left out where the model is pickled.
    base_url
        None or empty: from the environment, else the service's own address.
    invoke_settings
        Settings for every call; see `agentcell.adapters.settings`.
    timeout
        Seconds to wait for the first byte of an answer and for each next one, or `Timeouts`.
    max_retries
        Attempts after the first, or a `RetryPolicy`.
    capability_overrides
        Fields of `ModelCapabilities` to set otherwise for this model.
    system_media, tool_result_media
        ``"user"`` moves media that this service takes only from the user into a user turn, with
        a line about it. Short for `capability_overrides`.
    extra_headers, extra_body
        Sent with every request, over what is there.
    upload, upload_cache
        For models with a Files API; see `agentcell.adapters.uploads.UploadsFiles`.
    limits
        How often and how many at once may be asked; one object may be shared by many models.
    """

    key_variable: ClassVar[str] = ""
    key_variables: ClassVar[tuple[str, ...]] = ()
    """Where the key is looked for, first to last; empty: in `key_variable` alone."""
    url_variable: ClassVar[str] = ""
    default_url: ClassVar[str] = ""
    path: ClassVar[str] = ""
    is_own_server: ClassVar[bool] = False
    """Whether it is a server that people run themselves, and that may need no key."""

    def __init__(  # noqa: PLR0913 (one for each fact about a service)
        self,
        model_name: str,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        invoke_settings: Mapping[str, Any] | None = None,
        timeout: float | Timeouts | None = None,
        max_retries: int | RetryPolicy = 2,
        capability_overrides: Mapping[str, Any] | None = None,
        system_media: str | None = None,
        tool_result_media: str | None = None,
        extra_headers: Mapping[str, str] | None = None,
        extra_body: Mapping[str, Any] | None = None,
        upload: str = "never",
        upload_cache: str | os.PathLike[str] | None = None,
        limits: RateLimits | None = None,
    ) -> None:
        super().__init__(model_name, invoke_settings)
        self._given_key = api_key or None
        self._given_url = base_url or None
        overrides = dict(capability_overrides or {})
        if system_media is not None:
            overrides["system_media"] = system_media
        if tool_result_media is not None:
            overrides["tool_result_media"] = tool_result_media
        self.capabilities = self.default_capabilities().with_overrides(overrides)
        for name in ("system_media", "tool_result_media"):
            if (place := getattr(self.capabilities, name)) not in _PLACES:
                raise ValueError(f"{name} is {place!r}; one of {_PLACES} was expected")
        self._timeouts = Timeouts.of(timeout)
        self._policy = RetryPolicy.of(max_retries)
        self._extra_headers = checked("extra_headers", extra_headers)
        self._extra_body = checked("extra_body", extra_body)
        self.upload = upload
        self.upload_cache = upload_cache
        self._check_upload()
        if limits is not None and not isinstance(limits, RateLimits):
            raise TypeError(f"limits is {limits!r}; RateLimits(…) was expected")
        self._limits = limits

    def __copy__(self) -> Self:
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        made = memo[id(self)] = type(self).__new__(type(self))
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made

    def __getstate__(self) -> dict[str, Any]:
        # A pickle goes to other processes, onto disks and into logs; a key that was given in code
        # stays here. Who unpickles it has the keys of its own environment.
        return {**self.__dict__, "_given_key": None}

    def limited(self, limits: RateLimits | None) -> Self:
        """Return a copy that keeps `limits`.

        Parameters
        ----------
        limits
            In the place of its own.
        """
        made = copy.copy(self)
        made._limits = limits  # noqa: SLF001 (a copy of this one)
        return made

    def find_key(self) -> None:
        """Look for the key now; a person who sits there may be asked for it. Nothing is sent.

        Raises
        ------
        KeyMissing
            If there is none and the service needs one.
        """
        self._found_key(may_ask=True)

    def default_capabilities(self) -> ModelCapabilities:
        """Return what this model takes, where nothing else is said."""
        return ModelCapabilities()

    def _check_upload(self) -> None:
        if self.upload != "never":
            raise Unsupported(
                f"{self.name} uploads no files; upload={self.upload!r} was given.",
                fix="leave upload out (attachments go with the question), or use one of openai/,"
                " anthropic/ or gemini/.",
                provider=self.provider,
                model=self.model_name,
            )

    @property
    def base_url(self) -> str:
        """The address that requests go to."""
        url = self._given_url or addresses.from_environment(self.url_variable) or self.default_url
        url = addresses.checked_url(url, provider=self.provider, model=self.model_name)
        return addresses.without_end(url, self.path)  # some give the address of the path itself

    @property
    def is_local(self) -> bool:
        """Whether that is on this machine or network."""
        return addresses.is_local_address(self.base_url)

    def _found_key(self, *, may_ask: bool = False) -> Key:
        return addresses.resolve_key(
            given=self._given_key,
            variables=self.key_variables,
            main_variable=self.key_variable,
            url=self.base_url,
            default_url=self.default_url,
            url_was_argument=self._given_url is not None,
            is_own_server=self.is_own_server,
            may_ask=may_ask,
            provider=self.provider,
            model=self.model_name,
        )

    def _key(self) -> str:
        return self._found_key().value

    async def service_headers(self, prepared: Prepared) -> dict[str, str]:
        """Return the service's own headers of a request, the key among them."""
        raise NotImplementedError

    def prepared_apart(self) -> Prepared:
        """Return what requests need that are about no question: about files, or about batches."""
        return Prepared(
            body=Body(()),
            headers=self._extra_headers,
            timeouts=self._timeouts,
            policy=self._policy,
            origin=self._origin(),
        )

    def encode(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the body of the request. Nothing is sent.

        Raises
        ------
        BadRequest, Unsupported
            For what this model cannot take.
        """
        raise NotImplementedError

    def decoder(self, origin: Origin) -> Decoder:
        """Return a decoder for one answer."""
        raise NotImplementedError

    async def send(self, prepared: Prepared) -> httpx2.Response:
        """Send one request and return its answer, whose body is still to be read.

        Raises
        ------
        ModelError
            If there is no answer, or its status is an error.
        """
        raise NotImplementedError

    def fixes(self) -> dict[str, str]:
        """Return better advice than the general one, by the name of an error's class."""
        return {}

    def _origin(self) -> Origin:
        """Return whom requests go to, with which key."""
        key = self._found_key()
        return Origin(
            provider=self.provider,
            model=self.model_name,
            address=self.base_url,
            key=key.value,
            key_variable=key.place,
            is_local=self.is_local or self.is_own_server,
            fixes=self.fixes(),
        )

    def astream(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        settings: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> AsyncGenerator[Event]:
        """Yield the answer as it comes. Closing the iterator closes the connection.

        Where a key is nowhere and a person sits there, the call asks for it; see `agentcell.keys`.

        Parameters
        ----------
        messages, tools, settings
            See `Model.invoke`.
        kwargs
            ``timeout, max_retries, extra_headers, extra_body``, for this call.
        """
        with contextlib.suppress(AgentcellError):  # raised again where the answer is awaited
            # Here, since only the caller's thread can show a question to the person.
            self._found_key(may_ask=True)
        return answered(
            self,
            lambda: self._prepare(messages, tools, settings, kwargs),
            lambda: self._place(messages, tools, settings),
        )

    def _place(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None,
        settings: Mapping[str, Any] | None,
    ) -> Place | None:
        """Return the request's place among those that the limits let go; None without limits."""
        if self._limits is None:
            return None
        if self._limits.tokens_per_minute is None:
            return self._limits.ask()
        from agentcell.adapters.estimate import estimate_tokens

        found = estimate_tokens(messages, self, tools=tools, settings=settings, read_pdfs=False)
        return self._limits.ask(found.tokens)

    def as_sent(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> tuple[str, Body]:
        """Return the address and the body of a request. Nothing is sent, and no key is needed.

        Parameters
        ----------
        messages, tools, settings
            See `Model.invoke`; so are the errors.
        """
        return self.address_at(self.base_url), self._body(messages, tools, settings, {})

    def own_keys(self) -> tuple[str, ...]:
        """Return the keys that must not be shown; none is asked for."""
        others = secrets_of(self._extra_headers, self._given_url or "")
        return (self._given_key, *others) if self._given_key else others

    def address_at(self, base_url: str) -> str:
        """Return where requests go to.

        Parameters
        ----------
        base_url
            The service's.
        """
        return addresses.joined(base_url, self.path)

    def _body(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None,
        settings: Mapping[str, Any] | None,
        extra: Mapping[str, Any],
    ) -> Body:
        def encoded(ready: list[Message]) -> dict[str, Any]:
            return merged(merged(self.encode(ready, tools, settings), self._extra_body), extra)

        return written(self.ready(messages).messages, encoded)

    def _prepare(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None,
        settings: Mapping[str, Any] | None,
        options: dict[str, Any],
    ) -> Prepared:
        """Check everything that can be checked without the service."""
        if unknown := options.keys() - {"timeout", "max_retries", "extra_headers", "extra_body"}:
            raise Unsupported(
                f"{self.name} takes no argument {min(unknown)!r} for a call.",
                fix="use settings={…}, timeout, max_retries, extra_headers or extra_body.",
                provider=self.provider,
                model=self.model_name,
            )
        origin = self._origin()
        timeout, retries = options.get("timeout"), options.get("max_retries")
        try:
            given = checked("extra_headers", options.get("extra_headers"))
            headers = {**self._extra_headers, **given}
            check_headers(headers)
            timeouts = self._timeouts if timeout is None else Timeouts.of(timeout)
            policy = self._policy if retries is None else RetryPolicy.of(retries)
            extra = checked("extra_body", options.get("extra_body"))
            body = self._body(messages, tools, settings, extra)
        except (TypeError, ValueError, RecursionError) as problem:
            if isinstance(problem, AgentcellError):
                raise
            raise failures.not_sendable(origin, str(problem)) from problem
        return Prepared(
            body=body,
            headers=headers,
            timeouts=timeouts,
            policy=policy,
            origin=replace(origin, secrets=secrets_of(headers, origin.address)),
        )
