from __future__ import annotations

import pytest

from agentcell.errors import CellError
from agentcell_magics.line import parse, tokens
from agentcell_magics.options import AGENT_OPTIONS, agent_options
from promptly import cpu_seconds


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
        (r'-a "C:\new folder\x.png"', ["-a", r"C:\new folder\x.png"]),
        ("a\t b\u00a0c", ["a", "b", "c"]),
    ],
)
def test_words_are_split_as_written(line: str, words: list[str]) -> None:
    assert tokens(line) == words


@pytest.mark.parametrize("line", ['-s "open', "-s 'open", r'-a "C:\dir\"', "it's"])
def test_an_open_quote_is_told(line: str) -> None:
    with pytest.raises(CellError, match="quote"):
        tokens(line)


@pytest.mark.parametrize("line", ["-s a\ud800", "-\ud800", "-a 'x\0.png'"])
def test_what_no_service_takes_is_refused(line: str) -> None:
    with pytest.raises(CellError, match="The line holds"):
        tokens(line)


@pytest.mark.parametrize("line", ['"' + "\\" * 20_001, '"' + '\\"' * 20_000, "'" * 20_001])
def test_a_line_of_quotes_takes_no_time(line: str) -> None:
    def refused() -> None:
        with pytest.raises(CellError):
            tokens(line)

    assert cpu_seconds(refused, tries=3) < 2


def test_short_options_without_a_value_may_stand_together() -> None:
    options = agent_options("-nq -t.5 -mlocal")

    assert (options.dry_run, options.quiet) == (True, True)
    assert (options.settings, options.model) == ({"temperature": 0.5}, "local")
    with pytest.raises(CellError, match="no option -z"):
        agent_options("-nz")


@pytest.mark.parametrize(
    "line",
    ["-{}", "--{}", "{} {}", "-o {}-", "-t {}", "-i {}", "-m a -m {}", "--fresh={}", "'{}"],
)
def test_a_very_long_word_is_not_repeated_whole(line: str) -> None:
    with pytest.raises(CellError) as caught:
        agent_options(line.replace("{}", "x\x1b[31m" * 2000))

    assert len(str(caught.value)) < 500
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("line", ["-h", "--help"])
def test_who_asks_for_help_is_told_how_to_get_it(line: str) -> None:
    with pytest.raises(CellError) as caught:
        agent_options(line)

    assert caught.value.fix == "run %%agent? to see the options."


@pytest.mark.parametrize("line", ["-s -q", "-m --fresh", "-a -i x=IMAGE:y", "-o -n"])
def test_an_option_is_not_taken_for_another_s_value(line: str) -> None:
    with pytest.raises(CellError, match="needs a value, but the option") as caught:
        agent_options(line)

    assert line.split(maxsplit=1)[0] in caught.value.fix
    assert agent_options("-s=-q").system == "-q"


def test_a_variable_s_name_is_spelled_as_python_spells_it() -> None:
    assert agent_options("-o \ufb01ne").output == "fine"


def test_blanks_round_a_conversation_s_name_do_not_count() -> None:
    assert agent_options("-c ' my  taxes '").conversation == "my taxes"


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


@pytest.mark.parametrize("dashes", ["—", "–", "—-", "-—", "––", "−−"])
def test_an_option_with_any_mix_of_long_dashes_is_told_of_them(dashes: str) -> None:
    with pytest.raises(CellError, match="begins with a long dash"):
        agent_options(f"{dashes}fresh")


def test_the_number_that_an_error_gives_as_an_example_fits_the_option() -> None:
    with pytest.raises(CellError) as rounds:
        agent_options("--max-rounds 0")
    with pytest.raises(CellError) as tokens:
        agent_options("--max-tokens 0")
    assert rounds.value.fix == "write for example --max-rounds 20."
    assert tokens.value.fix == "write for example --max-tokens 500."
