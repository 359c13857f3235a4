"""Event streams: the same events however the bytes are cut, and every spelling of the format."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcell.adapters import sse
from agentcell.adapters.sse import EventDecoder, ServerEvent, event_json


def decoded(*pieces: bytes, flush: bool = True) -> list[ServerEvent]:
    decoder = EventDecoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return events + (decoder.flush() if flush else [])


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\n", [("", b"a")]),
        (b"data:a\n\n", [("", b"a")]),
        (b"data:  a \n\n", [("", b" a ")]),
        (b"event: e\ndata: a\n\n", [("e", b"a")]),
        (b"data: a\ndata: b\n\n", [("", b"a\nb")]),
        (b"data\ndata: b\n\n", [("", b"\nb")]),
        (b": comment\n\ndata: a\n\n:\n\n", [("", b"a")]),
        (b"id: 7\nretry: 10\nother: x\ndata: a\n\n", [("", b"a")]),
        (b"event: e\n\ndata: a\n\n", [("", b"a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("", b"a")]),
        (b"data: a\r\n\r\ndata: b\r\r", [("", b"a"), ("", b"b")]),
        (b"data: \n\n", [("", b"")]),
        (b"\n\n\n", []),
        (b"datax: a\n\n", []),
    ],
)
def test_each_spelling_is_read(stream: bytes, events: list[ServerEvent]) -> None:
    assert decoded(stream, flush=False) == events


def test_an_event_waits_for_its_blank_line_and_the_end_gives_it_out() -> None:
    decoder = EventDecoder()

    assert decoder.feed(b"data: a\n") == []
    assert decoder.feed(b"data: b") == []
    assert decoder.flush() == [("", b"a\nb")]
    assert decoder.flush() == []


@given(
    texts=st.lists(st.text(alphabet='aé票🎉{}": ', max_size=12), min_size=1, max_size=5),
    newline=st.sampled_from([b"\n", b"\r\n", b"\r"]),
    cuts=st.lists(st.integers(0, 400), max_size=12),
)
def test_the_same_events_come_however_the_bytes_are_cut(
    texts: list[str], newline: bytes, cuts: list[int]
) -> None:
    stream = b"".join(
        b"event: e" + newline + b"data: " + text.encode() + newline * 2 for text in texts
    )
    places = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    pieces = [stream[a:b] for a, b in itertools.pairwise(places)]

    assert decoded(*pieces) == [("e", text.encode()) for text in texts]


def test_a_long_event_in_small_pieces_costs_no_more_than_its_length() -> None:
    decoder = EventDecoder()
    piece = b"x" * 1000

    decoder.feed(b"data: ")
    for _ in range(5000):
        assert decoder.feed(piece) == []

    assert len(decoder.feed(b"\n\n")[0][1]) == 5_000_000


def test_an_endless_event_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 1000)
    one_line, many_lines = EventDecoder(), EventDecoder()

    for decoder, end in ((one_line, b""), (many_lines, b"\n")):
        for _ in range(9):
            decoder.feed(b"data: " + b"x" * 100 + end)
        with pytest.raises(ValueError, match="longer than 1,000 bytes"):
            decoder.feed(b"data: " + b"x" * 100 + end)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(values, st.sampled_from(["", " ", "\t", "\n"]), st.sampled_from(["", " ", "\r\n"]))
def test_an_events_data_are_read_as_json_reads_them(value: object, before: str, after: str) -> None:
    data = f"{before}{json.dumps(value, ensure_ascii=False)}{after}".encode("utf-8", "replace")

    assert event_json(data) == json.loads(data)


@given(st.binary(max_size=40) | st.sampled_from([b"{", b"1 2", b"{}x", b'"\xed\xa0\x80"', b"NaN"]))
def test_data_that_are_no_json_are_none_here_either(data: bytes) -> None:
    try:
        expected = repr(json.loads(data.decode("utf-8", "surrogatepass")))
    except ValueError:
        with pytest.raises(ValueError, match=r"."):
            event_json(data)
    else:
        assert repr(event_json(data)) == expected


def test_names_of_any_length_are_read() -> None:
    name = "n" * 500

    assert decoded(f"event: {name}\ndata: a\n\nevent: n\ndata: b\n\n".encode()) == [
        (name, b"a"),
        ("n", b"b"),
    ]
