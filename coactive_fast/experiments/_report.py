"""What experiments leave: CSVs, pictures, one JSON each, and one page about a run.

The page is readable on a phone and on paper, without a network.

Here is what the page says; how it looks is in ``templates/``. Pictures are inside the page, as
SVG; tables longer than `LONG` lines, and pictures that no finding is about, are folded.
"""

import csv
import io
import json
import math
import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from coactive_fast.learner._extras import require

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31")
DASHES = ("-", "--", "-.", ":")
RAISED = str.maketrans("-−0123456789", "⁻⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
POINTS = 80  # of a curve that are drawn, a third of those in its CSV: more would not be seen
LOSSLESS = (  # what an SVG of matplotlib can do without, and what stands in its place
    (r"<metadata>.*?</metadata>|<!DOCTYPE[^>]*>|<\?xml[^>]*>|<!--.*?-->", ""),
    (r"(<use[^>]*) style=\"stroke: #000000; stroke-width: 0.[68]\"", r"\1"),  # its path says so
    (r"<g id=\"[^\"]*\"", "<g"),  # nothing refers to a group
    (r"(?<=\d) *\n?L (?=[-\d])", " "),  # pairs that follow are lines as well
    (r"font-family: [^\";]*", "font-family: sans-serif"),
    (r"(font: [\w. ]*px) [^\";]*", r"\1 sans-serif"),
    (r"\s+", " "), (r"> <", "><"),
)


def number(value):
    """Ten digits: enough to draw and compare, the same text from the same bits."""
    return "" if value is None or not math.isfinite(value) else f"{value:.10g}"


def points(plot):
    """A row a point: curve, x, value, standard error."""
    for curve in plot.curves:
        errors = [None] * len(curve.x) if curve.error is None else curve.error
        for point in zip(curve.x, curve.mean, errors, strict=True):
            yield [curve.label, *point]


def write_rows(path, columns, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(columns)
        for row in rows:
            out.writerow([cell if isinstance(cell, str) else number(cell) for cell in row])


def thinned(x, log):
    """Places of about `POINTS` of these x, evenly spaced on their axis, both ends among them."""
    if len(x) <= POINTS:
        return np.arange(len(x))
    even = np.geomspace if log and x[0] > 0 else np.linspace
    return np.unique(np.searchsorted(x, even(x[0], x[-1], POINTS)[:-1]).tolist() + [len(x) - 1])


def draw(plot):
    """The plot as a matplotlib figure."""
    require("matplotlib", "plot", "drawing experiments")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="tight")
    ax = figure.add_subplot()
    places = np.cumsum([not curve.bound for curve in plot.curves]) - 1
    for i, curve in zip(places.tolist(), plot.curves, strict=True):
        style = {"color": COLOURS[i % len(COLOURS)], "label": curve.label}
        if plot.kind == "points":
            shift = 0.12 * (i - (len(plot.curves) - 1) / 2)
            ax.errorbar(curve.x + shift, curve.mean, curve.error, fmt="o", markersize=4, **style)
            continue
        curve = curve.at(thinned(curve.x, "x" in plot.log))
        if curve.bound:
            ax.plot(curve.x, curve.mean, "--", linewidth=1, color=style["color"])
            continue
        dash = DASHES[i // len(COLOURS) % len(DASHES)]
        ax.plot(curve.x, curve.mean, dash, linewidth=1.5, **style)
        if curve.error is not None:
            ax.fill_between(curve.x, curve.mean - curve.error, curve.mean + curve.error,
                            color=style["color"], alpha=0.2, linewidth=0)
    for name, level in plot.levels.items():
        ax.axhline(level, color="0.5", linestyle=":", linewidth=1)
        ax.annotate(name, (1, level), xycoords=("axes fraction", "data"), ha="right", va="bottom",
                    fontsize=7, color="0.4")
    for name in plot.log:
        ax.set(**{f"{name}scale": "log"})
        axis = {"x": ax.xaxis, "y": ax.yaxis}[name]
        axis.set_major_formatter(powers())
        axis.set_minor_formatter(powers())
    if plot.ticks is not None:
        ax.set_xticks(np.arange(len(plot.ticks)), plot.ticks, rotation=60, ha="right", fontsize=7)
    if plot.bottom is not None:
        ax.set_ylim(bottom=plot.bottom)
    ax.set(title=plot.title, xlabel=plot.x, ylabel=plot.y)
    ax.title.set_fontsize(10)
    ax.grid(alpha=0.25)
    if len(plot.curves) > 1:
        ax.legend(fontsize=8)
    return figure


def powers():
    """Writes the numbers of a logarithmic axis, 10³ or 2×10⁻¹, as plain text.

    Matplotlib would set them as mathematics, which takes a fifth of a picture's time.
    """
    from matplotlib.ticker import LogFormatterSciNotation

    class Powers(LogFormatterSciNotation):
        def __call__(self, x, pos=None):
            text = super().__call__(x, pos).replace(r"\times", "×")
            text = re.sub(r"\^\{([-−\d]+)\}", lambda power: power[1].translate(RAISED), text)
            return re.sub(r"\$\\mathdefault\{(.*)\}\$", r"\1", text)

    return Powers()


def save_pictures(folder, plot):
    """Each is drawn once; `savefig` would draw twice, the first time for its layout alone."""
    figure = draw(plot)
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": plot.name, "svg.fonttype": "none"}):
        FigureCanvasSVG(figure).print_svg(text, metadata={"Date": None, "Creator": None})
    (folder / f"{plot.name}.svg").write_text(small(text.getvalue()), encoding="utf-8")
    figure.set_layout_engine("none")  # all stands where it should
    figure.set_dpi(150)
    FigureCanvasAgg(figure).print_png(folder / f"{plot.name}.png", metadata={"Software": None})


def small(svg):
    """The same picture in fewer bytes, its places to a tenth of a point."""
    def tenths(tag):
        return re.sub(r"-?\d+\.\d\d+", lambda n: f"{float(n[0]):.1f}".removesuffix(".0"), tag[0])

    svg = re.sub(r"<[^>]*>", tenths, svg)  # and not in the text between the tags
    for what, instead in LOSSLESS:
        svg = re.sub(what, instead, svg, flags=re.DOTALL)
    return svg.strip() + "\n"


def plain(value):
    """For JSON: NumPy's numbers and arrays as Python's."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"cannot be written as JSON: {type(value).__name__}")


def write(folder, experiment, outcome, about, pictures=True):
    """All files of one experiment; `about` goes into the JSON as it is."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for table in outcome.tables:
        write_rows(folder / f"{table.name}.csv", table.columns, table.rows)
    for plot in outcome.plots:
        write_rows(folder / f"{plot.name}.csv", ["curve", plot.x, plot.y, "standard error"],
                   points(plot))
        if pictures:
            save_pictures(folder, plot)
    text = {
        "experiment": experiment.name, "title": experiment.title, "paper": experiment.paper,
        "shows": experiment.shows, **about, "found on the way": outcome.parameters,
        "findings": [vars(finding) for finding in outcome.findings],
    }
    path = folder / f"{experiment.name}.json"
    path.write_text(json.dumps(text, indent=1, default=plain) + "\n", encoding="utf-8")


# --- the page -------------------------------------------------------------------------------------

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
SENTENCES = r"(?<=[.!?]) (?=[A-Z])"  # what is between two
STORY = 5  # pictures that open a paper, at the most
LONG = 8  # lines of a table that is shown unfolded


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
    """What of the paper's main findings held, did not, and was not judged: clauses, and why, in
    the first sentence of each reason.

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
                reasons = dict.fromkeys(re.split(SENTENCES, f.reason)[0] for f in mine)
                why = " ".join(filter(None, reasons)) if value is not True else ""
                found[value].setdefault(why, []).append(f"{claim} ({places})" if split else claim)
    return found


# --- the parts of an experiment -----------------------------------------------------------------


def picture(folder, plot):
    """A picture as the page holds it: its words for who cannot see it, and its data."""
    svg = (folder / f"{plot.name}.svg").read_text(encoding="utf-8").strip()
    return {"caption": "", "alt": f"{plot.title}: {plot.y} over {plot.x}; "
                                  f"{', '.join(c.label for c in plot.curves)}",
            "source": "data:image/svg+xml," + quote(svg.replace('"', "'"), safe=" '/=:;,.()-!*~")}


def blocks(folder, outcome):
    """Pictures with the findings they show, then findings alone, then pictures alone."""
    names = {plot.name for plot in outcome.plots}
    shown = [{"picture": picture(folder, plot),
              "findings": [f for f in outcome.findings if f.plot == plot.name]}
             for plot in outcome.plots]
    return ([one for one in shown if one["findings"]],
            [finding for finding in outcome.findings if finding.plot not in names],
            [one["picture"] for one in shown if not one["findings"]])


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
        run=run, workers=count(run["jobs"], "worker"))
    path = out / "report.html"
    path.write_text(text, encoding="utf-8")
    return path
