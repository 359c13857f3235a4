"""A session and its changes -> a panel in the page, and what reads of it without a kernel."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import anywidget
import traitlets

from agentcell.adapters.redaction import known_keys, redacted
from agentcell.errors import AgentcellError, PanelError
from agentcell.safe_text import plain
from agentcell.session import Session
from agentcell.wording import add_language, language, word
from agentcell_widgets.panel.doors import ANSWERED, buffers_of, doors_of, handles
from agentcell_widgets.panel.mailbox import Mailbox
from agentcell_widgets.panel.message import Message
from agentcell_widgets.panel.pace import Pace
from agentcell_widgets.panel.static import Bundle, Static, StaticOutputs, beside_view
from agentcell_widgets.panel.uploads import Uploaded, Uploads
from agentcell_widgets.panel.zh import ZH

add_language("zh", ZH)

_log = logging.getLogger(__name__)

CHANGES_PER_SECOND = 15
"""How often a page is told of the session's changes at most; more would be lost on the way."""

_LONGEST_BUG = 300

STATIC_INTERVAL = 1.0
"""Seconds between two updates of the output that reads without a kernel."""


class Panel(anywidget.AnyWidget):
    """What a person has in the page to work with a session; see the package's docstring.

    Parameters
    ----------
    session
        The session behind it; magics and Python code may use the same one.

    Notes
    -----
    Traits shared with `panel.js`, both owned by Python and never changed: `texts`, the sentences
    of the page in the reader's language by their English ones, and `language`.

    All else goes in messages. The page asks with ``{"kind", "id", "payload"}`` and bytes; the
    answer is ``{"kind": "reply", "id", "ok": true, "payload"}``, or ``{…, "ok": false, "problem",
    "fix"}``. `tell` sends ``{"kind", "payload"}`` to every view. The kinds of all panels: ``hello``
    (answered by `state`), ``upload-begin``, ``upload-piece``, ``upload-end`` (answered by
    `uploaded`) and ``upload-cancel``; and, from Python, ``state`` after changes of the session.
    """

    NAME: ClassVar[str] = "panel"
    """Of its classes of style, ``agentcell-NAME``."""

    TITLE: ClassVar[str] = "Panel"
    """What people call it, in English; it has an entry in `WORDS`."""

    WORDS: ClassVar[Mapping[str, str]] = {}
    """The sentences of its page and of its Python side, with their Chinese ones."""

    texts = traitlets.Dict().tag(sync=True)
    language = traitlets.Unicode().tag(sync=True)

    _doors: ClassVar[dict[str, tuple[str, bool]]] = {}
    _unsubscribe: Callable[[], None] | None = None
    _is_closed = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._doors = doors_of(cls)
        add_language("zh", cls.WORDS)

    def __init__(self, session: Session) -> None:
        if not isinstance(session, Session):
            raise TypeError(f"A panel is of a Session; {type(session).__name__} was given.")
        self.session = session
        said = {one: word(one) for one in (*ZH, *self.WORDS)}
        super().__init__(
            texts={one: here for one, here in said.items() if here != one}, language=language()
        )
        self._is_closed = False
        self.telling = threading.RLock()
        """Held while a state is read and sent, so that an older one never comes after a newer."""
        self._mailbox = Mailbox()
        self._uploads = Uploads()
        self._outputs = StaticOutputs()
        self._pace = Pace(self._follow, interval=1 / CHANGES_PER_SECOND)
        self._static_pace = Pace(self._write_static, interval=STATIC_INTERVAL)
        self._answer_at_once_while_a_cell_runs()
        self.on_msg(self._receive)
        self._unsubscribe = session.on_change(self.changed)

    # -- what a panel says of itself --------------------------------------------------------

    def state(self) -> Mapping[str, Any]:
        """Return what a view shows, as JSON; bytes in a `Payload`."""
        return {}

    def static(self) -> Static:
        """Return what reads where no kernel runs."""
        title = word(self.TITLE)
        return Static(html=f"<p>{title}</p>", markdown=title, text=title)

    def uploaded(
        self,
        file: Uploaded,
        message: Message,  # noqa: ARG002 (for panels that put more into it)
    ) -> Mapping[str, Any] | None:
        """Take a file that came whole, and return the answer; the file is deleted afterwards.

        Parameters
        ----------
        file
            Where it is.
        message
            What ended it; the page may have put more into its payload.
        """
        raise PanelError(
            f"The panel {self.TITLE!r} takes no files; {file.name or 'one'} was sent.",
            fix="use the attachments panel: %agent panel attachments.",
        )

    # -- to the page ------------------------------------------------------------------------

    def tell(self, kind: str, payload: Mapping[str, Any] | None = None) -> None:
        """Send an event to every view of the panel, from any thread.

        Parameters
        ----------
        kind
            What happened.
        payload
            JSON; bytes in a `Payload`.
        """
        if not self._is_closed:
            self.send({"kind": kind, "payload": dict(payload or {})}, buffers_of(payload))

    def changed(self) -> None:
        """Let the views and the output below be brought up to date, soon; from any thread."""
        self._pace.poke()
        self._static_pace.poke()

    def followed(self) -> None:
        """Tell the views of a change. A panel that knows better what changed tells only that."""
        self.tell("state", self.state())

    # -- from the page ----------------------------------------------------------------------

    @handles("hello")
    def _hello(self, message: Message) -> object:
        with self.telling:
            self._send_reply(message, self.state())
        return ANSWERED

    @handles("upload-begin")
    def _upload_begin(self, message: Message) -> dict[str, Any]:
        return {"upload": self._uploads.begin(message)}

    @handles("upload-piece")
    def _upload_piece(self, message: Message) -> dict[str, Any]:
        return {"received": self._uploads.add(message)}

    @handles("upload-end")
    def _upload_end(self, message: Message) -> Mapping[str, Any] | None:
        with self._uploads.whole(message) as file:
            return self.uploaded(file, message)

    @handles("upload-cancel")
    def _upload_cancel(self, message: Message) -> None:
        self._uploads.cancel(message)

    def _receive(self, _panel: object, content: object, buffers: object) -> None:
        """Hand a message over, in whatever thread it came, and be free again."""
        message = Message.of(content, buffers)
        if message is None or self._is_closed:
            return
        name, at_once = self._doors.get(message.kind, ("_unknown", False))
        method = getattr(self, name)

        async def work() -> None:
            await self._answer(method, message)

        self._mailbox.put(work, at_once=at_once)

    async def _answer(self, method: Callable[..., Any], message: Message) -> None:
        payload: Mapping[str, Any] | None = None
        try:
            if inspect.iscoroutinefunction(method):
                payload = await method(message)
            else:
                payload = await asyncio.to_thread(method, message)
        except AgentcellError as error:
            self._send_refusal(message, plain(error.problem), plain(error.fix))
        except Exception as error:  # noqa: BLE001 (told where the person is: in the panel)
            self._send_refusal(message, _bug(message.kind, error), "")
        else:
            if payload is not ANSWERED:
                self._send_reply(message, payload)

    def _send_reply(self, message: Message, payload: Mapping[str, Any] | None) -> None:
        if message.id and not self._is_closed:
            reply = {"kind": "reply", "id": message.id, "ok": True, "payload": dict(payload or {})}
            self.send(reply, buffers_of(payload))

    def _send_refusal(self, message: Message, problem: str, fix: str) -> None:
        if message.id and not self._is_closed:
            reply = {"kind": "reply", "id": message.id, "ok": False, "problem": problem, "fix": fix}
            self.send(reply)

    def _answer_at_once_while_a_cell_runs(self) -> None:
        """Let messages come by the thread that the page asks for, not by the shell's own.

        ipykernel 7 sends what the page says to the (sub)shell that last spoke to it, which is the
        one that runs the cell: a message would wait for the cell's end. JupyterLab asks for a
        subshell of the widgets; see `ipykernel.comm.comm.BaseComm`. Private to ipykernel, so
        looked for: without it the panel works between cells.
        """
        if hasattr(self.comm, "_reply_subshell_for"):
            self.comm._reply_subshell_for = _as_asked  # noqa: SLF001

    # -- in the notebook --------------------------------------------------------------------

    def __repr__(self) -> str:
        return self.static().text

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[Bundle, Bundle] | None:
        found: tuple[Bundle, Bundle] | None = super()._repr_mimebundle_(**kwargs)
        if found is None:
            return None
        data, metadata = found
        return {**data, **self.static().bundle()}, metadata

    def _ipython_display_(self) -> None:
        """Show the panel, and below it what reads without a kernel."""
        static = self.static()
        found = None if self._is_closed else super()._repr_mimebundle_()
        if found is None:
            from IPython.display import display

            display(static.bundle(), raw=True)
            return
        data, metadata = found
        self._outputs.show({**data, **beside_view(word(self.TITLE))}, metadata, static)

    def _unknown(self, message: Message) -> None:
        raise PanelError(
            f"This panel cannot do {message.kind[:60]!r}.", fix="reload the page: it may be older."
        )

    def _follow(self) -> None:
        if self._is_closed:
            return
        try:
            with self.telling:
                self.followed()
        except Exception as error:  # noqa: BLE001 (told where the person is: in the panel)
            self.tell("trouble", {"problem": _bug("following a change", error), "fix": ""})

    def _write_static(self) -> None:
        if not self._is_closed and self._outputs.is_shown:
            self._outputs.update(self.static())

    def close(self) -> None:
        """End the panel: it disappears from the page, its content in words stays in the notebook.

        The session goes on, and no longer tells the panel of changes. A second time does nothing.
        """
        if self._is_closed:  # also where it was never opened
            return
        self._is_closed = True
        if self._unsubscribe is not None:
            self._unsubscribe()
        self._pace.stop()
        self._static_pace.stop()
        self._mailbox.close()
        self._uploads.close()
        try:
            if self._outputs.is_shown:
                self._outputs.close(word(self.TITLE), self.static())
        finally:
            layout = self.layout
            super().close()
            layout.close()  # a widget of its own, which ipywidgets leaves open


def _as_asked(_data: object, asked: object) -> object:
    return asked


def _bug(what: str, error: Exception) -> str:
    """Return what went wrong as the panel says it; where, stands in the log at level DEBUG."""
    _log.debug("A panel failed at %s.", what, exc_info=error)
    said = redacted(f"{type(error).__name__}: {error}", *known_keys())[:_LONGEST_BUG]
    return plain(f"{what!r} went wrong in the panel. {said}")
