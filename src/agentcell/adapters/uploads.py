"""Attachments, to files at the service that a question names by their ids: each goes up once.

What is to go up is chosen by `upload_choice` and sent by `upload_sender`; what a service's Files
API wants is a subclass's, in `upload_sdk` and `upload_gemini`; `upload_store` remembers.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from agentcell.adapters.events import Event, Retrying
from agentcell.adapters.outgoing import Outgoing
from agentcell.adapters.prepared import Prepared
from agentcell.adapters.remote import RemoteModel
from agentcell.adapters.upload_choice import choose, with_notes
from agentcell.adapters.upload_failures import gone, tried
from agentcell.adapters.upload_form import KEPT_SECONDS
from agentcell.adapters.upload_messages import Attached
from agentcell.adapters.upload_sender import Sender
from agentcell.adapters.upload_store import UPLOADS, Upload, account_of, kept
from agentcell.assets.asset import MediaAsset
from agentcell.assets.limits import MediaLimits
from agentcell.assets.prepare import Form
from agentcell.errors import ModelError, Unsupported
from agentcell.loop import LOOP
from agentcell.messages import Message
from agentcell.modality import FieldModality

WHEN = ("never", "auto", "always")


class UploadsFiles(RemoteModel):
    """A model whose service keeps files. ``upload`` says which attachments become such files.

    Parameters
    ----------
    upload
        ``never`` (the default): attachments go with each question. ``auto``: those of 4 MB and
        more, those too large for one request together, and those that are sent a second time.
        ``always``: all.
    upload_cache
        A folder, to remember there what was uploaded (in ``uploads.json``, without keys); else
        only this process knows.

    Notes
    -----
    The same content goes up once for each service, address and key, also if several threads ask
    at once, and is then named by its id. The service is asked to delete it after 48 hours. A file
    that the service no longer has goes up again, once, before any of the answer was shown.
    """

    file_limits: ClassVar[Mapping[str, int]] = {}
    """Fields of `media_limits` that are otherwise for uploaded files."""

    async def put_file(self, asset: MediaAsset, prepared: Prepared) -> tuple[Upload, bool]:
        """Send one file; return its copy, and whether that can be asked about already.

        Raises
        ------
        ModelError
            If the service does not take it.
        """
        raise NotImplementedError

    async def settle_file(self, upload: Upload, prepared: Prepared) -> None:
        """Wait until a file that was sent can be asked about.

        Raises
        ------
        ModelError
            If the service cannot read it, or needs too long.
        """

    async def remove_file(self, upload: Upload, prepared: Prepared) -> None:
        """Delete one file.

        Raises
        ------
        ModelError
            If the service does not; with status 404 if there is none.
        """
        raise NotImplementedError

    def uploads(self) -> list[Upload]:
        """Return the files that were uploaded with this model's key and are still there.

        Of this process, and of the folder ``upload_cache``. Nothing is asked of the service.
        """
        return UPLOADS.all_of(account_of(self._origin()), self._folder)

    def delete_uploads(self) -> list[Upload]:
        """Delete these files at the service, and return them.

        Raises
        ------
        ModelError
            If the service fails to; what it had deleted until then is forgotten.
        """
        return LOOP.run(self.adelete_uploads())

    async def adelete_uploads(self) -> list[Upload]:
        """Like `delete_uploads`, without blocking the loop."""
        prepared = self.prepared_apart()
        account = account_of(prepared.origin)
        found = await kept(self._folder, UPLOADS.all_of, account)
        for upload in found:
            try:
                await tried(functools.partial(self.remove_file, upload, prepared), prepared)
            except ModelError as error:
                if error.status != 404 and not gone(error, [upload]):  # noqa: PLR2004
                    raise
            await kept(self._folder, UPLOADS.forget, account, upload)
        return found

    def ready(
        self,
        messages: list[Message],
        *,
        detail: str = "",
        pdf_as: str = "pdf",
        forms: Mapping[str, Form] | None = None,
    ) -> Outgoing:
        """Return `messages` with attachments as this model takes them. Nothing is sent.

        Parameters
        ----------
        messages, detail, pdf_as, forms
            See `Model.ready`. A note tells of each attachment that will be uploaded.
        """
        ready = super().ready(messages, detail=detail, pdf_as=pdf_as, forms=forms)
        new = {one for one, is_there in self.as_files(ready.messages).items() if not is_there}
        if not new:
            return ready
        hours = KEPT_SECONDS // 3600
        end = f"is uploaded to {self.media_limits.provider} once, and deleted after {hours} hours."
        return with_notes(ready, messages, new, end)

    def as_files(self, messages: list[Message]) -> dict[str, bool]:
        """Return which attachments go as files of the service, and whether each is there already.

        Parameters
        ----------
        messages
            As `ready` returns them. They are known by their fingerprints.
        """
        if self.upload == "never":
            return {}
        try:
            account = account_of(self._origin())
        except ModelError:
            account = None  # no key: said when it is asked
        chosen = self._chosen(Attached.to(messages), account)
        return {one: account is not None and bool(UPLOADS.find(account, one)) for one in chosen}

    def request_limits(self) -> MediaLimits:
        """Return what one request may hold; what is uploaded does not count."""
        limits = super().request_limits()
        able = self.capabilities
        inline = (able.image_input and not self._takes_ids(FieldModality.IMAGE)) or (
            able.pdf_input and not self._takes_ids(FieldModality.PDF)
        )
        if self.upload == "never" or inline:
            return limits
        return replace(limits, request_bytes=sys.maxsize, **self.file_limits)  # type: ignore[arg-type]

    def astream(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        settings: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> AsyncGenerator[Event]:
        """Yield the answer as it comes. Closing the iterator closes the connection.

        Parameters
        ----------
        messages, tools, settings, kwargs
            See `RemoteModel.astream`.
        """
        if self.upload == "never":
            return super().astream(messages, tools, settings, **kwargs)
        return self._planned(messages, tools, settings, kwargs)

    async def _planned(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None,
        settings: dict[str, Any] | None,
        options: dict[str, Any],
    ) -> AsyncGenerator[Event]:
        """Choose what goes up, and ask."""
        is_list = isinstance(messages, (list, tuple))  # anything else is refused below
        attached = Attached.to(self.ready(messages).messages if is_list else ())
        account = account_of(self._origin())
        digests = dict.fromkeys(asset.fingerprint() for asset in attached.at.values())
        for digest in digests:
            if await kept(self._folder, UPLOADS.find, account, digest):
                UPLOADS.see(account, digest)  # by another process, perhaps
        chosen = self._chosen(attached, account)
        named = attached.naming(dict.fromkeys(chosen, "file-0"))
        if chosen:
            # Nothing goes up before all else about the request is found to be right.
            prepared = self._prepare(named, tools, settings, options)
            answer = self._asked(attached, chosen, prepared, (tools, settings, options))
        else:
            ready = named if is_list else messages
            answer = super().astream(ready, tools, settings, **options)
        for digest in digests:
            UPLOADS.see(account, digest)
        async with contextlib.aclosing(answer):
            async for event in answer:
                yield event

    async def _asked(
        self,
        attached: Attached,
        chosen: Mapping[str, MediaAsset],
        prepared: Prepared,
        rest: tuple[Any, Any, dict[str, Any]],
    ) -> AsyncGenerator[Event]:
        """Upload what is chosen, ask, and do both again for a file that the service has lost.

        Services name one lost file at a time, so each may have its turn; none has two.
        """
        tools, settings, options = rest
        sender = Sender(service=self, prepared=prepared, folder=self._folder)
        files: dict[str, Upload] = {}
        old: set[str] = set()
        again: set[str] = set()
        while True:
            async with contextlib.aclosing(sender.send(chosen, files)) as steps:
                async for step in steps:
                    if isinstance(step, Retrying):
                        yield step
                    elif step not in again:
                        old.add(step)
            began = False
            named = attached.naming({digest: one.reference for digest, one in files.items()})
            try:
                answer = super().astream(named, tools, settings, **options)
                async with contextlib.aclosing(answer):
                    async for event in answer:
                        began = began or not isinstance(event, Retrying)
                        yield event
            except ModelError as error:
                lost = gone(error, [one for digest, one in files.items() if digest in old])
                if began or not lost:
                    raise
                reason = error.problem
                for one in lost:
                    again.add(one.digest)
                    old.remove(one.digest)
                    del files[one.digest]
                    await kept(self._folder, UPLOADS.forget, sender.account, one)
            else:
                return
            yield Retrying(len(again) + 1, 0.0, reason)

    def _chosen(self, attached: Attached, account: str | None) -> dict[str, MediaAsset]:
        """Return the attachments that are to be files, by digest; nothing is remembered."""
        return choose(
            attached,
            every=self.upload == "always",
            takes_ids=self._takes_ids,
            seen=lambda digest: account is not None and UPLOADS.seen(account, digest),
            room=super().request_limits().request_bytes,
        )

    @property
    def _folder(self) -> Path | None:
        return None if self.upload_cache is None else Path(self.upload_cache).expanduser()

    def _takes_ids(self, modality: FieldModality) -> bool:
        able = self.capabilities
        if modality is FieldModality.IMAGE:
            return able.image_input and "file_id" in able.image_sources
        return able.pdf_input and "file_id" in able.pdf_sources

    def _check_upload(self) -> None:
        if self.upload not in WHEN:
            raise ValueError(f"upload is {self.upload!r}; one of {WHEN} was expected")
        folder = self.upload_cache
        if folder is not None and not isinstance(folder, (str, os.PathLike)):
            raise TypeError(f"upload_cache is {folder!r}; the path of a folder was expected")
        kinds = (FieldModality.IMAGE, FieldModality.PDF)
        if self.upload != "never" and not any(map(self._takes_ids, kinds)):
            raise Unsupported(
                f"{self.name} takes no file ids; upload={self.upload!r} was given.",
                fix="leave upload out, or let capability_overrides allow the source 'file_id'.",
                provider=self.provider,
                model=self.model_name,
            )
