"""What a test run leaves out, and when it ends.

`pytest` alone runs what every change must pass. `pytest -m soak` runs the long variants of random tests,
`pytest -m browser` what needs Chromium or the TypeScript compiler, and `pytest -m ''` everything.

With `--minutes N` the order of the tests differs from day to day, and one that would not end within N minutes
is skipped. A test that takes longer than a minute is marked `soak(minutes=…)`.
"""

import random
import signal
import time
from datetime import date

import pytest

START = pytest.StashKey()
"""When the run began, in seconds and as a day; the same in all of its worker processes."""


def pytest_addoption(parser):
    parser.addoption("--minutes", type=float, metavar="N", help="skip tests that would end later")


def pytest_configure(config):
    config.addinivalue_line("markers", "soak(minutes=1): a long variant of a test, and its duration")
    config.addinivalue_line("markers", "browser: needs Chromium or the TypeScript compiler")
    found = getattr(config, "workerinput", {}).get("start")
    config.stash[START] = found or (time.time(), date.today().toordinal())
    # A shell lets what it starts in the background ignore Ctrl-C, and tested programs would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    node.workerinput["start"] = node.config.stash[START]


def pytest_collection_modifyitems(config, items):
    if config.getoption("minutes") is not None:
        random.Random(config.stash[START][1]).shuffle(items)


def pytest_runtest_setup(item):
    limit = item.config.getoption("minutes")
    if limit is not None:
        mark = item.get_closest_marker("soak")
        expected = mark.kwargs.get("minutes", 1) if mark else 1
        if time.time() + 60 * expected > item.config.stash[START][0] + 60 * limit:
            pytest.skip(f"no time left in {limit:g} minutes")
