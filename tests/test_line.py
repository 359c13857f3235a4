from __future__ import annotations

import pytest

from agentcell.errors import CellError
from agentcell_magics.line import parse, tokens
from agentcell_magics.options import AGENT_OPTIONS, agent_options


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", []),
        ("  a  b ", ["a", "b"]),
        ('-i receipt="IMAGE:Till receipt"', ["-i", "receipt=IMAGE:Till receipt"]),
        ("-s 'be \"brief\"'", ["-s", 'be "brief"']),
        (r'-s "say \"hi\" \\ there"', ["-s", 'say "hi" \\ there']),
        (r"-a C:\new\table.png", ["-a", r"C:\new\table.png"]),
        ('-s ""', ["-s", ""]),
        ("-s 'a''b'", ["-s", "ab"]),
        ("{x} $HOME `ls` %%a", ["{x}", "$HOME", "`ls`", "%%a"]),
        ("-a 票据=收据.png", ["-a", "票据=收据.png"]),
    ],
)
def test_words_are_split_as_written(line: str, words: list[str]) -> None:
    assert tokens(line) == words


def test_an_open_quote_is_told() -> None:
    with pytest.raises(CellError, match="quote"):
        tokens('-s "open')


def test_everything_that_a_line_can_say() -> None:
    options = agent_options(
        'local -a receipt=a.png -a "b c.pdf" -i receipt="IMAGE:Receipt" -o total -s "Be brief."'
        " -t 0.2 --max-tokens=50 -c taxes --fresh -n -q"
    )

    assert options.model == "local"
    assert options.attach == (("receipt", "a.png"), ("", "b c.pdf"))
    assert options.fields == {"receipt": "IMAGE:Receipt"}
    assert (options.output, options.system, options.conversation) == ("total", "Be brief.", "taxes")
    assert options.settings == {"temperature": 0.2, "max_tokens": 50}
    assert (options.fresh, options.dry_run, options.quiet) == (True, True, True)


def test_an_address_with_an_equals_sign_is_no_name() -> None:
    assert agent_options("-a https://x.example/?a=b").attach == (("", "https://x.example/?a=b"),)
    assert agent_options("-a r=https://x.example/?a=b").attach == (("r", "https://x.example/?a=b"),)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--modell x", "no option --modell"),
        ("-x", "no option -x"),
        ("-m", "needs a value"),
        ("-m a -m b", "given twice"),
        ("a -m b", "given twice"),
        ("what is this?", "one model before its options"),
        ("-o 1x", "variable's name"),
        ("-o class", "variable's name"),
        ("-t hot", "number"),
        ("-t nan", "number"),
        ("-t -1", "number"),
        ("--max-tokens 0", "whole number"),
        ("--max-tokens 1.5", "whole number"),
        ("-i receipt", "NAME="),
        ("-i receipt=", "nothing follows"),
        ("-i a=TEXT:x -i a=TEXT:y", "declares a twice"),
        ("-a receipt=", "nothing follows"),
        ("--fresh=yes", "takes no value"),
        ("-c ''", "not blank"),
        ("-s 'x", "quote"),
    ],
)
def test_a_wrong_line_is_told_with_a_fix(line: str, said: str) -> None:
    with pytest.raises(CellError, match=said) as caught:
        agent_options(line)

    assert caught.value.fix
    assert len(str(caught.value).splitlines()) <= 3


def test_a_misspelt_option_is_guessed() -> None:
    with pytest.raises(CellError) as caught:
        parse("--atach x", AGENT_OPTIONS, "%%agent")

    assert "--attach" in caught.value.fix
