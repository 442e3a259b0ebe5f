"""Reports: one self-contained HTML page, or Markdown, from what a store knows."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from kibitz import __version__
from kibitz.experiments import Result
from kibitz.experiments.evaluation import Table
from kibitz.showing import visible

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1f; --paper: #fcfcf9; --line: #d8d8d0; --faint: #66665f; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e0; --paper: #17171a; --line: #3a3a40; --faint: #a0a098; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 62rem;
       margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { padding: .35rem .6rem; border-bottom: 1px solid var(--line); text-align: right; }
td:not(:first-child) { white-space: nowrap; }
th:first-child, td:first-child, table.results th:last-child, table.results td:last-child { text-align: left; }
.wide { overflow-x: auto; }
figure { margin: 1.5rem 0; } figure svg { width: 100%; height: auto; background: #fff; border-radius: 4px; }
figcaption, footer, .source { color: var(--faint); font-size: .9rem; }
summary { cursor: pointer; color: var(--faint); }
.question { font-size: 1.1rem; font-style: italic; }
code { font-family: ui-monospace, monospace; }
"""


_METHOD = (
    "Every deal is played once per seating; intervals are 95 % where nothing else is said, with the deal as "
    "the unit: games on one deal are not independent of each other. A published figure is reproduced if the "
    "difference can be chance, given the errors of both and the number of lines in the table (Holm's "
    "correction), and if the interval is narrow: at most 5 percentage points to either side, and for rare "
    "events less; for points at most a tenth of the figure, or of the spread between deals. If it is wider, "
    "there are too few games to tell."
)


def tables_of(result: Result) -> list[Table]:
    """The rows of an experiment as texts, a table for every heading, without columns that say nothing."""
    measured = f"measured ({100 * result.experiment.confidence:g} %)"
    columns = ["result", "published", measured, "games", "verdict"]
    found = []
    for heading in dict.fromkeys(row.table for row in result.rows):
        rows = [
            [
                r.cell,
                r.published_text,
                r.measured_text,
                f"{r.n:,}" if r.all_leaves is None else "–",
                r.verdict_text,
            ]
            for r in result.rows
            if r.table == heading
        ]
        said = [column for column in range(len(columns)) if any(row[column] != "–" for row in rows)]
        found.append(Table(heading, [columns[c] for c in said], [[row[c] for c in said] for row in rows]))
    return found


def _made(result: Result) -> str:
    return ", ".join(f"{name} {number}" for name, number in result.run.versions.items())


def _progress(result: Result) -> str:
    if result.is_finished:
        return f"{result.games:,} games"
    return f"unfinished: {result.games:,} of {result.games_wanted:,} games; the same command plays the rest"


# --- HTML ------------------------------------------------------------------------------------------


def page(results: Sequence[Result], title: str = "Published and measured") -> str:
    """The whole page; it loads nothing from anywhere."""
    links = "".join(
        f'<li><a href="#{escape(r.name)}">{escape(r.title)}</a> ({escape(r.state)})</li>\n' for r in results
    )
    contents = f"<nav><ul>{links}</ul></nav>\n" if len(results) > 1 else ""
    body = "".join(_section(result) for result in results) or "<p>No experiment has been run yet.</p>\n"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Kibitz: {escape(title.lower())}</title><style>{_STYLE}</style></head><body>\n"
        f"<h1>{escape(title)}</h1>\n{contents}{body}"
        f"<footer>Written by Kibitz {escape(__version__)}. {_METHOD}</footer>\n</body></html>\n"
    )


def _section(result: Result) -> str:
    about = result.experiment
    parts = [f'<section id="{escape(result.name)}"><h2>{escape(result.title)}</h2>\n']
    if about.question:
        parts.append(f'<p class="question">{escape(about.question)}</p>\n')
    if about.source:
        parts.append(f'<p class="source">{escape(about.source)}</p>\n')
    if result.summary:
        parts.append(f"<ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in result.summary)}</ul>\n")
    parts += [_html_table(table, "results") for table in tables_of(result)]
    parts += [_html_table(table, "numbers") for table in result.tables]
    if result.findings:
        parts.append(f"<ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in result.findings)}</ul>\n")
    parts += [
        f'<figure role="img" aria-label="{escape(caption)}">{_with_ids(svg, f"{result.name}-{number}-")}'
        f"<figcaption>{escape(caption)}</figcaption></figure>\n"
        for number, (caption, svg) in enumerate(result.figures, 1)
    ]
    if result.no_figures:
        parts.append(f'<p class="source">{escape(result.no_figures)}</p>\n')
    parts.append(
        f"<details><summary>What it cost: {_progress(result)}, {result.core_seconds:,.0f} core seconds"
        f"</summary>{_html_table(result.cost, 'numbers')}</details>\n"
        f"<p>Made by <code>{escape(result.run.command)}</code> with seed {result.run.seed}; "
        f"{escape(_made(result))}.</p></section>\n"
    )
    return "".join(parts)


def escape(text: str) -> str:
    """A text from data in HTML: no tag, and nothing that cannot be seen."""
    return html.escape(visible(text))


def _with_ids(svg: str, prefix: str) -> str:
    """A figure with ids of its own: another experiment on the page may show the same picture."""
    found = re.search(r'\sid="(k[0-9a-f]{8}-)', svg)
    return svg.replace(found[1], prefix) if found else svg


def _html_table(table: Table, kind: str) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    lines = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>\n" for row in table.rows)
    title = f"<h3>{escape(table.title)}</h3>\n" if table.title else ""
    return (
        f'{title}<div class="wide"><table class="{kind}"><thead><tr>{head}</tr></thead><tbody>\n{lines}'
        f"</tbody></table></div>\n"
    )


# --- Markdown --------------------------------------------------------------------------------------


def markdown(results: Sequence[Result], title: str = "Published and measured") -> str:
    """The same in Markdown, without the figures."""
    parts = [f"# {_plain(title)}\n"]
    for result in results:
        about = result.experiment
        parts.append(f"## {_plain(result.title)}\n")
        parts += [f"{_paragraph(text)}\n" for text in (about.question, about.source) if text]
        if result.summary:
            parts.append("".join(f"- {_plain(sentence)}\n" for sentence in result.summary))
        parts += [_markdown_table(table) for table in tables_of(result)]
        parts += [_markdown_table(table) for table in result.tables]
        if result.findings:
            parts.append("".join(f"- {_plain(sentence)}\n" for sentence in result.findings))
        parts.append(
            f"{_progress(result).capitalize()}. Made by {_code(result.run.command)} with seed "
            f"{result.run.seed}; {_plain(_made(result))}.\n"
        )
    return "\n".join([*parts, _METHOD, ""])


def _plain(text: str) -> str:
    """A text from data in one line of Markdown: no tag, link, code or cell of its own."""
    return re.sub(r"[\\`<\[\]|]", r"\\\g<0>", visible(" ".join(text.split())))


def _paragraph(text: str) -> str:
    """The same at the beginning of a line: no heading, list or quotation."""
    return re.sub(r"^[#>=~*+-]", r"\\\g<0>", _plain(text))


def _code(text: str) -> str:
    """A text as code, however many backticks it has."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence, space = "`" * (longest + 1), " " * (longest > 0)
    return f"{fence}{space}{visible(' '.join(text.split()))}{space}{fence}"


def _markdown_table(table: Table) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(map(_plain, cells)) + " |\n"

    rule = ["---"] + ["---:"] * (len(table.columns) - 1)
    title = f"{_paragraph(table.title)}:\n\n" if table.title else ""
    return title + line(table.columns) + "| " + " | ".join(rule) + " |\n" + "".join(map(line, table.rows))
