"""Questions to a hosted media service → its answers, by HTTP: one request each, none repeated."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from agentcell.adapters import transport
from agentcell.adapters.body import Body
from agentcell.adapters.broken_connections import broken, never_left
from agentcell.adapters.connection import Timeouts, shared_client
from agentcell.adapters.failures import Origin
from agentcell.adapters.prepared import Prepared
from agentcell.adapters.retry import RetryPolicy
from agentcell.errors import GenerationFailed, ModelError
from agentcell.imaging.hosted import answers
from agentcell.imaging.hosted.answers import NoAnswer, Refused, Snapshot
from agentcell.imaging.hosted.encode import PREFIX
from agentcell.imaging.hosted.service import NAME, TOKEN_VARIABLE, URL_VARIABLE, MediaService

if TYPE_CHECKING:
    import httpx2

_MOST_BYTES = 16 << 20
"""Of an answer: a long list of models has some hundred thousand."""

_FIRST_ERROR, _FIRST_FAULT = 300, 500
_NO_SUCH_PLACE, _TIMED_OUT = 404, 408
_NO_SUCH_WAY = (404, 405, 409, 410, 501)
"""What a service answers to the wish to stop a job that it cannot stop."""

TIMEOUTS = Timeouts(connect=15.0, first_byte=60.0, silence=60.0)


class MediaClient:
    """Speaks the protocol of one `MediaService`. Holds nothing open.

    Parameters
    ----------
    service
        Whom to ask.
    timeouts
        For each request.
    """

    def __init__(self, service: MediaService, timeouts: Timeouts = TIMEOUTS) -> None:
        self._service = service
        self._timeouts = timeouts
        check_token = f"check {service.place}; a token that is refused may be old."
        self.origin = Origin(
            provider=NAME,
            model="",
            address=service.base_url,
            key=service.token,
            key_variable=service.place or TOKEN_VARIABLE,
            is_local=service.is_here,
            fixes={
                "AuthenticationError": check_token,
                "QuotaExceeded": "add credit to your account at the media service.",
                "UnknownModel": "see `%generate models`.",
            },
        )

    async def submit(self, path: str, body: Body, key: str) -> Snapshot:
        """Send a wish, once.

        Parameters
        ----------
        path
            Of the protocol.
        key
            The idempotency key.

        Raises
        ------
        ModelError
            If the service does not take it; `is_billed` is then False.
        GenerationFailed
            If nobody knows whether it took it: the connection broke, or the answer is none.
        """
        prepared = Prepared(
            body=body,
            headers={"idempotency-key": key},
            timeouts=self._timeouts,
            policy=RetryPolicy(max_retries=0),
            origin=self.origin,
        )
        url = self._service.base_url + path
        try:
            answer = await transport.post(prepared, url, self._headers(), may_leave=False)
        except ModelError as error:
            if never_left(error.__cause__):
                error.is_billed = False
                raise
            raise self._lost(error.problem) from error
        data = await self._read(answer, is_submit=True)
        status = answer.status_code
        if status >= _FIRST_ERROR:
            refused = answers.refusal(self.origin, f"POST {url}", status, answer.headers, data)
            if status == _NO_SUCH_PLACE:
                refused.fix = f"check {URL_VARIABLE}: the service knows no such address."
            if status >= _FIRST_FAULT or status == _TIMED_OUT:
                raise self._lost(refused.problem, status=status)
            refused.is_billed = False
            raise refused
        try:
            return answers.snapshot(data, self.origin)
        except Refused as said:
            raise answers.failed(
                self.origin,
                f"The media service refused: {said}",
                "change what it names; nothing was made.",
                is_billed=False,
                status=status,
            ) from None
        except NoAnswer as what:
            raise self._lost(f"The media service sent {what}.", status=status) from None

    async def look(self, request_id: str) -> Snapshot:
        """Ask how a job is.

        Raises
        ------
        ModelError
            If there is no answer, or its status is an error.
        NoAnswer, Refused
            If it is no answer.
        """
        _, data = await self._asked("GET", f"{PREFIX}/requests/{quote(request_id, safe='')}")
        return answers.snapshot(data, self.origin)

    async def cancel(self, request_id: str) -> bool:
        """Ask to stop a job, and say whether the service says that it did.

        Notes
        -----
        The protocol as it was described has no word for it. DELETE on the job is what a service
        that can would take; one that cannot answers that there is no such way.

        Raises
        ------
        ModelError
            If there is no answer, or the token is refused.
        """
        path = f"{PREFIX}/requests/{quote(request_id, safe='')}"
        try:
            _, data = await self._asked("DELETE", path)
        except ModelError as error:
            if error.status in _NO_SUCH_WAY:
                return False
            raise
        try:
            answers.data_of(data, self.origin)
        except Refused:
            return False
        except NoAnswer:
            return True  # a good status without a body
        return True

    async def models(self, *, include_upstream: bool = False) -> Any:
        """Return what the service says of its models, as it says it.

        Parameters
        ----------
        include_upstream
            Whether those of its providers are listed too.

        Raises
        ------
        ModelError
            If there is no answer, or it is none.
        """
        query = "?includeUpstream=true" if include_upstream else ""
        status, data = await self._asked("GET", f"{PREFIX}/models{query}")
        try:
            return answers.data_of(data, self.origin)
        except (Refused, NoAnswer) as what:
            raise answers.failed(
                self.origin,
                f"The media service's list of models cannot be read: {what}.",
                "try again.",
                status=status,
                is_billed=False,
            ) from None

    # -- requests

    def _headers(self) -> dict[str, str]:
        return {"accept": "application/json", "authorization": f"Bearer {self._service.token}"}

    async def _asked(self, method: str, path: str) -> tuple[int, bytes]:
        import httpx2

        url = self._service.base_url + path
        client = await shared_client()
        waits = self._timeouts
        limits = {"connect": waits.connect, "pool": waits.connect}
        limits |= {"read": waits.first_byte, "write": waits.first_byte}
        headers = {"user-agent": "agentcell", **self._headers()}
        request = httpx2.Request(method, url, headers=headers, extensions={"timeout": limits})
        try:
            answer = await client.send(request, stream=True, follow_redirects=False)
        except httpx2.HTTPError as error:
            raise broken(error, self.origin, waits, waits.first_byte) from error
        data = await self._read(answer, is_submit=False)
        if answer.status_code >= _FIRST_ERROR:
            asked = f"{method} {url.partition('?')[0]}"
            raise answers.refusal(self.origin, asked, answer.status_code, answer.headers, data)
        return answer.status_code, data

    async def _read(self, answer: httpx2.Response, *, is_submit: bool) -> bytes:
        """Return the body of an answer."""
        import httpx2

        body = bytearray()
        try:
            async with asyncio.timeout(self._timeouts.first_byte):
                async for piece in answer.aiter_bytes():
                    body += piece
                    if len(body) > _MOST_BYTES:
                        break
        except (httpx2.HTTPError, TimeoutError) as error:
            what = "The media service's answer broke off"
            if is_submit and answer.status_code < _FIRST_ERROR:
                raise self._lost(f"{what}.") from error
            if not is_submit:
                raise answers.failed(self.origin, f"{what}.", "try again.") from error
        finally:
            await answer.aclose()
        return bytes(body)

    def _lost(self, problem: str, **facts: Any) -> GenerationFailed:
        return answers.failed(
            self.origin,
            f"{problem.rstrip('.')}. Whether the service took the job is not known, and so is"
            " whether it is billed; nothing is sent again by itself.",
            "`%generate resume` asks again with the same key, which does not charge twice where"
            " the service keeps keys.",
            is_billed=None,
            is_over=False,
            **facts,
        )
