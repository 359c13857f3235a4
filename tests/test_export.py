from __future__ import annotations

import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from agent_kit import Replies, blue, page, pdf, png, red
from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.answer import Answer
from agentcell.assets.asset import ImageAsset, PdfAsset
from agentcell.errors import BadRequest, HistoryError
from agentcell.history.export_html import as_page
from agentcell.history.export_notebook import quoted
from agentcell.safe_text import plain
from agentcell.session import Session
from agentcell.testing import FakeModel
from agentcell_magics.line import tokens
from agentcell_magics.options import agent_options
from hostile import HOSTILE
from scripted import ScriptedModel

ASKS_AGAIN = '%%agent -a receipt="again_files/receipt_1.png" -i receipt="IMAGE:Till slip"'

SEES = ModelCapabilities(image_input=True, pdf_input=True)


def asked(*replies: Any, **capabilities: Any) -> Session:
    return Session(Replies(*replies, capabilities=ModelCapabilities(**capabilities)))


@pytest.fixture
def session() -> Session:
    """Two conversations: one with a picture, one stopped answer and one that failed."""
    session = Session(Replies("It is **3**.", "No.", BadRequest("too red"), capabilities=SEES))
    session.ask(
        "What is on {receipt}?", attach={"receipt": red()}, fields={"receipt": "IMAGE:Till slip"}
    )
    session.ask("And <b>that</b>?", conversation="taxes", system="Be brief.")
    with pytest.raises(BadRequest):
        session.ask("Why?")
    return session


# -- what there is ----------------------------------------------------------------------------


def test_markdown_tells_questions_answers_and_pictures_in_words_and_files(
    session: Session, tmp_path: Path
) -> None:
    file = session.export(tmp_path / "My answers.md")

    text = file.read_text("utf-8")
    assert text.startswith("# console\n\n## main\n\n### Question 1\n\n> What is on [receipt_1 Till")
    assert "It is **3**." in text
    assert "> And &lt;b>that&lt;/b>?" in text
    assert re.search(r"\*custom/replies · \d\.\d s · failed&#58; too red\*", text)
    place = re.search(r"!\[(.*)\]\((.*)\)", text)
    assert place is not None
    assert "1 × 1 px" in place[1]
    assert place[2] == "My%20answers_files/receipt_1.png"
    assert (tmp_path / "My answers_files/receipt_1.png").read_bytes().startswith(b"\x89PNG")
    assert "base64" not in text


def test_a_page_holds_its_pictures_and_nothing_lies_beside_it(
    session: Session, tmp_path: Path
) -> None:
    file = session.export(tmp_path / "a.html", conversation="main")

    text = file.read_text("utf-8")
    assert os.listdir(tmp_path) == ["a.html"]  # noqa: PTH208 (hidden ones too)
    assert "<title>main</title>" in text
    assert "prefers-color-scheme: dark" in text
    assert re.search(
        r'<img src="data:image/png;base64,[^"]+" width="1" height="1" alt="\[rec', text
    )
    assert "<strong>3</strong>" in text
    assert "And" not in text


def test_only_one_conversation_goes_out_where_one_is_named(
    session: Session, tmp_path: Path
) -> None:
    text = session.export(tmp_path / "a.md", conversation="taxes").read_text("utf-8")

    assert "# taxes" in text
    assert "What is on" not in text


def test_an_open_block_of_code_does_not_swallow_the_next_question(tmp_path: Path) -> None:
    session = asked("```python\nprint(1)", "~~~~\nx\n~~~", "```\nwhole\n```", "1. a\n   ```\n   x")
    for number in range(4):
        session.ask(f"number {number}")

    text = session.export(tmp_path / "a.md").read_text("utf-8")

    from markdown_it import MarkdownIt

    headings = [t for t in MarkdownIt("commonmark").parse(text) if t.type == "heading_open"]
    assert len(headings) == 5
    assert text.count("```") == 2 + 2 + 1
    assert text.count("~~~~") == 2


def test_a_question_cannot_leave_its_quote(tmp_path: Path) -> None:
    session = asked("ok")
    session.ask("```\nopen\n\n# no heading\n</section><script>alert(1)</script>")

    text = session.export(tmp_path / "a.md").read_text("utf-8")
    html = session.export(tmp_path / "a.html").read_text("utf-8")

    assert "\n# no heading" not in text
    assert "<script" not in text + html
    assert html.count("</section>") == 1


# -- what a stranger's answer may do: nothing ---------------------------------------------------


class Watched(HTMLParser):
    """Notes what a page would run or load."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in {"script", "iframe", "object", "embed", "form", "base", "svg", "link"}:
            self.faults.append(tag)
        self.faults += [name for name in given if name.startswith("on") or name == "srcset"]
        for name in ("src", "href", "action", "background", "data"):
            value = given.get(name) or ""
            fine = ("data:image/",) if name == "src" else ("https://", "http://", "mailto:")
            if value and not value.startswith(fine):
                self.faults.append(f"{name}={value}")


@pytest.mark.parametrize("answer", HOSTILE)
def test_no_answer_runs_or_loads_anything_in_an_exported_page(answer: str, tmp_path: Path) -> None:
    session = asked(answer)
    session.ask(plain(answer) or "?")

    html = session.export(tmp_path / "a.html").read_text("utf-8")

    watched = Watched()
    watched.feed(html)
    assert watched.faults == []


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("[click](javascript:alert(1))", "<p>[click](javascript:alert(1))</p>"),
        ("[click](file:///etc/passwd)", "<p>[click](file:///etc/passwd)</p>"),
        ("[good.org](https://evil.org)", '<p>good.org (<a href="https://evil.org" rel='),
        ("[good.org](https://evil.org)", ">https://evil.org</a>)</p>"),
        ("<https://a.org>", '<a href="https://a.org" rel="noopener noreferrer">https://a.org</a>'),
        ("![pixel](https://evil.org/p.png)", "<p>[picture: pixel]</p>"),
        ("![](https://evil.org/p.png)", "<p>[picture]</p>"),
        ("[![x](http://a/p.png)](http://b)", '<p>[picture: x] (<a href="http://b" rel='),
        ("[x](../../secret)", "<p>x (../../secret)</p>"),
        ("a\u202eb\x1b[31mc", "<p>abc</p>"),
    ],
)
def test_a_page_shows_where_a_link_leads_and_a_picture_as_words(answer: str, shown: str) -> None:
    assert shown in as_page(answer)


def test_a_title_is_text(tmp_path: Path) -> None:
    session = asked("ok")
    name = "<script>x</script> & [a](http://b)"
    session.ask("hi", conversation=name)

    html = session.export(tmp_path / "a.html", conversation=name).read_text("utf-8")
    markdown = session.export(tmp_path / "a.md", conversation=name).read_text("utf-8")
    notebook = nbformat.read(session.export(tmp_path / "a.ipynb", conversation=name), 4)

    assert "<script" not in html + markdown + notebook.cells[0].source
    assert "](http" not in markdown + notebook.cells[0].source


# -- a notebook that asks again -----------------------------------------------------------------


def test_a_notebook_asks_the_same_with_the_attachments_beside_it(
    session: Session, tmp_path: Path
) -> None:
    file = session.export(tmp_path / "again.ipynb")

    notebook = nbformat.read(file, 4)
    nbformat.validate(notebook)
    assert (tmp_path / "again_files/receipt_1.png").read_bytes() == png(255, 0, 0)
    assert [cell.source for cell in notebook.cells] == [
        "# console",
        "%load_ext agentcell",
        "## main",
        f"{ASKS_AGAIN}\nWhat is on {{receipt}}?",
        "%%agent\nWhy?",
        "## taxes",
        '%%agent -c "taxes" -s "Be brief."\nAnd <b>that</b>?',
    ]
    answers = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    assert answers[1][0].data == {"text/markdown": "It is **3**.", "text/plain": "It is **3**."}
    assert answers[2] == []


RUNS = """import os
from agentcell.testing import FakeModel, Reply
from agentcell_magics import current_session
session = current_session()
model = session.model = FakeModel("one", "two", "three", "four")
"""


def test_an_exported_notebook_runs_and_sends_what_was_sent_before(tmp_path: Path) -> None:
    session = Session(FakeModel("A.", "B.", "C.", "D."))
    values = {"receipt": red(), "other": blue(), "guide": page(), "name": "x", "n": 3}
    session.ask('{"n": {{n}}} in {{{receipt}}} and {other}', values=values)
    session.ask("Again {receipt}, {guide}\n\nline {missing} {n}", values=values)
    session.ask("-q --not-an-option \\ 'quotes\" $HOME {x.y} %%agent", system='say "\\"\nplease')
    session.ask("start {receipt}", values=values, fresh=True, detail="high")
    first = session.history.turns("main")
    file = session.export(tmp_path / "again.ipynb")

    notebook = nbformat.read(file, 4)
    notebook.cells.insert(2, nbformat.v4.new_code_cell(RUNS))
    turns = "[(t.question, [b.tag for b in t.attachments], t.fresh, t.system) for t in"
    end = f"import json; print(json.dumps({turns} session.turns]))"
    notebook.cells.append(nbformat.v4.new_code_cell(end))
    NotebookClient(notebook, timeout=60, resources={"metadata": {"path": tmp_path}}).execute()

    told = json.loads(notebook.cells[-1].outputs[0].text)
    wanted = [[t.question, [b.tag for b in t.attachments], t.fresh, t.system] for t in first]
    wanted[2][3] = 'say "\\" please'  # a magic's line is one line
    assert told == wanted


def test_what_only_a_provider_holds_is_named_again(tmp_path: Path) -> None:
    session = Session(ScriptedModel(["ok"], pdf_input=True))
    by_id = PdfAsset.from_file_id("file-'1", mime_type="application/pdf")
    place = ImageAsset.from_url("https://example.org/a%20b.png?x=1&y=2")
    model = Replies("ok", capabilities=all_sources())
    session.ask("read {guide} and {seen}", values={"guide": by_id, "seen": place}, model=model)

    notebook = nbformat.read(session.export(tmp_path / "a.ipynb"), 4)

    assert not (tmp_path / "a_files").exists()
    prelude, cell = notebook.cells[2:4]
    names: dict[str, Any] = {}
    exec(prelude.source, names)  # noqa: S102 (our own cell)
    assert names["guide"].file_id == "file-'1"
    options = agent_options(cell.source.split("\n")[0].removeprefix("%%agent"))
    assert options.attach == (("seen", "https://example.org/a%20b.png?x=1&y=2"),)
    assert options.fields["seen"] == "IMAGE:seen"
    assert cell.source.endswith("read {guide} and {seen}")


def all_sources() -> ModelCapabilities:
    from agentcell.adapters.openai_responses import OpenAIModel

    return OpenAIModel(model_name="gpt-4.1", api_key="none").capabilities


@pytest.mark.parametrize(
    "text", ["plain", 'a "b" \\ c\\', "C:\\new\\", "two\nlines\u2028three", "“curly” 'single'", ""]
)
def test_a_value_on_the_line_is_read_back_whole(text: str) -> None:
    flat = " ".join(re.split(r"\s*[\n\u2028]\s*", text))

    assert tokens(f"-s {quoted(text)} -q") == ["-s", flat, "-q"]


def test_forgotten_attachments_stay_out(session: Session, tmp_path: Path) -> None:
    session.forget("receipt_1")

    for ending in ("md", "html", "ipynb"):
        session.export(tmp_path / f"a.{ending}")

    assert not (tmp_path / "a_files").exists()
    assert "data:image" not in (tmp_path / "a.html").read_text("utf-8")
    notebook = nbformat.read(tmp_path / "a.ipynb", 4)
    nbformat.validate(notebook)
    assert "Not in this notebook" in notebook.cells[3].source
    assert notebook.cells[4].source == "%%agent\nWhat is on [receipt_1 Till slip]?"


def test_a_pdf_goes_beside_the_notebook_whole_and_beside_markdown_as_a_picture(
    tmp_path: Path,
) -> None:
    session = Session(Replies("ok", capabilities=SEES))
    session.ask("{guide}", values={"guide": page()})

    session.export(tmp_path / "a.ipynb")
    session.export(tmp_path / "b.md")

    assert (tmp_path / "a_files/guide_1.pdf").read_bytes() == pdf()
    assert [one.name for one in (tmp_path / "b_files").iterdir()] == ["guide_1.png"]


# -- where it goes, and where not -----------------------------------------------------------------


def test_nothing_is_replaced_unasked(session: Session, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("mine")
    with pytest.raises(HistoryError, match=r"'a\.md' is there already") as caught:
        session.export(tmp_path / "a.md")
    assert "--force" in caught.value.fix
    assert (tmp_path / "a.md").read_text() == "mine"
    assert not (tmp_path / "a_files").exists()

    session.export(tmp_path / "a.md", overwrite=True)

    assert (tmp_path / "a.md").read_text("utf-8").startswith("# ")


def test_a_picture_of_the_same_name_is_not_replaced_unasked(
    session: Session, tmp_path: Path
) -> None:
    (tmp_path / "a_files").mkdir()
    (tmp_path / "a_files/receipt_1.png").write_bytes(b"mine")

    with pytest.raises(HistoryError, match=r"'a_files/receipt_1\.png' is there already"):
        session.export(tmp_path / "a.md")

    assert not (tmp_path / "a.md").exists()
    assert (tmp_path / "a_files/receipt_1.png").read_bytes() == b"mine"


def test_a_link_in_the_place_leads_nowhere(session: Session, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "a_files").symlink_to(elsewhere)
    (tmp_path / "b.md").symlink_to(elsewhere / "target")

    with pytest.raises(HistoryError, match="leads to another place"):
        session.export(tmp_path / "a.md", overwrite=True)
    session.export(tmp_path / "b.md", overwrite=True)

    assert list(elsewhere.iterdir()) == []


def test_a_tag_is_no_path(tmp_path: Path) -> None:
    session = Session(Replies("ok", capabilities=SEES))
    session.ask(
        "see",
        attach={"../../etc/x": red(), "CON:\\a": blue(), "图": ImageAsset.from_bytes(png(0, 9, 0))},
    )

    session.export(tmp_path / "deep.ipynb")
    session.export(tmp_path / "flat.md")

    assert {one.parent for one in tmp_path.rglob("*.png")} == {
        tmp_path / "deep_files",
        tmp_path / "flat_files",
    }
    assert len(list(tmp_path.rglob("*.png"))) == 6


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("answers", "does not say what to write"),
        ("answers.pdf", "does not say what to write"),
        ("none/answers.md", "There is no folder"),
        ("folder.md", "is a folder"),
    ],
)
def test_a_place_that_will_not_do_is_said_plainly(
    session: Session, tmp_path: Path, name: str, said: str
) -> None:
    (tmp_path / "folder.md").mkdir()

    with pytest.raises(HistoryError, match=said):
        session.export(tmp_path / name, overwrite=True)


def test_a_conversation_that_is_not_there_is_named(session: Session, tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="no conversation 'tax'") as caught:
        session.export(tmp_path / "a.md", conversation="tax")

    assert "'main', 'taxes'" in caught.value.fix
    with pytest.raises(HistoryError, match="no turn to export"):
        Session(Replies("x")).export(tmp_path / "a.md")


def test_an_answer_is_no_file_name(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("hidden")
    session = asked(str(secret))
    answer = session.ask(str(secret))

    assert isinstance(answer, Answer)
    for ending in ("md", "html", "ipynb"):
        text = session.export(tmp_path / f"a.{ending}").read_text("utf-8")
        assert "hidden" not in text.replace("secret", "")
