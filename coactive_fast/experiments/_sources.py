"""The sets of the papers: who made them, where they are told of, and what stands in for them.

Most are free for research and may not be handed on, so none of them is part of this package. An
experiment takes the paper's own set where the data folder holds its files, else what stands in for
it; without a folder, what scikit-learn brings along or what is generated.
"""

import csv
from pathlib import Path
from typing import NamedTuple


class Source(NamedTuple):
    """A set: its title with the authors and the year of what describes it, and its files."""

    title: str
    by: str
    year: int | None
    address: str  # of the project's page
    files: tuple  # below the data folder; each may end in .gz
    reader: str  # of coactive_fast.data


def _read():
    """The sets of ``sources.csv``, a line each, by name."""
    with open(Path(__file__).with_name("sources.csv"), newline="", encoding="utf-8") as file:
        return {name: Source(title, by, int(year) if year else None, address,
                             tuple(files.split()), reader)
                for name, title, by, year, address, reader, files in list(csv.reader(file))[1:]}


SOURCES = _read()
PRODUCTS = ("books", "dvd", "music", "apparel", "electronics", "kitchen", "video")  # of amazon7


class Take(NamedTuple):
    """One set that an experiment wants.

    Where the paper's is not in the folder, all of `instead` are taken (none: this part is left
    out); without a folder, `otherwise`.
    """

    wanted: str
    instead: tuple = ()
    otherwise: str = "generated"
    always: bool = False  # whether `instead` is taken beside the paper's


WEB = Take("yahoo", ("mq2008",))
MOVIES = Take("movielens", ("movielens",))
DIGITS = "digits (scikit-learn)"
TEXTS = (Take("20newsgroups", ("20newsgroups",)), Take("amazon7", ("amazon",)), Take("amazon3"),
         Take("enron-a"), Take("enron-b"), Take("nytd"), Take("nyto"), Take("nyts"),
         Take("rcv1", ("r52",)))
COACTIVE = ("alpha", "noise", "batch", "expected", "svm", "dueling", "exponentiated", "convex",
            "gamma", "convex-noise")

TAKES = {
    "coactive-clicks": (WEB,),
    **{f"coactive-{name}": (WEB, MOVIES) for name in COACTIVE},
    "coactive-embedding": (MOVIES,),
    "clicks-online": (Take("mq2008"),),
    "confidit-newsgroups": (TEXTS[0],),
    "confidit-text": (Take("r52", ("r52",)), Take("amazon", ("amazon",))),
    "confidit-tables": TEXTS,
    "confidit-vowel": (*(Take(f"v{k}.w{w}") for k in (4, 8) for w in (1, 7)),
                       Take("vowel", ("vowel",), DIGITS)),
    "filtering-topics": (Take("rcv1", ("reuters",)),),
    "onseg-regression": (Take("abalone", ("abalone",), "diabetes (scikit-learn)"),
                         Take("kin", ("cpusmall",))),
    "onseg-classification": (Take("ionosphere", ("ionosphere",)),
                             Take("cancer", ("a1a",), "breast cancer (scikit-learn)")),
    "onseg-portfolios": (Take("sse180", ("nyse-o", "djia", "msci"), always=True), Take("tse")),
}


def chosen(takes, sets):
    """The names of the sets that a run takes from the folder."""
    found = []
    for take in takes:
        own = sets.has(take.wanted)
        found += [take.wanted] if own else []
        found += [] if own and not take.always else take.instead
    return list(dict.fromkeys(found))


def files(experiment, sets):
    """The files that a run of an experiment reads from the folder."""
    names = chosen(TAKES.get(experiment.name, ()), sets)
    return tuple(dict.fromkeys(file for name in names for file in SOURCES[name].files))


def called(experiment, sets):
    """The data of a run, in words: of those from the folder the experiment's own where they are
    its stand-ins."""
    takes = TAKES.get(experiment.name, ())
    if takes and not sets.real:
        found = [take.otherwise for take in takes if take.instead and sets.bundled]
        return "; ".join(dict.fromkeys(found)) or "generated"
    if not any(sets.has(take.wanted) for take in takes if take.wanted not in take.instead):
        return experiment.data
    return "; ".join(dict.fromkeys(SOURCES[key].title for key in chosen(takes, sets)))


def about(source):
    """Title, authors and year."""
    return f"{source.title}. {source.by}" + (f", {source.year}." if source.year else ".")


def origin(name):
    """Where to get a file of the data folder, as the end of a sentence."""
    source = next((one for one in SOURCES.values() if name in one.files), None)
    return f"; it is of {about(source)} See {source.address}" if source else ""


# --- for `coactive-fast list` ---------------------------------------------------------------------


def listing(experiments, sets):
    """Lines about what each experiment takes and where that comes from; `sets`: a folder, in which
    is told what is there, or None."""
    yield "what each experiment takes: the paper's own set where --data has it, else what stands in"
    for experiment in experiments:
        takes = TAKES.get(experiment.name, ())
        yield f"{experiment.name:22} " + ("; ".join(map(_described, takes)) or "generated")
    yield ""
    yield "the sets, with their pages, readers and files below the data folder" + (
        "" if sets is None else f"; * is in {sets.folder}")
    for key in dict.fromkeys(name for takes in TAKES.values() for take in takes
                             for name in (take.wanted, *take.instead)):
        one = SOURCES[key]
        mark = "*" if sets is not None and sets.has(key) else " "
        yield f"{mark}{key:13} {about(one)} {one.address}"
        yield f"{'':14} {_short(one.files)} (coactive_fast.data.{one.reader})"


def _described(take):
    """One take in words."""
    instead = ", ".join(take.instead)
    if take.instead == (take.wanted,):
        text = take.wanted
    elif not take.instead:
        return f"{take.wanted}, else left out"
    else:
        text = f"{take.wanted}, {'and' if take.always else 'else'} {instead}"
    return f"{text} (without --data: {take.otherwise})"


def _short(names):
    """The names of files, those of one folder behind it."""
    folder = names[0].split("/")[0]
    rest = [name.split("/", 1)[1] for name in names]
    return f"{folder}/" + (rest[0] if len(rest) == 1 else "{" + ", ".join(rest) + "}")
