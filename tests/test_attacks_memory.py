"""Memory runs out, in the first call and in later ones: a MemoryError, and the next call works.

A child may ask for so many bytes more and no further; it goes on with a limit that is a little
wider each time, so that every allocation of a round fails once.

And what a file may take: a line without an end is refused, and a width before it takes memory.
"""

import functools
import gzip
import io

import children
import layouts
import numpy as np
import pytest
import scipy.sparse

import coactive_fast as cf
from coactive_fast import _memory, data
from coactive_fast.commands import _clicks, _text
from coactive_fast.data._open import opened

STEPS = 28
LONG, SQUARE = 400_000, 600  # features: where a learner keeps O(d) and where it keeps O(d^2)
limits = pytest.mark.skipif(not children.can_limit_memory(),
                            reason="no limit to the memory of a process here")


@functools.cache  # what is given is there before the limit is
def vector(d, seed):
    return np.resize(layouts.numbers((97,), seed), d)


@functools.cache
def documents(d):
    return np.array([vector(d, 1), vector(d, 2), vector(d, 3)])


@functools.cache
def table(d):
    return np.tile(vector(d, 1), (4, 1))


@functools.cache
def sparse(d):
    return scipy.sparse.csr_matrix(vector(d, 1)[None])


@functools.cache
def gradient(d):
    return 1e-3 * vector(d, 2)


def ranked(learner, d):
    x = documents(d)
    learner.learn(x, learner.present(x), [2, 0, 1])
    return learner.scores(x)


def own_present(learner, d):
    return learner.present(0), learner.weights


def chosen(learner, d):
    x = vector(d, 1)
    learner.learn(x, learner.choose(x), False)
    return learner.predict(x[None]), learner.decision_function(x[None])


def labelled(learner, d):
    x = vector(d, 1)
    learner.learn(x, 1)
    return learner.decision_function(x[None])


def chosen_sparse(learner, d):
    x = sparse(d)
    learner.learn(x, learner.choose(x), True)
    return learner.decision_function(x)


def run_of_rows(learner, d):
    history = learner.run(table(d), [0, 1, 1, 0])
    return history.choices


def filtered(learner, d):
    x = vector(d, 1)
    learner.forward(x)
    learner.learn(x, True)
    return learner.margin(x)


def filtered_run(learner, d):
    return learner.run(table(d), np.arange(4) % 2 == 0).margins


def told(learner, d):
    x = learner.ask()
    learner.tell(gradient(d) if isinstance(learner, (cf.ONS, cf.OGD)) else 0.25)
    return x, learner.center


def updated(metric, d):
    return metric.update(vector(d, 1)), metric.quad(vector(d, 2))


class Task:
    def __init__(self, dimension):
        self.dimension = dimension

    def features(self, x, y):
        return np.ones(self.dimension)

    def argmax(self, w, x):
        return 0


CASES = {
    "preference": (lambda d: cf.PreferencePerceptron(cf.Ranking()), ranked, LONG),
    "preference, own task": (lambda d: cf.PreferencePerceptron(Task(d)), own_present, LONG),
    "preference batch": (lambda d: cf.PreferencePerceptron(cf.Ranking(), batch=2), ranked, LONG),
    "exponentiated": (lambda d: cf.ExponentiatedPreferencePerceptron(cf.Ranking()), ranked, LONG),
    "exponentiated, own task": (
        lambda d: cf.ExponentiatedPreferencePerceptron(Task(d)), own_present, LONG),
    "convex preference": (lambda d: cf.ConvexPreferencePerceptron(cf.Ranking()), ranked, LONG),
    "second order": (lambda d: cf.SecondOrderPreferencePerceptron(cf.Ranking()), ranked, SQUARE),
    "second order, own task": (
        lambda d: cf.SecondOrderPreferencePerceptron(Task(d)), own_present, SQUARE),
    "deferred": (lambda d: cf.SecondOrderPreferencePerceptron(
        cf.Ranking(), radius=0.1, projection="deferred"), ranked, SQUARE),
    "dueling": (lambda d: cf.DuelingBandit(cf.Ranking(), seed=1), ranked, LONG),
    "confidit": (lambda d: cf.Confidit(3), chosen, LONG),
    "confidit sparse": (lambda d: cf.Confidit(3), chosen_sparse, LONG),
    "confidit growing": (lambda d: cf.Confidit(3, max_features=2 * d), chosen_sparse, LONG),
    "confidit full": (lambda d: cf.Confidit(3, covariance="full"), chosen, SQUARE),
    "confidit kernel": (lambda d: cf.Confidit(3, covariance="kernel"), chosen, LONG),
    "confidit kernel sparse": (
        lambda d: cf.Confidit(3, covariance="kernel"), chosen_sparse, LONG),
    "confidit run": (lambda d: cf.Confidit(3), run_of_rows, LONG),
    "confidit full run": (lambda d: cf.Confidit(3, covariance="full"), run_of_rows, SQUARE),
    "confidit kernel run": (lambda d: cf.Confidit(3, covariance="kernel"), run_of_rows, LONG),
    "banditron": (lambda d: cf.Banditron(3, seed=1), chosen, LONG),
    "newtron": (lambda d: cf.Newtron(3, seed=1), chosen, LONG),
    "newtron full": (lambda d: cf.Newtron(3, covariance="full", seed=1), chosen, SQUARE),
    "confidit kernel projected": (
        lambda d: cf.Confidit(3, covariance="kernel", projection=True), chosen, LONG),
    "perceptron": (lambda d: cf.MulticlassPerceptron(3), labelled, LONG),
    "second-order multiclass": (lambda d: cf.MulticlassSecondOrderPerceptron(3), labelled, LONG),
    "arow": (lambda d: cf.MulticlassAROW(3), labelled, LONG),
    "ridge": (lambda d: cf.RidgeFilter(), filtered, SQUARE),
    "ridge window": (lambda d: cf.RidgeFilter(window=3), filtered, SQUARE),
    "ridge forget": (lambda d: cf.RidgeFilter(forget=0.9999), filtered, SQUARE),
    "ridge forget robust": (lambda d: cf.RidgeFilter(forget=0.5), filtered, SQUARE),
    "ridge diagonal": (lambda d: cf.RidgeFilter(covariance="diagonal"), filtered, LONG),
    "ridge kernel": (lambda d: cf.RidgeFilter(covariance="kernel"), filtered, LONG),
    "ridge rbf": (lambda d: cf.RidgeFilter(covariance="kernel", kernel="rbf"), filtered, LONG),
    "ridge budget": (lambda d: cf.RidgeFilter(covariance="kernel", budget=4), filtered, LONG),
    "ridge run": (lambda d: cf.RidgeFilter(), filtered_run, SQUARE),
    "ridge kernel run": (lambda d: cf.RidgeFilter(covariance="kernel"), filtered_run, LONG),
    "probabilistic": (lambda d: cf.ProbabilisticRidgeFilter(explore=0.1, seed=1), filtered, SQUARE),
    "probabilistic run": (
        lambda d: cf.ProbabilisticRidgeFilter(explore=0.1, seed=1), filtered_run, SQUARE),
    "perceptron filter": (lambda d: cf.PerceptronFilter(), filtered, LONG),
    "apple tasting": (lambda d: cf.AppleTasting(cf.PerceptronFilter(), 0.5, seed=1), filtered,
                      LONG),
    "ONSEG": (lambda d: cf.ONSEG(d, cf.Ball(1.0), delta=0.01, gamma=0.2, beta=1.0, epsilon=1.0,
                                 seed=1), told, SQUARE),
    "ONS": (lambda d: cf.ONS(d, cf.Ball(1.0), 0.5), told, SQUARE),
    "ONS simplex": (lambda d: cf.ONS(d, cf.Simplex(), 0.5), told, SQUARE // 4),
    "OGD": (lambda d: cf.OGD(d, cf.L1Ball(1.0), 1.0), told, LONG),
    "DikinFTRL": (lambda d: cf.DikinFTRL(d, eta=1e-3, seed=1), told, LONG),
    "metric.Full": (lambda d: cf.metric.Full(d), updated, SQUARE),
    "metric.Full robust": (lambda d: cf.metric.Full(d, precision="robust"), updated, SQUARE),
    "metric.Diagonal": (lambda d: cf.metric.Diagonal(d), updated, LONG),
    "metric.Dual": (lambda d: cf.metric.Dual(), updated, LONG),
    "metric.Dual budget": (lambda d: cf.metric.Dual(budget=4), updated, LONG),
}


def with_ever_more_memory(name, rounds):
    """One call under a limit; the calls after it, without one, must be those of a new learner."""
    make, use, d = CASES[name]
    learner = make(d)
    expected = [use(learner, d) for _ in range(rounds + 1)]
    for step in range(STEPS):
        one_limit(make, use, d, rounds, step * unit(d), expected)


def one_limit(make, use, d, rounds, more, expected):
    learner = make(d)
    for _ in range(rounds):
        use(learner, d)
    lift = children.limited(more)
    try:
        got = use(learner, d)
    except MemoryError:
        got = None
    finally:
        lift()
    if got is not None:
        np.testing.assert_equal(got, expected[-1])
        return
    use(learner, d)  # how far the round came is open; whatever is called next works
    if hasattr(learner, "reset"):
        np.testing.assert_equal(use(learner.reset(), d), expected[0])


def unit(d):
    """Bytes between two limits: half of what the smallest large block takes."""
    return 4 * d if d == LONG else d * d


@children.forks
@limits
@pytest.mark.parametrize("rounds", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_memory_runs_out(name, rounds):
    children.run(with_ever_more_memory, name, rounds)


# --- files ----------------------------------------------------------------------------------------


def text_of(path):
    with opened(path) as (file, name):
        return list(_text._blocks(file, name))


READERS = {
    "svmlight": data.load_svmlight,
    "svmlight, dense": data.RankingData.from_svmlight,
    "ratings": data.load_movielens,
    "table": data.load_table,
    "breast cancer": data.load_breast_cancer,
    "prices": data.load_prices,
    "terms": data.load_terms,
    "documents": lambda path: data.load_rcv1(path, path),
    "log as a table": lambda path: cf.logs.BanditLog.from_table(path),
    "log of VW": lambda path: cf.logs.BanditLog.from_vw(path),
    "clicks": lambda path: list(_clicks.clicks(path)),
    "text": text_of,
}
SMALL = 2**28  # more than a line may take, and less than what it took


def a_long_line(name, path):
    before = children.peak()
    with pytest.raises(ValueError, match="line 2: a line is longer than 64 MiB"):
        READERS[name](path)
    assert children.peak() - before < SMALL


@pytest.fixture(scope="module")
def long_line(tmp_path_factory):
    """Of 512 MB, packed into half a megabyte; the line before it is nothing."""
    path = tmp_path_factory.mktemp("long") / "line.gz"
    path.write_bytes(gzip.compress(b"\n") + 512 * gzip.compress(b"1" * 2**20))
    assert path.stat().st_size < 2**20
    return str(path)


@children.forks
@pytest.mark.parametrize("name", READERS)
def test_a_line_without_an_end_is_refused(name, long_line):
    children.run(a_long_line, name, long_line, seconds=60)


def a_wide_row(dense):
    """An index of a file is the width of its rows: asked for before they are written out."""
    _memory.limit = 2.0**28
    before = children.peak()
    text = io.BytesIO(b"1 qid:1 3:1 134217728:1\n")
    if dense:
        with pytest.raises(MemoryError, match="1 dense rows of 134217728 features"):
            data.RankingData.from_svmlight(text)
    else:
        assert data.load_svmlight(text)[0].shape == (1, 2**27)
    assert children.peak() - before < SMALL


@children.forks
@pytest.mark.parametrize("dense", [False, True])
def test_a_file_of_wide_rows(dense):
    children.run(a_wide_row, dense)


def a_wide_table(name, mark):
    """So many fields that their strings alone are more than memory."""
    _memory.limit = 2.0**28
    before = children.peak()
    text = b"a" + f"{mark}1".encode() * 2**21 + b"\n"
    with pytest.raises(MemoryError, match="line 1: a row of so many fields takes"):
        READERS[name](io.BytesIO(text))
    assert children.peak() - before < SMALL


@children.forks
@pytest.mark.parametrize("mark", [",", ";", " "])
@pytest.mark.parametrize("name", ["table", "prices", "log as a table"])
def test_a_header_of_many_fields(name, mark):
    children.run(a_wide_table, name, mark)
