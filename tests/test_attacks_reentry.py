"""Numbers that reach back: turning an argument into a number calls the learner it is given to.

A label whose `__index__` resets the learner, a loss whose `__float__` tells another loss, a row
whose `__array__` adds a class: the call may be refused or have its effect, but what it works on
must be what is there then.
"""

import warnings

import children
import layouts
import numpy as np
import pytest

import coactive_fast as cf
from coactive_fast.learner import _store

REFUSALS = (TypeError, ValueError, RuntimeError)  # a call within a call may be refused as such
ROUNDS = 6


class Reaching:
    """A number, or an array, that does something before it says what it is."""

    def __init__(self, value, back):
        self.value, self.back = value, back

    def now(self):
        back, self.back = self.back, lambda: None
        back()
        return self.value

    def __index__(self):
        return int(self.now())

    def __float__(self):
        return float(self.now())

    def __array__(self, dtype=None, copy=None):
        return np.array(self.now(), dtype=dtype)

    def __len__(self):
        return len(self.value)

    def __getitem__(self, i):
        return np.asarray(self.now())[i]

    def __iter__(self):
        return iter(np.asarray(self.now()).tolist())


class Column:
    """An index, of many, that reaches back."""

    def __init__(self, value, back):
        self.value, self.back = value, back

    def __index__(self):
        self.back()
        return int(self.value)


def ways_back(layout, learner):
    """What reaching back does; the later calls find the learner changed."""
    def more():
        layouts.taught(layout, 40, learner, first=100)  # far more than there was room for

    yield "reset", learner.reset
    yield "learn", more
    yield "reset and learn", lambda: (learner.reset(), more())
    yield "reset and learn wider rows", lambda: (learner.reset(), wider(learner))
    if hasattr(learner, "add_class"):
        yield "add_class", lambda: [learner.add_class() for _ in range(40)]
    if "seed" in learner.get_params():
        yield "seed", lambda: learner.set_params(seed=99)


def wider(learner):
    """Rows of other widths: whatever had room for the old ones has not."""
    x = np.linspace(1.0, 2.0, 300)
    if hasattr(learner, "n_classes"):
        told = (0, True) if isinstance(learner, (cf.Confidit, cf.Banditron, cf.Newtron)) else (0,)
        learner.run(x[None], [0]) if learner.max_features else learner.learn(x, *told)
    elif isinstance(learner, cf.ArmBandit):
        learner.learn(x, 0, 0.5)
    elif isinstance(learner, cf.LinearBandit):
        p = learner.context_features
        learner.learn(x[:learner.max_features], 0.5, **({"context": np.ones(p)} if p else {}))
    elif isinstance(learner, cf.OnlineRidge):
        learner.learn(x[:learner.max_features], 0.5)
    elif hasattr(learner, "margin"):
        learner.learn(x, True)
    elif hasattr(learner, "task") and isinstance(learner.task, cf.Ranking):
        shown = learner.present(np.array([x, -x]))
        if isinstance(learner, (cf.PDGD, cf.PairwisePerceptron)):
            learner.learn_clicks(np.array([x, -x]), shown, [1])
        else:
            learner.learn(np.array([x, -x]), shown, [1, 0])


def calls_of_classes(learner, wrap):
    x = layouts.ROWS[0]
    d = (learner.weights.shape[1] if hasattr(learner, "weights") else 0) or layouts.D
    x = np.resize(x, d)
    right = (True,) if isinstance(learner, (cf.Confidit, cf.Banditron, cf.Newtron)) else ()
    yield "label", lambda: learner.learn(x, wrap(1), *right)
    yield "last label", lambda: learner.learn(x, wrap(learner.n_classes - 1), *right)
    many = (2_000 if right else 20_000) // d  # far behind what there is after a reset
    yield "one of many labels", lambda: (
        [learner.add_class() for _ in range(many)],
        learner.learn(x, wrap(learner.n_classes - 1), *right))
    yield "row", lambda: learner.learn(wrap(x), 1, *right)
    yield "row of choose", lambda: learner.choose(wrap(x))
    yield "rows", lambda: learner.predict(wrap(x[None]))
    yield "labels", lambda: learner.run(x[None], wrap([1]))
    yield "epochs", lambda: learner.run(x[None], [1], epochs=wrap(2))
    yield "class", lambda: learner.inverse(wrap(1)) if hasattr(learner, "inverse") else None


def calls_of_filters(learner, wrap):
    x = layouts.ROWS[0]
    yield "row", lambda: learner.learn(wrap(x), True)
    yield "row of forward", lambda: learner.forward(wrap(x))
    yield "row of margin", lambda: learner.margin(wrap(x))
    if hasattr(learner, "margins"):
        yield "row of probability", lambda: learner.probability(wrap(x))
        yield "rows of margins", lambda: learner.margins(wrap(x[None]))
        yield "how many", lambda: learner.select(x[None], wrap(1))
    yield "rows", lambda: learner.run(wrap(x[None]), [True])
    yield "relevant", lambda: learner.run(x[None], wrap([True]))
    yield "true rule", lambda: learner.run(x[None], [True], u=wrap(x))


def calls_of_rankings(learner, wrap):
    x = layouts.documents(2)
    first = list(range(len(x)))
    yield "documents", lambda: learner.present(wrap(x))
    yield "k", lambda: learner.present(x, k=wrap(2))
    yield "presented", lambda: learner.learn(x, wrap(first), first[::-1])
    yield "better", lambda: learner.learn(x, learner.present(x), wrap(first[::-1]))
    yield "documents of learn", lambda: learner.learn(wrap(x), learner.present(x), first)
    yield "documents of scores", lambda: learner.scores(wrap(x))
    yield "delta", lambda: learner.update(wrap(np.ones(6)))
    yield "shown", lambda: clicks(learner, x, lambda y: (x, wrap(y.tolist()), first[1:]))
    yield "clicked", lambda: clicks(learner, x, lambda y: (x, y, wrap(first[1:])))
    yield "documents of clicks", lambda: clicks(learner, x, lambda y: (wrap(x), y, first[1:]))


def clicks(learner, x, arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of learners that believe clicks
        learner.learn_clicks(*arguments(learner.present(x)))


def calls_of_items(learner, wrap):
    left = [0, 3, 5, 7]
    yield "candidates", lambda: learner.present(wrap(left))
    yield "item presented", lambda: learner.learn(left, wrap(3), 5)
    yield "better item", lambda: learner.learn(left, learner.present(left), wrap(5))
    yield "candidates of scores", lambda: learner.scores(wrap(left))
    yield "delta", lambda: learner.update(wrap(np.ones(6)))


def calls_of_losses(learner, wrap):
    losses = cf.losses.Squared(np.eye(3), np.ones(3))
    if isinstance(learner, (cf.ONS, cf.OGD)):
        yield "gradient", lambda: learner.tell(wrap([0.1, 0.2, 0.3]))
    else:
        yield "loss", lambda: (learner.ask(), learner.tell(wrap(0.25)))
        yield "losses", lambda: (learner.ask_pair(), learner.tell_pair(0.25, wrap(0.5)))
    yield "rounds", lambda: learner.run(losses, wrap(3))
    yield "own losses", lambda: learner.run(Own(wrap), 2)


class Own:
    def __init__(self, wrap):
        self.wrap = wrap

    def value(self, t, x):
        return self.wrap(0.25)

    def gradient(self, t, x):
        return self.wrap(np.ones(3))


def calls_of_rewards(learner, wrap):
    x, arms = layouts.ROWS[0], isinstance(learner, cf.ArmBandit)
    where = (1,) if arms else ()
    words = {}
    if getattr(learner, "context_features", 0):
        words = {"context": np.ones(learner.context_features)}
        yield "context", lambda: learner.learn(x, 0.5, context=wrap(words["context"]))
    yield "row", lambda: learner.learn(wrap(x), *where, 0.5, **words)
    yield "reward", lambda: learner.learn(x, *where, wrap(0.5), **words)
    yield "weight", lambda: learner.learn(x, *where, 0.5, weight=wrap(0.5), **words)
    yield "f", lambda: learner.decay(wrap(0.5))
    if isinstance(learner, cf.OnlineRidge):
        yield "rows", lambda: learner.predict(wrap(x[None]))
        yield "rows of run", lambda: learner.run(wrap(x[None]), [0.5])
        yield "targets", lambda: learner.run(x[None], wrap([0.5]))
        return
    rows, mask = (x if arms else layouts.ROWS[:2]), np.ones(getattr(learner, "n_arms", 2), bool)
    yield "actions", lambda: learner.choose(wrap(rows), **words)
    yield "allowed", lambda: learner.choose(rows, allowed=wrap(mask), **words)
    yield "k", lambda: learner.choose(rows, k=wrap(2), **words)
    yield "actions of scores", lambda: learner.scores(wrap(rows), **words)
    yield "actions of decide", lambda: learner.decide(wrap(rows), **words)
    yield "late reward", lambda: learner.reward(learner.decide(rows, **words).id, wrap(0.5))
    yield "id of a reward", lambda: learner.reward(wrap(learner.decide(rows, **words).id), 0.5)
    yield "id", lambda: learner.drop(wrap(learner.decide(rows, **words).id))
    if arms:
        yield "arm", lambda: learner.learn(x, wrap(1), 0.5)


CALLS = {"multiclass": calls_of_classes, "filtering": calls_of_filters, "convex": calls_of_losses,
         "rewards": calls_of_rewards}


def calls_of(learner, wrap):
    family = _store.family_of(type(learner))
    if family == "coactive":
        ranks = isinstance(learner.task, cf.Ranking)
        return dict((calls_of_rankings if ranks else calls_of_items)(learner, wrap))
    return dict(CALLS[family](learner, wrap))


def arguments_reach_back(name):
    layout = layouts.BY_NAME[name]
    learner = layout.make()
    for way in dict(ways_back(layout, learner)):
        for rounds in (0, ROUNDS):
            for call in calls_of(layouts.taught(layout, 1), None):
                one_call(layout, way, call, rounds)


def one_call(layout, way, call, rounds):
    for form in (Reaching, Column):
        learner = layouts.taught(layout, rounds)
        back = dict(ways_back(layout, learner))[way]

        def wrap(value, form=form, back=back):
            if form is Column and isinstance(value, list):
                return [Column(v, back) for v in value]
            return form(value, guarded(back))

        attempted(calls_of(learner, wrap)[call])
        learner.reset()  # whatever happened, it can be taught like a new one
        fresh = layouts.taught(layout, 3)
        if hasattr(learner, "n_classes") and learner.n_classes != fresh.n_classes:
            continue
        if way != "seed":
            np.testing.assert_equal(layout.read(layouts.taught(layout, 3, learner)),
                                    layout.read(fresh), err_msg=f"{way}, {call}")


def guarded(back):
    return lambda: attempted(back)


def attempted(call):
    try:
        call()
    except REFUSALS as error:
        assert str(error)


@children.forks
@pytest.mark.parametrize("name", [layout.name for layout in layouts.LEARNERS
                                  if not layout.solver])
def test_arguments_that_reach_back(name):
    children.run(arguments_reach_back, name)


def metrics_reach_back(name):
    layout = layouts.BY_NAME[name]
    x = layouts.ROWS[0]
    for argument in ("c", "row", "weights"):
        m = layouts.taught(layout, ROUNDS)

        def back(m=m):
            attempted(lambda: layouts.taught(layout, 40, m))

        calls = {"c": lambda m=m, back=back: m.update(x, c=Reaching(1.0, back)),
                 "row": lambda m=m, back=back: m.update(Reaching(x, back)),
                 "weights": lambda m=m, back=back: m.update_many(x[None], c=Reaching([1.0], back))}
        if hasattr(m, "update_many") or argument != "weights":
            attempted(calls[argument])
        assert np.isfinite(m.quad(x)) and m.updates >= ROUNDS


@children.forks
@pytest.mark.parametrize("name", [layout.name for layout in layouts.METRICS])
def test_arguments_of_metrics_that_reach_back(name):
    children.run(metrics_reach_back, name)
