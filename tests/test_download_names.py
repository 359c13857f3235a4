"""What a downloaded file is called, and what becomes of another one of that name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentcell.imaging.placing import part_of, safe_id
from agentcell.testing.media_files import PIXEL as PNG
from media import png


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "generated-media"


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("../a b.c_1é", "___a_b_c_1_"),  # case 55
        ("req-1", "req-1"),
        ("..\\..\\CON", "______CON"),
        ("a/b\0c\n", "a_b_c_"),
        ("请求", "__"),
    ],
)
def test_a_service_s_name_for_a_job_becomes_part_of_a_file_name(name: str, safe: str) -> None:
    assert safe_id(name) == safe


def test_long_names_stay_different_and_short_enough() -> None:
    first, second = safe_id("x" * 5000 + "1"), safe_id("x" * 5000 + "2")

    assert first != second
    assert max(len(first), len(second)) <= 100


def test_another_file_of_that_name_stays_as_it_is(folder: Path) -> None:
    first = part_of(PNG, folder).put("req-1-0")
    other = part_of(png("blue"), folder).put("req-1-0")
    third = part_of(png("green"), folder).put("req-1-0")
    again = part_of(png("blue"), folder).put("req-1-0")

    assert first.read_bytes() == PNG
    assert [path.name for path in (first, other, third)] == [
        "req-1-0.png",
        "req-1-0-2.png",
        "req-1-0-3.png",
    ]
    assert again == other  # the same content is the same file
    assert len(list(folder.iterdir())) == 3


def test_a_link_of_that_name_is_not_followed(folder: Path, tmp_path: Path) -> None:
    folder.mkdir()
    (folder / "a.png").symlink_to(tmp_path / "elsewhere.png")

    assert part_of(PNG, folder).put("a").name == "a-2.png"
    assert not (tmp_path / "elsewhere.png").exists()


def test_a_file_system_without_links_takes_files_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)

    first = part_of(PNG, folder).put("a")
    second = part_of(png("blue"), folder).put("a")

    assert first.read_bytes() == PNG
    assert second.name == "a-2.png"
    assert len(list(folder.iterdir())) == 2


def test_a_file_can_be_read_by_who_may_read_others(folder: Path) -> None:
    ordinary = folder.parent / "ordinary"
    ordinary.write_bytes(b"")

    made = part_of(PNG, folder).put("a")

    assert made.stat().st_mode == ordinary.stat().st_mode
