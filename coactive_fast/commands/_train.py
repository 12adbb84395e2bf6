"""``coactive-fast train``: a learner over a stream, with progressive validation.

Every row is predicted before it is learned from, so the mean loss so far is an honest one. A line
is printed when the number of rounds has doubled; the model is saved twice a minute and at the
end.
"""

import inspect
import sys
import time

import numpy as np

import coactive_fast as cf
from coactive_fast._memory import refuse_beyond_limit
from coactive_fast.learner import _store

from . import (
    Trouble,
    _answer,
    _clicks,
    _learners,
    _rows,
    _streams,
    _target,
    _text,
    stoppable,
)

FIRST = 16  # rounds before the first line
INTERVAL = 30.0  # seconds between two savings of the model
MOST = 1 << 31  # classes; what a label is checked against before there is a learner
COPIES = 4  # of dense rows at once, while they are standardised
OPTIONS = {"first_label": "multiclass", "relevant": "filtering", "clicks": "ranking",
           "user": "ranking", "k": "ranking", "held_out": "ranking", "documents": "ranking",
           "radius": "convex", "no_scale": "convex"}
WIDE = 2000  # columns, from where on a whole matrix over them is not what one wants


class Board:
    """The table of progressive validation: means of what is counted, and rows a second."""

    def __init__(self, what, out=None, judge=None):
        self.what, self.out = what, sys.stdout if out is None else out
        self.judge = judge  # () -> NDCG of queries held out, or None
        self.rounds = self.since = 0
        self.total = self.part = 0.0
        self.next, self.begin, self.headed = FIRST, None, False

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
        if not self.headed:
            self.headed = True
            print(f"{'rounds':>12} {self.what:>16} {'since the last':>16} {'rows/s':>12}"
                  + (f" {_clicks.MEASURE:>12}" if self.judge else ""), file=self.out)
        self.total += self.part
        seconds = max(time.perf_counter() - self.begin, 1e-9)
        print(f"{self.rounds:>12,} {self.total / self.rounds:>#16.6g} "
              f"{self.part / self.since:>#16.6g} {self.rounds / seconds:>12,.0f}"
              + (f" {self.judge():>12.5f}" if self.judge else ""), file=self.out, flush=True)
        self.since, self.part = 0, 0.0

    def end(self):
        """The last line; where there was no row at all, that is trouble."""
        self.line()
        if self.rounds == 0:
            raise Trouble("nothing to learn from: there was no row")


# --- the learner ----------------------------------------------------------------------------------


class Maker:
    """The learner to be trained: a new one with what was set, or a saved one that goes on."""

    def __init__(self, options):
        self.options, self.cls = options, _learners.class_of(options.learner)
        self.family = _learners.FAMILY[self.cls]
        self.given = _learners.parameters(self.cls, options.set)
        self.saved = self.beside = None
        if options.start is not None:
            self.saved, self.beside = _answer.loaded(options.start)
            if type(self.saved) is not self.cls:
                raise Trouble(f"--from {options.start} holds a {type(self.saved).__name__}, not a "
                              f"{self.cls.__name__}")
            for name, value in (("set", options.set), ("features", options.features),
                                ("radius", options.radius)):
                if value:
                    raise Trouble(f"--{name} is for a new learner: that of --from has its own")

    @property
    def columns(self):
        """How many columns it sees, where that is known before the file is read."""
        return self.options.features if self.saved is None else _answer.width(self.saved)

    def lacks(self, name):
        """Whether a new learner is made, with this parameter, which was not set."""
        return (self.saved is None and name not in self.given
                and name in inspect.signature(self.cls).parameters)

    def make(self, **defaults):
        """The learner; the defaults count where nothing was set."""
        if self.saved is not None:
            return self.saved
        return _learners.build(self.cls, {**defaults, **self.given})


# --- rows: what plays a part of them --------------------------------------------------------------


class Multiclass:
    """Mistakes of what was chosen; labels count from `first`."""

    what = "mistakes/row"

    def __init__(self, maker, options, rows, seen):
        self.rows, self.first = rows, options.first_label
        if self.first is None:
            self.first = 0 if rows.named else self.guessed(maker, seen)
        self.defaults = {}
        if maker.lacks("n_classes"):
            if seen is None:
                raise Trouble("standard input is not read twice: say how many classes there are, "
                              "--set n_classes=K")
            self.refuse(seen.fraction, seen.least, seen.most)
            self.defaults["n_classes"] = max(2, int(seen.most) - self.first + 1)

    @staticmethod
    def single(options):
        return "a class is one label a row"

    def guessed(self, maker, seen):
        """What classes count from, as the labels have it; those of another file may differ."""
        if seen is None or seen.least not in (0, 1):
            return 0
        if maker.saved is not None and seen.least == 1 and seen.most < maker.saved.n_classes:
            raise Trouble("say where the labels count from, --first-label 0 or 1: "
                          f"{self.rows.name} does not tell")
        return int(seen.least)

    def refuse(self, fraction, least, most, classes=MOST):
        """Refuses labels that cannot be classes, counted as they are in the file."""
        if fraction is not None:
            raise Trouble(f"{fraction} is no class: classes are whole numbers")
        if not (self.first <= least and most < self.first + classes):
            raise Trouble(f"{self.rows.name}: labels {least:.10g} ... {most:.10g} cannot be "
                          f"classes, which count from {self.first} (--first-label)"
                          + (f" to {self.first + classes - 1}" if classes < MOST else ""))

    def begin(self, learner, seen):
        self.refuse(seen.fraction, seen.least, seen.most, learner.n_classes)

    def play(self, learner, piece):
        labels = piece.labels
        self.refuse(self.rows.fraction(piece), labels.min(), labels.max(), learner.n_classes)
        return learner.run(piece.X, labels.astype(np.int64) - self.first).mistakes

    def told(self, learner):
        if self.rows.named:
            return f"{learner.n_classes} classes: {', '.join(self.rows.classes)}"
        where = "" if self.first == 0 else "; they count from 1: choose with --first-label 1"
        return f"{learner.n_classes} classes{where}"


class Filtering:
    """Wrong decisions: forwarded what was not relevant, or kept what was."""

    what = "wrong/row"

    def __init__(self, maker, options, rows, seen):
        self.label, self.defaults = rows.number_of(options.relevant), {}
        if maker.lacks("horizon") and "explore" not in maker.given and seen is not None:
            self.defaults["horizon"] = seen.rows * options.passes
        self.asked = options.relevant
        self.forwarded = self.relevant = self.both = 0

    @staticmethod
    def single(options):
        return None if options.relevant is not None else \
            "--relevant LABEL says which of many labels counts"

    def begin(self, learner, seen):
        if self.label is not None and not seen.found:
            asked = self.asked if isinstance(self.asked, str) else f"{self.asked:g}"
            print(f"no row has the label {asked}")

    def play(self, learner, piece):
        relevant = piece.labels > 0 if self.label is None else piece.holds(self.label)
        forwarded = learner.run(piece.X, relevant).forwarded
        self.forwarded += int(forwarded.sum())
        self.relevant += int(relevant.sum())
        self.both += int((forwarded & relevant).sum())
        return forwarded != relevant

    def told(self, learner):
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


def train_rows(maker, options, save):
    """Rows of svmlight text, or converted ones, in pieces."""
    family = ROW_FAMILIES[maker.family]
    rows = _text_rows(maker, options, family) or _rows.Rows(
        options.file, maker.columns, zero_based=options.zero_based, single=family.single(options))
    seen = _seen(rows, options)
    if seen is None and maker.columns is None and rows.columns is None:
        raise Trouble("standard input is not read twice: say how many columns there are, "
                      "--features N")
    columns = maker.columns or rows.columns or max(1, seen.columns)
    work = family(maker, options, rows, seen)
    defaults = dict(work.defaults)
    if columns > WIDE and maker.lacks("covariance"):
        defaults["covariance"] = "diagonal"  # the only one whose rounds cost what a row holds
        print(f"{columns:,} columns: covariance=diagonal (another by --set covariance=...)")
    learner = maker.make(**defaults)
    if seen is not None:
        work.begin(learner, seen)
    board = Board(family.what)
    save.of(learner, getattr(rows, "told", None))
    for number in range(options.passes):
        for piece in _mixed(rows, columns, options, number):
            begin = 0
            while begin < len(piece):
                end = min(len(piece), begin + board.room())
                board.add(work.play(learner, piece.cut(begin, end)))
                save.sometimes()
                begin = end
    board.end()
    print(work.told(learner))
    return learner


def _text_rows(maker, options, family):
    """The rows of plain text; None where FILE is to be svmlight text or converted."""
    if options.text is None and maker.beside is None:
        if options.label is not None:
            raise Trouble("--label is for plain text (--text)")
        return None
    if maker.saved is not None and maker.beside is None:
        raise Trouble(f"{options.start} was not trained on text: it has no words to go by")
    if options.zero_based:
        raise Trouble("--zero-based is for svmlight text")
    classes, most = [], None
    if maker.beside is None:
        words = _text.Words(maker.columns or _text.COLUMNS, ("text",))
    else:
        words, classes = _text.Words.of(maker.beside, options.start)
        most = getattr(maker.saved, "n_classes", None)
    if options.text:
        words.fields = _text.fields_of(options.text)
    rows = _text.TextRows(options.file, words, label=options.label or "label", classes=classes,
                          most=most or maker.given.get("n_classes"), single=family.single(options))
    rows.number_of(options.relevant)  # its name is known before the first document
    return rows


def refuse_second_pass(options):
    """Standard input is over after the first."""
    if options.passes > 1 and _streams.is_stdin(options.file):
        raise Trouble("standard input is not read twice: --passes needs a file")


def _seen(rows, options):
    """A first reading of the rows; None for standard input, which has no second."""
    if _streams.is_stdin(options.file):
        refuse_second_pass(options)
        return None
    seen = rows.scan(rows.number_of(options.relevant))
    if seen.rows == 0:
        raise Trouble(f"{options.file} holds no rows")
    if seen.ordered and seen.rows > FIRST and options.shuffle is None:
        print("the labels come in order, one class after another: --shuffle mixes the rows")
    return seen


def _mixed(rows, columns, options, number):
    """The pieces as they come, or one of all rows, mixed."""
    if options.shuffle is None:
        yield from rows.pieces(columns)
    else:
        yield rows.whole.take(order_of(len(rows.whole), options, number)).widened(columns)


# --- rankings -----------------------------------------------------------------------------------


def user_of(text, k):
    """``alpha:0.5``, ``noisy:10``, ``clicks:informational``: a user for graded documents."""
    name, _, value = text.partition(":")
    try:
        if name == "alpha":
            return cf.users.AlphaInformative(float(value or 1.0), k=k)
        if name == "noisy":
            return cf.users.NoisyDepth(int(value or 10), k=k)
        if name == "clicks":
            return _clicks.user_of(value)
    except ValueError as error:
        raise Trouble(f"--user {text}: {error}") from error
    raise Trouble(f"--user {text}: expected alpha:A (0 < A <= 1), noisy:DEPTH or clicks:PRESET")


def train_rankings(maker, options, save):
    """Graded documents with a simulated user (the regret is against the best linear utility), or
    a log of clicks."""
    refuse_second_pass(options)
    k = options.k or (5 if maker.saved is None else maker.saved.task.k)
    clicks = options.clicks or _clicks.is_log(options.file)
    learner = maker.make(task=cf.Ranking(k=k))
    save.of(learner)
    if clicks:
        return _train_clicks(learner, options, save)
    if options.documents is not None:
        raise Trouble("--documents is for a log of clicks, and LETOR text has its own")
    drawn = isinstance(learner, (cf.PDGD, cf.PairwisePerceptron))
    user = user_of(options.user or ("clicks" if drawn else "alpha:1"), k)
    data = _streams.ranking_data(options.file, maker.columns, options.zero_based)
    weights, board = data.fit_weights(), Board("regret/query", judge=judge_of(learner, options))
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


def judge_of(learner, options):
    """What says how the learner does on the queries of --held-out; None without."""
    if options.held_out is None:
        return None
    held_out = _clicks.HeldOut(options.held_out, options.features, options.zero_based)
    return lambda: held_out.says(learner)


def _train_clicks(learner, options, save):
    """The log's own presentations; what is counted: pairs of documents that were shown, one of
    them clicked, which the learner has the wrong way round."""
    if isinstance(learner, (cf.DuelingBandit, cf.PDGD, cf.PairwisePerceptron)):
        raise Trouble(f"{options.learner} learns from what it presented itself, not from a log; "
                      "with LETOR text and --user clicks:PRESET it does")
    for name in ("shuffle", "user", "features"):
        if getattr(options, name) is not None:
            raise Trouble(f"--{name} is not for a log of clicks, which is learned as it is")
    documents = None
    if options.documents is not None:
        documents = _clicks.Documents(options.documents, None, options.zero_based)
    board = Board("reversed pairs", judge=judge_of(learner, options))
    print("clicks favour what stood on top, and this learner believes them: queries of --held-out "
          "tell what comes of it")
    for _ in range(options.passes):
        for query in _clicks.log(options.file, documents):
            board.room()
            try:
                wrong = _clicks.reversed_pairs(learner, query)
                better = cf.feedback_from_clicks(query.presented, query.clicked)
                learner.learn(query.features, query.presented, better)
            except ValueError as error:
                raise Trouble(f"{query.where}: {error}") from error
            board.add([wrong])
            save.sometimes()
    board.end()
    return learner


# --- losses -------------------------------------------------------------------------------------


def train_convex(maker, options, save):
    """Rows as losses of a linear predictor on a ball; columns are standardised first."""
    Z, y = _dense_rows(maker, options)
    classes = set(np.unique(y))
    logistic = classes <= {-1.0, 1.0} or classes <= {0.0, 1.0}
    if not options.no_scale:
        Z = cf.data.standardize(Z).transform(Z) / np.sqrt(Z.shape[1])
        y = y if logistic else cf.data.standardize(y).transform(y)
    if logistic:
        y = np.where(y > 0, 1.0, -1.0)
    make = cf.losses.Logistic if logistic else cf.losses.Squared
    rounds = options.passes * len(Z)
    radius = 1.0 if options.radius is None else options.radius
    learner = maker.make(**_bounds(maker, Z, y, logistic, rounds, radius))
    save.of(learner)
    board, done = Board("loss/row"), 0
    print(f"{'logistic' if logistic else 'squared'} loss, "
          f"{'' if options.no_scale else 'columns standardised, '}"
          + ", ".join(f"{name} = {value:.6g}" if isinstance(value, float) else f"{name} = {value}"
                      for name, value in learner.get_params().items() if value is not None))
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


def _dense_rows(maker, options):
    """All rows and their labels, in memory."""
    rows = _rows.Rows(options.file, maker.columns, zero_based=options.zero_based,
                      single="a loss has one label a row")
    seen = rows.scan()
    if seen.rows < 2:
        raise Trouble(f"{rows.name} holds {seen.rows} rows: at least 2 are needed")
    columns = maker.columns or max(1, seen.columns)
    refuse_beyond_limit(COPIES * 8 * seen.rows * columns,
                        f"{rows.name}: {seen.rows:,} rows of {columns:,} columns",
                        "the convex learners want dense rows, fewer or narrower ones")
    return rows.whole.widened(columns).X.toarray(), np.array(rows.whole.labels)


def _bounds(maker, Z, y, logistic, rounds, radius):
    """The set, the horizon, and bounds that hold on these rows, where the learner needs them."""
    norms = np.linalg.norm(Z, axis=1)
    if logistic:
        value, slope = np.log1p(np.exp(radius * norms)).max(), norms.max()
    else:
        value = ((radius * norms + np.abs(y)) ** 2).max()
        slope = (2.0 * norms * (radius * norms + np.abs(y))).max()
    if slope == 0.0:
        raise Trouble("there is nothing to learn from: every column is constant")
    known = {"feasible": cf.Ball(radius), "horizon": rounds, "loss_bound": float(value),
             "gradient_bound": float(slope), "beta": 0.5 * min(1.0 / (4.0 * slope * radius), 1.0)}
    needed = {"dimension": Z.shape[1]}
    for name, parameter in inspect.signature(maker.cls).parameters.items():
        if name in known and (parameter.default is parameter.empty
                              or name in ("horizon", "loss_bound")):
            needed[name] = known[name]
    return needed


TRAINERS = {"multiclass": train_rows, "filtering": train_rows, "ranking": train_rankings,
            "convex": train_convex}


class Saver:
    """The model's file: written now and then, and at the end."""

    def __init__(self, path, source):
        if path is not None:
            _target.check("--model", path, source)
        self.path, self.learner, self.next = path, None, time.monotonic() + INTERVAL
        self.beside = None

    def of(self, learner, beside=None):
        """What is saved; `beside` tells what goes into the file with it."""
        self.learner, self.beside = learner, beside

    def now(self):
        if self.path is not None and self.learner is not None:
            try:
                if self.beside is None:
                    self.learner.save(self.path)
                else:
                    _store.save(self.learner, self.path, self.beside())
            except OSError as error:
                raise Trouble(f"--model {self.path}: {error.strerror or error}") from error
            self.next = time.monotonic() + INTERVAL

    def sometimes(self):
        if time.monotonic() >= self.next:
            self.now()


def refuse_others(options, family):
    """An option that this family knows nothing of is a mistake, not a detail."""
    if options.text is not None and family not in ROW_FAMILIES:
        raise Trouble(f"--text is for multiclass and filtering learners, and {options.learner} is "
                      f"for {family}")
    for name, owner in OPTIONS.items():
        value = getattr(options, name)
        if value is not None and value is not False and owner != family:
            raise Trouble(f"--{name.replace('_', '-')} is for {owner} learners, and "
                          f"{options.learner} is for {family}")


def train(options):
    """Trains as the command line says; returns the learner."""
    maker = Maker(options)
    refuse_others(options, maker.family)
    save = Saver(options.model, options.file)
    with stoppable():
        try:
            learner = TRAINERS[maker.family](maker, options, save)
        except (KeyboardInterrupt, OSError):  # the latter: nobody takes what is printed
            save.now()
            if options.model is not None and save.learner is not None:
                print(f"interrupted: {options.model} holds {save.learner.rounds:,} rounds, and "
                      "--from goes on with it", file=sys.stderr)
            raise
        save.now()
    if options.model is not None:
        print(f"saved: {options.model}")
    return learner
