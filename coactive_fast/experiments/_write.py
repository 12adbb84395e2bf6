"""What an experiment leaves in its folder: CSVs, pictures, and one JSON about all of it."""

import csv
import io
import json
import math
import re
from pathlib import Path

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
        look = {"color": COLOURS[i % len(COLOURS)], "label": curve.label}
        if plot.kind == "points":
            shift = 0.12 * (i - (len(plot.curves) - 1) / 2)
            ax.errorbar(curve.x + shift, curve.mean, curve.error, fmt="o", markersize=4, **look)
            continue
        at = thinned(curve.x, "x" in plot.log)
        x, mean = curve.x[at], curve.mean[at]
        if curve.bound:
            ax.plot(x, mean, "--", linewidth=1, color=look["color"])
            continue
        ax.plot(x, mean, DASHES[i // len(COLOURS) % len(DASHES)], linewidth=1.5, **look)
        if curve.error is not None:
            error = curve.error[at]
            ax.fill_between(x, mean - error, mean + error, color=look["color"], alpha=0.2,
                            linewidth=0)
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
