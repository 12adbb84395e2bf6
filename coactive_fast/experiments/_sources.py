"""The sets of the papers: who made them, where they are told of, and what stands in for them.

Most are free for research and may not be handed on, so none of them is part of this package. An
experiment takes the paper's own set where the data folder holds its files, else what stands in for
it; without a folder, what scikit-learn brings along or what is generated.
"""

from typing import NamedTuple


class Source(NamedTuple):
    """A set: its title with the authors and the year of what describes it, and its files."""

    title: str
    by: str
    year: int | None
    address: str  # of the project's page
    files: tuple  # below the data folder; each may end in .gz
    reader: str = "load_svmlight"  # of coactive_fast.data


def _below(folder, *names):
    return tuple(f"{folder}/{name}" for name in names)


LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
UCI = "https://archive.ics.uci.edu/dataset/"
NYT = ("The New York Times Annotated Corpus", "E. Sandhaus", 2008,
       "https://catalog.ldc.upenn.edu/LDC2008T19")
ENRON = ("Enron Email Dataset", "B. Klimt, Y. Yang", 2004, "https://www.cs.cmu.edu/~enron/")
REVIEWS = ("Multi-Domain Sentiment Dataset", "J. Blitzer, M. Dredze, F. Pereira", 2007,
           "https://www.cs.jhu.edu/~mdredze/datasets/sentiment/")
VOWELS = ("Vocal Joystick Vowel Corpus", "K. Kilanski, J. Malkin, X. Li, R. Wright, J. Bilmes",
          2006, "http://ssli.washington.edu/vj")
PRODUCTS = ("books", "dvd", "music", "apparel", "electronics", "kitchen", "video")

SOURCES = {
    "yahoo": Source(
        "Yahoo! Learning to Rank Challenge (C14), set 1", "O. Chapelle, Y. Chang", 2011,
        "https://webscope.sandbox.yahoo.com/catalog.php?datatype=c",
        _below("yahoo", "set1.train.txt", "set1.valid.txt", "set1.test.txt"), "load_yahoo"),
    "mq2008": Source(
        "LETOR 4.0, MQ2008", "T. Qin, T.-Y. Liu", 2013,
        "https://www.microsoft.com/en-us/research/project/"
        "letor-learning-rank-information-retrieval/",
        _below("mq2008", *(f"S{i}.txt" for i in range(1, 6))), "load_letor"),
    "movielens": Source(
        "MovieLens 1M", "F. M. Harper, J. A. Konstan", 2015,
        "https://grouplens.org/datasets/movielens/1m/", _below("ml-1m", "ratings.dat"),
        "load_movielens"),
    "20newsgroups": Source(
        "20 Newsgroups, bydate", "K. Lang, J. Rennie", 1995,
        "http://qwone.com/~jason/20Newsgroups/",
        _below("20newsgroups", "20ng_train.svm", "20ng_test.svm", "20ng_raw.jsonl")),
    **{f"amazon{n}": Source(*REVIEWS, _below("amazon7", *(f"{p}.review" for p in PRODUCTS[:n])),
                            "load_terms") for n in (7, 3)},
    "amazon": Source(f"{REVIEWS[0]}, the labelled part", *REVIEWS[1:],
                     _below("amazon_reviews", "amazon_domain.svm", "amazon_rating.svm")),
    "enron-a": Source(f"{ENRON[0]}, farmer-d", *ENRON[1:], ("enron/farmer-d.terms",),
                      "load_terms"),
    "enron-b": Source(f"{ENRON[0]}, kaminski-v", *ENRON[1:], ("enron/kaminski-v.terms",),
                      "load_terms"),
    "nytd": Source(f"{NYT[0]}, by desk", *NYT[1:], ("nyt/desk.terms",), "load_terms"),
    "nyto": Source(f"{NYT[0]}, by online section", *NYT[1:], ("nyt/online.terms",), "load_terms"),
    "nyts": Source(f"{NYT[0]}, by printed section", *NYT[1:], ("nyt/section.terms",),
                   "load_terms"),
    "rcv1": Source(
        "RCV1-v2/LYRL2004", "D. D. Lewis, Y. Yang, T. G. Rose, F. Li", 2004,
        "https://jmlr.csail.mit.edu/papers/volume5/lewis04a/lyrl2004_rcv1v2_README.htm",
        _below("rcv1", "rcv1-v2.topics.qrels", "lyrl2004_tokens_train.dat",
               *(f"lyrl2004_tokens_test_pt{i}.dat" for i in range(4))), "load_rcv1"),
    "reuters": Source(
        "Reuters-21578, Distribution 1.0, ModApte", "D. D. Lewis", 1997,
        "http://www.daviddlewis.com/resources/testcollections/reuters21578/",
        _below("reuters21578", "reuters21578_multilabel.svm", "topics.tsv")),
    "r52": Source(
        "Reuters-21578, the articles of one topic (R52)", "D. D. Lewis", 1997,
        "http://www.daviddlewis.com/resources/testcollections/reuters21578/",
        _below("reuters21578", "r52_train.svm", "r52_test.svm")),
    **{name: Source(f"{VOWELS[0]}, {name}", *VOWELS[1:],
                    _below("vocal_joystick", f"{name}.train.csv", f"{name}.test.csv"),
                    "load_table") for name in ("v4.w1", "v4.w7", "v8.w1", "v8.w7")},
    "vowel": Source(
        "Vowel recognition (Deterding)", "D. Deterding", 1989,
        UCI + "152/connectionist+bench+vowel+recognition+deterding+data",
        _below("tabular", "vowel_train.svm", "vowel_test.svm")),
    "abalone": Source("Abalone", "W. Nash, T. Sellers, S. Talbot, A. Cawthorn, W. Ford", 1994,
                      UCI + "1/abalone", ("tabular/abalone.svm",)),
    "kin": Source("kin family of Delve, 8 inputs", "Z. Ghahramani", 1996,
                  "https://www.cs.toronto.edu/~delve/data/kin/desc.html", ("tabular/kin.csv",),
                  "load_table"),
    "cpusmall": Source("Computer activity of Delve, 12 inputs", "Delve", 1996,
                       "https://www.cs.toronto.edu/~delve/data/comp-activ/desc.html",
                       ("tabular/cpusmall.svm",)),
    "ionosphere": Source("Ionosphere", "V. Sigillito, S. Wing, L. Hutton, K. Baker", 1989,
                         UCI + "52/ionosphere", ("tabular/ionosphere.svm",)),
    "cancer": Source("Breast Cancer Wisconsin (Original), 683 rows", "W. Wolberg", 1992,
                     UCI + "15/breast+cancer+wisconsin+original", ("tabular/cancer.data",),
                     "load_breast_cancer"),
    "a1a": Source("Adult, in 119 binary features (a1a)", "J. Platt", 1998, LIBSVM,
                  ("tabular/a1a.svm",)),
    "sse180": Source("SSE 180, weekly closing prices", "Shanghai Stock Exchange", None,
                     "https://www.eastmoney.com", ("stocks/sse180.csv",), "load_prices"),
    "tse": Source("TSE, daily price relatives", "A. Borodin, R. El-Yaniv, V. Gogan", 2004,
                  "https://github.com/OLPS/OLPS", ("stocks/tse.csv",), "load_prices"),
    "nyse-o": Source("NYSE (O), by weeks", "T. M. Cover", 1991, "https://github.com/OLPS/OLPS",
                     ("stocks/nyse-o_weekly.csv",), "load_prices"),
    "djia": Source("Dow Jones, by weeks", "A. Borodin, R. El-Yaniv, V. Gogan", 2004,
                   "https://github.com/OLPS/OLPS", ("stocks/djia_weekly.csv",), "load_prices"),
    "msci": Source("MSCI world indices, by weeks", "B. Li, P. Zhao, S. C. H. Hoi, V. Gopalkrishnan",
                   2012, "https://github.com/OLPS/OLPS", ("stocks/msci_weekly.csv",),
                   "load_prices"),
}


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
        yield f"{experiment.name:22} " + ("; ".join(map(_told, takes)) or "generated")
    yield ""
    yield "the sets, with their pages, readers and files below the data folder" + (
        "" if sets is None else f"; * is in {sets.folder}")
    for key in dict.fromkeys(name for takes in TAKES.values() for take in takes
                             for name in (take.wanted, *take.instead)):
        one = SOURCES[key]
        mark = "*" if sets is not None and sets.has(key) else " "
        yield f"{mark}{key:13} {about(one)} {one.address}"
        yield f"{'':14} {_short(one.files)} (coactive_fast.data.{one.reader})"


def _told(take):
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
