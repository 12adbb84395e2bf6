"""One page about a run: readable on a phone and on paper, without a network."""

import base64
import html
from pathlib import Path
from typing import Any, NamedTuple

from ._plan import Finding
from ._write import number

WORDS = {True: ("holds", "yes"), False: ("does not hold", "no"), None: ("not judged", "open")}
PAPERS = {
    "coactive": "Coactive learning",
    "confidit": "Multiclass learning from right or wrong: Confidit",
    "filtering": "Margin-based filtering",
    "onseg": "Bandit convex optimisation: ONSEG",
}
NO_FINDING = Finding("Nothing that could be judged.", "see the plots", None)
STYLE = """
:root { --ink: #1c2733; --soft: #5b6875; --line: #d9dfe5; --paper: #fff; --tint: #f4f6f8;
  --yes: #12703c; --no: #a6261b; --open: #6b5a00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ee; --soft: #9aa7b4; --line: #36414c;
  --paper: #14191f; --tint: #1d242c; --yes: #5fd08d; --no: #ff8a7d; --open: #e0c95e; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; color: var(--ink); background: var(--paper);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: .5rem 0; } h2 { margin: 2.5rem 0 .5rem; font-size: 1.3rem; }
h3 { margin: 2rem 0 .3rem; font-size: 1.05rem; }
p, .facts { color: var(--soft); margin: .3rem 0; } a { color: inherit; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; margin: .6rem 0; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; background: var(--tint); } td.number, th.number { text-align: right;
  font-variant-numeric: tabular-nums; white-space: nowrap; }
.mark { font-weight: 600; white-space: nowrap; } .yes { color: var(--yes); }
.no { color: var(--no); } .open { color: var(--open); } .reason { color: var(--soft); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr));
  gap: 1rem; } figure { margin: 0; }
img { width: 100%; height: auto; display: block; background: #fff; border: 1px solid var(--line);
  border-radius: 4px; }
.wide { overflow-x: auto; } details { margin: .5rem 0; } summary { cursor: pointer;
  color: var(--soft); }
@media (max-width: 44rem) {
  table.findings, .findings tbody, .findings tr, .findings td { display: block; width: 100%; }
  .findings thead { display: none; } .findings tr { border-bottom: 1px solid var(--line);
    padding: .5rem 0; } .findings td { border: 0; padding: .1rem 0; text-align: left; }
  .findings td::before { content: attr(data-label); display: block; color: var(--soft);
    font-size: .75rem; } .findings td:empty { display: none; } }
@media print { body { max-width: none; font-size: 9pt; } .wide { overflow: visible; }
  figure, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; } details { display: none; } a { text-decoration: none; } }
"""


class Entry(NamedTuple):
    """One experiment of the report."""

    experiment: Any
    outcome: Any
    facts: dict
    seconds: float


def tag(name, text, **attributes):
    given = "".join(f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
                    for key, value in attributes.items() if value is not None)
    return f"<{name}{given}>{text}</{name}>"


def cell(value, **attributes):
    if isinstance(value, str):
        return tag("td", html.escape(value), **attributes)
    return tag("td", f"{value:.4g}" if number(value) else "", class_="number", **attributes)


def count(n, what):
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def mark(holds):
    word, look = WORDS[holds]
    return tag("span", word, class_=f"mark {look}")


def findings_table(entries):
    """Experiment, what the paper says, what was measured, whether it holds, seconds."""
    rows = []
    for entry in entries:
        for i, finding in enumerate(entry.outcome.findings or (NO_FINDING,)):
            first = i == 0
            name = tag("a", html.escape(entry.experiment.name), href=f"#{entry.experiment.name}")
            name += tag("div", html.escape(entry.facts["data"]), class_="reason")
            measured = html.escape(finding.measured)
            if finding.reason:
                measured += tag("div", html.escape(finding.reason), class_="reason")
            rows.append(tag("tr", "".join((
                tag("td", name if first else "", data_label="experiment"),
                tag("td", html.escape(finding.says), data_label="the paper"),
                tag("td", measured, data_label="here"),
                tag("td", mark(finding.holds), data_label="finding"),
                tag("td", f"{entry.seconds:.1f}" if first else "", class_="number",
                    data_label="seconds")))))
    head = tag("tr", "".join(tag("th", text) for text in (
        "Experiment", "What the paper says", "What was measured", "Finding", "Seconds")))
    return tag("table", tag("thead", head) + tag("tbody", "\n".join(rows)), class_="findings")


def plain_table(table):
    numbers = [not any(isinstance(row[i], str) for row in table.rows)
               for i in range(len(table.columns))]
    head = tag("tr", "".join(tag("th", html.escape(column), class_="number" if numeric else None)
                             for column, numeric in zip(table.columns, numbers, strict=True)))
    rows = (tag("tr", "".join(cell(value) for value in row)) for row in table.rows)
    note = tag("p", html.escape(table.note)) if table.note else ""
    return (tag("h4", html.escape(table.title))
            + tag("div", tag("table", tag("thead", head) + tag("tbody", "".join(rows))),
                  class_="wide") + note)


def picture(path, plot):
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    alt = f"{plot.title}: {plot.y} over {plot.x}; {', '.join(c.label for c in plot.curves)}"
    return tag("figure", f'<img alt="{html.escape(alt)}" src="data:image/svg+xml;base64,{data}">')


def listing(facts):
    """Nested facts as text, for whoever wants to run it again."""
    rows = []
    for name, value in facts.items():
        if isinstance(value, dict):
            value = "; ".join(f"{k} = {v}" for k, v in value.items()) or "none"
        rows.append(tag("tr", tag("th", html.escape(str(name)))
                        + tag("td", html.escape(str(value)))))
    return tag("div", tag("table", "".join(rows)), class_="wide")


def section(out, entry):
    experiment, outcome = entry.experiment, entry.outcome
    folder = out / experiment.name
    pictures = "".join(picture(folder / f"{plot.name}.svg", plot) for plot in outcome.plots)
    files = ", ".join(tag("a", html.escape(path.name), href=f"{experiment.name}/{path.name}")
                      for path in sorted(folder.glob("*.csv")))
    return "\n".join((
        tag("h3", html.escape(experiment.title), id=experiment.name),
        tag("p", html.escape(f"{experiment.name}: {experiment.shows} of the paper. Data: "
                             f"{entry.facts['data']}. "
                             f"{entry.seconds:.1f} s.")),
        tag("div", pictures, class_="plots") if pictures else "",
        *(plain_table(table) for table in outcome.tables),
        tag("details", tag("summary", "Parameters, versions, files")
            + listing({**entry.facts["parameters"], **outcome.parameters})
            + listing({k: entry.facts[k] for k in ("scale", "seed", "versions", "checksums")})
            + tag("p", files))))


def papers_seconds(entries):
    """Our seconds beside those the papers name."""
    rows = [tag("tr", cell(entry.experiment.name) + cell(what) + cell(theirs)
                + cell(f"{seconds:.3g} s"))
            for entry in entries for what, theirs, seconds in entry.outcome.seconds]
    if not rows:
        return ""
    head = "".join(tag("th", text) for text in ("Experiment", "What", "The paper", "Here"))
    return (tag("h2", "Seconds beside the papers'")
            + tag("table", tag("thead", tag("tr", head)) + tag("tbody", "".join(rows))))


def write_report(out, entries, run):
    """Writes ``report.html`` of these entries; returns its path."""
    out = Path(out)
    marks = [f.holds for entry in entries for f in entry.outcome.findings]
    opening = (f"{count(len(entries), 'experiment')}, "
               f"{count(len(marks), 'finding')} of the papers: "
               f"{marks.count(True)} hold, {marks.count(False)} do not, "
               f"{marks.count(None)} could not be judged.")
    facts = (f"Scale {run['scale']}, {run['data']} data, seed {run['seed']}, "
             f"{count(run['jobs'], 'worker')}, {run['seconds']:.0f} s. "
             f"coactive_fast {run['coactive_fast']}, NumPy {run['numpy']}, SciPy {run['scipy']}, "
             f"Python {run['python']}, {run['system']}, instruction set {run['instruction set']}.")
    body = [tag("h1", "coactive_fast: the papers, run again"), tag("p", opening),
            tag("p", html.escape(facts)), findings_table(entries), papers_seconds(entries)]
    for paper, title in PAPERS.items():
        mine = [entry for entry in entries if entry.experiment.paper == paper]
        if mine:
            body.append(tag("h2", title))
            body += [section(out, entry) for entry in mine]
    text = ('<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>coactive_fast report</title><style>{STYLE}</style></head>\n<body>\n"
            + "\n".join(body) + "\n</body>\n</html>\n")
    path = out / "report.html"
    path.write_text(text, encoding="utf-8")
    return path
