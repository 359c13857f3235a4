"""A search for keys: what it finds, where that is, what it leaves alone, and its exit codes."""

from __future__ import annotations

import base64
import gzip
import html
import json
import os
import sqlite3
import string
import subprocess
import sys
import tomllib
from contextlib import closing
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import pytest
from PIL import Image, PngImagePlugin

from agentcell.errors import ScanError
from agentcell.keys.shapes import without_prefix
from agentcell.keys.traces import Traces, without_traces
from agentcell.scan import Finding, scan, search
from agentcell.scan.command import main
from promptly import cpu_seconds

ROOT = Path(__file__).parent.parent

_LETTERS = string.ascii_letters + string.digits + "_-"
chance = Random(5)  # noqa: S311 (the same in every run)


def random_text(length: int, letters: str = _LETTERS) -> str:
    return "".join(chance.choices(letters, k=length))


KEYS = {
    "OPENAI_API_KEY": f"sk-proj-{random_text(156)}",
    "ANTHROPIC_API_KEY": f"sk-ant-api03-{random_text(93)}AA",
    "GEMINI_API_KEY": f"AIzaSy{random_text(33)}",
    "AZURE_API_KEY": random_text(32, "0123456789abcdef"),
    "ODD_API_KEY": "p/q+r=s&t%u w".replace(" ", "-") + random_text(12),
}
KEY = KEYS["OPENAI_API_KEY"]
SECRET = without_prefix(KEY)
PIECE = SECRET[40:46]


def code(source: str = "", *outputs: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": 1,
        "metadata": metadata,
        "source": source,
        "outputs": list(outputs),
    }


def shown(metadata: Any = None, **data: Any) -> dict[str, Any]:
    data = {mime.replace("__", "/"): value for mime, value in data.items()}
    return {"output_type": "display_data", "data": data, "metadata": metadata or {}}


def notebook(folder: Path, *cells: Any, name: str = "demo.ipynb", **metadata: Any) -> Path:
    path = folder / name
    content = {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def places(findings: list[Finding]) -> list[tuple[int | None, str, str]]:
    return [(finding.cell, finding.where, finding.what) for finding in findings]


def picture(text: str = "", size: int = 300) -> str:
    """A picture of noise; `text` goes into its metadata."""
    facts = PngImagePlugin.PngInfo()
    facts.add_text("Comment", text)
    file = BytesIO()
    noise = Image.frombytes("RGB", (size, size), chance.randbytes(size * size * 3))
    noise.save(file, "PNG", pnginfo=facts)
    return base64.encodebytes(file.getvalue()).decode()


def test_a_notebook_without_keys_is_clean(tmp_path: Path) -> None:
    path = notebook(
        tmp_path,
        code("from sklearn import tree  # sk-learn\napi_key='sk-...'", shown(text__plain="ok")),
        code("plot()", shown(image__png=picture(size=900))),
        code("", shown(text__html=f"<img src='data:image/png;base64,{'A1b2C3d4' * 4000}'>")),
        agentcell={"digest": f"sha256:{'0123456789abcdef' * 4}", "prefix": "sk-proj-"},
    )

    assert scan(path, KEYS) == []


EVERYWHERE = [
    (code(f"x = '{PIECE}'"), "source"),
    (
        code("", {"output_type": "stream", "name": "stdout", "text": ["a\n", PIECE]}),
        "output 1, text",
    ),
    (
        code("", {"output_type": "error", "ename": "E", "evalue": PIECE, "traceback": []}),
        "output 1",
    ),
    (
        code("", {"output_type": "error", "ename": "E", "evalue": "", "traceback": ["a", PIECE]}),
        "output 1, traceback",
    ),
    (code("", shown(), shown(text__plain=PIECE)), "output 2, text/plain"),
    (code("", shown(text__html=["<b>", PIECE[:3], PIECE[3:]])), "output 1, text/html"),
    (code("", shown({"agentcell": {"model": PIECE}})), "output 1, metadata"),
    (
        code("", shown(**{"application__vnd.x+json": {"deep": [{"er": [1, PIECE]}]}})),
        "output 1, application/vnd.x+json",
    ),
    (
        code("", shown(**{"application__vnd.y+json": {PIECE: 1}})),
        "output 1, application/vnd.y+json",
    ),
    (code("", shown(**{"image__svg+xml": f"<svg>{PIECE}</svg>"})), "output 1, image/svg+xml"),
    (code("", tags=[PIECE]), "metadata"),
    ({"cell_type": "markdown", "metadata": {}, "source": [f"{PIECE}\n"]}, "source"),
    ({"cell_type": "raw", "metadata": {"format": PIECE}, "source": ""}, "metadata"),
    (
        {
            "cell_type": "markdown",
            "metadata": {},
            "source": "",
            "attachments": {"a": {"text/plain": PIECE}},
        },
        "attachments",
    ),
]


@pytest.mark.parametrize(("cell", "where"), EVERYWHERE, ids=lambda value: str(value)[:30])
def test_six_characters_of_a_key_are_found_wherever_they_stand(
    tmp_path: Path, cell: dict[str, Any], where: str
) -> None:
    path = notebook(tmp_path, code("a = 1"), cell)

    assert places(scan(path, KEYS)) == [(2, where, "a part of OPENAI_API_KEY")]


def test_a_whole_key_in_the_notebooks_own_metadata_is_told_as_a_whole(tmp_path: Path) -> None:
    path = notebook(tmp_path, code(), widgets={"state": {"a": {"value": KEY}}})

    found = places(scan(path, {"OPENAI_API_KEY": KEY}))

    assert (None, "notebook's metadata", "OPENAI_API_KEY") in found
    assert (None, "notebook's metadata", "shape of: OpenAI key") in found
    assert len(found) == 2


def test_keys_may_be_given_without_names(tmp_path: Path) -> None:
    path = notebook(tmp_path, code(PIECE))

    assert [finding.what for finding in scan(path, [KEYS["AZURE_API_KEY"], KEY])] == [
        "a part of key 2"
    ]
    assert [finding.what for finding in scan(path, KEY)] == ["a part of key 1"]


def test_an_older_notebook_and_an_odd_one_are_searched_too(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "input": PIECE, "outputs": []}
    old = tmp_path / "old.ipynb"
    old.write_text(json.dumps({"worksheets": [{"cells": [cell]}]}), encoding="utf-8")
    odd = tmp_path / "odd.ipynb"
    odd.write_text(json.dumps({"cells": {"a": PIECE}}), encoding="utf-8")
    odder = notebook(tmp_path, 5, None, PIECE, name="odder.ipynb")

    assert places(scan(old, KEYS)) == [(1, "source", "a part of OPENAI_API_KEY")]
    assert len(scan(odd, KEYS)) == 1
    assert places(scan(odder, KEYS)) == [(3, "cell", "a part of OPENAI_API_KEY")]


def in_base64(text: str, before: int) -> str:
    return base64.b64encode(f"{'u' * before}{text}:p".encode()).decode()


FORMS = [
    ("ansi", lambda text: f"\x1b[31m{text[:3]}\x1b[0m{text[3:]}"),
    ("percent", lambda text: "".join(f"%{ord(character):02X}" for character in text)),
    ("url", lambda text: quote(text, safe="")),
    ("json", json.dumps),
    ("unicode escapes", lambda text: "".join(f"\\u{ord(character):04x}" for character in text)),
    ("hex escapes", lambda text: "".join(f"\\x{ord(character):02x}" for character in text)),
    ("slashes", lambda text: text.replace("/", "\\/")),
    ("html", lambda text: "".join(f"&#{ord(character)};" for character in text)),
    ("entities", html.escape),
    ("repr", repr),
    *((f"base64 {n}", lambda text, n=n: in_base64(text, n)) for n in range(6)),
    ("base64 for URLs", lambda text: base64.urlsafe_b64encode(text.encode()).decode()),
]


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("encoded", [f for _, f in FORMS], ids=[name for name, _ in FORMS])
def test_a_part_is_found_in_every_usual_form(tmp_path: Path, name: str, encoded: Any) -> None:
    secret = without_prefix(KEYS[name])
    for start in range(min(len(secret), 24) - 5):
        path = tmp_path / "log.txt"
        path.write_text(f"before {encoded(secret[start : start + 6])} after", encoding="utf-8")

        assert f"a part of {name}" in [finding.what for finding in scan(path, {name: KEYS[name]})]


@pytest.mark.parametrize("padding", [*range(9), *range(32_755, 32_775), 262_140, 262_145])
def test_a_part_is_found_at_every_place_of_a_long_text(padding: int) -> None:
    traces = Traces.of(KEYS)
    words = ("the quick brown fox " * (padding // 20 + 1))[:padding]

    for start in range(0, len(SECRET) - 6, 31):
        run = SECRET[start : start + 6]
        assert traces.in_text(f"{words}{run}".encode()) == {"OPENAI_API_KEY"}
        assert traces.in_text(f"{words}|{run[:5]}|{run[5:]} and more".encode()) == set()
        whole = {"OPENAI_API_KEY"} if start + 12 <= len(SECRET) else set()
        assert traces.in_data(f"{words}|{SECRET[start : start + 12]}".encode()) == whole


def test_a_prefix_that_all_keys_share_is_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "about.md"
    path.write_text(
        "Keys begin with sk-proj-, sk-ant-api03-, AIzaSy or T3BlbkFJ.", encoding="utf-8"
    )
    old = {"OLD": f"sk-{random_text(20)}T3BlbkFJ{random_text(20)}"}

    assert scan(path, KEYS | old) == []


def test_encoded_data_is_searched_for_long_parts_only(tmp_path: Path) -> None:
    data = random_text(4000, string.ascii_letters + string.digits)
    six = f"{data}{SECRET[:6]}{data}"
    twelve = f"{data}{SECRET[50:62]}{data}"
    lines = "\n".join(six[start : start + 76] for start in range(0, len(six), 76))
    path = notebook(tmp_path, code(six), code(lines), code(twelve))

    assert places(scan(path, KEYS)) == [(3, "source", "a part of OPENAI_API_KEY")]


def test_digests_and_ids_do_not_hold_a_part_of_a_key_by_chance(tmp_path: Path) -> None:
    key = KEYS["AZURE_API_KEY"]
    digest = f"{random_text(29, '0123456789abcdef')}{key[3:9]}{random_text(29, '0123456789abcdef')}"
    clean = notebook(tmp_path, code(f"sha256:{digest}\n{digest[:32]}"), id=digest)

    assert scan(clean, KEYS) == []
    for text in (key, f"a{key[3:9]}", f"key {key[:20]}", f"{digest}{key[4:16]}"):
        assert len(scan(notebook(tmp_path, code(text)), KEYS)) == 1


def test_an_address_that_was_signed_for_a_while_holds_no_key(tmp_path: Path) -> None:
    signer = f"AKIA{random_text(14, string.ascii_uppercase)}7A"
    address = (
        f"https://b.example/a.png?X-Amz-Credential={signer}%2F20241130&AWSAccessKeyId={signer}"
    )

    assert scan(notebook(tmp_path, code(address)), KEYS) == []
    assert len(scan(notebook(tmp_path, code(f"id={signer}")), KEYS)) == 1


def test_a_picture_is_searched_for_long_parts_also_in_what_it_carries(tmp_path: Path) -> None:
    path = notebook(
        tmp_path,
        code("", shown(image__png=picture())),
        code("", shown(image__png=picture(f"made with {SECRET[9:40]}"))),
    )

    assert places(scan(path, KEYS)) == [(2, "output 1, image/png", "a part of OPENAI_API_KEY")]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"sk-proj-{random_text(40)}a1", "OpenAI key"),
        (f"sk-ant-api03-{random_text(80)}a1", "Anthropic key"),
        (f"AIzaSy{random_text(31)}a1", "Google key"),
        (f"hf_{random_text(32, string.ascii_letters)}a1", "Hugging Face token"),
        (f"ghp_{random_text(34, string.ascii_letters)}a1", "GitHub token"),
        (f"AKIA{random_text(14, string.ascii_uppercase)}7A", "AWS key id"),
    ],
)
def test_a_key_that_nobody_here_knows_is_found_by_its_shape(
    tmp_path: Path, text: str, kind: str
) -> None:
    path = notebook(
        tmp_path,
        code(f"x = '{text}'"),
        code("", shown(text__html=f"data:text/html;base64,{in_base64(f'<p>{text}</p>', 4)}")),
        code("", shown(text__csv=base64.encodebytes(f"a,{text},b,{'c' * 99}".encode()).decode())),
    )

    assert [(f.cell, f.what) for f in scan(path, {})] == [
        (1, f"shape of: {kind}"),
        (2, f"shape of: {kind}"),
        (3, f"shape of: {kind}"),
    ]


def session(folder: Path, rows: list[tuple[Any, ...]], *, wal: bool = False) -> Path:
    home = folder / ".agentcell"
    home.mkdir(exist_ok=True)
    path = home / "session.sqlite"
    with closing(sqlite3.connect(path)) as database:
        if wal:
            database.execute("PRAGMA journal_mode = WAL")
        database.execute('CREATE TABLE IF NOT EXISTS "tu""rns" (id INTEGER, asked TEXT, body BLOB)')
        database.executemany('INSERT INTO "tu""rns" VALUES (?, ?, ?)', rows)
        database.commit()
    return path


def test_the_history_beside_a_notebook_is_searched_row_by_row_and_left_as_it_was(
    tmp_path: Path,
) -> None:
    path = notebook(tmp_path, code())
    rows: list[tuple[Any, ...]] = [(n, f"question {n}", b"\0\1") for n in range(2500)]
    rows[1200] = (1200, f"my key is {PIECE}", None)
    rows[1300] = (1300, None, gzip.compress(f"packed {PIECE}".encode()))
    rows[1400] = (1400, "", f"blob {PIECE}".encode())
    rows[1500] = (1500, "", b"\x89PNG\r\n" + PIECE.encode())
    database = session(tmp_path, rows)
    before = {file: file.stat().st_mtime_ns for file in database.parent.iterdir()}

    found = [finding.where for finding in scan(path, KEYS)]

    assert found == [
        'tu"rns.asked, row 1201',
        'tu"rns.body, row 1301',
        'tu"rns.body, row 1401',
    ]
    assert {file: file.stat().st_mtime_ns for file in database.parent.iterdir()} == before


def test_a_history_in_use_is_read_with_what_is_not_yet_in_its_file(tmp_path: Path) -> None:
    path = notebook(tmp_path, code())
    database = session(tmp_path, [(1, "a", None)], wal=True)
    with closing(sqlite3.connect(database)) as writer:
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        writer.execute('INSERT INTO "tu""rns" VALUES (2, ?, NULL)', (f"now {PIECE}",))
        writer.commit()

        found = [finding.where for finding in scan(path, KEYS)]

    assert 'tu"rns.asked, row 2' in found


def test_a_deleted_row_is_still_in_the_file(tmp_path: Path) -> None:
    path = notebook(tmp_path, code())
    database = session(tmp_path, [(1, f"my key is {KEY}", None)])
    with closing(sqlite3.connect(database)) as writer:
        writer.execute("PRAGMA secure_delete = 0")
        writer.execute('DELETE FROM "tu""rns"')
        writer.commit()

    (found,) = scan(path, KEYS)
    assert "deleted rows" in found.where


def test_all_that_lies_beside_a_notebook_is_searched(tmp_path: Path) -> None:
    path = notebook(tmp_path, code())
    files = {
        "recordings/demo.jsonl": json.dumps({"a": 1}) + "\n" + json.dumps({"é": f"é{PIECE}"}),
        "jobs.jsonl": PIECE,
        ".agentcell/jobs.jsonl": PIECE,
        ".agentcell/assets/ab/abcd": f"a,b\n{PIECE},c",
        ".ipynb_checkpoints/demo-checkpoint.ipynb": json.dumps({"cells": [code(PIECE)]}),
        "other.txt": PIECE,
        ".env": f"OPENAI_API_KEY={KEY}",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / ".agentcell/assets/cd").mkdir()
    (tmp_path / ".agentcell/assets/cd/cdef").write_bytes(b"\x89PNG\r\n" + KEY.encode())

    def names(findings: list[Finding]) -> set[str]:
        return {str(Path(finding.file).relative_to(tmp_path)) for finding in findings}

    beside = set(files) - {"other.txt", ".env"}
    assert names(scan(path, KEYS)) == beside
    assert names(scan(tmp_path, KEYS)) == beside | {"other.txt"}
    assert names(scan(tmp_path / ".env", KEYS)) == {".env"}
    recorded = [f for f in scan(path, KEYS) if "recordings" in f.file]
    assert [finding.where for finding in recorded] == ["line 2"]


def test_other_peoples_packages_and_gits_store_are_left_out(tmp_path: Path) -> None:
    for place in (".git/a", "env/lib/b.py", "node_modules/c.js", "__pycache__/d.txt"):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_text(PIECE, encoding="utf-8")
    (tmp_path / "env/pyvenv.cfg").write_text("", encoding="utf-8")
    (tmp_path / "loop").symlink_to(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")

    assert search([tmp_path], KEYS).files == 0


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_a_text_in_another_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(f"héllo\nwörld {PIECE}".encode(encoding))

    assert [finding.where for finding in scan(path, KEYS)] == ["line 2"]


def test_what_cannot_be_read_is_an_error_unless_something_was_found(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.ipynb"
    damaged.write_text('{"cells": [', encoding="utf-8")
    with pytest.raises(ScanError, match="no notebook"):
        scan(damaged, KEYS)

    damaged.write_text(f'{{"cells": [\n"{PIECE}', encoding="utf-8")
    assert places(scan(damaged, KEYS)) == [(None, "line 2", "a part of OPENAI_API_KEY")]

    with pytest.raises(ScanError, match="no file"):
        scan(tmp_path / "nowhere.ipynb", KEYS)

    good = notebook(tmp_path, code())
    session(tmp_path, [(1, "a", None)])
    broken = tmp_path / ".agentcell/session.sqlite"
    broken.write_bytes(broken.read_bytes()[:4096] + b"\xff" * 4096)
    with pytest.raises(ScanError, match="as a database"):
        scan(good, KEYS)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 50_000])
def test_a_file_that_is_nested_beyond_reason_does_not_crash(tmp_path: Path, text: str) -> None:
    path = tmp_path / "deep.ipynb"
    path.write_text(text + f'"{PIECE}"', encoding="utf-8")

    assert len(scan(path, KEYS)) == 1


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.mark.usefixtures("known")
def test_the_command_says_what_it_found_and_no_part_of_the_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = notebook(tmp_path, code("a"), code(f"b = '{KEY}'"))

    assert main([str(path)]) == 1

    said = capsys.readouterr()
    assert f"{path}: cell 2, source: OPENAI_API_KEY" in said.out
    assert said.out.splitlines()[-1].startswith("2 findings in 1 file")
    for text in (said.out, said.err):
        assert Traces.of({"k": KEY}).in_text(text.encode()) == set()


@pytest.mark.usefixtures("known")
def test_the_command_hides_a_key_in_a_files_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = notebook(tmp_path, code(SECRET), name=f"{SECRET[:40]}.ipynb")

    assert main([str(path)]) == 1

    assert Traces.of({"k": KEY}).in_text(capsys.readouterr().out.encode()) == set()


@pytest.mark.usefixtures("known")
def test_the_commands_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clean = notebook(tmp_path, code("a"))
    dirty = notebook(tmp_path, code(PIECE), name="dirty.ipynb")
    damaged = tmp_path / "damaged.ipynb"
    damaged.write_text("", encoding="utf-8")

    assert main([str(clean)]) == 0
    assert (
        "No key in 1 file. Looked for: OPENAI_API_KEY; and any key's shape."
        in capsys.readouterr().out
    )
    assert main([str(clean), str(dirty)]) == 1
    assert main([str(damaged)]) == 2
    assert main([str(damaged), str(dirty)]) == 1
    assert main([str(tmp_path / "nowhere")]) == 2
    assert main([str(clean), "--key-from", "NO_SUCH_VARIABLE"]) == 2
    assert "no environment variable" in capsys.readouterr().err


def test_the_command_takes_a_key_from_any_variable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_PASSWORD", "Tr0ub4dor&3")
    path = notebook(tmp_path, code("b4dor&"))

    assert main([str(path)]) == 0
    assert main([str(path), "--key-from", "MY_PASSWORD", "--json"]) == 1

    facts = json.loads(capsys.readouterr().out.partition("{")[2].join(["{", ""]))
    assert facts["findings"][0]["what"] == "a part of MY_PASSWORD"
    assert facts["keys"] == ["MY_PASSWORD"]


def test_the_command_is_installed_and_runs_alone(tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"]["agentcell-scan"] == "agentcell.scan.command:main"
    path = notebook(tmp_path, code(PIECE))
    ran = subprocess.run(
        [sys.executable, "-m", "agentcell.scan.command", str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OPENAI_API_KEY": KEY},
    )

    assert ran.returncode == 1, ran.stderr
    assert "a part of OPENAI_API_KEY" in ran.stdout


def test_a_notebook_of_20_mb_is_searched_promptly(tmp_path: Path) -> None:
    text = (ROOT / "src/agentcell/asking.py").read_text(encoding="utf-8")[:4000]
    cells = [code(text, shown(text__plain=text)) for _ in range(1500)]
    cells += [code("", shown(image__png=picture(size=600))) for _ in range(6)]
    path = notebook(tmp_path, *cells)
    assert path.stat().st_size > 20_000_000

    assert scan(path, KEYS) == []
    assert cpu_seconds(lambda: scan(path, KEYS), tries=2) < 4


def test_a_part_of_a_key_is_taken_out_of_a_text() -> None:
    said = f"Wrong key {SECRET[5:11]}, {KEY} or {SECRET[:5]}."

    assert without_traces(said, KEY, "[key]") == f"Wrong key [key], sk-proj-[key] or {SECRET[:5]}."
