"""Compiled code goes to machines of its kind and nowhere else; what is no archive of it changes nothing."""

import io
import json
import os
import pickle
import platform
import random
import re
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

import kibitz
from kibitz import archive, cache, kernel, precompiled
from kibitz.errors import InputError, Unwritable
from tests.test_cli import call

SOURCE = Path(kibitz.__file__).parent
HIGH_CARD = Path(__file__).parents[1] / "examples" / "high_card.py"
ASK = ("advise", "tic-tac-toe", "7", "--agent", "random")  # one function, compiled in half a second
V3 = {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""}
x86 = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="a processor of another kind")


def run(*words, code, **environment):
    """Kibitz as on another machine: with compiled code of its own."""
    return subprocess.run(
        [sys.executable, "-m", "kibitz", *map(str, words)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE.parent), "KIBITZ_CACHE_DIR": str(code), **environment},
    )


def told(done):
    """What was advised, and whether anything was compiled for it."""
    assert done.returncode == 0, done.stderr
    return re.sub(r"[\d.]+ s,", "", done.stdout), "compiling" in done.stderr


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A machine that has compiled something, what it was told there, and the code that it exports."""
    folder = tmp_path_factory.mktemp("made")
    advice, compiled = told(run(*ASK, code=folder / "code"))
    assert compiled
    assert told(run("advise", HIGH_CARD, "7", "--agent", "random", code=folder / "code"))[1]
    done = run("cache", "export", folder / "code.zip", code=folder / "code")
    # Nobody else has the folder of a game that is no part of a package.
    assert re.fullmatch(r"\S+code.zip: 1 compiled function, 0.\d MB\n", done.stdout), done.stderr
    return folder / "code", advice, folder / "code.zip"


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Where this process keeps compiled code: a folder that is not there yet."""
    monkeypatch.setenv("KIBITZ_CACHE_DIR", str(tmp_path / "elsewhere"))
    cache._can_be_used.cache_clear()
    yield tmp_path / "elsewhere"
    cache._can_be_used.cache_clear()


def edited(folder):
    """A Kibitz in which one line of a rule was changed."""
    shutil.copytree(SOURCE, folder / "kibitz", ignore=shutil.ignore_patterns("__pycache__", "static"))
    rules = folder / "kibitz/games/tic_tac_toe/rules.py"
    rules.write_text(rules.read_text() + "\nHOUSE_RULE = True\n")
    return str(folder)


# --- where all agree -------------------------------------------------------------------------------------


def test_exported_code_is_used_where_all_agree(made, tmp_path):
    _, advice, file = made
    here = tmp_path / "here"
    asked = run("cache", "import", file, code=here)
    assert asked.returncode == 3
    assert "holds 1 compiled function for " in asked.stderr
    assert "repeat the command with --trust" in asked.stderr
    assert not here.exists()
    done = run("cache", "import", file, "--trust", code=here)
    assert done.stdout == f"1 compiled function is new in {here}\n", done.stderr
    assert told(run(*ASK, code=here)) == (advice, False)
    again = json.loads(run("cache", "import", file, "--trust", "--json", code=here).stdout)
    assert again["imported"] == 0


def test_code_that_was_taken_in_can_be_handed_on(made, elsewhere):
    *_, file = made
    found = archive.read(file)
    assert found.unpack() == 1
    packed, taken = archive.pack(archive.collect())
    assert taken == 1
    assert archive.parse(packed) == found


def test_a_process_takes_in_an_archive_once(made, elsewhere):
    *_, file = made
    archive.take_in.cache_clear()
    assert archive.take_in(file.read_bytes()) == 1
    shutil.rmtree(elsewhere)
    assert archive.take_in(file.read_bytes()) == 1
    assert not elsewhere.exists()


def test_nothing_is_overwritten_and_nothing_is_no_archive(made, elsewhere, tmp_path):
    *_, file = made
    before = file.read_bytes()
    done = call("cache", "export", file)
    assert done.returncode == 2
    assert "exists already" in done.stderr
    assert file.read_bytes() == before
    done = call("cache", "export", tmp_path / "new.zip")
    assert done.returncode == 3
    assert "`kibitz cache warm` makes it" in done.stderr
    assert not (tmp_path / "new.zip").exists()


def test_where_no_code_can_be_kept(made, elsewhere, monkeypatch):
    monkeypatch.setattr(cache, "folder_named", lambda digest: None)
    with pytest.raises(Unwritable, match="nothing can be kept in"):
        archive.read(made[2]).unpack()


# --- where something differs -----------------------------------------------------------------------------


@x86
@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"NUMBA_CPU_NAME": "nocona"}, r"processor \S+, and here it is nocona"),
        ({"NUMBA_CPU_FEATURES": "+sse2"}, r"its processor has other instructions \(\w"),
    ],
)
def test_code_for_another_processor_is_refused(made, tmp_path, other, says):
    done = run("cache", "import", made[2], "--trust", code=tmp_path / "here", **other)
    assert done.returncode == 3
    assert re.search(f"the code was compiled for another machine: {says}", done.stderr)
    assert not (tmp_path / "here").exists()


@pytest.mark.parametrize(
    ("what", "where"), [("Numba", "versions"), ("Python", "versions"), ("system", "processor")]
)
def test_code_of_another_version_or_system_is_refused(made, elsewhere, monkeypatch, what, where):
    usual = getattr(kernel, where)()
    monkeypatch.setattr(kernel, where, lambda: {**usual, what: "another"})
    done = call("cache", "import", made[2], "--trust")
    assert done.returncode == 3
    assert f"compiled for another machine: {what} {usual[what]}, and here it is another" in done.stderr
    assert not elsewhere.exists()


def test_code_of_a_rule_that_was_edited_is_refused_and_not_exported(made, tmp_path):
    path = edited(tmp_path / "source")
    done = run("cache", "import", made[2], "--trust", code=tmp_path / "here", PYTHONPATH=path)
    assert done.returncode == 3
    assert "from other sources: kibitz.games.tic_tac_toe.rules is not the same here" in done.stderr
    assert not (tmp_path / "here").exists()
    done = run("cache", "export", tmp_path / "new.zip", code=made[0], PYTHONPATH=path)
    assert done.returncode == 3
    assert not (tmp_path / "new.zip").exists()


# --- what is no archive ----------------------------------------------------------------------------------


def rewritten(file, change=lambda manifest: None, **members):
    """An archive with another manifest, or with further members."""
    packed = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(packed, "w") as new:
        manifest = json.loads(old.read(archive.MANIFEST))
        changed = change(manifest)
        new.writestr(archive.MANIFEST, json.dumps(manifest if changed is None else changed))
        for name in old.namelist():
            if name != archive.MANIFEST:
                new.writestr(name, old.read(name))
        for name, content in members.items():
            new.writestr(name, content)
    return packed.getvalue()


NAME = "0123456789abcdef-0123456789abcdef.nbc"
HOSTILE = {
    "no zip file": lambda file: b"PK\3\4 but not for long",
    "nothing": lambda file: b"",
    "no manifest": lambda file: zipped(),
    "a manifest that is no JSON": lambda file: zipped(**{archive.MANIFEST: "{"}),
    "a deep manifest": lambda file: zipped(**{archive.MANIFEST: "[" * 100_000}),
    "a list": lambda file: rewritten(file, lambda m: []),
    "no kind": lambda file: rewritten(file, lambda m: {k: v for k, v in m.items() if k != "kind"}),
    "another kind": lambda file: rewritten(file, lambda m: {**m, "kind": "results of Kibitz, 1"}),
    "versions that are a list": lambda file: rewritten(file, lambda m: {**m, "versions": ["Numba"]}),
    "a version that is a number": lambda file: rewritten(file, lambda m: {**m, "versions": {"Numba": 1}}),
    "no versions": lambda file: rewritten(file, lambda m: {**m, "versions": {}}),
    "an endless version": lambda file: rewritten(
        file, lambda m: {**m, "versions": {**m["versions"], "Numba": "1" * 10**6}}
    ),
    "no processor": lambda file: rewritten(file, lambda m: {**m, "processor": {}}),
    "folders that are a text": lambda file: rewritten(file, lambda m: {**m, "folders": "all"}),
    "a folder above": lambda file: rewritten(file, lambda m: {**m, "folders": {"..": {}}}),
    "a folder of numbers": lambda file: rewritten(file, lambda m: {**m, "folders": {"0" * 16: {"a": 1}}}),
    "a file above": lambda file: rewritten(file, **{f"../{NAME}": b"x"}),
    "a file at the root": lambda file: rewritten(file, **{f"/{NAME}": b"x"}),
    "a file of Windows": lambda file: rewritten(file, **{f"..\\{NAME}": b"x"}),
    "a file in no folder": lambda file: rewritten(file, **{NAME: b"x"}),
    "a file in an unknown folder": lambda file: rewritten(file, **{f"{'0' * 16}/{NAME}": b"x"}),
    "sources of its own": lambda file: rewritten(file, **{f"{folder_in(file)}/sources.json": b"{}"}),
    "a file with another name": lambda file: rewritten(file, **{f"{folder_in(file)}/x.py": b"x"}),
    "a file with a line end": lambda file: rewritten(file, **{f"{folder_in(file)}/{NAME}\n": b"x"}),
    "too much": lambda file: rewritten(file, **{f"{folder_in(file)}/{NAME}": b"x" * 2_000_000}),
    "machine code without its digest": lambda file: rewritten(file, **{f"{folder_in(file)}/{NAME}": b"x"}),
}


def zipped(**members):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as new:
        for name, content in members.items():
            new.writestr(name, content)
    return packed.getvalue()


def folder_in(file):
    return next(iter(archive.read(file).folders))


@pytest.mark.parametrize("how", HOSTILE)
def test_hostile_archives_are_refused_and_nothing_is_written(made, elsewhere, tmp_path, monkeypatch, how):
    monkeypatch.setattr(archive, "_MOST_BYTES", 1_000_000)
    file = tmp_path / "hostile.zip"
    file.write_bytes(HOSTILE[how](made[2]))
    done = call("cache", "import", file, "--trust")
    assert done.returncode == 3
    assert re.search("is not compiled code that `kibitz cache export` has written|is damaged", done.stderr)
    assert done.stderr.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == [file]


def test_a_damaged_archive_is_refused_or_says_the_same(made):
    """A bit that nobody reads, such as in a date, may be another one."""
    packed, chosen = made[2].read_bytes(), random.Random(1)
    found, refused = archive.parse(packed), 0
    damaged = [packed[:n] for n in (1, len(packed) // 2, len(packed) - 1)]
    for _ in range(300):
        place = chosen.choice([chosen.randrange(len(packed)), -1 - chosen.randrange(600)])  # names are last
        damaged.append(
            packed[:place] + bytes([packed[place] ^ 1 << chosen.randrange(8)]) + packed[place:][1:]
        )
    for each in damaged:
        try:
            read = archive.parse(each)
        except InputError:
            refused += 1
        else:
            assert read == found
    assert refused > len(damaged) / 2


def test_a_file_that_cannot_be_read(tmp_path):
    assert call("cache", "import", tmp_path / "no.zip", "--trust").returncode == 3
    assert call("cache", "import", tmp_path, "--trust").returncode == 3


# --- code that comes with the package --------------------------------------------------------------------


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """A Kibitz with compiled code in it, for most processors."""
    folder = tmp_path_factory.mktemp("shipped")
    shutil.copytree(SOURCE, folder / "kibitz", ignore=shutil.ignore_patterns("__pycache__", "static"))
    assert told(run(*ASK, code=folder / "code", **V3))[1]
    done = run("cache", "export", folder / "kibitz" / "precompiled.zip", code=folder / "code", **V3)
    assert done.returncode == 0, done.stderr
    return folder


def names_in(code):
    return sorted(file.name for file in code.glob("*/*.nbc"))


@x86
def test_code_of_the_package_is_used_at_once_and_native_code_from_the_next_start_on(made, shipped, tmp_path):
    native, advice, _ = made
    code = tmp_path / "code"
    assert told(run(*ASK, code=code, PYTHONPATH=str(shipped))) == (advice, False)
    for _ in range(400):
        if names_in(code) and not (code / "background").exists():
            break
        time.sleep(0.1)
    ours = [name for name in names_in(native) if name in names_in(code)]
    assert ours == names_in(code)
    assert len(ours) == 1
    again = run(*ASK, code=code, PYTHONPATH=str(shipped), KIBITZ_PRECOMPILED="0")
    assert told(again) == (advice, False)


@x86
def test_code_of_the_package_is_left_alone_if_that_is_wished(made, shipped, tmp_path):
    done = run(*ASK, code=tmp_path, PYTHONPATH=str(shipped), KIBITZ_PRECOMPILED="0")
    assert told(done) == (made[1], True)


@x86
@pytest.mark.parametrize(
    "damage",
    [lambda packed: packed[: len(packed) // 2], lambda packed: b"\0".join([packed[:200], packed[201:]])],
)
def test_damaged_code_of_the_package_is_compiled_anew(made, shipped, tmp_path, damage):
    shutil.copytree(shipped / "kibitz", tmp_path / "kibitz", ignore=shutil.ignore_patterns("__pycache__"))
    file = tmp_path / "kibitz" / "precompiled.zip"
    file.write_bytes(damage(file.read_bytes()))
    assert told(run(*ASK, code=tmp_path / "code", PYTHONPATH=str(tmp_path))) == (made[1], True)


@pytest.fixture
def in_package(shipped, monkeypatch):
    monkeypatch.setattr(precompiled, "FILE", shipped / "kibitz" / "precompiled.zip")
    precompiled._shipped.cache_clear()
    yield
    precompiled._shipped.cache_clear()


def stored(shipped):
    """The folder and the name of the file that comes with the package."""
    (name,) = archive.read(shipped / "kibitz" / "precompiled.zip").files
    return name.split("/")


@x86
def test_a_processor_that_lacks_an_instruction_does_not_run_that_code(shipped, in_package, monkeypatch):
    folder, name = stored(shipped)
    here = dict.fromkeys(precompiled.INSTRUCTIONS["x86-64-v3"], True)
    monkeypatch.setattr(precompiled, "get_host_cpu_features", lambda: here)
    assert precompiled.read(folder, lambda processor: name) is not None
    assert precompiled.read(folder, lambda processor: "another") is None
    here["avx2"] = False
    precompiled._shipped.cache_clear()
    assert precompiled.read(folder, lambda processor: name) is None


@x86
@pytest.mark.parametrize(
    "change", [{"system": "riscv64"}, {"processor": "z80"}, {"processor": ["x86-64-v3"]}]
)
def test_code_of_the_package_for_another_kind_of_machine(shipped, in_package, monkeypatch, tmp_path, change):
    file = tmp_path / "precompiled.zip"
    file.write_bytes(rewritten(precompiled.FILE, lambda m: {**m, "processor": {**m["processor"], **change}}))
    monkeypatch.setattr(precompiled, "FILE", file)
    folder, name = stored(shipped)
    assert precompiled.read(folder, lambda processor: name) is None


def test_one_process_compiles_in_the_background_at_a_time(elsewhere, monkeypatch):
    """One that was killed long ago holds up nobody, and what cannot be compiled does not hold up the rest."""
    compiled = []

    class Entry:
        def compile(self, classes, types):
            if not classes:
                raise ValueError
            compiled.append(types)

    monkeypatch.setattr(precompiled, "here", Entry(), raising=False)
    work = [(precompiled.__name__, "here", (), 1), (precompiled.__name__, "here", (int,), 2)]

    def ask():
        monkeypatch.setattr(
            precompiled.sys, "stdin", io.TextIOWrapper(io.BytesIO(pickle.dumps(work))), raising=False
        )
        precompiled.main()

    monkeypatch.setattr(os, "nice", lambda by: by)
    elsewhere.mkdir()
    ask()
    assert compiled == [2]
    busy = elsewhere / "background"
    assert not busy.exists()
    busy.touch()
    ask()
    assert compiled == [2]
    os.utime(busy, (0, 0))
    ask()
    assert compiled == [2, 2]
    assert not busy.exists()
