"""Histories: what they hold, how they are compared, shown, tabled and drawn."""

import copy
import dataclasses
import io
import pickle
import sys

import numpy as np
import pytest
from state_files import python

from coactive_fast.learner import _history
from coactive_fast.learner._history import CoactiveHistory, History

NAN = np.nan


@_history.record
class Other(History):
    """Another family's, with fields of other kinds, and a number for the whole run."""

    mistakes: np.ndarray = _history.column(bool)
    choices: np.ndarray = _history.column(np.intp)

    _derived = ("total",)
    _scalars = ("share",)
    _curve = "total"

    @property
    def total(self):
        return np.cumsum(self.mistakes)

    @property
    def share(self):
        return float(np.mean(self.mistakes)) if len(self) else 0.0


def rankings():
    return CoactiveHistory(regret=[3.0, 1.0, 0.5], utility=[0.0, 2.0, 3.0],
                           optimal_utility=[3.0, 3.0, 3.5])


def items():
    """Two users, of whom one ends after two rounds and the other after three of four."""
    per_user = np.array([[2.0, 1.0, NAN, NAN], [4.0, 3.0, 5.0, NAN]])
    mean = _history.mean_over_users(per_user)
    return CoactiveHistory(mean, -mean, np.zeros(4) * mean, per_user)


def other():
    return Other(mistakes=[True, False, True], choices=[2, 0, 1])


EVERY = pytest.mark.parametrize("make", [rankings, items, other])


# --- fields ---------------------------------------------------------------------------------


def test_fields():
    h = rankings()
    assert [a.dtype for a in h.to_dict().values()] == [np.dtype(np.float64)] * 3
    assert h.regret.tolist() == [3.0, 1.0, 0.5]
    assert h.regret_per_user is None
    assert len(h) == 3
    assert [f.name for f in dataclasses.fields(h)] == [
        "regret", "utility", "optimal_utility", "regret_per_user", "feedback_utility",
        "gain_per_user", "held_out", "held_out_rounds"]
    assert other().mistakes.dtype == bool and other().choices.dtype == np.intp


def test_averages(rng):
    assert rankings().cumulative_regret.tolist() == [3.0, 4.0, 4.5]
    assert rankings().average_regret.tolist() == [3.0, 2.0, 1.5]
    regret = rng.random(500)
    h = CoactiveHistory(regret, regret, regret)
    for t in (1, 2, 77, 500):
        assert h.cumulative_regret[t - 1] == pytest.approx(sum(regret[:t]), rel=1e-13)
        assert h.average_regret[t - 1] == pytest.approx(np.mean(regret[:t]), rel=1e-13)


def test_items():
    h = items()
    assert len(h) == 4
    np.testing.assert_array_equal(h.regret, [3.0, 2.0, 5.0, NAN])
    np.testing.assert_array_equal(h.cumulative_regret, [3.0, 5.0, 10.0, NAN])
    np.testing.assert_array_equal(h.average_regret, [3.0, 2.5, 10.0 / 3.0, NAN])


@pytest.mark.parametrize("values, mean", [
    ([[1.0, 2.0]], [1.0, 2.0]), ([[NAN, NAN]], [NAN, NAN]), (np.empty((0, 2)), [NAN, NAN]),
    (np.empty((3, 0)), []), ([[1.0, NAN], [2.0, NAN], [6.0, -4.0]], [3.0, -4.0]),
])
def test_mean_over_users(values, mean):
    values = np.array(values)
    before = values.copy()
    np.testing.assert_array_equal(_history.mean_over_users(values), mean)
    np.testing.assert_array_equal(values, before)


def test_no_rounds():
    h = CoactiveHistory([], [], [], np.empty((2, 0)))
    assert len(h) == 0
    assert h.average_regret.shape == h.cumulative_regret.shape == (0,)
    assert repr(h) == "<CoactiveHistory of 0 rounds>"
    assert repr(Other([], [])) == "<Other of 0 rounds: share=0>"


def test_right_arrays_are_not_copied():
    regret = np.arange(3.0)
    assert CoactiveHistory(regret, regret, regret).regret is regret


@EVERY
def test_frozen(make):
    h = make()
    name = dataclasses.fields(h)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(h, name, np.zeros(3))


@pytest.mark.parametrize("fields, error, match", [
    ({"utility": [1.0, 2.0]}, ValueError, "utility must have 3 rounds, got 2"),
    ({"regret_per_user": np.zeros((2, 4))}, ValueError, "per_user must have 3 rounds, got 4"),
    ({"regret_per_user": np.zeros(3)}, ValueError, "regret_per_user must have 2 dimensions"),
    ({"utility": np.zeros((3, 3))}, ValueError, "utility must have 1 dimension, got"),
    ({"regret": 1.0}, ValueError, "regret must have 1 dimension, got"),
    ({"regret": None}, (TypeError, ValueError), "regret must"),
    ({"regret": ["a", "b", "c"]}, TypeError, "regret must be an array of float64"),
    ({"regret": [[1.0], [2.0, 3.0]]}, TypeError, "regret must be an array of float64"),
    ({"regret": [1j, 0, 0]}, TypeError, "regret must be an array of float64"),
])
def test_refused_fields(fields, error, match):
    with pytest.raises(error, match=match):
        CoactiveHistory(**(rankings().to_dict() | fields))


def test_no_silent_rounding():
    with pytest.raises(TypeError, match="choices must be an array of int"):
        Other(mistakes=[True], choices=[0.5])
    with pytest.raises(TypeError, match="mistakes must be an array of bool"):
        Other(mistakes=[2], choices=[0])


# --- comparing and copying ------------------------------------------------------------------


@EVERY
def test_equality(make):
    assert make() == make()
    assert not make() != make()
    assert make() != "history" and make() != None  # noqa: E711
    for name, array in make().to_dict().items():
        changed = array.copy()
        changed.flat[0] = not changed.flat[0]
        assert make() != type(make())(**(make().to_dict() | {name: changed}))
    with pytest.raises(TypeError, match="unhashable"):
        hash(make())


def test_inequality_of_forms():
    assert rankings() != other()
    with_users = CoactiveHistory(**rankings().to_dict(), regret_per_user=[[3.0, 1.0, 0.5]])
    assert rankings() != with_users and with_users != rankings()
    shorter = {name: array[:2] for name, array in rankings().to_dict().items()}
    assert rankings() != CoactiveHistory(**shorter)


@EVERY
@pytest.mark.parametrize("copied", [
    copy.copy, copy.deepcopy, lambda h: pickle.loads(pickle.dumps(h)),
    lambda h: type(h)(**h.to_dict()), dataclasses.replace,
], ids=["copy", "deepcopy", "pickle", "to_dict", "replace"])
def test_copies(make, copied):
    assert copied(make()) == make()


# --- showing --------------------------------------------------------------------------------


def test_repr():
    assert repr(rankings()) == ("<CoactiveHistory of 3 rounds: regret=0.5, utility=3, "
                                "optimal_utility=3.5, average_regret=1.5, cumulative_regret=4.5>")
    assert repr(other()) == "<Other of 3 rounds: mistakes=True, choices=1, total=2, share=0.6667>"
    assert "regret=nan" in repr(items())
    assert len(repr(items())) < 150


def test_to_dict():
    assert list(rankings().to_dict()) == ["regret", "utility", "optimal_utility"]
    assert list(items().to_dict()) == ["regret", "utility", "optimal_utility", "regret_per_user"]
    h = rankings()
    assert h.to_dict()["regret"] is h.regret


@EVERY
def test_to_dataframe(make):
    pytest.importorskip("pandas")
    h = make()
    frame = h.to_dataframe()
    assert len(frame) == len(h)
    assert frame.index.name == "round" and frame.index.tolist() == list(range(1, len(h) + 1))
    for name, array in h.to_dict().items():
        if array.ndim == 1:
            assert frame[name].dtype == array.dtype
            np.testing.assert_array_equal(frame[name], array)
        else:
            for i, row in enumerate(array):
                np.testing.assert_array_equal(frame[f"{name}_{i}"], row)
    for name in type(h)._derived:
        np.testing.assert_array_equal(frame[name], getattr(h, name))


def test_columns_of_the_dataframe():
    pytest.importorskip("pandas")
    columns = ["regret", "utility", "optimal_utility", "average_regret", "cumulative_regret"]
    assert rankings().to_dataframe().columns.tolist() == columns
    assert items().to_dataframe().columns.tolist() == [
        *columns, "regret_per_user_0", "regret_per_user_1"]


def test_dataframe_is_a_copy():
    pytest.importorskip("pandas")
    for h, twin in ((rankings(), rankings()), (items(), items())):
        frame = h.to_dataframe()
        for name in frame.columns:
            frame.loc[1, name] = 99.0
        assert h == twin


@pytest.fixture
def axes():
    return pytest.importorskip("matplotlib.figure").Figure().subplots()


@EVERY
@pytest.mark.parametrize("log_x", [False, True])
def test_plot(make, axes, log_x):
    h = make()
    assert h.plot(axes, log_x=log_x, label="one", color="red") is axes
    (line,) = axes.get_lines()
    assert line.get_xdata().tolist() == list(range(1, len(h) + 1))
    np.testing.assert_array_equal(line.get_ydata(), getattr(h, type(h)._curve))
    assert (line.get_label(), line.get_color()) == ("one", "red")
    assert axes.get_xlabel() == "round"
    assert axes.get_ylabel() == type(h)._curve.replace("_", " ")
    assert axes.get_xscale() == ("log" if log_x else "linear")
    axes.figure.savefig(io.BytesIO(), format="png")


def test_plot_on_a_figure_of_its_own():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    first, second = rankings().plot(), rankings().plot()
    assert first.figure is not second.figure
    pyplot.close("all")


@pytest.mark.parametrize("module, extra, call", [
    ("pandas", "pandas", lambda h: h.to_dataframe()),
    ("matplotlib.pyplot", "plot", lambda h: h.plot()),
])
def test_missing_extras(monkeypatch, module, extra, call):
    monkeypatch.setitem(sys.modules, module, None)  # importing it fails
    with pytest.raises(ImportError, match=rf'needs {module}: .*"coactive_fast\[{extra}\]"') as told:
        call(rankings())
    assert told.value.name == module


def test_plotting_on_given_axes_needs_no_pyplot(axes, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    rankings().plot(axes)


def test_nothing_is_imported_before_it_is_used():
    code = ("import sys, coactive_fast.learner._history\n"
            "print([m for m in ('pandas', 'matplotlib') if m in sys.modules])")
    done = python(code)
    assert done.stdout.strip() == "[]", done.stderr


# --- docs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [History, CoactiveHistory])
def test_docstrings(cls):
    assert "\n    >>> " in cls.__doc__
    for name, value in vars(cls).items():
        if not name.startswith("_") and value is not None:
            assert value.__doc__, name
