"""Whole numbers and files from outside are read strictly."""

import os
from pathlib import Path

import pytest

from kibitz import reading
from kibitz.errors import InputError, ParseError, UnknownName, quoted
from kibitz.reading import deal_number, file_bytes, file_text, json_value, told_number, whole_number


@pytest.mark.parametrize(
    "text", ["²", "٣", "１", "1_000", "1.0", "1e3", "", " ", "+", "--1", "9" * 20, "9" * 5000]
)
def test_what_python_takes_for_a_number_is_none_here(text):
    assert whole_number(text) is None


def test_numbers_of_64_bits_are_read():
    assert whole_number(" 007 ") == 7
    assert whole_number(str(2**63 - 1)) == 2**63 - 1
    assert whole_number(str(2**63)) is None
    assert whole_number(str(1 - 2**63)) == 1 - 2**63


def test_the_number_of_a_deal_is_not_negative():
    assert deal_number("7") == 7
    for text in ("-1", "²", "9" * 5000):
        with pytest.raises(ParseError, match="is not a deal number; write it in digits") as error:
            deal_number(text)
        assert len(str(error.value)) < 200


@pytest.mark.parametrize("value", [1.0, float("inf"), float("nan"), True, None, "1e3", "²", 2**63, [], {}])
def test_a_number_in_a_document_is_whole(value):
    with pytest.raises(ParseError, match=r"'seed' is .*; a whole number"):
        told_number(value, "'seed'")
    assert told_number(5, "'seed'") == told_number("5", "'seed'") == 5


def test_files_that_have_no_end_are_refused(tmp_path):
    """`kibitz solve bridge /dev/zero` read without end."""
    with pytest.raises(InputError, match="is a device or a pipe; copy what it holds to a file"):
        file_bytes(Path("/dev/zero"))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="is a device or a pipe"):
        file_bytes(pipe)


def test_files_have_a_largest_size(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LARGEST_FILE", 10)
    (tmp_path / "ten").write_bytes(b"x" * 10)
    (tmp_path / "eleven").write_bytes(b"x" * 11)
    assert file_bytes(tmp_path / "ten") == b"x" * 10
    with pytest.raises(InputError, match="eleven has more than 10 bytes; divide it into smaller files"):
        file_bytes(tmp_path / "eleven")


@pytest.mark.parametrize("name", ["none.pbn", "x" * 300, "a\0b", "file/below"])
def test_names_of_nothing_are_said_to_be_so(name, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"there is no file .*; check its name"):
        file_bytes(tmp_path / name)
    assert not reading.is_file(str(tmp_path / name))


def test_folders_and_bytes_are_no_text(tmp_path):
    with pytest.raises(InputError, match="it is a folder; check its name"):
        file_text(tmp_path)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="it is not text in UTF-8"):
        file_text(tmp_path / "bytes")
    (tmp_path / "marked").write_bytes(b"\xef\xbb\xbf7")
    assert file_text(tmp_path / "marked") == "7"


def test_quotations_are_short_and_can_be_seen():
    assert quoted("a\n\x1b[31m\u202e\ud800²") == r"'a\n\x1b[31m\u202e\ud800²'"
    assert len(quoted("x" * 10**6)) == 62
    assert len(str(UnknownName("game", "x" * 10**6, ["briskola"]))) < 200


def test_json_holds_numbers_and_characters_that_can_be_used():
    assert json_value('{"a": [1, -2.5, "\\ud83c\\udca1", null]}') == {"a": [1, -2.5, "🂡", None]}
    assert json_value("[1, 1e999, NaN]", number=str) == ["1", "1e999", "NaN"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[1,\n2,]", "^my file, line 2: no JSON: "),
        ("", "^my file, line 1: no JSON: "),
        *(
            (number, "is not a number that can be used")
            for number in ("1e999", "NaN", "-Infinity", "9" * 20, "9" * 5000)
        ),
        ('{"a": "\\ud800"}', "^my file has an escape, such as .*, for half a character"),
        ("[" * 100_000, "^my file is nested too deeply"),
        ("[" * 900 + "]" * 899, "^my file"),
    ],
)
def test_what_is_wrong_with_json_is_said(text, says):
    with pytest.raises(ParseError, match=says) as error:
        json_value(text, "my file")
    assert len(str(error.value)) < 200
