"""Options of the test run: `--soak` adds the long variants of the random tests."""

import pytest


def pytest_addoption(parser):
    parser.addoption("--soak", action="store_true", help="run the long variants of the random tests too")


def pytest_configure(config):
    config.addinivalue_line("markers", "soak: a long variant of a random test, run with --soak")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--soak"):
        for item in items:
            if "soak" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="long; run with --soak"))
