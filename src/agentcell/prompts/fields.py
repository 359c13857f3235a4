"""A field's declaration → a `FieldSpec`; a field's value → accepted, or an error that names it.

A declaration is a text (``"IMAGE:Receipt"``), a mapping, a `FieldSpec` or None. The text's prefix
is one of the four modalities, in any case, at the very start, and a colon (``:`` or ``：``).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentcell.errors import FieldError
from agentcell.modality import FieldModality
from agentcell.prompts.template import distance
from agentcell.prompts.values import Tree
from agentcell.warned import warn

__all__ = [
    "FieldModality",
    "FieldSpec",
    "FieldWarning",
    "looks_like_modality",
    "normalize_field_specs",
    "parse_field_spec",
    "validate_field_value",
]

_PREFIX = re.compile(r"(TEXT|IMAGE|PDF|ANY)[:：]", re.IGNORECASE | re.ASCII)
_WORD = re.compile(r"\s*([^\W\d_]{2,12})(\s*)([:=;|])")
_BLANK = "\ufeff\u200b\u200c\u200d\u2060"
"""Marks without width that come along when text is pasted."""

_ANY_CASE = {
    FieldModality.ANY: ("VIDEO", "AUDIO"),
    FieldModality.IMAGE: ("IMG", "PNG", "JPG", "JPEG", "GIF", "WEBP", "SVG"),
    FieldModality.PDF: ("PDFS",),
    FieldModality.TEXT: ("TXT",),
}
"""Words that are no modality, by what they probably mean; ANY: nothing that is supported."""

_CAPITALS_ONLY = {
    FieldModality.ANY: ("MOVIE", "SOUND", "MEDIA", "FILE", "BYTES", "DOC", "DOCX", "CSV", "XLSX"),
    FieldModality.IMAGE: ("PHOTO", "PIC", "PICTURE", "BMP", "HEIC", "TIFF"),
    FieldModality.PDF: ("DOCUMENT",),
    FieldModality.TEXT: ("STR", "STRING", "TEXTS"),
}
"""The same; in small letters they begin many an honest description."""

_MAPPING_KEYS = ("description", "modality", "many", "required")


class FieldWarning(UserWarning):
    """A field's declaration or input is legal, and probably not what was meant."""


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """What one named input or output holds.

    Parameters
    ----------
    name
        The field's name.
    description
        For people and the model; becomes an attachment's label.
    modality
        What the field may hold; the name of a modality is accepted too.
    many
        As an output: the model is asked for a list. As an input: the field is meant for several
        attachments. (An input of several is taken either way.)
    required
        As an input: it must be given and not be empty. Others may be absent, None, ``""`` or
        empty lists, also where their modality is IMAGE or PDF.

    Raises
    ------
    FieldError
        If `name` is no text, or `modality` names none of the four.
    """

    name: str
    description: str = ""
    modality: FieldModality = FieldModality.ANY
    many: bool = False
    required: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise FieldError(
                f"A field's name is {_short(self.name)}; a text was expected.",
                fix='name it, for example "receipt_image".',
            )
        object.__setattr__(self, "modality", FieldModality.from_value(self.modality))

    def __repr__(self) -> str:
        marks = [word for word in ("many", "required") if getattr(self, word)]
        parts = [_short(self.name), _short(self.description), str(self.modality), *marks]
        return f"FieldSpec({', '.join(parts)})"


def parse_field_spec(name: str, raw: Any) -> FieldSpec:
    """Return what the declaration `raw` of the field `name` says.

    Parameters
    ----------
    name
        The field's name; also its description where `raw` gives none.
    raw
        A text: ``"IMAGE:Receipt"``, or a mere description (modality ANY). A mapping with any of
        ``description``, ``modality``, ``many``, ``required``. A `FieldModality`. None: anything.
        A `FieldSpec` is returned unchanged.

    Returns
    -------
    FieldSpec

    Raises
    ------
    FieldError
        If `raw` is of another kind, or names an unknown modality.

    Warns
    -----
    FieldWarning
        If `raw` begins with something that is nearly a modality's prefix.
    """
    if isinstance(raw, FieldSpec):
        return raw
    if raw is None:
        return FieldSpec(name, description=name)
    if isinstance(raw, FieldModality):
        return FieldSpec(name, description=name, modality=raw)
    if isinstance(raw, str):
        return _from_text(name, raw)
    if isinstance(raw, Mapping):
        return _from_mapping(name, raw)
    raise FieldError(
        f"Unsupported field declaration for '{name}': {_short(raw)}",
        fix='give a text like "IMAGE:Receipt", a mapping, a FieldSpec or None.',
    )


def normalize_field_specs(mapping: Mapping[str, Any] | None) -> dict[str, FieldSpec]:
    """Return the declarations of several fields, parsed, in the same order.

    Parameters
    ----------
    mapping
        A declaration by each field's name, as for `parse_field_spec`; None gives ``{}``.

    Raises
    ------
    FieldError
        If `mapping` is no mapping, or one of its declarations cannot be read.
    """
    if not mapping:
        return {}
    if not isinstance(mapping, Mapping):
        raise FieldError(
            f"Fields were declared as {_short(mapping)}; a mapping was expected.",
            fix='write {"receipt_image": "IMAGE:Receipt"}.',
        )
    return {name: parse_field_spec(name, raw) for name, raw in mapping.items()}


def looks_like_modality(raw: object) -> str | None:
    """Return a hint if `raw` begins with something that is nearly a modality's prefix.

    ``"VIDEO:x"``, ``"IMGAE:x"`` and ``"IMAGE ：x"`` give one; ``"IMAGE:x"`` and ``"Note: x"``
    give None.
    """
    if not isinstance(raw, str) or _PREFIX.match(raw):
        return None
    text = unicodedata.normalize("NFKC", raw).lstrip(_BLANK)
    bare = text.strip()
    if bare in FieldModality.__members__:
        return f'write "{bare}:" and a description; without a colon {bare!r} is the description'
    found = _WORD.match(text)
    meant = _meant(found.group(1)) if found else None
    if found is None or meant is None or (found.group(3) in "=;|" and found.group(1) != meant):
        return None
    if found.group(1).upper() == meant:
        return f'write "{meant}:" at the very start, with no blank before the colon'
    perhaps = "" if meant is FieldModality.ANY else f"; {meant} is meant, perhaps"
    return f"{found.group(1)} is no modality (TEXT, IMAGE, PDF, ANY){perhaps}"


def validate_field_value(spec: FieldSpec, value: Any) -> None:
    """Accept `value` for the field `spec`, or say why not.

    Attachments are found to any depth of lists, sets, mappings, dataclasses and pydantic models.
    ANY takes everything. TEXT takes no attachment. IMAGE and PDF take attachments of their kind
    only, one or several; a field that is not required may also be empty.

    Parameters
    ----------
    spec
        The declaration.
    value
        What was given for the field.

    Raises
    ------
    FieldError
        Naming the field, what it expects and what it received.
    """
    if spec.modality is FieldModality.TEXT and isinstance(value, (bytes, bytearray, memoryview)):
        return  # no attachment; that it is no text either is said where it is to become text
    is_media = spec.modality in (FieldModality.IMAGE, FieldModality.PDF)
    if is_media and isinstance(value, (bytes, bytearray, memoryview)):
        raise _wrong(spec, "TEXT")
    if spec.modality is FieldModality.ANY and not spec.required:
        return
    check_tree(spec, Tree(value, spec.name))


def check_tree(spec: FieldSpec, tree: Tree) -> None:
    """Accept a value that was walked already; see `validate_field_value`."""
    if spec.required and not tree.has_any():
        raise FieldError(
            f"Field '{spec.name}' expects modality '{spec.modality}', but received nothing.",
            fix=f"give '{spec.name}': it is declared as required.",
        )
    found = {str(asset.modality) for asset in tree.assets()}
    if spec.modality is FieldModality.ANY or (spec.modality is FieldModality.TEXT and not found):
        return
    received = "|".join(sorted(found | ({"TEXT"} if tree.has_other() else set())))
    if received not in ("", str(spec.modality)):
        raise _wrong(spec, received)


def _from_text(name: str, raw: str) -> FieldSpec:
    found = _PREFIX.match(raw)
    if found is None:
        hint = looks_like_modality(raw)
        if hint is not None:
            warn(
                f"Field '{name}' is declared as {_short(raw)} and takes anything: {hint}.",
                FieldWarning,
            )
        return FieldSpec(name, description=raw)
    description = raw[found.end() :].strip() or name
    return FieldSpec(name, description, FieldModality.from_value(found.group(1)))


def _from_mapping(name: str, raw: Mapping[Any, Any]) -> FieldSpec:
    for key in raw:
        if key in _MAPPING_KEYS or not isinstance(key, str):
            continue
        close = [one for one in _MAPPING_KEYS if distance(key.lower(), one) <= 2]  # noqa: PLR2004
        if close:
            warn(
                f"Field '{name}' is declared with {key!r}, which is ignored; {close[0]!r} is"
                " meant, perhaps.",
                FieldWarning,
            )
    described = raw.get("description")
    return FieldSpec(
        name,
        description=str(described) if described not in (None, "") else name,
        modality=FieldModality.from_value(raw.get("modality")),
        many=bool(raw.get("many", False)),
        required=bool(raw.get("required", False)),
    )


def _meant(word: str) -> FieldModality | None:
    """Return the modality that `word` was perhaps meant to be; ANY for kinds not supported."""
    upper = word.upper()
    if upper in FieldModality.__members__:
        return FieldModality[upper]
    for listed in (_ANY_CASE, _CAPITALS_ONLY if word.isupper() else {}):
        for modality, words in listed.items():
            if upper in words:
                return modality
    for modality in (FieldModality.IMAGE, FieldModality.PDF, FieldModality.TEXT):
        # "PDF" and "TEXT" are one slip away from many words; only their letters exchanged count.
        slip = modality is FieldModality.IMAGE and distance(upper, modality) <= 1
        if slip or (word.isupper() and sorted(upper) == sorted(modality)):
            return modality
    return None


def _wrong(spec: FieldSpec, received: str) -> FieldError:
    fix = {
        FieldModality.TEXT: "declare it as IMAGE, PDF or ANY, or give text.",
        FieldModality.IMAGE: "give an ImageAsset, for example ImageAsset.from_path(...), or"
        " a file's path as pathlib.Path(...).",
        FieldModality.PDF: "give a PdfAsset, for example PdfAsset.from_path(...), or a file's path"
        " as pathlib.Path(...).",
    }[spec.modality]
    return FieldError(
        f"Field '{spec.name}' expects modality '{spec.modality}', but received '{received}'.",
        fix=fix,
    )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"  # noqa: PLR2004
