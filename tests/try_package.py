"""Install a wheel in an environment of its own, away from the checkout and without extras, and use it.

`make package` runs it: `python tests/try_package.py dist`.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"
MISSES_AN_EXTRA = 4


def main(dist):
    (wheel,) = Path(dist).resolve().glob("*.whl")
    (source,) = Path(dist).resolve().glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        for package in (wheel, source):
            python = installed(package, Path(folder) / package.suffix.strip("."))
            use(python, Path(folder))
            print(f"{package.name}: installed and used")


def installed(package, folder):
    """The interpreter of a new environment with a package and what it needs, but no extras."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pip = [
        sys._base_executable,
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


def use(python, folder):
    """What a user of the bare package does first, and what it says of the extras that it misses."""
    cache = {"KIBITZ_CACHE_DIR": str(folder / "cache"), "KIBITZ_DATA_DIR": str(folder / "data")}

    def run(*words, code=0):
        done = subprocess.run(
            [python, "-m", "kibitz", *words], capture_output=True, text=True, cwd=folder, env=cache
        )
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stderr if code else done.stdout

    assert "briskola" in run("games")
    assert json.loads(run("advise", "briskola", "7", "--json"))["rows"]
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
