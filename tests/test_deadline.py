"""Reading for somebody else takes no longer than it may: the time limit that every parser looks at."""

import threading
import time

import pytest

from kibitz.deadline import check, deadline
from kibitz.errors import InputError, ParseError, TooLong


def test_without_a_limit_nothing_happens():
    check()


def look_after(seconds):
    check()
    time.sleep(seconds)
    check()


def test_after_the_limit_the_next_look_raises_and_says_how_long_it_was():
    with deadline(0.01), pytest.raises(TooLong, match=r"longer than 0\.01 s to read; give less at once"):
        look_after(0.02)
    check()  # the limit has ended with its block


def test_a_limit_inside_another_cannot_make_it_longer():
    with deadline(0.01), deadline(60), pytest.raises(TooLong, match=r"0\.01 s"):
        look_after(0.02)
    with deadline(60), deadline(0.01), pytest.raises(TooLong, match=r"0\.01 s"):
        look_after(0.02)


def test_a_limit_holds_for_its_own_thread():
    seen = []

    def elsewhere():
        check()
        seen.append("went on")

    with deadline(0.001):
        time.sleep(0.002)
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert seen == ["went on"]


def test_no_parser_takes_it_for_a_fault_of_the_text():
    assert issubclass(TooLong, InputError)
    assert not issubclass(TooLong, ParseError)
    assert TooLong.exit_code == 3
