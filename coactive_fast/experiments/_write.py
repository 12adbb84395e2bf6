"""What an experiment leaves in its folder: CSVs, pictures, and one JSON about all of it."""

import csv
import json
import math
from pathlib import Path

import numpy as np

from coactive_fast.learner._extras import require

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31")
DASHES = ("-", "--", "-.", ":")


def number(value):
    """Ten digits: enough to draw and compare, the same text from the same bits."""
    return "" if value is None or not math.isfinite(value) else f"{value:.10g}"


def write_plot(folder, plot):
    """A line a point: curve, x, value, standard error."""
    with open(folder / f"{plot.name}.csv", "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["curve", plot.x, plot.y, "standard error"])
        for curve in plot.curves:
            errors = [None] * len(curve.x) if curve.error is None else curve.error
            for x, mean, error in zip(curve.x, curve.mean, errors, strict=True):
                out.writerow([curve.label, number(x), number(mean), number(error)])


def write_table(folder, table):
    with open(folder / f"{table.name}.csv", "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(table.columns)
        for row in table.rows:
            out.writerow([cell if isinstance(cell, str) else number(cell) for cell in row])


def draw(plot):
    """The plot as a matplotlib figure."""
    require("matplotlib", "plot", "drawing experiments")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    ax = figure.add_subplot()
    for i, curve in enumerate(plot.curves):
        look = {"color": COLOURS[i % len(COLOURS)], "label": curve.label}
        if plot.kind == "points":
            shift = 0.12 * (i - (len(plot.curves) - 1) / 2)
            ax.errorbar(curve.x + shift, curve.mean, curve.error, fmt="o", markersize=4, **look)
            continue
        ax.plot(curve.x, curve.mean, DASHES[i // len(COLOURS) % len(DASHES)], linewidth=1.5, **look)
        if curve.error is not None:
            ax.fill_between(curve.x, curve.mean - curve.error, curve.mean + curve.error,
                            color=look["color"], alpha=0.2, linewidth=0)
    for name, level in plot.levels.items():
        ax.axhline(level, color="0.5", linestyle=":", linewidth=1)
        ax.annotate(name, (1, level), xycoords=("axes fraction", "data"), ha="right", va="bottom",
                    fontsize=7, color="0.4")
    if "x" in plot.log:
        ax.set_xscale("log")
    if "y" in plot.log:
        ax.set_yscale("log")
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


def save_pictures(folder, plot):
    figure = draw(plot)
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": plot.name}):
        figure.savefig(folder / f"{plot.name}.png", dpi=150, metadata={"Software": None})
        figure.savefig(folder / f"{plot.name}.svg", metadata={"Date": None, "Creator": None})


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
        write_table(folder, table)
    for plot in outcome.plots:
        write_plot(folder, plot)
        if pictures:
            save_pictures(folder, plot)
    text = {
        "experiment": experiment.name, "title": experiment.title, "paper": experiment.paper,
        "shows": experiment.shows, **about, "found on the way": outcome.parameters,
        "findings": [vars(finding) for finding in outcome.findings],
    }
    path = folder / f"{experiment.name}.json"
    path.write_text(json.dumps(text, indent=1, default=plain) + "\n", encoding="utf-8")
