"""A session's generator -> a panel that makes pictures and clips, follows them and shows them."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Mapping
from typing import Any

from agentcell.adapters.price_table import shown as dollars
from agentcell.assets.asset import ImageAsset, PdfAsset, asset_from_path
from agentcell.assets.preview import preview
from agentcell.errors import AgentcellError, PanelError
from agentcell.imaging.generation import Artifact
from agentcell.imaging.wish import MOST_IMAGES, MOST_SECONDS, GenerationWish
from agentcell.safe_text import plain
from agentcell.session import Session
from agentcell.wording import say, word
from agentcell_widgets.generation.inputs import Away, Inputs, Reference
from agentcell_widgets.generation.runs import MOST_AT_ONCE, Runs
from agentcell_widgets.generation.shown import (
    job_cards,
    picture_of,
    result_cards,
    run_card,
    short,
    static,
)
from agentcell_widgets.generation.words import WORDS
from agentcell_widgets.panel import Message, Panel, Payload, Static, Uploaded, css, esm, handles

__all__ = ["GenerationPanel"]

_THUMBNAIL = 320
"""Pixels of a small picture's longer side: twice what is shown, for sharp screens."""

_LARGEST = 1600
_FORMATS = ("png", "webp", "jpeg")
_MOST_AWAY = 20


class GenerationPanel(Panel):
    """Asks for pictures and clips, shows how far they are, and what was made in the session.

    Parameters
    ----------
    session
        The session behind it; its `generator` makes what is asked for, under its budget.

    Notes
    -----
    Beside those of `Panel`, the page sends: ``generate`` (a wish, and the question about its
    price that was agreed to), ``stop``, ``dismiss``, ``resume`` and ``cancel`` (a job's id),
    ``attach`` and ``reuse`` (a result), ``remove`` (a picture to start from), ``unmask``,
    ``bring-back`` (what ``put`` of these two names), and
    ``picture`` (bytes of a result, a picture to start from, or an unfinished one). Uploads are
    pictures to start from, or a mask.
    """

    NAME = "generation"
    TITLE = "Pictures and clips"
    WORDS = WORDS
    _esm = esm(__file__, "mask.js", "generation.js")
    _css = css(__file__, "generation.css")

    def __init__(self, session: Session) -> None:
        self._inputs = Inputs()
        self._away: dict[str, Away] = {}
        self._runs = Runs(self.changed)
        super().__init__(session)

    def close(self) -> None:
        """End the panel, and the wait for what is on its way; jobs stay in the ledger."""
        self._runs.close()
        super().close()

    def state(self) -> dict[str, Any]:
        """Return what a view shows."""
        generator = self.session.generator
        runs = self._runs.all
        references = self._inputs.references
        return {
            "makers": list(generator.backends.names),
            "mostCount": MOST_IMAGES,
            "mostSeconds": MOST_SECONDS,
            "references": [_reference_card(one) for one in references],
            "mask": references[0].id if self._inputs.mask is not None else "",
            "runs": [run_card(run) for run in runs],
            "jobs": job_cards(generator.jobs(), generator.under_way),
            "results": result_cards(generator.generations, generator.folder.parent),
        }

    def static(self) -> Static:
        """Return the results as they read without a kernel."""
        generator = self.session.generator
        return static(word(self.TITLE), generator.generations, generator.folder.parent)

    def uploaded(self, file: Uploaded, message: Message) -> dict[str, Any]:
        """Take a picture to start from, or a mask."""
        role = message.choice("role", ("reference", "mask"), default="reference")
        found = asset_from_path(file.path, filename=file.name or None)
        if isinstance(found, PdfAsset):
            raise PanelError(
                f"{file.name or 'The file'} is a PDF; a picture was expected.",
                fix="save a page of it as a picture.",
            )
        # Its file is deleted after this: what is kept are its bytes.
        asset = ImageAsset.from_bytes(found.load_bytes(), filename=file.name or None)
        if role == "mask":
            masked = self._inputs.paint(message.text("reference", longest=40), asset)
            self.changed()
            return {"notice": say("A mask is painted on {name}.", name=masked.name)}
        return self._added(asset, file.name)

    # -- from the page ----------------------------------------------------------------------

    @handles("generate")
    def _generate(self, message: Message) -> dict[str, Any]:
        wish = self._wish(message)
        if self._runs.is_full:
            raise PanelError(
                f"{MOST_AT_ONCE} are on the way; no more may be.", fix="wait for one, or stop one."
            )
        generator = self.session.generator
        plan = generator.plan(wish)
        price = None if plan.price is None else dollars(plan.price)
        question = _question(plain(plan.name), price)
        # What was agreed to is a sentence: for another maker or price the person is asked anew.
        agreed = message.text("agreed", default="") == question
        if not (agreed or plan.is_free or plan.is_replayed):
            return {"price": price or "", "question": question}
        confirm = (lambda _: True) if agreed else None
        run = self._runs.start(wish.prompt, generator.stream(wish, confirm=confirm))
        return {"run": run.id, "notice": ""}

    @handles("stop", at_once=True)
    def _stop(self, message: Message) -> None:
        self._runs.stop(message.text("run", longest=40))

    @handles("dismiss")
    def _dismiss(self, message: Message) -> None:
        self._runs.dismiss(message.text("run", longest=40))

    @handles("resume")
    def _resume(self, message: Message) -> dict[str, Any]:
        generator = self.session.generator
        job = generator.ledger.find(message.text("job", longest=100))
        if job.id in generator.under_way:
            raise PanelError(
                f"{job.id} is being waited for in this kernel already.", fix="wait for it."
            )
        run = self._runs.start(job.prompt, generator.resume(job.id), job_id=job.id)
        return {"run": run.id}

    @handles("cancel", at_once=True)  # the service may take its time
    async def _cancel(self, message: Message) -> dict[str, Any]:
        name = message.text("job", longest=100)
        done = await self.session.generator.cancel(name)
        self.changed()
        said = "{job} is cancelled." if done else "The service does not stop {job}."
        return {"notice": say(said, job=plain(name))}

    @handles("attach")
    def _attach(self, message: Message) -> dict[str, Any]:
        made = self._result(message)
        if made.kind == "video":
            raise PanelError("A clip cannot be asked about.", fix="send a picture to the chat.")
        tag = self.session.attach(
            ImageAsset.from_path(made.path), name="generated", label=short(made.alt)[:80]
        )
        return {"notice": say("{tag} goes with the next question.", tag=plain(tag))}

    @handles("reuse")
    def _reuse(self, message: Message) -> dict[str, Any]:
        made = self._result(message)
        if made.kind == "video":
            raise PanelError("A clip is no picture to start from.", fix="choose a picture.")
        return self._added(ImageAsset.from_path(made.path), made.path.name, made.digest)

    @handles("remove")
    def _remove(self, message: Message) -> dict[str, Any]:
        away = self._inputs.remove(message.text("reference", longest=40))
        self.changed()
        return {
            "notice": say("{name} is removed.", name=away.reference.name),
            "put": self._put_away(away),
        }

    @handles("unmask")
    def _unmask(self, _: Message) -> dict[str, Any]:
        away = self._inputs.unmask()
        self.changed()
        return {
            "notice": word("The mask is removed."),
            "put": "" if away is None else self._put_away(away),
        }

    @handles("bring-back")
    def _bring_back(self, message: Message) -> dict[str, Any]:
        """Undo what was put away."""
        away = self._away.pop(message.text("put", longest=40), None)
        if away is None:
            raise PanelError("That is none of what was removed here last.", fix="add it again.")
        self._inputs.bring_back(away)
        self.changed()
        return {"notice": say("{name} is back.", name=away.reference.name)}

    def _put_away(self, away: Away) -> str:
        """Keep what was taken out for a while, and return what the page calls it."""
        name = uuid.uuid4().hex
        self._away[name] = away
        while len(self._away) > _MOST_AWAY:
            self._away.pop(next(iter(self._away)))
        return name

    @handles("picture")
    def _picture(self, message: Message) -> Payload:
        side = message.number("side", least=16, most=_LARGEST, default=_THUMBNAIL)
        of = message.choice("of", ("result", "reference", "run"))
        found = None
        if of == "result":
            found = picture_of(self._result(message), side)
        else:
            with contextlib.suppress(AgentcellError):  # one that is half there draws nothing yet
                found = preview(self._input(of, message.text("id", longest=40)), max_side=side)
        if found is None:
            raise PanelError(word("No picture can be shown."))
        return Payload({"type": found.mime_type}, [found.data])

    # -- within -----------------------------------------------------------------------------

    def _input(self, of: str, name: str) -> ImageAsset:
        if of == "reference":
            return self._inputs.get(name).asset
        run = self._runs.get(name)
        if run is None or not run.preview:
            raise PanelError(word("No picture can be shown."))
        return ImageAsset.from_bytes(run.preview)

    def _added(self, asset: ImageAsset, name: str, parent: str = "") -> dict[str, Any]:
        shown_name = plain(name) or "picture"
        added = self._inputs.add(asset, shown_name, parent)
        self.changed()
        width, height = added.pixels
        said = say(
            "{name} is added: {width} × {height} pixels.",
            name=shown_name,
            width=width,
            height=height,
        )
        return {"notice": said, "reference": added.id}

    def _wish(self, message: Message) -> GenerationWish:
        references = self._inputs.references
        kind = message.choice("what", ("image", "video"), default="image")
        seed = message.text("seed", longest=20, default="").strip()
        wish: dict[str, Any] = {
            "prompt": message.text("prompt"),
            "kind": "video" if kind == "video" else "image",
            "model": message.text("model", longest=200, default="").strip(),
            "references": tuple(one.asset for one in references),
            "parents": tuple(one.parent for one in references if one.parent),
            "seed": _whole("seed", seed) if seed else None,
        }
        size = message.text("size", longest=20, default="").strip()
        if kind == "video":
            seconds = message.number("seconds", least=0, most=MOST_SECONDS, default=0)
            aspect = message.text("aspect", longest=10, default="").strip()
            return GenerationWish(**wish, seconds=seconds or None, aspect=aspect)
        return GenerationWish(
            **wish,
            size=size.replace("×", "x").replace(" ", ""),
            count=message.number("count", least=1, most=MOST_IMAGES, default=1),
            format=message.choice("format", _FORMATS, default="png"),  # type: ignore[arg-type]
            mask=self._inputs.mask,
        )

    def _result(self, message: Message) -> Artifact:
        number, _, index = message.text("id", longest=40).partition("/")
        try:
            return self.session.generator.generations[_at(number)].artifacts[_at(index)]
        except (IndexError, ValueError):
            raise PanelError("There is no such result.", fix="reload the page.") from None


def _at(text: str) -> int:
    position = int(text)
    if position < 0:
        raise ValueError(text)
    return position


def _whole(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise PanelError(
            f"{name} is {text!r}; a whole number was expected.", fix="leave it empty for any."
        ) from None


def _question(name: str, price: str | None) -> str:
    if price is None:
        return say("{name} makes this; what it costs is not known.", name=name)
    return say("{name} makes this for about {price}.", name=name, price=price)


def _reference_card(one: Reference) -> Mapping[str, Any]:
    width, height = one.pixels
    return {"id": one.id, "name": one.name, "width": width, "height": height}
