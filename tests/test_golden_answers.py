"""Kibitz answers what it answered before: see `tests.golden_answers`."""

import pytest

pytest.importorskip("fastapi", reason="the golden answers of the web table need the extra web")

from tests.golden_answers import FOLDER, files, lines_of


@pytest.mark.soak(minutes=3)
@pytest.mark.parametrize("name", files())
def test_answers_are_those_written_down(name):
    assert lines_of(files()[name]) == (FOLDER / name).read_text(encoding="utf-8").splitlines()
