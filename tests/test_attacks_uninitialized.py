"""Objects whose `__init__` was not called: by ``Cls.__new__(Cls)``, or in a subclass that forgets
``super().__init__()``.

Everything that such an object is asked is a RuntimeError that names the class and `__init__`. Each
class is tried in a process of its own, where a crash is a failure as well.
"""

import contextlib
import copy
import dataclasses
import inspect
import pickle
import sys
from functools import partial
from types import SimpleNamespace

import children
import numpy as np
import public_names
import pytest

import coactive_fast as cf

PATH = "never-written.cf"
ORDER = np.array([1, 0])
QUERY = SimpleNamespace(features=[[0.0], [1.0]], relevance=[0, 1])
ITEMS = SimpleNamespace(candidates=[0, 1], utilities=[0.0, 1.0], ratings=[0, 1])

# By the names of parameters, in a method of a class or in all others.
ARGUMENTS = {
    "path": PATH, "x": [1.0], "X": [[1.0], [2.0]], "y": [0, 1], "relevant": True, "arm": 0,
    "reward": 1.0, "f": 0.5, "id": 0, "r": 1.0, "dimension": 2, "gamma": 0.5, "z": [1.0, 2.0],
    "Ainv": np.eye(2), "rng": np.random.default_rng(0), "label": 0, "correct": True,
    "rows": [[1.0]], "indices": [0],
    "i": 0, "better": ORDER, "shown": ORDER, "clicked": [1], "delta": [1.0], "rounds": 1,
    "loss": 1.0, "plus": 1.0, "minus": 0.0, "key": 1, "keys": [1, 2], "x_first": [1.0],
    "x_second": [2.0], "first_won": True, "gradient": [1.0], "k": 1, "w": [1.0], "queries": [0],
    "alpha": 0.5, "t": 0, "size": 1, "query": QUERY, "presented": ORDER, "decisions": [0],
    "rewards": [1.0], "contexts": [[1.0]], "tasks": [], "sets": None, "c": 1.0,
}
OF_METHODS = {
    **{f"{name}.learn": {"y": 1} for name in (
        "MulticlassAROW", "MulticlassPerceptron", "MulticlassSecondOrderPerceptron",
        "OnlineRidge")},
    **{f"{name}.{method}": {"x": [[1.0], [2.0]], "y": ORDER}
       for name in ("PreferencePerceptron", "ConvexPreferencePerceptron", "RankingSVM", "PDGD",
                    "CustomPreferencePerceptron", "ExponentiatedPreferencePerceptron",
                    "SecondOrderPreferencePerceptron", "DuelingBandit", "PairwisePerceptron",
                    "Ranking")
       for method in ("learn", "learn_clicks", "present", "present_pair", "features", "argmax")},
    **{f"{name}.run": {"losses": cf.losses.Squared([[1.0]], [1.0])}
       for name in ("OGD", "ONS", "OGDEG", "ONSEG", "DikinFTRL")},
    **{f"{name}.respond": {"query": ITEMS, "presented": 0}
       for name in ("Best", "Better", "OneHigher")},
    **{f"{name}.{method}": {"x": [1.0, 2.0]} for name in ("Ball", "Box", "L1Ball")
       for method in ("contains", "project")},
    "LinearBandit.scores": {"X": [[1.0]]},
    "MAB.add_arm": {"arm": "b"},
}
# Calls of special methods, where the class has one of this package's.
SPECIAL = {
    "__repr__": repr, "__len__": len, "__dir__": dir, "__iter__": list,
    "__getitem__": lambda it: it[0:1], "__setitem__": lambda it: it.__setitem__(0, None),
    "__delitem__": lambda it: it.__delitem__(0), "__contains__": lambda it: 0 in it,
    "__enter__": lambda it: it.__enter__(), "__exit__": lambda it: it.__exit__(None, None, None),
    "__eq__": lambda it: it == type(it).__new__(type(it)), "__hash__": hash, "__str__": str,
    "__copy__": copy.copy, "__deepcopy__": copy.deepcopy, "__reduce__": pickle.dumps,
    "__sklearn_clone__": lambda it: it.__sklearn_clone__(),
}
ALWAYS = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": pickle.dumps}
OTHERWISE = {"__init__", "__new__", "__init_subclass__", "__getattr__", "__setattr__",
             "__delattr__", "__post_init__", "__reduce_ex__"}  # not called here by these names

# Whole classes that are left out, and why.
FOREIGN = "its parameters are those of another framework, whose own classes answer AttributeError"
TWIN = "pure Python, where Python itself says what is missing"
NO_STATE = "an object has no state that __init__ could make"
VALUE = "a tuple or a dataclass whose __init__ is made for it"


def left_out(name, cls):
    if name.startswith("coactive_fast.reference."):
        return TWIN
    if name.startswith(("coactive_fast.adapters.river.", "coactive_fast.adapters.sklearn.")):
        return FOREIGN
    if cls in (cf.FeasibleSet, cf.Simplex) or name.endswith((".LearningPolicy", ".History")):
        return NO_STATE
    if issubclass(cls, tuple) or name.startswith("coactive_fast.testing.") and name.endswith(
            (".Ratio", ".Contender", ".Timing")) or name == "coactive_fast.logs.Evaluation":
        return VALUE
    return None


# What may have an answer of an object that is not initialized, and why.
ANSWERS = {
    "last_history": "None by the class until there was a run",
    "classifies": "a constant of some classes",
    "rankings": "a constant of the class", "items": "a constant of the class",
    "left_out": "empty by the class where nothing was left out",
    "scaling": "None by the class where there is none",
    "__enter__": "the object itself",
}
OF_CLASSES = {
    # What a metric is was never asked of its lock, which the hot calls ask: plain numbers.
    "Full": {"n", "ridge", "precision", "__repr__"},
    "Diagonal": {"n", "ridge", "__repr__"},
    "Dual": {"kernel", "kernel_params", "ridge", "window", "budget", "tolerance", "__len__",
             "__repr__"},
    "Items": {"copy", "deepcopy", "__copy__", "__deepcopy__"},  # itself, which never changes
    # what does not depend on the radius or the bounds, nor on k
    "Ranking": {"argmax"},
    "Ball": {"center", "affine_dimension", "direction"},
    "L1Ball": {"center", "affine_dimension", "direction"},
    "Box": {"affine_dimension", "direction"},
    **{name: {"__repr__"} for name in ("Best", "Better", "OneHigher")},  # it has nothing to show
}
# Of a history also the fields that may be None, and what is derived from them.
DERIVED = {"cumulative_regret", "error_rate", "slack"}
# Calls that a class refuses in all its objects.
REFUSED = {"DuelingBandit.update", "PDGD.learn", "Fleet.__reduce__", "Fleet.copy",
           "Fleet.deepcopy", "Fleet.pickle", "Catalogue.__reduce__", "Catalogue.copy",
           "Catalogue.deepcopy", "Catalogue.pickle"}

CLASSES = {name: cls for name, cls in public_names.objects().items() if inspect.isclass(cls)}
TRIED = [name for name, cls in CLASSES.items() if left_out(name, cls) is None]


def forgetful(cls):
    """An object of a subclass that forgets its base."""
    return type("Forgetful", (cls,), {"__init__": lambda self: None, "__module__": __name__})()


MADE = {"new": lambda cls: cls.__new__(cls), "forgetful": forgetful}


def calls_of(cls, others=False):
    """``{name: call of an object}`` for everything public."""
    found = dict(ALWAYS)
    for name, member in public_names.members(cls).items():
        static = inspect.getattr_static(cls, name)
        if inspect.isclass(member) or isinstance(static, (classmethod, staticmethod)):
            continue
        if inspect.isroutine(member):
            found[name] = partial(called, name, arguments_of(cls, name, member, others))
        else:
            found[name] = partial(read, name)
    for base in cls.__mro__:
        if base.__module__.split(".")[0] == "coactive_fast":
            for name in vars(base):
                if name in SPECIAL and vars(base)[name] is not None:
                    found[name] = SPECIAL[name]
                elif name.startswith("__") and inspect.isroutine(vars(base)[name]):
                    assert others or name in OTHERWISE, f"{name} is to be tried"
    for name in (n for base in cls.__mro__ for n in base.__dict__.get("__annotations__", {})):
        if not name.startswith("_"):
            found[name] = partial(read, name)
    return found


def arguments_of(cls, name, method, others):
    """What a method wants, by the names of its parameters."""
    own = OF_METHODS.get(f"{cls.__name__}.{name}", {})
    given = []
    if name == "set_params":
        return {"eta": 1.0}
    if name == "plot":
        return {"ax": SimpleNamespace(plot=None)}
    for parameter in list(inspect.signature(method).parameters.values())[1:]:
        if parameter.kind is parameter.VAR_POSITIONAL:
            given.append([1.0, 2.0])
        elif parameter.name == "other":
            given.append(None)
        elif parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD:
            given.append(own.get(parameter.name, ARGUMENTS.get(parameter.name)))
            assert others or given[-1] is not None or parameter.name == "sets", parameter.name
    return given


def called(name, arguments, thing):
    if name == "merge":
        arguments = [thing]
    if isinstance(arguments, dict):
        return getattr(thing, name)(**arguments)
    answer = getattr(thing, name)(*arguments)
    return list(answer) if inspect.isgenerator(answer) else answer


def read(name, thing):
    return getattr(thing, name)


def answers_of(cls):
    optional = {field.name for field in dataclasses.fields(cls) if field.default is None} if (
        issubclass(cls, cf.learner.History)) else set()
    return {*ANSWERS, *OF_CLASSES.get(cls.__name__, ()), *optional, *(DERIVED if optional else ())}


def every_call_is_refused(name, way):
    sys.modules["pandas"] = SimpleNamespace(RangeIndex=None)  # it is not needed for that
    cls, wrong = CLASSES[name], []
    answers = answers_of(cls)
    for what, call in calls_of(cls).items():
        thing = MADE[way](cls)
        expected = type(thing).__name__
        try:
            answer = call(thing)
        except RuntimeError as error:
            if expected not in str(error) or "__init__" not in str(error):
                wrong.append(f"{what}: {error}")
        except BaseException as error:
            if f"{cls.__name__}.{what}" not in REFUSED and what not in answers:
                wrong.append(f"{what}: {type(error).__name__}: {error}")
        else:
            if what not in answers:
                wrong.append(f"{what}: an answer, of {type(answer)}")
    assert not wrong, "\n".join(wrong)


def nothing_crashes(names, way):
    """Of classes that are left out: Python's own errors are all right."""
    for cls in map(CLASSES.get, names):
        if issubclass(cls, tuple) or inspect.isabstract(cls):
            continue
        for call in calls_of(cls, others=True).values():
            with contextlib.suppress(Exception):
                call(MADE[way](cls))


@children.forks
@pytest.mark.parametrize("way", MADE)
@pytest.mark.parametrize("name", TRIED)
def test_what_is_not_initialized_says_so(name, way):
    children.run(every_call_is_refused, name, way)


@children.forks
@pytest.mark.parametrize("way", MADE)
@pytest.mark.parametrize("family", ["adapters", "reference"])
def test_what_others_say_is_no_crash(family, way):
    names = [name for name in CLASSES if name.startswith(f"coactive_fast.{family}.")]
    assert names
    children.run(nothing_crashes, names, way, seconds=120.0)


def refused_as_arguments():
    """An object that is not initialized, given to another one."""
    def bare(cls):
        return cls.__new__(cls)

    bandit, losses = cf.LinearBandit(), cf.losses.Squared([[1.0]], [1.0])
    data = cf.data.RankingData([[1.0], [2.0]], [0, 1], [0, 2])
    user, learner = cf.users.NoisyDepth(2), cf.PreferencePerceptron(cf.Ranking())
    log = cf.logs.BanditLog([[1.0], [2.0]], [0, 2], [1], [0.5], [0.5])
    calls = {
        "Catalogue": [lambda it: bandit.choose(it), lambda it: bandit.scores(it),
                      lambda it: bandit.decide(it)],
        "LinearBandit": [lambda it: bandit.merge(it), lambda it: cf.Fleet(None, it, 4),
                         lambda it: cf.simulate_bandit(it, ([[1.0]], [[1.0]])),
                         lambda it: cf.logs.replay(it, log)],
        "OnlineRidge": [lambda it: cf.Fleet(None, cf.OnlineRidge(), 4).__setitem__(1, it),
                        lambda it: cf.Fleet(None, cf.OnlineRidge(), 4, prior=it)],
        "RidgeFilter": [lambda it: cf.AppleTasting(it, 0.5)],
        "Ranking": [lambda it: cf.simulate(cf.PreferencePerceptron(it), data, user)],
        "Items": [lambda it: cf.PreferencePerceptron(it)],
        "Ball": [lambda it: cf.OGD(2, it, 1.0)],
        "LinearRewards": [lambda it: cf.simulate_bandit(bandit, it, rounds=1)],
        "RewardTable": [lambda it: cf.simulate_bandit(bandit, it)],
        "losses.Squared": [lambda it: cf.OGD(1, cf.Ball(1.0), 1.0).run(it, 1)],
        "data.RankingData": [lambda it: cf.simulate(learner, it, user)],
        "users.NoisyDepth": [lambda it: cf.simulate(learner, data, it)],
        "users.Clicks": [lambda it: cf.simulate(learner, data, it)],
        "logs.BanditLog": [lambda it: cf.logs.replay(bandit, it),
                           lambda it: cf.logs.evaluate([0.5], it)],
        "metric.Full": [lambda it: cf.metric.Full(1).merge(it)],
        "metric.Diagonal": [lambda it: cf.metric.Diagonal(1).merge(it)],
        "PreferencePerceptron": [lambda it: cf.simulate(it, data, user)],
    }
    assert losses.dimension == 1
    for name, these in calls.items():
        cls = CLASSES[f"coactive_fast.{name}"]
        for i, call in enumerate(these):
            try:
                call(bare(cls))
            except RuntimeError as error:
                assert cls.__name__ in str(error) and "__init__" in str(error), (name, i)
            else:
                raise AssertionError((name, i))


@children.forks
def test_what_is_not_initialized_is_refused_as_an_argument():
    children.run(refused_as_arguments)
