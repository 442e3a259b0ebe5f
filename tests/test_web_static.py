"""The browser's side as files: types that hold, a protocol that agrees with the server's, no weight."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import kibitz

WEB = Path(kibitz.__file__).parent / "web"
STATIC = WEB / "static"
COMPILER = os.environ.get("KIBITZ_TSC") or shutil.which("tsc")


@pytest.mark.browser
def test_types_of_the_modules():
    if COMPILER is None:
        reason = "THE TYPES OF THE TABLE ARE NOT CHECKED: npm install -g typescript, or set KIBITZ_TSC"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    done = subprocess.run([COMPILER, "-p", STATIC / "jsconfig.json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def interfaces():
    """The interfaces of protocol.d.ts with their properties."""
    text = (STATIC / "protocol.d.ts").read_text()
    return {
        name: set(re.findall(r"^  (\w+)\??:", body, re.M))
        for name, body in re.findall(r"^export interface (\w+) \{\n(.*?)^\}", text, re.M | re.S)
    }


def test_the_types_of_messages_are_those_of_the_protocol():
    definitions = json.loads((WEB / "protocol.json").read_text())["$defs"]
    known = interfaces()
    assert {"Welcome", "Update", "PositionShown", "AdviceShown", "TableMade"} <= set(known)
    for name, properties in known.items():
        assert properties == set(definitions[name]["properties"]), name


def test_modules_load_nothing_that_is_not_there():
    for module in STATIC.glob("*.js"):
        text = module.read_text()
        assert text.startswith("// @ts-check\n"), module.name
        for wanted in re.findall(r'^import .*?"(.+?)";$', text, re.M):
            assert wanted.startswith("./"), f"{module.name} loads {wanted}"
            assert (STATIC / wanted).exists(), f"{module.name} loads {wanted}"
        assert "innerHTML" not in text, f"{module.name}: texts of others must never become elements"
