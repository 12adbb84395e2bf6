"""``coactive-fast train``: a learner over a stream, with progressive validation.

Every row is predicted before it is learned from, so the mean loss so far is an honest one. A line
is printed when the number of rounds has doubled; the model is saved twice a minute and at the
end.
"""

import inspect
import os
import sys
import time

import numpy as np

import coactive_fast as cf

from . import Trouble, _learners, _streams

FIRST = 16  # rounds before the first line
INTERVAL = 30.0  # seconds between two savings of the model
MOST = 1 << 31  # classes; what a label is checked against before there is a learner
WIDE = 2000  # columns, from where on a whole matrix over them is not what one wants


class Board:
    """The table of progressive validation."""

    def __init__(self, what, out=None):
        self.what, self.out = what, sys.stdout if out is None else out
        self.rounds = self.since = 0
        self.total = self.part = 0.0
        self.next, self.begin = FIRST, None

    def room(self):
        """How many more rounds until the next line is due; the first call starts the clock."""
        if self.begin is None:
            self.begin = time.perf_counter()
        return self.next - self.rounds

    def add(self, losses):
        """Takes the losses of some rounds, at most `room`."""
        self.rounds += len(losses)
        self.since += len(losses)
        self.part += float(np.sum(losses))
        if self.rounds == self.next:
            self.next *= 2
            self.line()

    def line(self):
        if self.since == 0:
            return
        if self.total == 0.0 and self.rounds == self.since:
            print(f"{'rounds':>12} {self.what:>14} {'since the last':>15} {'rows/s':>12}",
                  file=self.out)
        self.total += self.part
        seconds = max(time.perf_counter() - self.begin, 1e-9)
        print(f"{self.rounds:>12,} {self.total / self.rounds:>14.6g} "
              f"{self.part / self.since:>15.6g} {self.rounds / seconds:>12,.0f}",
              file=self.out, flush=True)
        self.since, self.part = 0, 0.0

    def end(self):
        self.line()
        if self.rounds == 0:
            print("nothing to learn from: there was no row", file=self.out)


# --- families: each yields (how many rounds there are, what plays a part of them) -----------------


class Multiclass:
    """Mistakes of what was chosen; labels count from `first`."""

    what = "mistakes"

    def __init__(self, cls, given, options, seen):
        self.first = options.first_label
        if self.first is None:
            self.first = int(seen.least) if seen is not None and seen.least in (0, 1) else 0
        if "n_classes" not in given:
            if seen is None:
                raise Trouble("standard input is not read twice: say how many classes there are, "
                              "--set n_classes=K")
            self.check(seen.least, seen.most)
            given["n_classes"] = max(2, int(seen.most) - self.first + 1)
        self.learner = _learners.build(cls, given)

    def check(self, least, most, classes=MOST):
        """Refuses labels that cannot be classes, counted as they are in the file."""
        if not (self.first <= least and most < self.first + classes):
            raise Trouble(f"labels {least:.10g} ... {most:.10g} cannot be classes, which count "
                          f"from {self.first} (--first-label)"
                          + (f" to {self.first + classes - 1}" if classes < MOST else ""))

    def play(self, piece):
        if piece.ends is not None:
            raise Trouble("rows have many labels: a class is one label a row")
        self.check(piece.labels.min(), piece.labels.max(), self.learner.n_classes)
        labels = piece.labels.astype(np.int64)
        if (labels != piece.labels).any():
            raise Trouble("labels must be whole numbers to be classes")
        return self.learner.run(piece.X, labels - self.first).mistakes

    def told(self):
        where = "" if self.first == 0 else "; they count from 1: choose with --first-label 1"
        return f"{self.learner.n_classes} classes{where}"


class Filtering:
    """Wrong decisions: forwarded what was not relevant, or kept what was."""

    what = "wrong"

    def __init__(self, cls, given, options, seen):
        self.label = options.relevant
        self.learner = _learners.build(cls, given)
        self.forwarded = self.relevant = self.both = 0

    def play(self, piece):
        if self.label is None and piece.ends is not None:
            raise Trouble("rows have many labels: say which one is relevant, --relevant LABEL")
        relevant = piece.labels > 0 if self.label is None else piece.holds(self.label)
        forwarded = self.learner.run(piece.X, relevant).forwarded
        self.forwarded += int(forwarded.sum())
        self.relevant += int(relevant.sum())
        self.both += int((forwarded & relevant).sum())
        return forwarded != relevant

    def told(self):
        precision = self.both / self.forwarded if self.forwarded else 0.0
        recall = self.both / self.relevant if self.relevant else 0.0
        mean = 2 * precision * recall / (precision + recall) if self.both else 0.0
        return (f"precision {precision:.4f}, recall {recall:.4f}, F {mean:.4f}; "
                f"{self.forwarded:,} forwarded, {self.relevant:,} relevant")


ROW_FAMILIES = {"multiclass": Multiclass, "filtering": Filtering}


def order_of(n, options, number):
    """The order of the rows in this pass."""
    if options.shuffle is None:
        return np.arange(n)
    return np.random.default_rng([options.shuffle, number]).permutation(n)


def pieces(options, columns, multilabel, number):
    """The file's pieces as they come, or one of all rows, mixed."""
    read = _streams.rows(options.file, columns, multilabel, options.zero_based)
    if options.shuffle is None:
        yield from read
        return
    read = list(read)
    if read:
        whole = _streams.Piece.joined(read)
        yield whole.take(order_of(len(whole), options, number))


def train_rows(cls, given, options, save):
    """Rows of svmlight text, or converted ones, in pieces."""
    family = ROW_FAMILIES[_learners.FAMILY[cls]]
    multilabel = options.relevant is not None
    converted = not _streams.is_stdin(options.file) and \
        _streams.kind_of(options.file) == "converted"
    seen, columns = None, options.features
    if converted:
        X, labels, _ = _streams.converted_rows(options.file)
        seen = _streams.Scan(*X.shape, labels.min(initial=np.inf), labels.max(initial=-np.inf),
                             bool((np.diff(labels) >= 0).all()))
    elif not _streams.is_stdin(options.file):
        seen = _streams.scan(options.file, multilabel, options.zero_based)
    elif options.passes > 1:
        raise Trouble("standard input is not read twice: --passes needs a file")
    if seen is not None and seen.rows == 0:
        raise Trouble(f"{options.file} holds no rows")
    if columns is None:
        if seen is None:
            raise Trouble("standard input is not read twice: say how many columns there are, "
                          "--features N")
        columns = max(1, seen.columns)
    if columns > WIDE and "covariance" in inspect.signature(cls).parameters:
        given.setdefault("covariance", "diagonal")
    work = family(cls, given, options, seen)
    board = Board(family.what)
    save.of(work.learner)
    if seen is not None and seen.ordered and options.shuffle is None:
        print("the labels come in order, one class after another: --shuffle mixes the rows")
    for number in range(options.passes):
        for piece in pieces(options, columns, multilabel, number):
            begin = 0
            while begin < len(piece):
                end = min(len(piece), begin + board.room())
                board.add(work.play(piece.cut(begin, end)))
                save.sometimes()
                begin = end
    board.end()
    print(work.told())
    return work.learner


# --- rankings -----------------------------------------------------------------------------------


def user_of(text, k):
    """``alpha:0.5``, ``noisy:10``: a simulated user for graded documents."""
    name, _, value = text.partition(":")
    try:
        if name == "alpha":
            return cf.users.AlphaInformative(float(value or 1.0), k=k)
        if name == "noisy":
            return cf.users.NoisyDepth(int(value or 10), k=k)
    except ValueError as error:
        raise Trouble(f"--user {text}: {error}") from error
    raise Trouble(f"--user {text}: expected alpha:A (0 < A <= 1) or noisy:DEPTH")


def train_rankings(cls, given, options, save):
    """Graded documents with a simulated user (the regret is against the best linear utility), or
    a log of clicks."""
    learner = _learners.build(cls, {"task": cf.Ranking(k=options.k), **given})
    save.of(learner)
    if _streams.kind_of(options.file) == "clicks" or options.clicks:
        return _train_clicks(learner, options, save)
    user = user_of(options.user, options.k)
    data = _streams.ranking_data(options.file, options.zero_based)
    weights, board = data.fit_weights(), Board("regret")
    for number in range(options.passes):
        begin, order = 0, order_of(len(data), options, number)
        while begin < len(data):
            end = min(len(data), begin + board.room())
            board.add(cf.simulate(learner, data, user, order=order[begin:end],
                                  weights=weights).regret)
            save.sometimes()
            begin = end
    board.end()
    return learner


def _train_clicks(learner, options, save):
    """The log's own presentations; what is counted: whether the learner's first was clicked."""
    if options.passes > 1 and _streams.is_stdin(options.file):
        raise Trouble("standard input is not read twice: --passes needs a file")
    board = Board("first unclicked")
    for _ in range(options.passes):
        for query in _streams.clicks(options.file):
            if query.presented is None or query.clicked is None:
                raise Trouble(f"{query.where}: presented and clicked are needed to learn")
            board.room()
            try:
                first = learner.present(query.features, k=1)[0]
                better = cf.users.feedback_from_clicks(query.presented, query.clicked)
                learner.learn(query.features, query.presented, better)
            except ValueError as error:
                raise Trouble(f"{query.where}: {error}") from error
            board.add([first not in query.clicked])
            save.sometimes()
    board.end()
    return learner


# --- losses -------------------------------------------------------------------------------------


def train_convex(cls, given, options, save):
    """Rows as losses of a linear predictor on a ball; columns are standardised first."""
    X, y = _rows_in_memory(options)
    if len(y) < 2:
        raise Trouble(f"{options.file} holds {len(y)} rows: at least 2 are needed")
    classes = set(np.unique(y))
    logistic = classes <= {-1.0, 1.0} or classes <= {0.0, 1.0}
    Z = X.toarray()
    if options.scale:
        Z = cf.data.standardize(Z).transform(Z) / np.sqrt(Z.shape[1])
        y = y if logistic else cf.data.standardize(y).transform(y)
    if logistic:
        y = np.where(y > 0, 1.0, -1.0)
    make = cf.losses.Logistic if logistic else cf.losses.Squared
    rounds = options.passes * len(Z)
    _fill(cls, given, Z, y, logistic, rounds, options.radius)
    learner = _learners.build(cls, given)
    save.of(learner)
    board, done = Board("loss"), 0
    print(f"{'logistic' if logistic else 'squared'} loss, "
          f"{'columns standardised, ' if options.scale else ''}"
          + ", ".join(f"{k} = {v}" for k, v in learner.get_params().items() if v is not None))
    while done < rounds:
        begin = done % len(Z)
        end = min(len(Z), begin + board.room())
        if begin == 0:
            order = order_of(len(Z), options, done // len(Z))
        at = order[begin:end]
        board.add(learner.run(make(Z[at], y[at]), len(at)).loss)
        save.sometimes()
        done += len(at)
    board.end()
    return learner


def _rows_in_memory(options):
    if not _streams.is_stdin(options.file) and _streams.kind_of(options.file) == "converted":
        X, y, ends = _streams.converted_rows(options.file)
        if ends is not None:
            raise Trouble(f"{options.file} has rows of many labels")
        return X, np.array(y)
    with _streams.source(options.file) as (file, _):
        zero_based = options.zero_based
        return cf.data.load_svmlight(file, n_features=options.features, zero_based=zero_based)


def _fill(cls, given, Z, y, logistic, rounds, radius):
    """What was not set: the set, the horizon, and bounds that hold on these rows."""
    norms = np.linalg.norm(Z, axis=1)
    if logistic:
        value, slope = np.log1p(np.exp(radius * norms)).max(), norms.max()
    else:
        value = ((radius * norms + np.abs(y)) ** 2).max()
        slope = (2.0 * norms * (radius * norms + np.abs(y))).max()
    given.setdefault("dimension", Z.shape[1])
    known = {"feasible": cf.Ball(radius), "horizon": rounds, "loss_bound": float(value),
             "gradient_bound": float(slope), "beta": 0.5 * min(1.0 / (4.0 * slope * radius), 1.0)}
    for name, parameter in inspect.signature(cls).parameters.items():
        needed = parameter.default is parameter.empty or name in ("horizon", "loss_bound")
        if needed and name in known:
            given.setdefault(name, known[name])


TRAINERS = {"multiclass": train_rows, "filtering": train_rows, "ranking": train_rankings,
            "convex": train_convex}


class Saver:
    """The model's file: written now and then, and at the end."""

    def __init__(self, path):
        if path is not None:  # not found out after an hour
            folder = os.path.dirname(os.path.realpath(path))
            there = os.path.exists(path)
            if not os.path.isdir(folder) or there and not os.path.isfile(path):
                raise Trouble(f"--model {path}: expected a file in a folder that is there")
            if not os.access(path if there else folder, os.W_OK):
                raise Trouble(f"--model {path}: it may not be written")
        self.path, self.learner, self.next = path, None, time.monotonic() + INTERVAL

    def of(self, learner):
        self.learner = learner

    def now(self):
        if self.path is not None and self.learner is not None:
            try:
                self.learner.save(self.path)
            except OSError as error:
                raise Trouble(f"--model {self.path}: {error.strerror or error}") from error
            self.next = time.monotonic() + INTERVAL

    def sometimes(self):
        if time.monotonic() >= self.next:
            self.now()


def train(options):
    """Trains as the command line says; returns the learner."""
    cls = _learners.class_of(options.learner)
    given = _learners.parameters(cls, options.set)
    save = Saver(options.model)
    try:
        learner = TRAINERS[_learners.FAMILY[cls]](cls, given, options, save)
    except (KeyboardInterrupt, BrokenPipeError):  # the latter: whoever read the table has gone
        save.now()
        if options.model is not None and save.learner is not None:
            print(f"interrupted: {options.model} holds {save.learner.rounds:,} rounds",
                  file=sys.stderr)
        raise
    save.now()
    if options.model is not None:
        print(f"saved: {options.model}")
    return learner
