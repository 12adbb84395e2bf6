"""``coactive-fast train``: a learner over a stream, with progressive validation.

Every row is predicted before it is learned from, so the mean loss so far is an honest one. A line
is printed when the number of rounds has doubled; the model is saved twice a minute and at the
end.
"""

import contextlib
import copy
import functools
import inspect
import sys
import time

import numpy as np

import coactive_fast as cf
from coactive_fast._memory import refuse_beyond_limit
from coactive_fast.learner import _store
from coactive_fast.learner._progress import reporter

from . import Trouble, _clicks, _learners, _streams, refuse_options, stoppable, troubles, warn
from ._answer import loaded, refuse_below, width
from ._board import FIRST, Board, Decisions, order_of, refuse_second_pass
from ._fleet import train as train_fleet
from ._reading import Reading, shown
from ._rows import MODELS, Labels

MEASURE = "ndcg@10"  # of rankings held out
INTERVAL = 30.0  # seconds between two savings of the model
COPIES = 4  # of dense rows at once, while they are standardised
ROWS = ("multiclass", "filtering")
OPTIONS = {"first_label": ("multiclass",), "relevant": ("filtering",), "clicks": ("ranking",),
           "user": ("ranking",), "k": ("ranking",), "documents": ("ranking",),
           "held_out": ("ranking", *ROWS), "text": ROWS, "label": ROWS,
           "radius": ("convex",), "no_scale": ("convex",)}
MOST = 1 << 31  # classes; what a label is checked against before there is a learner
WIDE = 2000  # columns, from where on a whole matrix over them is not what one wants


class Training:
    """A learner in training, a new one with what was set or a saved one that goes on, and its file,
    which is written now and then, and at the end; a subclass trains those of a family.

    Attributes
    ----------
    most : int or None
        How many columns it may grow to (max_features); None of one that does not grow.
    columns : int or None
        How many columns it has, where that is known before the file is read.
    """

    def __init__(self, options, cls):
        self.options, self.cls = options, cls
        self.given = _learners.parameters(cls, options.set)
        self.saved, columns, most = None, options.features, self.given.get("max_features")
        if options.start is not None:
            self.saved, self.reading = loaded(options.start, options)
            if type(self.saved) is not cls:
                raise Trouble(f"--from {options.start} holds a {type(self.saved).__name__}, not a "
                              f"{cls.__name__}")
            refuse_options(options, ("set", "features", "radius"),
                           "is for a new learner: that of --from has its own")
            columns, most = width(self.saved), self.saved.get_params().get("max_features")
        self.most = most if isinstance(most, int) else None
        self.columns = columns if self.most is None else None
        self.learner = self.header = None
        self.next = time.monotonic() + INTERVAL

    @functools.cached_property
    def reading(self):
        """How rows are read: as a saved model says, else as it is asked for."""
        return Reading.asked(self.options, self.columns)

    def lacks(self, name):
        """Whether a new learner is made, with this parameter, which was not set."""
        return (self.saved is None and name not in self.given
                and name in inspect.signature(self.cls).parameters)

    def make(self, **defaults):
        """The learner; the defaults count where nothing was set."""
        if self.saved is not None:
            return self.saved
        return _learners.build(self.cls, {**defaults, **self.given})

    def keep(self, learner, header=None):
        """From now on this learner is saved; `header` returns what goes into the file with it, or
        None."""
        self.learner, self.header = learner, header
        if self.options.model is None:
            warn("train", "this model is not kept: --model OUT saves it")

    def save(self):
        if self.options.model is not None and self.learner is not None:
            with troubles(f"--model {self.options.model}", OSError):
                _store.save(self.learner, self.options.model, self.header and self.header())
            self.next = time.monotonic() + INTERVAL

    def count(self, board, losses):
        """Counts some rounds; the model is saved where it is time."""
        board.add(losses)
        if time.monotonic() >= self.next:
            self.save()

    def play(self, board, n, play):
        """All passes over n rounds that are in memory; ``play(order)`` returns the losses of some.
        """
        for number in range(self.options.passes):
            order = order_of(n, self.options, number)
            for begin, end in board.stretches(n):
                self.count(board, play(order[begin:end]))
        board.end()


# --- multiclass learners and filters --------------------------------------------------------------


class RowTraining(Training):
    """Rows of svmlight text, of names, of VW's text, converted ones, or of plain text; a subclass
    says what their labels mean, and what is counted."""

    what: str  # is counted
    single: str | None  # why each row must have one label; None: it need not

    def __init__(self, options, cls):
        super().__init__(options, cls)
        reading = self.reading
        if reading.words is None and options.label is not None:
            raise Trouble("--label is for plain text (--text), and for --by")
        if None not in (options.hash_bits, options.features) and self.saved is None:
            raise Trouble("--features and --hash-bits both say how many columns there are")
        self.first = reading.first_label(options.first_label, options.start)
        options.relevant = reading.relevant_label(options.relevant, options.start)
        self.rows = self._rows(options.file, self.labels(), grow=True)

    def _rows(self, path, labels, grow):
        return self.reading.rows(path, self.options, self.columns, self.most, single=self.single,
                                 labels=labels, grow=grow)

    def train(self):
        """All passes."""
        options, rows = self.options, self.rows
        text, grows = self.reading.words is not None, self.most is not None
        if options.held_out is not None:
            if _streams.is_stdin(options.held_out):
                raise Trouble("--held-out - cannot be: it is read again and again, and needs a "
                              "file")
            if not text:  # what cannot be held out is refused now
                self.reading.form_of(options.held_out, options)
        columns = None if grows and not text else self.columns or rows.columns
        seen = self._scan(columns is None and not grows or self.lacks("n_classes"))
        if columns is None and not grows:
            columns = max(1, seen.columns)
        defaults = self.defaults(seen)
        if columns is not None and columns > WIDE and self.lacks("covariance"):
            defaults["covariance"] = "diagonal"  # the only one whose rounds cost what a row holds
            print(f"{columns:,} columns: covariance=diagonal (another by --set covariance=...)")
        learner = self.make(**defaults)
        board = Board(self.what, report=options.report,
                      judge=None if options.held_out is None else lambda: self.share(learner),
                      expected=None if seen is None else seen.rows * options.passes)
        self.keep(learner, self.beside)
        for number in range(options.passes):
            for piece in self._pieces(number):
                piece = piece if columns is None else piece.widened(columns)
                for begin, end in board.stretches(len(piece)):
                    self.count(board, self.learn(learner, piece.cut(begin, end)))
        board.end()
        print(self.summary(learner))
        if rows.left_out:
            print(f"{rows.left_out:,} features of {rows.name} have no column, since their names "
                  "were new: they were left out")

    def _scan(self, needed):
        """A first reading of the rows; of standard input only where it is needed, and then all of
        it stays in memory."""
        rows, options = self.rows, self.options
        stdin = _streams.is_stdin(options.file)
        refuse_second_pass(options)
        if stdin and not needed:
            return None
        seen = rows.scan(rows.number_of(options.relevant))
        if seen.rows == 0:
            raise Trouble(f"{rows.name} holds no rows")
        if stdin:
            print(f"standard input was read to its end, {seen.rows:,} rows, to know its columns "
                  "and labels: with --features or --hash-bits, and --set n_classes=K, it is "
                  "learned as it comes")
        if seen.ordered and seen.rows > FIRST and options.shuffle is None:
            print("the labels come in order, one class after another: --shuffle mixes the rows")
        return seen

    def _pieces(self, number):
        """The pieces as they come, or one of all rows, mixed."""
        if self.options.shuffle is None:
            return self.rows.pieces()
        whole = self.rows.whole
        return [whole.reordered(order_of(len(whole), self.options, number))]

    def beside(self):
        """What goes into the model's file."""
        reading, labels = self.reading, self.rows.labels
        reading.keep_names(self.rows)
        reading.first = None if labels.named else self.first
        if self.first is not None or reading.words is not None:
            reading.classes = labels.names if labels.named else []
        reading.relevant = self.options.relevant
        return reading.header()

    def share(self, learner):
        """The share of the rows of --held-out, which teach no name, that the learner has wrong."""
        wrong, rows, name = 0, 0, self.options.held_out
        with troubles(f"--held-out {name}"):
            self.reading.keep_names(self.rows)
            known = self.rows.labels
            labels = Labels(known.numbers, named=known.named, closed=True, why=known.why)
            held_out = self._rows(name, labels, grow=False)
            for piece in held_out.pieces(width(learner) if self.most is None else None):
                wrong += int(np.sum(self.wrong(learner, piece)))
                rows += len(piece)
        if rows == 0:
            raise Trouble(f"--held-out {name} holds no rows")
        return wrong / rows


class Multiclass(RowTraining):
    """Mistakes of what was chosen; labels count from `first`."""

    what = "mistakes/row"
    single = "a class is one label a row"

    def labels(self):
        """Those of a saved model are names or numbers; those of a new one are what comes."""
        if self.saved is None:
            return Labels(most=self.given.get("n_classes"))
        classes = self.reading.classes
        return Labels(classes, most=self.saved.n_classes, named=bool(classes), why=MODELS)

    def defaults(self, seen):
        """Parameters of a new learner, where they were not set."""
        self.refuse_names()
        if self.first is None:
            self.first = 0 if self.rows.labels.named else self.guessed(seen)
        if seen is None:
            return {}
        classes = self.given.get("n_classes") if self.saved is None else self.saved.n_classes
        self.refuse(seen.fraction, seen.least, seen.most,
                    classes if isinstance(classes, int) else MOST)
        return {"n_classes": max(2, int(seen.most) - self.first + 1)}

    def refuse_names(self):
        if self.rows.labels.named and self.options.first_label is not None:
            raise Trouble(f"--first-label {self.options.first_label}: the labels of "
                          f"{self.rows.name} are names")

    def guessed(self, seen):
        """What classes count from, as the labels have it; those of another file may differ."""
        if seen is None or seen.least not in (0, 1):
            return 0
        saved = self.saved
        if saved is not None and seen.least == 1 and seen.most < saved.n_classes:
            raise Trouble("say where the labels count from, --first-label 0 or 1: "
                          f"{self.rows.name} does not tell")
        return int(seen.least)

    def refuse(self, fraction, least, most, classes):
        """Refuses labels that cannot be classes, counted as they are in the file."""
        if fraction is not None:
            raise Trouble(f"{fraction} is no class: classes are whole numbers")
        if not (self.first <= least and most < self.first + classes):
            raise Trouble(f"{self.rows.name}: labels {least:.10g} ... {most:.10g} cannot be "
                          f"classes, which count from {self.first} (--first-label)"
                          + (f" to {self.first + classes - 1}" if classes < MOST else ""))

    def learn(self, learner, piece):
        labels = piece.labels
        self.refuse_names()
        self.refuse(self.rows.fraction(piece), labels.min(), labels.max(), learner.n_classes)
        return learner.run(piece.X, labels.astype(np.int64) - self.first).mistakes

    def wrong(self, learner, piece):
        """Of rows that are not learned from: which are mistaken."""
        if not self.rows.labels.named:
            refuse_below(piece.labels, self.first)
        return learner.predict(piece.X) + self.first != piece.labels

    def summary(self, learner):
        if self.rows.labels.named:
            return f"{learner.n_classes} classes: {', '.join(self.rows.labels.names)}"
        where = "" if self.first == 0 else "; they count from 1, and the model remembers it"
        return f"{learner.n_classes} classes{where}"


class Filtering(RowTraining):
    """Wrong decisions: forwarded what was not relevant, or kept what was."""

    what = "wrong/row"

    @property
    def single(self):
        return (None if self.options.relevant is not None else
                "--relevant LABEL says which of many labels counts")

    def labels(self):
        return Labels(self.reading.classes, why=MODELS if self.reading.classes else None)

    def defaults(self, seen):
        """Parameters of a new learner, where they were not set."""
        self.decisions = Decisions()
        self.label = self.rows.number_of(self.options.relevant)
        if self.label is not None and seen is not None and not seen.found:
            print(f"no row has the label {shown(self.options.relevant)}")
        if self.lacks("horizon") and "explore" not in self.given and seen is not None:
            return {"horizon": seen.rows * self.options.passes}
        return {}

    def relevant(self, piece):
        """Which rows are relevant."""
        if self.label is None and self.rows.labels.named:
            raise Trouble(f"{self.rows.name}: the labels are names: say which one is relevant, "
                          "--relevant NAME")
        return piece.labels > 0 if self.label is None else piece.holds(self.label)

    def learn(self, learner, piece):
        return self.decisions.add(learner.run(piece.X, self.relevant(piece)))

    def wrong(self, learner, piece):
        """Of rows that are not learned from: which are decided wrongly."""
        own = copy.deepcopy(learner)  # a decision counts a round
        return np.array([own.forward(row) for row in piece.singly()]) != self.relevant(piece)

    def summary(self, learner):
        if not self.decisions.relevant:
            asked = self.options.relevant
            warn("train", "no row was relevant" if asked is None else
                 f"no row has the label {shown(asked)} of --relevant")
        return self.decisions.summary()


# --- rankings -----------------------------------------------------------------------------------


def user_of(text, k):
    """``alpha:0.5``, ``noisy:10``, ``clicks:informational``: a user for graded documents."""
    name, _, value = text.partition(":")
    with troubles(f"--user {text}"):
        if name == "alpha":
            return cf.users.AlphaInformative(float(value or 1.0), k=k)
        if name == "noisy":
            return cf.users.NoisyDepth(int(value or 10), k=k)
        if name == "clicks":
            preset = value or "navigational"
            model = "perfect" if preset == "perfect" else "cascade"
            return cf.users.Clicks(model, preset=preset, seed=0)
    raise Trouble(f"--user {text}: expected alpha:A (0 < A <= 1), noisy:DEPTH or clicks:PRESET")


class Rankings(Training):
    """Graded documents with a simulated user (the regret is against the best linear utility), or
    a log of clicks."""

    def train(self):
        """All passes."""
        options = self.options
        refuse_second_pass(options)
        k = options.k or (5 if self.saved is None else self.saved.task.k)
        learner = self.make(task=cf.Ranking(k=k))
        if options.clicks or _clicks.is_log(options.file):
            refuse_options(options, ("names", "hash_bits", "format"), "is not for a log of clicks")
            self.keep(learner)
            self._train_clicks(learner)
            return
        reading = self.reading
        if options.documents is not None:
            raise Trouble("--documents is for a log of clicks, and LETOR text has its own")
        drawn = isinstance(learner, (cf.PDGD, cf.PairwisePerceptron))
        user = user_of(options.user or ("clicks" if drawn else "alpha:1"), k)
        data = reading.ranking(options.file, options, self.columns, grow=True)
        self.keep(learner, reading.header)
        if reading.left_out:
            print(f"{reading.left_out:,} features have no column, since their names were new: they "
                  "were left out")
        weights = data.fit_weights()
        board = Board("regret/query", judge=self._judge(learner, reading, data.dimension),
                      measure=MEASURE, report=options.report,
                      expected=len(data) * options.passes)
        self.play(board, len(data), lambda order: cf.simulate(
            learner, data, user, order=order, weights=weights).regret)

    def _judge(self, learner, reading, columns):
        """A function that says how the learner does on the queries of --held-out; None without."""
        if self.options.held_out is None:
            return None
        data = reading.ranking(self.options.held_out, self.options, columns)

        def judge():
            with troubles(f"--held-out {_streams.name_of(self.options.held_out)}"):
                return cf.metrics.evaluate(learner, data, measures=(MEASURE,))[MEASURE]
        return judge

    def _train_clicks(self, learner):
        """The log's own presentations; what is counted: pairs of documents that were shown, one of
        them clicked, which the learner has the wrong way round."""
        options = self.options
        if isinstance(learner, (cf.DuelingBandit, cf.PDGD, cf.PairwisePerceptron)):
            raise Trouble(f"{options.learner} learns from what it presented itself, not from a "
                          "log; with LETOR text and --user clicks:PRESET it does")
        refuse_options(options, ("shuffle", "user", "features"),
                       "is not for a log of clicks, which is learned as it is")
        documents = None
        if options.documents is not None:
            documents = _clicks.documents_of(options.documents, options.zero_based)
        board = Board("reversed pairs", measure=MEASURE,
                      judge=self._judge(learner, Reading(), options.features))
        print("clicks favour what stood on top, and this learner believes them: queries of "
              "--held-out tell what comes of it")
        for _ in range(options.passes):
            for query in _clicks.log(options.file, documents):
                with troubles(query.where):
                    wrong = _clicks.reversed_pairs(learner, query)
                    better = cf.feedback_from_clicks(query.presented, query.clicked)
                    learner.learn(query.features, query.presented, better)
                self.count(board, [wrong])
        board.end()


# --- losses -------------------------------------------------------------------------------------


class Losses(Training):
    """Rows as losses of a linear predictor on a ball; columns are standardised first."""

    def train(self):
        """All passes."""
        options = self.options
        Z, y = self._dense_rows()
        classes = set(np.unique(y))
        logistic = classes <= {-1.0, 1.0} or classes <= {0.0, 1.0}
        if not options.no_scale:
            Z = cf.data.standardize(Z).transform(Z) / np.sqrt(Z.shape[1])
            y = y if logistic else cf.data.standardize(y).transform(y)
        if logistic:
            y = np.where(y > 0, 1.0, -1.0)
        make = cf.losses.Logistic if logistic else cf.losses.Squared
        learner = self.make(**self._bounds(Z, y, logistic))
        self.keep(learner, self.reading.header)
        board = Board("loss/row", report=options.report, expected=options.passes * len(Z))
        print(f"{'logistic' if logistic else 'squared'} loss, "
              f"{'' if options.no_scale else 'columns standardised, '}"
              + ", ".join(f"{name} = {f'{value:.6g}' if isinstance(value, float) else value}"
                          for name, value in learner.get_params().items() if value is not None))
        self.play(board, len(Z),
                  lambda order: learner.run(make(Z[order], y[order]), len(order)).loss)

    def _dense_rows(self):
        """All rows and their labels, in memory."""
        rows = self.reading.rows(self.options.file, self.options, self.columns, grow=True,
                                 labels=Labels(named=False), single="a loss has one label a row")
        seen = rows.scan()
        self.reading.keep_names(rows)
        if seen.rows < 2:
            raise Trouble(f"{rows.name} holds {seen.rows} rows: at least 2 are needed")
        columns = self.columns or rows.columns or max(1, seen.columns)
        refuse_beyond_limit(COPIES * 8 * seen.rows * columns,
                            f"{rows.name}: {seen.rows:,} rows of {columns:,} columns",
                            "the convex learners want dense rows, fewer or narrower ones")
        return rows.whole.widened(columns).X.toarray(), np.array(rows.whole.labels)

    def _bounds(self, Z, y, logistic):
        """The set, the horizon, and bounds that hold on these rows, where the learner needs them.
        """
        radius = 1.0 if self.options.radius is None else self.options.radius
        norms = np.linalg.norm(Z, axis=1)
        if logistic:
            value, slope = np.log1p(np.exp(radius * norms)).max(), norms.max()
        else:
            value = ((radius * norms + np.abs(y)) ** 2).max()
            slope = (2.0 * norms * (radius * norms + np.abs(y))).max()
        if slope == 0.0:
            raise Trouble("there is nothing to learn from: every column is constant")
        known = {"feasible": cf.Ball(radius), "horizon": self.options.passes * len(Z),
                 "loss_bound": float(value), "gradient_bound": float(slope),
                 "beta": 0.5 * min(1.0 / (4.0 * slope * radius), 1.0)}
        needed = {"dimension": Z.shape[1]}
        for name, parameter in inspect.signature(self.cls).parameters.items():
            if name in known and (parameter.default is parameter.empty
                                  or name in ("horizon", "loss_bound")):
                needed[name] = known[name]
        return needed


# --- the command ----------------------------------------------------------------------------------


FAMILIES = {"multiclass": Multiclass, "filtering": Filtering, "ranking": Rankings,
            "convex": Losses}


def train(options):
    """Trains a learner on a stream and prints how it does, each row being predicted before it is
    learned from: the mean so far, the mean since the last line, rows a second, at doubling
    intervals. The model is saved twice a minute and at the end.

      ranking     pdgd, pairwise-perceptron, dueling-bandit, preference-perceptron,
                  exponentiated-preference-perceptron, convex-preference-perceptron,
                  second-order-preference-perceptron: LETOR text (grades and qid:), answered by a
                  simulated user; or (not the first three) a log of clicks, a line a query:
                  {"query": id, "features": [[...], ...], "presented": [i, ...], "clicked": [i,
                  ...]}, documents counted from 0; without features it goes by the query's documents
                  in --documents FILE. Counted is the regret; or, of pairs of a clicked and an
                  unclicked document that were shown, the share that the learner has the wrong way
                  round. --held-out FILE adds the NDCG@10 of other queries.
      multiclass  confidit, banditron, newtron, multiclass-perceptron,
                  multiclass-second-order-perceptron, multiclass-arow: svmlight text (label
                  index:value ...) with whole labels or names (sport 3:0.5 ...). Counted are
                  mistakes.
      filtering   simple-filter, ridge-filter, probabilistic-ridge-filter, perceptron-filter:
                  svmlight text; relevant is what has a positive label, or --relevant LABEL where
                  rows have many (1,7,9 index:value ...). Counted are wrong decisions.
      convex      onseg, ogdeg, ons, ogd, dikin-ftrl: svmlight text; labels -1 and 1 (or 0 and 1)
                  mean the logistic loss, others the squared loss. Counted is the loss.

    FILE may be packed (gzip, bzip2, xz), converted, or - for standard input. Ctrl-C (and SIGTERM)
    save the model before they end; --from goes on with a saved one. --held-out FILE adds how the
    learner does on rows that it does not learn from.

    Features may have names (sport goal:2 ball); the first lines tell, or --names. Each name gets a
    column, which the model's file keeps, or with --hash-bits B one of VW's 2^B. Text of Vowpal
    Wabbit (label [weight] ['tag] |namespace name:value ...) is recognised by its |, or --format vw:
    rows for multiclass learners, filters and losses, and for rankings a line a document, a blank
    line behind each query. The model remembers names, labels and where they count from: choose,
    forward, rank and --from go by it.

    With --by KEY_COLUMN, online-ridge, linear-bandit and ridge-filter learn a model for each key,
    all in one file (a fleet): of a table (CSV, Parquet, Arrow), of JSON objects a line, or of
    svmlight text with --by qid. The target, reward or label stands in the column --label; the
    others are features, or those of --columns. --from FILE goes on with such a file, in place.

    With --text, multiclass learners and filters read plain text, a JSON object a line: {"text":
    "...", "label": 3}, where a label is a number, true or false, a name, or a list of these. Words
    are hashed to columns and weighted by TF-IDF, which counts the documents so far; how is kept in
    the model's file, and choose, forward and --from go by it. This needs scikit-learn.

    examples:
      coactive-fast train preference-perceptron queries.txt --user alpha:0.5 --passes 3
      coactive-fast train pdgd queries.txt --user clicks:navigational --k 10 --held-out test.txt
      coactive-fast train confidit news.svm.gz --shuffle --set eta=0.01 --model news.cf
      coactive-fast train ridge-filter articles.svm --relevant 36
      coactive-fast train ridge-filter docs.jsonl --text title,body --label topics --relevant grain
      coactive-fast train onseg abalone.svm --passes 150
      coactive-fast train confidit spam.vw --held-out later.vw --model spam.cf
      coactive-fast train online-ridge ratings.csv --by user --label rating --model users.fleet
      zcat clicks.gz | coactive-fast train preference-perceptron - --model clicks.cf
    """
    watched = sys.stderr is not None and sys.stderr.isatty()
    shown = not options.quiet and sys.stdout is not None and sys.stdout.isatty()
    with contextlib.ExitStack() as stack:
        if options.quiet:
            stack.enter_context(contextlib.redirect_stdout(None))
        # where the table goes elsewhere, whoever watches sees a bar
        options.report = stack.enter_context(reporter(watched and not shown))
        if options.by is not None:
            train_fleet(options)
            return
        refuse_options(options, ("columns", "keys", "skip"), "goes with --by")
        _train(options)


def _train(options):
    cls = _learners.class_of(options.learner)
    family = _learners.family_of(cls)
    for name, owners in OPTIONS.items():
        if family not in owners:
            refuse_options(options, [name], f"is for {' and '.join(owners)} learners, and "
                           f"{options.learner} is for {family}")
    if options.model is not None:
        _streams.check_target("--model", options.model, options.file)
    training = FAMILIES[family](options, cls)
    with stoppable():
        try:
            training.train()
        except (KeyboardInterrupt, OSError):  # the latter: nobody reads what is printed
            training.save()
            if options.model is not None and training.learner is not None:
                print(f"interrupted: {options.model} holds {training.learner.rounds:,} rounds, and "
                      "--from goes on with it", file=sys.stderr)
            raise
        training.save()
    if options.model is not None:
        print(f"saved: {options.model}")
