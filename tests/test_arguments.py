"""The same bad values for every method that has such an argument.

A row, a label, a number, a vector or a mask is refused in the same cases everywhere: by a
`ValueError` or a `TypeError` that names the argument, and what was learned stays as it was.
"""

import pickle
import re
import sys

import numpy as np
import pytest
import scipy.sparse

import coactive_fast as cf

D, N, K = 3, 4, 3
ROW = np.array([0.5, -1.0, 0.25])
TABLE = np.arange(1.0, N * D + 1).reshape(N, D) / 10.0
CONTEXT = np.array([0.5, -0.5])
COLUMN = np.array([0.25, 1.0, 0.5, 0.75])
LABELS = np.array([0, 2, 1, 0])
FLAGS = np.array([True, False, True, True])
ORDER = np.array([2, 0, 1, 3])
REFUSALS = (ValueError, TypeError)


def masked(value):
    return np.ma.masked_array(value, np.arange(np.size(value)).reshape(np.shape(value)) == 0)


def holed(value, hole):
    changed = np.array(value, dtype=float)
    changed.flat[-1] = hole
    return changed


def arrays(good):
    """What no array of real numbers can stand for, in the shape of a good one."""
    yield "None", None
    yield "text", "abc"
    yield "texts", np.full(good.shape, "x")
    yield "objects", np.full(good.shape, None)
    yield "dates", np.full(good.shape, "2020-01-01", dtype="datetime64[D]")
    yield "ragged", [[1.0], [1.0, 2.0]]
    yield "masked", masked(good)
    yield "nothing is masked", np.ma.masked_array(good)
    yield "complex", good + 1j
    yield "number", 1.0
    yield "three dimensions", np.ones((2, 1, 2))


def reals(good):
    yield from arrays(good)
    yield "nan", holed(good, np.nan)
    yield "infinity", holed(good, -np.inf)
    yield "beyond float64", holed(good, 0.0) + np.longdouble("1e400")


def rows():
    yield from reals(ROW)
    yield "empty", []
    yield "two rows", np.ones((2, D))
    yield "broad", np.ones(D + 1)
    yield "sparse nan", scipy.sparse.csr_array(holed(ROW, np.nan)[None])
    yield "sparse complex", scipy.sparse.csr_array(ROW[None] + 1j)
    yield "sparse two rows", scipy.sparse.coo_array(np.ones((2, D)))
    yield "sparse broad", scipy.sparse.csc_array(np.ones((1, D + 1)))
    yield "pair of two lengths", ([0, 1], [1.0])
    yield "pair out of range", ([0, D], [1.0, 1.0])
    yield "pair below 0", ([-1], [1.0])
    yield "pair with parts of an index", ([0.5], [1.0])
    yield "pair with nan", ([0], [np.nan])
    yield "masked pair", (masked([0, 1]), [1.0, 1.0])


def tables(sparse=True):
    yield from reals(TABLE)
    yield "row", ROW
    yield "broad", np.ones((N, D + 1))
    if sparse:
        yield "sparse nan", scipy.sparse.csr_array(holed(TABLE, np.nan))
        yield "sparse complex", scipy.sparse.csr_array(TABLE + 1j)
        yield "sparse broad", scipy.sparse.dia_array(np.ones((N, D + 1)))


def columns():
    """Real numbers, one a row."""
    yield from reals(COLUMN)
    yield "short", COLUMN[1:]
    yield "long", np.append(COLUMN, 0.5)
    yield "sparse", scipy.sparse.csr_array(COLUMN[None])


def labels(two=False):
    """Not one of K labels."""
    yield from numbers()
    yield "part", 0.5
    yield "below", -1
    yield "above", K
    yield "far above", 10**30
    yield "above, a float", float(K)
    if not two:
        yield "True", True
        yield "NumPy's True", np.True_


def label_columns(two=False):
    yield from arrays(LABELS)
    yield "nan", holed(LABELS, np.nan)
    yield "infinity", holed(LABELS, np.inf)
    yield "part", holed(LABELS, 0.5)
    yield "below", LABELS - 1
    yield "above", LABELS + 1
    yield "above, floats", LABELS + 1.0
    yield "two columns", np.stack([LABELS, LABELS], axis=1)
    yield "short", LABELS[1:]
    if not two:
        yield "flags", LABELS > 0


def numbers():
    yield "None", None
    yield "text", "abc"
    yield "complex", 1.0 + 0.0j
    yield "NumPy's complex", np.complex128(1.0)
    yield "list", [1.0]
    yield "array", np.ones(1)
    yield "masked", np.ma.masked
    yield "a masked number", np.ma.masked_array(1.0)
    yield "nan", np.nan
    yield "infinity", np.float32(np.inf)
    yield "object", object()


def flags():
    yield from numbers()
    yield "two", 2
    yield "half", 0.5


def flag_columns():
    yield from arrays(FLAGS.astype(float))
    yield "nan", holed(FLAGS, np.nan)
    yield "two", FLAGS * 2
    yield "three values", np.array([1, 0, -1, 1])
    yield "short", FLAGS[1:]


def contexts():
    yield from reals(CONTEXT)
    yield "short", CONTEXT[1:]
    yield "table", CONTEXT[None]


def masks():
    """Not which of N actions there are."""
    yield from optional(arrays(FLAGS))
    yield "numbers", FLAGS.astype(int)
    yield "floats", FLAGS.astype(float)
    yield "none of them", np.zeros(N, dtype=bool)
    yield "short", FLAGS[1:]


def orderings():
    yield from arrays(ORDER)
    yield "floats", ORDER.astype(float)
    yield "flags", FLAGS
    yield "below", ORDER - 1
    yield "above", ORDER + 1
    yield "beyond intp", ORDER.astype(np.uint64) + np.uint64(2**63)
    yield "twice", np.zeros(N, dtype=int)


def optional(values, good="None"):
    """One of them is good, None where nothing is said."""
    return [(name, value) for name, value in values if name != good]


POOLS = {
    "row": rows(), "table": tables(), "column": columns(), "label": labels(),
    "labels": label_columns(), "number": numbers(), "flag": flags(), "flags": flag_columns(),
    "context": contexts(), "mask": masks(), "ordering": orderings(),
    "dense": tables(sparse=False), "weights": optional(columns()),
    "numbers": [*optional(reals(COLUMN), "number"), ("short", COLUMN[1:]),
                ("two columns", TABLE[:, :2])],
    "integers": [(name, value) for name, value in orderings()
                 if name not in ("below", "above", "twice")],
}
POOLS = {kind: list(values) for kind, values in POOLS.items()}


# --- what is called ---------------------------------------------------------------------------
# name: (makes a learner that has learned, method, good arguments by position: (kind, name, value),
# or None as kind of what has no pool)


def taught(learner, *rounds):
    for args in rounds:
        learner.learn(*args)
    return learner


def multiclass(make):
    def learned():
        learner = make()
        bandit = not isinstance(learner, (cf.MulticlassPerceptron, cf.MulticlassAROW,
                                          cf.MulticlassSecondOrderPerceptron))
        return taught(learner, *[(x, y, y == 1)[:3 if bandit else 2]
                                 for x, y in zip(TABLE, LABELS, strict=True)])
    return learned


def filtering(make):
    return lambda: taught(make(), *zip(TABLE, FLAGS, strict=True))


def regression(make, *first):
    return lambda: taught(make(), *[(x, *first, y) for x, y in zip(TABLE, COLUMN, strict=True)])


def contextual():
    bandit = cf.LinearBandit(context_features=2)
    bandit.learn(ROW, 1.0, context=CONTEXT)
    return bandit


def ranking(make):
    def learned():
        learner = make(cf.Ranking(k=2))
        learner.learn(TABLE, learner.present(TABLE), ORDER)
        learner.present(TABLE)
        return learner
    return learned


def pending(kind):
    learner = kind(cf.Ranking(k=2), seed=0)
    return learner, learner.present(TABLE)


def fleet(template, *examples):
    def learned():
        made = cf.Fleet(None, template(), 10)
        for args in examples:
            made.learn(1, *args)
        return made
    return learned


def metric(make):
    def learned():
        made = make()
        made.update(ROW)
        return made
    return learned


ROW_, TABLE_ = ("row", "x", ROW), ("table", "X", TABLE)
LABEL, CORRECT = ("label", "label", 1), ("flag", "correct", True)
PAST = [(x, y) for x, y in zip(TABLE, COLUMN, strict=True)]
CALLS = {}
for name, make in {
    "Confidit": lambda: cf.Confidit(K),
    "Confidit full": lambda: cf.Confidit(K, covariance="full"),
    "Confidit kernel": lambda: cf.Confidit(K, covariance="kernel", kernel="rbf"),
    "Banditron": lambda: cf.Banditron(K, seed=0),
    "Newtron": lambda: cf.Newtron(K, seed=0),
    "MulticlassPerceptron": lambda: cf.MulticlassPerceptron(K),
    "MulticlassSecondOrderPerceptron": lambda: cf.MulticlassSecondOrderPerceptron(K),
    "MulticlassAROW": lambda: cf.MulticlassAROW(K),
}.items():
    learn = [ROW_, LABEL, CORRECT]
    if name.startswith("Multiclass"):
        learn = [ROW_, ("label", "y", 1)]
    CALLS |= {
        f"{name}.choose": (multiclass(make), "choose", [ROW_]),
        f"{name}.learn": (multiclass(make), "learn", learn),
        f"{name}.run": (multiclass(make), "run", [TABLE_, ("labels", "y", LABELS)]),
        f"{name}.predict": (multiclass(make), "predict", [TABLE_]),
        f"{name}.decision_function": (multiclass(make), "decision_function", [TABLE_]),
    }
for name, make in {
    "SimpleFilter": cf.SimpleFilter,
    "RidgeFilter": cf.RidgeFilter,
    "RidgeFilter diagonal": lambda: cf.RidgeFilter(covariance="diagonal"),
    "RidgeFilter kernel": lambda: cf.RidgeFilter(covariance="kernel"),
    "ProbabilisticRidgeFilter": lambda: cf.ProbabilisticRidgeFilter(explore=0.5, seed=0),
    "PerceptronFilter": cf.PerceptronFilter,
    "AppleTasting": lambda: cf.AppleTasting(cf.PerceptronFilter(), 0.5, seed=0),
}.items():
    CALLS |= {
        f"{name}.forward": (filtering(make), "forward", [ROW_]),
        f"{name}.margin": (filtering(make), "margin", [ROW_]),
        f"{name}.learn": (filtering(make), "learn", [ROW_, ("flag", "relevant", True)]),
        f"{name}.run": (filtering(make), "run", [TABLE_, ("flags", "y", FLAGS)]),
    }
for name, make in {
    "OnlineRidge": cf.OnlineRidge,
    "OnlineRidge logistic": lambda: cf.OnlineRidge(link="logistic"),
    "OnlineRidge diagonal": lambda: cf.OnlineRidge(covariance="diagonal"),
}.items():
    CALLS |= {
        f"{name}.learn": (regression(make), "learn", [ROW_, ("number", "y", 0.5)]),
        f"{name}.predict": (regression(make), "predict", [TABLE_]),
        f"{name}.run": (regression(make), "run", [TABLE_, ("column", "y", COLUMN)]),
        f"{name}.decay": (regression(make), "decay", [("number", "f", 0.5)]),
    }
for name, make in {
    "LinearBandit": cf.LinearBandit,
    "LinearBandit thompson": lambda: cf.LinearBandit(explore="thompson", seed=0),
    "LinearBandit diagonal": lambda: cf.LinearBandit(covariance="diagonal"),
}.items():
    CALLS |= {
        f"{name}.choose": (regression(make), "choose", [TABLE_]),
        f"{name}.scores": (regression(make), "scores", [TABLE_]),
        f"{name}.learn": (regression(make), "learn", [ROW_, ("number", "reward", 0.5)]),
    }
PAIRS = regression(lambda: cf.LinearBandit(link="logistic"))
CALLS |= {
    "LinearBandit.learn_pair": (PAIRS, "learn_pair", [
        ("row", "x_first", ROW), ("row", "x_second", 2 * ROW), ("flag", "first_won", True)]),
    "ArmBandit.choose": (regression(lambda: cf.ArmBandit(K, seed=0), 1), "choose", [ROW_]),
    "ArmBandit.scores": (regression(lambda: cf.ArmBandit(K, seed=0), 1), "scores", [ROW_]),
    "ArmBandit.learn": (regression(lambda: cf.ArmBandit(K, seed=0), 1), "learn", [
        ROW_, ("label", "arm", 1), ("number", "reward", 0.5)]),
}
for name, make in {
    "PreferencePerceptron": cf.PreferencePerceptron,
    "ConvexPreferencePerceptron": cf.ConvexPreferencePerceptron,
    "SecondOrderPreferencePerceptron": cf.SecondOrderPreferencePerceptron,
    "PreferencePerceptron kernel": lambda task: cf.PreferencePerceptron(task, kernel="rbf"),
}.items():
    CALLS |= {
        f"{name}.present": (ranking(make), "present", [("table", "x", TABLE)]),
        f"{name}.scores": (ranking(make), "scores", [("table", "x", TABLE)]),
        f"{name}.learn": (ranking(make), "learn", [
            ("table", "x", TABLE), ("ordering", "y", ORDER), ("ordering", "better", ORDER)]),
    }
CALLS |= {
    "PreferencePerceptron.update": (ranking(cf.PreferencePerceptron), "update",
                                    [("row", "delta", ROW)]),
    "PDGD.learn_clicks": (lambda: pending(cf.PDGD)[0], "learn_clicks", [
        ("table", "x", TABLE), ("ordering", "shown", pending(cf.PDGD)[1]),
        ("integers", "clicked", ORDER[1:])]),
    "DuelingBandit.learn": (lambda: pending(cf.DuelingBandit)[0], "learn", [
        ("table", "x", TABLE), ("ordering", "y", pending(cf.DuelingBandit)[1]),
        ("ordering", "better", ORDER)]),
    "Full.update": (metric(lambda: cf.metric.Full(D)), "update", [ROW_]),
    "Full.quad": (metric(lambda: cf.metric.Full(D)), "quad", [ROW_]),
    "Full.solve": (metric(lambda: cf.metric.Full(D)), "solve", [ROW_]),
    "Full.quad_many": (metric(lambda: cf.metric.Full(D)), "quad_many", [("dense", "X", TABLE)]),
    "Diagonal.update": (metric(lambda: cf.metric.Diagonal(D)), "update", [ROW_]),
    "Diagonal.quad": (metric(lambda: cf.metric.Diagonal(D)), "quad", [ROW_]),
    "Diagonal.quad_many": (metric(lambda: cf.metric.Diagonal(D)), "quad_many", [TABLE_]),
    "Dual.update": (metric(cf.metric.Dual), "update", [ROW_]),
    "Dual.quad": (metric(cf.metric.Dual), "quad", [ROW_]),
    "ONS.tell": (lambda: asked(cf.ONS(D, cf.Ball(1.0), 1.0)), "tell", [("row", "gradient", ROW)]),
    "OGD.tell": (lambda: asked(cf.OGD(D, cf.Ball(1.0), 1.0)), "tell", [("row", "gradient", ROW)]),
    "OGDEG.tell": (lambda: asked(cf.OGDEG(D, cf.Ball(1.0), delta=0.1, gamma=0.5, seed=0)), "tell",
                   [("number", "loss", 0.5)]),
}
if sys.platform.startswith("linux"):
    ARM = [(ROW, 1, 0.5), (2 * ROW, 0, 1.0)]
    KEY, KEYS = (None, "key", 1), (None, "keys", [1, 1, 2, 1])
    CALLS |= {
        "Fleet of ridges.learn": (fleet(cf.OnlineRidge, *PAST), "learn",
                                  [KEY, ROW_, ("number", "y", 0.5)]),
        "Fleet of ridges.run": (fleet(cf.OnlineRidge, *PAST), "run",
                                [KEYS, TABLE_, ("column", "y", COLUMN)]),
        "Fleet of arms.learn": (fleet(lambda: cf.ArmBandit(K), *ARM), "learn", [
            KEY, ROW_, ("label", "arm", 1), ("number", "reward", 0.5)]),
        "Fleet of arms.choose": (fleet(lambda: cf.ArmBandit(K), *ARM), "choose", [KEY, ROW_]),
        "Fleet of arms.run": (fleet(lambda: cf.ArmBandit(K), *ARM), "run", [
            KEYS, TABLE_, ("labels", "arm", LABELS), ("column", "y", COLUMN)]),
        "Fleet of bandits.choose": (fleet(cf.LinearBandit, *PAST), "choose", [KEY, TABLE_]),
        "Fleet of filters.learn": (fleet(cf.RidgeFilter, (ROW, True)), "learn",
                                   [KEY, ROW_, ("flag", "relevant", True)]),
        "Fleet of filters.run": (fleet(cf.RidgeFilter, (ROW, True)), "run",
                                 [KEYS, TABLE_, ("flags", "relevant", FLAGS)]),
    }
WITH_NAMES = {  # arguments by name: of each call one more
    "OnlineRidge.run": (regression(cf.OnlineRidge), "run", (TABLE, COLUMN), ("weights", "weight")),
    "LinearBandit.learn": (regression(cf.LinearBandit), "learn", (ROW, 0.5), ("number", "weight")),
    "ArmBandit.learn": (regression(lambda: cf.ArmBandit(K, seed=0), 1), "learn", (ROW, 1, 0.5),
                        ("number", "weight")),
    "LinearBandit.choose": (regression(cf.LinearBandit), "choose", (TABLE,), ("mask", "allowed")),
    "LinearBandit.decide": (regression(cf.LinearBandit), "decide", (TABLE,), ("mask", "allowed")),
    "LinearBandit.probabilities": (regression(cf.LinearBandit), "probabilities", (TABLE,),
                                   ("mask", "allowed")),
    "contextual.choose": (contextual, "choose", (TABLE,), ("context", "context")),
    "contextual.scores": (contextual, "scores", (TABLE,), ("context", "context")),
    "contextual.learn": (contextual, "learn", (ROW, 0.5), ("context", "context")),
    "Full.update": (metric(lambda: cf.metric.Full(D)), "update", (ROW,), ("number", "c")),
    "Full.update_many": (metric(lambda: cf.metric.Full(D)), "update_many", (TABLE,),
                         ("numbers", "c")),
}


def asked(learner):
    learner.ask()
    return learner


def state_of(learner):
    if not isinstance(learner, cf.Fleet):
        return pickle.dumps(learner)
    learner, keys = learner[1], len(learner)  # with generators of their own
    return keys, pickle.dumps(getattr(learner, "weights", learner))


def complaint(call, argument):
    """What is wrong with the way that a call is refused; None: nothing."""
    try:
        call()
    except REFUSALS as error:
        named = re.search(rf"(?<!\w){re.escape(argument)}(?!\w)", str(error))
        return None if named else f"its name is not in {error!r}"
    except Exception as error:
        return repr(error)
    return "accepted"


def complaints(learner, method, kind, argument, call):
    """For each bad value of an argument; `call` puts one in its place."""
    before = state_of(learner)
    for name, value in POOLS[kind]:
        found = complaint(lambda value=value: call(getattr(learner, method), value), argument)
        if found is None and state_of(learner) != before:
            found = "it has changed what was learned"
        if found is not None:
            yield f"{name}: {found}"


PLACES = [pytest.param(call, i, id=f"{call}({argument})")
          for call, (_, _, arguments) in CALLS.items()
          for i, (kind, argument, _) in enumerate(arguments) if kind is not None]


@pytest.mark.parametrize(("call", "place"), PLACES)
def test_what_is_refused(call, place):
    make, method, arguments = CALLS[call]
    good = [value for _, _, value in arguments]
    kind, argument, _ = arguments[place]
    learner = make()
    found = complaints(learner, method, kind, argument, lambda run, value: run(
        *good[:place], value, *good[place + 1:]))
    assert not (found := list(found)), "\n".join(found)
    getattr(learner, method)(*good)


@pytest.mark.parametrize("call", WITH_NAMES)
def test_what_is_refused_by_name(call):
    make, method, args, (kind, argument) = WITH_NAMES[call]
    found = complaints(make(), method, kind, argument,
                       lambda run, value: run(*args, **{argument: value}))
    assert not (found := list(found)), "\n".join(found)


# --- what is taken everywhere -----------------------------------------------------------------


WHOLE = [2, 2.0, np.int8(2), np.uint64(2), np.float32(2.0), np.array(2)]
ONE_BY_ONE = [call for call, (_, _, arguments) in CALLS.items()
              if any(kind == "label" for kind, _, _ in arguments)]
MANY = [call for call, (_, _, arguments) in CALLS.items()
        if any(kind == "labels" for kind, _, _ in arguments)]


def after(call, kind, value):
    """The state of a learner after a call with another label."""
    make, method, arguments = CALLS[call]
    learner = make()
    getattr(learner, method)(*[value if one == kind else good for one, _, good in arguments])
    return state_of(learner)


@pytest.mark.parametrize("call", ONE_BY_ONE)
def test_whole_numbers_of_any_kind_are_labels(call):
    states = [after(call, "label", label) for label in WHOLE]
    assert all(state == states[0] for state in states)


@pytest.mark.parametrize("call", MANY)
def test_columns_of_whole_numbers_of_any_kind_are_labels(call):
    forms = [LABELS, LABELS.tolist(), LABELS.astype(float), LABELS.astype(np.uint8),
             LABELS[:, None], LABELS.astype(np.dtype(np.int16).newbyteorder())]
    states = [after(call, "labels", labels) for labels in forms]
    assert all(state == states[0] for state in states)


def test_flags_are_labels_where_there_are_two():
    flags, numbers = cf.Confidit(2), cf.Confidit(2)
    for x, flag in zip(TABLE, FLAGS, strict=True):
        flags.learn(x, bool(flag), True)
        numbers.learn(x, int(flag), True)
    assert flags.run(TABLE, FLAGS) == numbers.run(TABLE, FLAGS.astype(int))
    assert pickle.dumps(flags) == pickle.dumps(numbers)
    arms = cf.ArmBandit(2)
    with pytest.raises(TypeError, match="arm"):
        arms.learn(ROW, True, 1.0)
