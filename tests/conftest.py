"""Options of the test run: `--soak` adds the long variants of the random tests."""


def pytest_addoption(parser):
    parser.addoption("--soak", action="store_true", help="run the long variants of the random tests too")


def pytest_configure(config):
    config.addinivalue_line("markers", "soak: a long variant of a random test, run with --soak")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--soak"):
        long = [item for item in items if "soak" in item.keywords]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
