"""Install a wheel in an environment of its own, away from the checkout and without extras, and use it.

With the other versions of Python that Kibitz supports, as far as they are found, the wheel is installed and
asked for advice. `make package` runs it: `python tests/try_package.py dist`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
MISSES_AN_EXTRA = 4


def main(dist):
    (wheel,) = Path(dist).resolve().glob("*.whl")
    (source,) = Path(dist).resolve().glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        for package in (wheel, source):
            python = installed(package, Path(folder) / package.suffix.strip("."))
            use(python, Path(folder))
            print(f"{package.name}: installed and used", flush=True)
        for minor in supported(ROOT.joinpath("pyproject.toml").read_text("utf-8")):
            if minor == sys.version_info.minor:
                continue
            other = interpreter(minor)
            if other is None:
                print(f"Python 3.{minor}: not found, so not tried", flush=True)
                continue
            python = installed(wheel, Path(folder) / f"python3.{minor}", other)
            ask(python, Path(folder))
            print(f"Python 3.{minor}: installed and used ({other})", flush=True)


def supported(project):
    """The minor versions of Python 3 for which Kibitz is made, by the text of pyproject.toml."""
    least, beyond = re.search(r'^requires-python = ">=3\.(\d+),<3\.(\d+)"$', project, re.M).groups()
    return range(int(least), int(beyond))


def interpreter(minor):
    """A Python of this version: on the path, or one that pyenv has installed; None if there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found = [shutil.which(f"python3.{minor}"), *sorted(pyenv.glob(f"versions/3.{minor}.*/bin/python"))]
    return next((str(each) for each in found if each is not None and works(each, minor)), None)


def works(python, minor):
    """Whether a file is a whole CPython of this version; pyenv's own commands may stand for none."""
    code = (
        f"import sys, pip, ssl, sqlite3, ctypes, venv\n"
        f"sys.exit((sys.implementation.name, *sys.version_info[:2]) != ('cpython', 3, {minor}))"
    )
    return subprocess.run([python, "-c", code], capture_output=True).returncode == 0


def installed(package, folder, base=None):
    """The interpreter of a new environment with a package and what it needs, but no extras."""
    subprocess.run([base or sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pip = [
        base or sys._base_executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    subprocess.run([*pip, "-c", CONSTRAINTS, package], check=True)
    return python


def runner(python, folder):
    """A function that runs Kibitz in a folder, with a cache of its own, and returns what it prints."""
    cache = {"KIBITZ_CACHE_DIR": str(folder / "cache"), "KIBITZ_DATA_DIR": str(folder / "data")}

    def run(*words, code=0):
        done = subprocess.run(
            [python, "-m", "kibitz", *words], capture_output=True, text=True, cwd=folder, env=cache
        )
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stderr if code else done.stdout

    return run


def ask(python, folder):
    """The least that a user wants: a list of games, and advice."""
    run = runner(python, folder)
    assert "briskola" in run("games")
    assert json.loads(run("advise", "briskola", "7", "--json"))["rows"]
    return run


def use(python, folder):
    """What a user of the bare package does first, and what it says of the extras that it misses."""
    run = ask(python, folder)
    assert "% won" in run("match", "briskola", "rule-based", "random", "--games", "20")
    assert json.loads(run("advise", "bridge", "7", "--json"))["iterations"] == 20_000  # no pimc without dds
    assert "web" in run("serve", code=MISSES_AN_EXTRA)
    assert "dds" in run("solve", "bridge", "7", code=MISSES_AN_EXTRA)
    where = subprocess.run(
        [python, "-c", "import kibitz; print(kibitz.__file__)"], capture_output=True, text=True, cwd=folder
    ).stdout
    assert "site-packages" in where, where


if __name__ == "__main__":
    main(sys.argv[1])
