from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import media
from agentcell import Session
from agentcell.assets.access import AccessPolicy, Asker
from agentcell.assets.asset import ImageAsset
from agentcell.assets.linkless import open_linkless
from agentcell.assets.typed_texts import TypedTexts
from agentcell.errors import AttachmentError
from promptly import cpu_seconds


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the notebook's folder, with a picture in it; beside it lies another one."""
    folder = tmp_path / "w"
    (folder / "plots").mkdir(parents=True)
    (folder / "a.png").write_bytes(media.png())
    (folder / "plots" / "b.png").write_bytes(media.png("blue"))
    (tmp_path / "shot.png").write_bytes(media.png("green"))
    (tmp_path / "my shot.png").write_bytes(media.png("yellow"))
    (tmp_path / "secret.txt").write_text("s3cr3t")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def policy(work: Path) -> AccessPolicy:
    return AccessPolicy(work)


def refusal(policy: AccessPolicy, path: object, asked_by: Asker = "model") -> AttachmentError:
    with pytest.raises(AttachmentError) as caught:
        policy.image(path, asked_by=asked_by)  # type: ignore[arg-type]
    return caught.value


# -- what a model may see


@pytest.mark.parametrize("path", ["a.png", "./a.png", " a.png ", "plots/b.png", "plots//b.png"])
def test_a_model_sees_what_lies_in_the_notebooks_folder(policy: AccessPolicy, path: str) -> None:
    seen = policy.image(path, asked_by="model")

    assert isinstance(seen, ImageAsset)
    assert seen.path is not None
    assert seen.path.is_relative_to(policy.root)


def test_so_it_does_by_an_absolute_path(policy: AccessPolicy, work: Path) -> None:  # case 18
    assert policy.resolve(work / "a.png", asked_by="model") == (work / "a.png").resolve()


def test_a_models_path_begins_at_the_notebooks_folder_wherever_the_cell_went(
    policy: AccessPolicy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert policy.resolve("a.png", asked_by="model").name == "a.png"


@pytest.mark.parametrize(
    "path",
    [
        *("../shot.png", "x/../../shot.png", "plots/../../shot.png", ".."),
        *("..%2Fshot.png", "..%2fshot.png", "plots%2f..%2f..%2fshot.png", "%2e%2e/shot.png"),
        *("..\\shot.png", "plots\\..\\..\\shot.png"),
        *("a\0.png", "a.png\0", "a\n.png", "a\x7f.png"),
        *("/etc/passwd", "/etc/hostname", "~/.ssh/id_rsa", "~nobodyatall/a.png", "/"),
        *("/dev/null", "/dev/stdin", "/proc/self/environ", "//etc//passwd"),
        *("", "  ", "a" * 5_000, "https://e.org/a.png", "file:///etc/passwd", "data:image/png,AA"),
    ],
)
def test_a_model_climbs_out_of_it_by_no_trick(policy: AccessPolicy, path: str) -> None:  # case 17
    error = refusal(policy, path)

    assert error.fix
    assert "\0" not in str(error)


@pytest.mark.parametrize("path", [None, 3, b"a.png", ["a.png"], {"path": "a.png"}])
def test_what_is_no_path_is_refused(policy: AccessPolicy, path: object) -> None:
    assert "a str or" in refusal(policy, path).problem


def test_a_link_is_followed_before_it_is_judged(
    policy: AccessPolicy, work: Path, tmp_path: Path
) -> None:  # case 18
    (work / "out.png").symlink_to(tmp_path / "shot.png")
    (work / "folder").symlink_to(tmp_path)
    (work / "in.png").symlink_to(work / "plots" / "b.png")
    (work / "circle.png").symlink_to(work / "circle.png")
    (work / "nowhere.png").symlink_to(tmp_path / "gone.png")

    assert policy.image("in.png", asked_by="model").filename == "in.png"
    for path in ("out.png", "folder/shot.png", "circle.png", "nowhere.png"):
        assert "by a model" in refusal(policy, path).problem or "followed" in str(
            refusal(policy, path)
        )


def test_a_refusal_does_not_tell_whether_the_file_is_there_or_where_a_link_leads(
    policy: AccessPolicy, work: Path, tmp_path: Path
) -> None:
    (work / "out.png").symlink_to(tmp_path / "secret.txt")

    there, gone = refusal(policy, f"{tmp_path}/shot.png"), refusal(policy, f"{tmp_path}/gone.png")

    assert there.problem.replace("shot", "gone") == gone.problem
    assert "secret" not in str(refusal(policy, "out.png"))


@pytest.mark.parametrize("kind", ["folder", "pipe", "socket", "text", "empty", "missing"])
def test_in_the_folder_too_only_images_are_seen(
    policy: AccessPolicy, work: Path, kind: str
) -> None:
    path = work / "odd.png"
    listener = socket.socket(socket.AF_UNIX)
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "socket":
            listener.bind("odd.png")
        case "text":
            path.write_text("hello, no pixels here")
        case "empty":
            path.touch()

    problem = refusal(policy, "odd.png").problem
    listener.close()

    expected = {"folder": "a directory", "pipe": "a pipe", "socket": "a socket"}
    assert expected.get(kind, "odd.png") in problem


def test_an_image_of_more_pixels_than_fit_is_refused(policy: AccessPolicy, work: Path) -> None:
    import struct
    import zlib

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", 90_000, 90_000, 8, 2, 0, 0, 0)
    (work / "bomb.png").write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"0" * 99))
        + chunk(b"IEND", b"")
    )

    assert "pixels" in refusal(policy, "bomb.png").problem


def test_what_a_model_is_told_names_no_folder_of_this_machine(
    policy: AccessPolicy, work: Path, tmp_path: Path
) -> None:
    (work / "odd.png").mkdir()
    (work / "out.png").symlink_to(tmp_path / "shot.png")

    for path in ("gone.png", "plot/gone.png", "a.pn", "odd.png", "out.png", "../a.png", "a.png/x"):
        assert str(tmp_path) not in str(refusal(policy, path))
    assert "did you mean 'a.png'?" in str(refusal(policy, "a.pn"))


PARTS = st.sampled_from(
    [
        *("..", ".", "a.png", "b.png", "shot.png", "plots", "in", "out"),
        *("~", "", "%2f", "..\\", " ", "\0"),
    ]
)


@given(path=st.lists(PARTS, min_size=1, max_size=7).map("/".join), absolute=st.booleans())
@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_whatever_a_model_asks_for_it_gets_nothing_from_outside(
    policy: AccessPolicy, work: Path, path: str, *, absolute: bool
) -> None:
    for name, target in (("out", work.parent), ("in", work / "plots")):
        if not (work / name).exists():
            (work / name).symlink_to(target)
    asked = f"{work}/{path}" if absolute else path

    try:
        found = policy.resolve(asked, asked_by="model")
    except AttachmentError:
        return

    assert found.is_relative_to(work.resolve())
    assert found.resolve() == found
    assert found.is_file()


# -- approved folders


def test_a_person_approves_another_folder(policy: AccessPolicy, tmp_path: Path) -> None:
    policy.allow_root(tmp_path)

    assert policy.image(tmp_path / "shot.png", asked_by="model").filename == "shot.png"
    assert policy.roots == (policy.root, tmp_path.resolve())


def test_what_is_no_folder_is_not_approved(policy: AccessPolicy, tmp_path: Path) -> None:
    for path in (tmp_path / "gone", tmp_path / "shot.png"):
        with pytest.raises(AttachmentError, match="no folder"):
            policy.allow_root(path)


def test_a_whole_disk_or_home_does_not_open_what_is_private_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (".ssh", ".aws", ".config"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "key.png").write_bytes(media.png())
    (tmp_path / "a.png").write_bytes(media.png())
    home, disk = AccessPolicy(tmp_path), AccessPolicy("/")

    assert home.image("~/a.png", asked_by="model")
    for path in ("~/.ssh/key.png", ".aws/key.png", str(tmp_path / ".config" / "key.png")):
        assert "by a model" in refusal(home, path).problem
    assert "by a model" in refusal(disk, "/etc/hostname").problem
    assert "by a model" in refusal(disk, "tmp/a.png").problem


# -- what a person named


def test_what_a_person_typed_may_be_seen(policy: AccessPolicy, tmp_path: Path) -> None:  # case 19
    path = f"{tmp_path}/shot.png"
    assert "by a model" in refusal(policy, path).problem

    policy.typed(f"What does {path} show?")

    assert policy.image(path, asked_by="model").filename == "shot.png"


def test_a_path_that_was_only_read_somewhere_may_not(policy: AccessPolicy, tmp_path: Path) -> None:
    """Nothing but `typed`, `name`, `made` and `trust` opens a file: reading one does not."""
    (policy.root / "page.txt").write_text(f"look at {tmp_path}/shot.png")
    policy.typed("Look at page.txt")

    assert "by a model" in refusal(policy, f"{tmp_path}/shot.png").problem


@pytest.mark.parametrize(
    "text",
    [
        "look at {0}",
        "look at {0}.",
        "look at {0}, please",
        'look at "{0}"',
        "看{0}。",
        "`{0}`",
        "[IMAGE:{0}]",
        "[shot]({0})",
        "-a shot={0} -q",
        "@{0}",
        "({0})",
        "{0}",
    ],
)
def test_a_path_is_found_wherever_it_was_typed(
    policy: AccessPolicy, tmp_path: Path, text: str
) -> None:
    policy.typed(text.format(tmp_path / "shot.png"))

    assert policy.resolve(tmp_path / "shot.png", asked_by="model")


@pytest.mark.parametrize(
    "typed", ["{0}.bak", "{0}/a", "x{0}", "~{0}", "../{0}", "{0}-2", "https://e.org{0}", "/资料{0}"]
)
def test_a_part_of_a_longer_path_is_not_that_path(
    policy: AccessPolicy, tmp_path: Path, typed: str
) -> None:
    policy.typed(f"see {typed.format(tmp_path / 'shot.png')} now")

    assert "by a model" in refusal(policy, tmp_path / "shot.png").problem


def test_a_name_with_blanks_is_named_as_well(policy: AccessPolicy, tmp_path: Path) -> None:
    policy.typed(f"the file {tmp_path}/my shot.png is new")

    assert policy.image(tmp_path / "my shot.png", asked_by="model").filename == "my shot.png"


def test_dots_that_a_person_typed_are_theirs(policy: AccessPolicy) -> None:
    policy.typed("compare ../shot.png with a.png")

    assert policy.image("../shot.png", asked_by="model").filename == "shot.png"


def test_a_path_under_home_is_known_in_both_spellings(
    policy: AccessPolicy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    policy.typed("see ~/shot.png")

    assert policy.resolve(f"{tmp_path}/shot.png", asked_by="model")
    assert policy.resolve("~/shot.png", asked_by="model")


def test_a_relative_path_is_known_from_the_folder_in_which_it_was_typed(
    policy: AccessPolicy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "c.png").write_bytes(media.png())
    monkeypatch.chdir(tmp_path)
    policy.typed("see deep/c.png")
    monkeypatch.chdir(policy.root)

    assert policy.resolve("deep/c.png", asked_by="model") == (tmp_path / "deep/c.png").resolve()


def test_a_name_that_was_typed_is_still_no_device(policy: AccessPolicy) -> None:
    policy.typed("see /dev/zero and /dev/null")

    assert "a device" in refusal(policy, "/dev/zero").problem


def test_a_word_names_no_link(policy: AccessPolicy, work: Path, tmp_path: Path) -> None:
    (work / "data").symlink_to(tmp_path / "shot.png")
    policy.typed("look at the data")

    assert "by a model" in refusal(policy, "data").problem


def test_what_was_made_named_or_trusted_may_be_seen(policy: AccessPolicy, tmp_path: Path) -> None:
    policy.made(tmp_path / "shot.png")
    policy.trust(tmp_path / "my shot.png")

    assert policy.resolve(tmp_path / "shot.png", asked_by="model")
    assert policy.resolve(tmp_path / "my shot.png", asked_by="model")
    assert "by a model" in refusal(policy, tmp_path / "secret.txt").problem


def test_old_texts_are_forgotten_when_there_are_too_many() -> None:
    texts = TypedTexts()
    texts.add("/a/first.png")
    for number in range(30):
        texts.add(f"{number} " + "x" * 100_000)

    assert not texts.hold(["/a/first.png"])
    texts.add("/a/last.png")
    assert texts.hold(["/a/last.png"])


def test_a_long_text_full_of_a_paths_letters_is_searched_in_one_go() -> None:
    """Twice as long a text takes no more than a few times as long, whatever stands in it."""

    def cost(length: int) -> float:
        texts = TypedTexts()
        texts.add("/a" * length)
        return cpu_seconds(lambda: texts.hold(["/a/b", "/a"]), tries=3)

    short = cost(20_000)

    assert cost(80_000) < 40 * max(short, 0.0005)


# -- persons


def test_a_person_reads_what_they_can_read(
    policy: AccessPolicy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert policy.image("../shot.png", asked_by="person").filename == "shot.png"
    assert "a device" in refusal(policy, "/dev/null", "person").problem
    assert "by a model" in refusal(policy, tmp_path / "shot.png").problem  # reading names nothing
    monkeypatch.chdir(tmp_path)
    assert policy.resolve("shot.png", asked_by="person") == (tmp_path / "shot.png").resolve()


# -- between check and reading


class Swapped(AccessPolicy):
    """Puts a link in the place of a folder as soon as the path was judged."""

    def resolve(self, path: str | os.PathLike[str], *, asked_by: Asker) -> Path:
        found = super().resolve(path, asked_by=asked_by)
        (self.root / "plots").rename(self.root / "old")
        (self.root / "plots").symlink_to(self.root.parent)
        return found


def test_a_link_that_is_put_in_the_way_after_the_check_is_not_followed(
    work: Path, tmp_path: Path
) -> None:
    (tmp_path / "b.png").write_bytes(media.png("black"))

    with pytest.raises(AttachmentError, match="cannot be read"):
        Swapped(work).image("plots/b.png", asked_by="model")


def test_a_path_without_links_opens_and_leaves_no_folder_open(work: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    descriptor = open_linkless((work / "plots" / "b.png").resolve(), os.O_RDONLY)

    assert os.read(descriptor, 4) == b"\x89PNG"
    os.close(descriptor)
    (work / "link.png").symlink_to(work / "a.png")
    with pytest.raises(OSError, match="link"):
        open_linkless(work.resolve() / "link.png", os.O_RDONLY)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


# -- where files may be written


def test_a_model_writes_into_approved_folders(policy: AccessPolicy, tmp_path: Path) -> None:
    assert policy.resolve_output("new/fox.png", asked_by="model") == policy.root / "new" / "fox.png"
    for path in ("../fox.png", f"{tmp_path}/fox.png", "/etc/fox.png"):
        with pytest.raises(AttachmentError):
            policy.resolve_output(path, asked_by="model")
    policy.allow_root(tmp_path)
    assert policy.resolve_output(tmp_path / "fox.png", asked_by="model")


@pytest.mark.parametrize("path", [".git/fox.png", ".fox.png", "a/.b/fox.png"])
def test_a_model_writes_nothing_hidden(policy: AccessPolicy, path: str) -> None:
    with pytest.raises(AttachmentError, match="hidden"):
        policy.resolve_output(path, asked_by="model")


def test_a_folder_is_no_place_for_a_file(policy: AccessPolicy) -> None:
    with pytest.raises(AttachmentError, match="a directory"):
        policy.resolve_output("plots", asked_by="person")


def test_a_models_file_goes_through_no_link(policy: AccessPolicy, tmp_path: Path) -> None:
    (policy.root / "out").symlink_to(tmp_path)

    with pytest.raises(AttachmentError, match="by a model"):
        policy.resolve_output("out/fox.png", asked_by="model")


@pytest.mark.parametrize("asked_by", ["person", "model"])
@pytest.mark.parametrize("leads", ["there.txt", "nowhere.png"])
def test_no_file_is_made_through_a_link_of_its_name(
    policy: AccessPolicy, asked_by: Asker, leads: str
) -> None:
    (policy.root / "there.txt").write_text("kept")
    (policy.root / "fox.png").symlink_to(policy.root / leads)

    with pytest.raises(AttachmentError, match=r"fox\.png is a link"):
        policy.resolve_output("fox.png", asked_by=asked_by)


def test_a_persons_relative_path_begins_at_the_notebooks_folder(
    policy: AccessPolicy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert policy.resolve_output("fox.png", asked_by="person") == policy.root / "fox.png"
    assert policy.resolve_output(tmp_path / "fox.png", asked_by="person") == tmp_path / "fox.png"


# -- sessions


def test_a_session_approves_the_folder_of_its_history_or_the_current_one(
    work: Path, tmp_path: Path
) -> None:
    assert Session().access.root == work.resolve()
    assert Session(history=tmp_path / "not there yet").access.root.name == "not there yet"


def test_without_a_current_folder_nothing_is_approved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert AccessPolicy().roots == ()
