"""Learners by the names that are typed: classes in kebab case, parameters as ``name=value``."""

import inspect
import json
import re
from difflib import get_close_matches

from coactive_fast.learner import _store

from . import Trouble

NOT_TYPED = {  # what cannot be made, or used, from words alone, and why
    "AppleTasting": "it is made of another learner",
    "ArmBandit": "it learns from rewards, as `replay` reads them from a log",
    "CustomPreferencePerceptron": "its rule is code of your own",
    "LinearBandit": "it learns from rewards, as `replay` reads them from a log; or, with --by, a "
                    "model for each key",
    "OnlineRidge": "it learns a model for each key, with --by",
    "RankingSVM": "it keeps every pair it is shown",
}
FAMILIES = {"coactive": "ranking", "multiclass": "multiclass", "filtering": "filtering",
            "convex": "convex"}  # by the folders of the package
COMMAND = {"ranking": "rank", "multiclass": "choose", "filtering": "forward"}


def kebab(name):
    """PreferencePerceptron: preference-perceptron; MulticlassAROW: multiclass-arow."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


CLASSES = {kebab(name): cls for name, cls in _store.learners().items()
           if _store.family_of(cls) in FAMILIES and name not in NOT_TYPED}


def class_of(name):
    """The class of a name in kebab case; that of the class itself will do."""
    plain = kebab(name)
    for other, why in NOT_TYPED.items():
        if plain == kebab(other):
            raise Trouble(f"{plain} cannot be used here: {why}")
    if plain not in CLASSES:
        near = get_close_matches(plain, CLASSES, n=3, cutoff=0.4)
        raise Trouble(f"there is no learner {name!r}; {'perhaps' if near else 'one of'} "
                      f"{', '.join(near or CLASSES)}")
    return CLASSES[plain]


def family_of(cls):
    """What a learner is for."""
    if cls not in CLASSES.values():
        raise Trouble(f"a {cls.__name__} cannot be used here")
    return FAMILIES[_store.family_of(cls)]


def parameters(cls, given):
    """``["eta=0.1", "covariance=full"]`` as a dict; names are those of the constructor."""
    known = inspect.signature(cls).parameters
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise Trouble(f"--set {text}: expected name=value")
        if name not in known:
            raise Trouble(f"--set {text}: {kebab(cls.__name__)} has {', '.join(known)}")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = {"None": None, "True": True, "False": False}.get(value, value)
    return found


def build(cls, given):
    """An instance; what the constructor refuses is trouble."""
    try:
        return cls(**given)
    except (TypeError, ValueError) as error:
        raise Trouble(f"{kebab(cls.__name__)}: {error} (set parameters by --set name=value)") \
            from error
