"""Plain English wherever users read it: pages, help texts, messages and descriptions of experiments.

Lines are joined first, because a phrase may be broken over two of them. Comments, and docstrings that no
page shows, are left alone.
"""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [
    *(*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "docs" / "generate.py"),
    *(*(ROOT / "src").rglob("*.py"), *(ROOT / "examples").glob("*.py")),
    *(*(ROOT / "src").rglob("*.js"), *(ROOT / "src").rglob("*.html")),
    *(*(ROOT / "src").rglob("*.toml"), *(ROOT / "examples").glob("*.toml"), ROOT / "pyproject.toml"),
]

BANNED = {  # what is not English, and what to write instead
    r"if not said|if none is said": "(default: …)",
    r"so-manieth": "its index",
    r"gone on with": "continued, extended",
    r"\b(is|are) told in\b": "see",
    r"\b(points|rounds|tricks|bids made|[Pp]oints) a (game|round)\b": "per game",
    r"\bplayouts? a (leaf|move|play|decision)\b": "per leaf",
    r"\b(games|playouts|iterations|positions|rounds|simulations|requests) a second\b": "per second",
    r"\b(GPU|card|driver) of NVIDIA\b": "an NVIDIA GPU",
    r"(^|[.;:|] (\d+\. )?)Who (takes|has|wants|cannot|asks|bears|bids?|needs|holds|plays|did)\b"
    r"[^?]{1,99}?[.;:]": "Whoever …",
    r"\b(numbered|dealt|written|compiles?|compiled|drawn|deals) anew\b": "again",
    r"\bcome out again\b": "are reproduced",
    r"\b([Ee]very|[Aa]ll|three) verbs?\b": "command",
    r"\bpoints and win\b": "value, 0 to 1",
    r"\bfrom the middle of (all scores|the range)\b": "from an even score",
    r"\b[Tt]here is: |\bknown are ": "Available: ",
    r"(?<![Tt]here )\b(is|are) no (card|node|number|seat|TOML|position|game that|play|call|contract|bid|"
    r"deal:|text|tree|store|share|probability|kind|word|place|square|range|action|cluster|suit|board|tag|"
    r"UTF-8)\b": "is not a …",
    r"\b(searches|search|records) of (Kibitz|OpenSpiel)\b": "an OpenSpiel search",
    r"\bin other words\b": "in another notation",
    r"\bforetell": "predict",
    r"(?<![\d,.])1 (iterations|worlds|deals|games|positions)\b": "1 iteration",
    r"\b[Bb]eside (the score|points|the cards|that)\b": "besides",
    r"\blets? go of\b": "releases",
    r"\b(strives?|striven|striving) for\b": "maximizes",
    r"\b(what is|[Ww]hat is) there is\b": "…",
    r"\bwho (has|have) (it|one) has the seat\b": "whoever has the link",
}


def joined(text):
    return " ".join(text.split())


def strings_of_python(path):
    """Messages and help texts, an f-string as one text; of docstrings only those of commands."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and path.parent.name != "cli":
            skipped.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in node.values)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.value


def strings_of_data(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from strings_of_data(each)


def texts_of(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return strings_of_python(path)
    if path.suffix == ".toml":
        return [*strings_of_data(tomllib.loads(text)), *re.findall(r"#.*", text)]
    if path.suffix == ".js":
        return re.findall(r'"[^"\n]*"|`[^`]*`', re.sub(r"/\*.*?\*/|^\s*//.*", "", text, flags=re.M | re.S))
    # A line of a table, or of an output, is a text of its own.
    blocks = re.sub(r"^( *)```(?!text|console).*?^\1```", "", text, flags=re.M | re.S)
    return re.split(r"\n(?=\s*\n|\||\s*[-*] |\s*\d+\. )", blocks)


def faults(text):
    text = joined(text)
    return [
        f"{match.group()!r}: write {instead!r} ({text[max(0, match.start() - 30) : match.end() + 30]})"
        for banned, instead in BANNED.items()
        for match in re.finditer(banned, text)
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_users_read_plain_english(path):
    found = [fault for text in texts_of(path) for fault in faults(text)]
    assert not found, "\n".join(found)


def test_phrases_are_found_where_a_line_ends_within_them():
    assert faults("The default, if not\n    said.")
    assert faults("| 3 | Who takes a trick\nleads the next one. |")
    assert not faults("Who has led, and who has passed?")
    assert not faults("There is no seat 7; 11 games were played.")
