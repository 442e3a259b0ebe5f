"""One self-contained HTML page from results: tables, findings, figures, how they were made."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from kibitz import __version__
from kibitz.bench import machine
from kibitz.experiments import Result

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
th:first-child, td:first-child, th:last-child, td:last-child { text-align: left; }
figure { margin: 1.5rem 0; } figure svg { width: 100%; height: auto; background: #fff; border-radius: 4px; }
figcaption, footer, .source { color: var(--faint); font-size: .9rem; }
code { font-family: ui-monospace, monospace; }
"""


def page(results: Sequence[Result]) -> str:
    """The whole page; it loads nothing from anywhere."""
    about = machine()
    body = "".join(_section(result) for result in results)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Kibitz: published and measured</title><style>{_STYLE}</style></head><body>\n"
        f"<h1>Published and measured</h1>\n{body}"
        f"<footer>Kibitz {escape(__version__)}, Python {about['python']}, Numba {about['numba']}, "
        f"NumPy {about['numpy']}; {escape(about['processor'])}, {about['cores']} cores. Every deal is played "
        f"once per seating; intervals are 95 %, with the deal as the unit.</footer>\n</body></html>\n"
    )


def _section(result: Result) -> str:
    rows = "".join(
        f"<tr><td>{escape(r.cell)}</td><td>{escape(r.published_text)}</td><td>{escape(r.measured_text)}</td>"
        f"<td>{r.n:,}</td><td>{escape(r.verdict)}</td></tr>\n"
        for r in result.rows
    )
    findings = "".join(f"<li>{escape(sentence)}</li>\n" for sentence in result.findings)
    figures = "".join(
        f'<figure role="img" aria-label="{escape(caption)}">{svg}<figcaption>{escape(caption)}</figcaption>'
        f"</figure>\n"
        for caption, svg in result.figures
    )
    return (
        f'<section id="{escape(result.name)}"><h2>{escape(result.title)}</h2>\n'
        f'<p class="source">{escape(result.source)}</p>\n'
        f"<table><thead><tr><th>result</th><th>published</th><th>measured (95 %)</th><th>games</th>"
        f"<th>verdict</th></tr></thead><tbody>\n{rows}</tbody></table>\n<ul>{findings}</ul>\n{figures}"
        f"<p>Made by <code>{escape(result.command)}</code> in {result.seconds:,.0f} s.</p></section>\n"
    )
