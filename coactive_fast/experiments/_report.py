"""One page about a run: readable on a phone and on paper, without a network.

Here is what the page says; how it looks is in ``templates/``. Pictures are inside the page, as
SVG; tables longer than `LONG` lines, and pictures that no finding is about, are folded.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from coactive_fast.learner._extras import require

from ._write import number

WORDS = {True: "holds", False: "does not hold", None: "not judged"}
SHORT = {True: "hold", False: "do not", None: "not judged"}  # behind a number
LOOKS = {True: "yes", False: "no", None: "open"}
PAPERS = {
    "coactive": ("Coactive learning",
                 "P. Shivaswamy, T. Joachims: Online structured prediction via coactive learning, "
                 "2012; Coactive learning, 2015"),
    "confidit": ("Multiclass learning from right or wrong: Confidit",
                 "K. Crammer, C. Gentile: Multiclass classification with bandit feedback using "
                 "adaptive regularization, 2013"),
    "filtering": ("Margin-based filtering",
                  "N. Cesa-Bianchi, A. Conconi, C. Gentile: Margin-based algorithms for "
                  "information filtering, 2003"),
    "onseg": ("Bandit convex optimisation: ONSEG",
              "B. Liu, J. Li, Y. Song, X. Liang, L. Jian, H. Liu: Online Newton step algorithm "
              "with estimated gradient"),
}
STORY = 5  # pictures that open a paper, at the most
LONG = 8  # lines of a table that is shown unfolded
RULE = ("Every test has a border. A finding holds if the whole 95 % interval (Student's t over "
        "runs, users, folds or topics, compared pair by pair where they share their chance) lies "
        "on its side of the border, it does not if the whole interval lies on the other, and is "
        "not judged where the border is inside. Absolute levels are judged on whole real data "
        "only.")


class Entry(NamedTuple):
    """One experiment of the report."""

    experiment: Any
    outcome: Any
    facts: dict
    seconds: float


def count(n, what):
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def marks(entries):
    """How many findings of these entries hold, do not hold, are not judged."""
    given = [f.holds for entry in entries for f in entry.outcome.findings]
    return {value: given.count(value) for value in WORDS}


# --- what a paper's screen says -----------------------------------------------------------------


def place(finding):
    """Where a finding was seen: what its sentence says in brackets at the end."""
    found = re.search(r"\(([^()]*)\)\.$", finding.says)
    return found[1] if found else ""


def story(entries):
    """What of the paper's main findings held, did not, and was not judged: clauses, and why.

    Places are named where it is not the same everywhere; what has one reason stands together.
    """
    found = {value: {} for value in WORDS}  # verdict: reason: clauses
    by_claim = {}
    for entry in entries:
        for finding in entry.outcome.findings:
            if finding.main:
                by_claim.setdefault(finding.main, []).append(finding)
    for claim, findings in by_claim.items():
        for value in WORDS:
            mine = [f for f in findings if f.holds is value]
            if mine:
                places = "; ".join(filter(None, map(place, mine)))
                split = places and len(mine) < len(findings)
                reasons = dict.fromkeys(first_sentence(f.reason) for f in mine)
                why = " ".join(filter(None, reasons)) if value is not True else ""
                found[value].setdefault(why, []).append(f"{claim} ({places})" if split else claim)
    return found


def first_sentence(text):
    return re.split(r"(?<=[.!?]) (?=[A-Z])", text, maxsplit=1)[0]


# --- the parts of an experiment -----------------------------------------------------------------


def picture(folder, plot):
    """A picture as the page holds it: its words for who cannot see it, and its data."""
    svg = (folder / f"{plot.name}.svg").read_text(encoding="utf-8").strip()
    return {"caption": "", "alt": f"{plot.title}: {plot.y} over {plot.x}; "
                                  f"{', '.join(c.label for c in plot.curves)}",
            "source": "data:image/svg+xml," + quote(svg.replace('"', "'"), safe=" '/=:;,.()-!*~")}


def blocks(folder, outcome):
    """Pictures with the findings they show, then findings alone, then pictures alone."""
    by_plot = {plot.name: [] for plot in outcome.plots}
    alone = []
    for finding in outcome.findings:
        by_plot.get(finding.plot, alone).append(finding)
    beside, rest = [], []
    for plot in outcome.plots:
        shown = picture(folder, plot)
        if by_plot[plot.name]:
            beside.append({"picture": shown, "findings": by_plot[plot.name]})
        else:
            rest.append(shown)
    return beside, alone, rest


def cell(value):
    """The text of a cell of a table."""
    return value if isinstance(value, str) else f"{value:.4g}" if number(value) else ""


def listing(facts):
    """Nested facts as text, for whoever wants to run it again."""
    rows = []
    for name, value in facts.items():
        if isinstance(value, dict):
            value = "; ".join(f"{k} = {v}" for k, v in value.items()) or "none"
        rows.append((str(name), str(value)))
    return rows


def section(out, entry):
    experiment, outcome, facts, _ = entry
    folder = out / experiment.name
    beside, alone, rest = blocks(folder, outcome)
    given = {**facts["parameters"], **outcome.parameters,
             **{k: facts[k] for k in ("scale", "seed", "versions", "checksums")}}
    return {"name": experiment.name, "title": experiment.title, "shows": experiment.shows,
            "data": facts["data"], "seconds": entry.seconds, "counts": marks([entry]),
            "beside": beside, "alone": alone, "rest": rest,
            "tables": outcome.tables, "facts": listing(given),
            "files": [f"{experiment.name}/{path.name}" for path in sorted(folder.glob("*.csv"))]}


def paper(out, name, entries):
    plots = [(e, plot) for e in entries for plot in e.outcome.plots]
    chosen = [one for one in plots if one[1].story] or plots
    title, source = PAPERS[name]
    return {"name": name, "title": title, "source": source, "counts": marks(entries),
            "pictures": [{**picture(out / e.experiment.name, plot), "caption": e.experiment.title,
                          "link": e.experiment.name} for e, plot in spread(chosen, STORY)],
            "story": story(entries),
            "sections": [section(out, e) for e in entries]}


def spread(things, most):
    """As many of them, the first and others evenly spaced."""
    n = min(len(things), most)
    return [things[i * len(things) // n] for i in range(n)]


# --- times --------------------------------------------------------------------------------------


def timing(entry, one):
    """The paper's seconds and ours, a unit of work."""
    theirs, ours = one.paper_seconds / one.paper_work, one.seconds / one.work
    return {"experiment": entry.experiment.name, "what": one.what, "note": one.note,
            "paper": f"{one.paper_seconds:,.0f} s for {count(one.paper_work, one.unit)}",
            "here": f"{one.seconds:.3g} s for {count(one.work, one.unit)}",
            "paper_unit": duration(theirs), "here_unit": duration(ours),
            "faster": f"{theirs / ours:,.0f}" if ours > 0.0 else "", "unit": one.unit}


def duration(seconds):
    for size, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size:
            return f"{seconds / size:.3g} {name}"
    return f"{1e9 * seconds:.3g} ns"


def write_report(out, entries, run):
    """Writes ``report.html`` of these entries; returns its path."""
    jinja2 = require("jinja2", "experiments", "reproduce")
    out = Path(out)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("coactive_fast.experiments"), autoescape=True,
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.globals.update(words=WORDS, short=SHORT, looks=LOOKS, long=LONG, cell=cell)
    mine = {name: [e for e in entries if e.experiment.paper == name] for name in PAPERS}
    text = environment.get_template("report.html").render(
        papers=[paper(out, name, some) for name, some in mine.items() if some],
        counts=marks(entries), experiments=count(len(entries), "experiment"),
        findings=count(sum(marks(entries).values()), "finding"),
        timings=[timing(e, one) for e in entries for one in e.outcome.seconds],
        rule=RULE, run=run, workers=count(run["jobs"], "worker"))
    path = out / "report.html"
    path.write_text(text, encoding="utf-8")
    return path
