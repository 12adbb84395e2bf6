"""The one list of all learners, and what hangs on it: files, commands, adapters, tests."""

import copy
import doctest
import inspect
import json
import pickle
import re

import layouts
import pytest
from learner_cases import CASES

import coactive_fast as cf
from coactive_fast.commands import _learners as typed
from coactive_fast.learner import Learner, _file, _store

NAMES = list(_store.learners())


def exported():
    """The learners among what the package shows."""
    shown = {name: getattr(cf, name) for name in cf.__all__}
    return {name: one for name, one in shown.items()
            if inspect.isclass(one) and issubclass(one, Learner)}


def all_below(cls):
    return {cls, *(each for below in cls.__subclasses__() for each in all_below(below))}


def test_it_holds_what_the_package_exports():
    assert _store.learners() == exported()
    assert len(NAMES) > 20


def test_families():
    found = {name: _store.family_of(cls) for name, cls in _store.learners().items()}
    families = set(found.values())
    assert {"coactive", "multiclass", "filtering", "convex"} <= families
    assert None not in families
    for family in families:
        assert _store.learners(family) == {
            name: cls for name, cls in _store.learners().items() if found[name] == family}
    assert _store.learners("metric") == {} and _store.family_of(dict) is None
    assert _store.family_of(type("Mine", (cf.Confidit,), {})) == "multiclass"


@pytest.mark.parametrize("name", NAMES)
def test_every_learner_names_its_papers_and_its_neighbours(name):
    """Authors, title and year; what one would take in its place."""
    text = inspect.getdoc(_store.learners()[name])
    sections = dict(re.findall(r"^(See Also|References)\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)", text,
                               re.MULTILINE | re.DOTALL))
    assert re.search(r"[A-Z]\. [A-Z]\w+.*\. .*\b(19|20)\d\d", sections["References"], re.DOTALL)
    others = re.findall(r"^(\w+) : .+\.$", sections["See Also"], re.MULTILINE)
    assert others and all(hasattr(cf, other) and other != name for other in others)


def test_every_learner_has_a_layout():
    assert {type(layout.make()).__name__ for layout in layouts.LEARNERS} == set(NAMES)


def test_the_other_cases_are_of_learners():
    assert {type(case.make()).__name__ for case in CASES} <= set(NAMES)


def test_commands_offer_all_that_can_be_typed():
    offered = {cls.__name__ for cls in typed.CLASSES.values()}
    assert offered | set(typed.NOT_TYPED) == set(NAMES)
    assert not offered & set(typed.NOT_TYPED)
    with pytest.raises(typed.Trouble, match="apple-tasting cannot be used here: it is made of"):
        typed.class_of("AppleTasting")


@pytest.mark.parametrize("name", NAMES)
def test_examples_in_the_docstring(name):
    doc = inspect.getdoc(_store.learners()[name])
    test = doctest.DocTestParser().get_doctest(doc, {}, name, None, 0)
    assert test.examples
    report = []
    failed, _ = doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert failed == 0, "".join(report)


# --- files ------------------------------------------------------------------------------------

BASES = sorted({cls.__name__ for cls in all_below(Learner)} - set(NAMES))


@pytest.mark.parametrize("name", [*BASES, "Learner", "object", "", ["Confidit"], None, 3])
def test_a_file_that_names_no_learner_is_refused(name, tmp_path):
    path = tmp_path / "learner.cf"
    cf.Confidit(2).save(path)
    head, arrays = _file.read(path)
    head["learner"]["@learner"] = name
    _file.write(path, head, arrays)
    with pytest.raises(ValueError, match=r"learner\.cf"):
        cf.load(path)


def test_the_bases_are_some_of_those_refused():
    assert {"CoactiveLearner", "MulticlassLearner", "Filter", "ConvexLearner", "BanditLearner",
            "GradientLearner"} <= set(BASES)


def test_the_name_is_in_the_message(tmp_path):
    path = tmp_path / "learner.cf"
    cf.RidgeFilter().save(path)
    head, arrays = _file.read(path)
    head["learner"]["@learner"] = "Filter"
    _file.write(path, head, arrays)
    with pytest.raises(ValueError, match="'Filter' is no learner of this version"):
        cf.load(path)
    assert "learner" in json.dumps(head)


# --- what users derive --------------------------------------------------------------------------


class Narrow(cf.MulticlassPerceptron):
    """A learner of one's own, with an `__init__` of its own."""

    def __init__(self, n_classes):
        self._begin(n_classes=n_classes)

    def _build(self, parameters):
        return super()._build({**parameters, "max_features": 2})


class Confidit(cf.Confidit):
    """One that has the name of another."""


@pytest.mark.parametrize("kind", [Narrow, Confidit], ids=["own", "same name"])
def test_a_learner_of_ones_own(kind, tmp_path):
    learner = kind(3)
    learner.run([[1.0, 0.0]], [2])
    for other in (copy.copy(learner), copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))):
        assert type(other) is kind and other.rounds == 1
        assert other.weights.tobytes() == learner.weights.tobytes()
    assert type(learner.clone()) is kind and learner.clone().rounds == 0
    with pytest.raises(ValueError, match=f"{kind.__name__} cannot be saved"):
        learner.save(tmp_path / "learner.cf")
    assert _store.learners() == exported()  # it did not take the place of the other


def test_load_says_what_the_file_must_hold(tmp_path):
    path = tmp_path / "learner.cf"
    cf.Confidit(3).save(path)
    for kind in (cf.Confidit, type(cf.Confidit(3)).__mro__[1], object, None):
        assert type(cf.load(path, kind=kind)) is cf.Confidit
    with pytest.raises(ValueError, match="kind is Banditron, and the file holds a Confidit"):
        cf.load(path, kind=cf.Banditron)
    for wrong in ("Confidit", cf.Confidit(3), (cf.Confidit, cf.Banditron)):
        with pytest.raises(TypeError, match="kind must be a class"):
            cf.load(path, kind=wrong)
