"""States, copies and half-made objects of the metrics."""

import copy
import inspect
import pickle

import nasty
import numpy as np
import pytest
from metric_cases import COPIES

import coactive_fast as cf

CLASSES = {"Full": cf.metric.Full, "Diagonal": cf.metric.Diagonal, "Dual": cf.metric.Dual}
every = pytest.mark.parametrize("cls", CLASSES.values(), ids=list(CLASSES))


def made(cls, **arguments):
    m = cls(**arguments) if cls is cf.metric.Dual else cls(3, **arguments)
    for x in np.random.default_rng(0).standard_normal((6, 3)):
        m.update(x)
    return m


# --- objects whose __init__ did not run ---------------------------------------------------------


@every
def test_an_object_that_was_not_made_refuses_every_call(cls):
    calls = [lambda m: m.update([1.0]), lambda m: m.quad([1.0]), lambda m: m.solve([1.0]),
             lambda m: m.inverse(), lambda m: m.matrix(), lambda m: m.logdet, lambda m: m.state(),
             lambda m: m.copy(), lambda m: pickle.dumps(m), lambda m: m.updates]
    if cls is not cf.metric.Dual:
        calls += [lambda m: m.update_many([[1.0]]), lambda m: m.quad_many([[1.0]]),
                  lambda m: m.solve_many([[1.0]]), lambda m: m.sample(1, 0),
                  lambda m: m.forget(0.5), lambda m: m.decay(0.5), lambda m: m.merge(cls(1)),
                  lambda m: cls(1).merge(m)]
    if cls is cf.metric.Full:
        calls.append(lambda m: m.health())
    for call in calls:
        with pytest.raises(RuntimeError, match="__init__"):
            call(cls.__new__(cls))
    m = cls.__new__(cls)
    assert cls.__name__ in repr(m)
    for name in ("n", "ridge", "kernel_params", "precision"):
        getattr(m, name, None)


def test_a_subclass_that_forgets_its_base():
    class Forgetful(cf.metric.Full):
        def __init__(self):
            pass

    with pytest.raises(RuntimeError, match="Forgetful"):
        Forgetful().quad([1.0])


@every
def test_an_init_that_failed_can_be_tried_again_and_one_that_did_not_cannot(cls):
    n = () if cls is cf.metric.Dual else (2,)
    m = cls.__new__(cls)
    with pytest.raises(ValueError, match="ridge"):
        m.__init__(*n, ridge=-1.0)
    with pytest.raises(RuntimeError, match="__init__"):
        m.quad([1.0, 0.0])
    m.__init__(*n)
    assert m.update([1.0, 0.0]) == 1.0
    before = nasty.frozen(m)
    with pytest.raises(RuntimeError, match="once"):
        m.__init__(*n)
    assert nasty.frozen(m) == before


@every
def test_signatures(cls):
    twin = getattr(cf.reference, cls.__name__)
    ours, theirs = inspect.signature(cls).parameters, inspect.signature(twin).parameters
    assert {k: (p.kind, p.default) for k, p in theirs.items()}.items() <= {
        k: (p.kind, p.default) for k, p in ours.items()}.items()
    for method in (cls.update, twin.update):
        assert inspect.signature(method).parameters["c"].kind is inspect.Parameter.KEYWORD_ONLY


# --- subclasses -------------------------------------------------------------------------------


class Named(cf.metric.Full):
    def __init__(self, name):
        super().__init__(3)
        self.name = name
        self.notes = []




@pytest.mark.parametrize("way", COPIES.values(), ids=list(COPIES))
def test_a_subclass_keeps_its_own(way):
    m = Named("first")
    m.update([1.0, 2.0, 3.0])
    m.notes.append(m)  # a cycle, too
    other = way(m)
    assert type(other) is Named and other.name == "first"
    assert nasty.frozen(other) == nasty.frozen(m)
    if way is copy.deepcopy:
        assert other.notes == [other]


def test_a_deep_copy_has_its_own_kernel():
    class Kernel:
        scale = 1.0

        def __call__(self, x, y):
            return self.scale * float(x @ y)

    m = cf.metric.Dual(kernel=Kernel())
    other = copy.deepcopy(m)
    m.kernel.scale = 2.0
    assert (m.quad([1.0]), other.quad([1.0]), copy.copy(m).quad([1.0])) == (2.0, 1.0, 2.0)


# --- damaged states -----------------------------------------------------------------------------

DAMAGE = {
    "Full": {
        "updates": [-1, 2.5], "logdet": [np.nan, "x"], "precision": ["robust", "x", 2],
        "robust": [True, 2, "x"], "steepest": [0.0, -1.0, None],
        "ridge": [7.0, -1.0], "pending": [-1, 99, 2.0, None], "n": [2, 4, -1, "3"],
        "next_look": [-5, 2**62], "next_probe": [None], "worst_residual": [-1.0],
        "memory": [None, np.zeros(3)],
        "least": [0.0, 0.5, 2.0, None], "share": [0.0, 0.5, 1.5, "x"], "scale": [-1.0, 0.5, 3.0],
        "forgets": [-1, 0.5], "lowered": [2, None, "x"], "version": [0, 1, 2, 4, True, "2"],
    },
    "Diagonal": {
        "updates": [-1, 2.5, "x"], "ridge": [0.0, "a", 1e6],
        "diagonal": [[], [1.0, 0.0], None, [[1.0]], [np.inf]],
        "marks": [np.ones(2), np.zeros(3), np.full(3, 2.0), None], "now": [0.0, 0.5, 2.0, None],
        "lowered": [1, None], "version": [0, 2, True],
    },
    "Dual": {
        "count": [-3, 5, "x"], "missed": [None, -1.0],
        "window": [2], "budget": [3], "inner": [{}], "kernel": ["cosine", 3],
        "kernel_params": [3], "gram": [None, {}],
    },
}
DAMAGED_GRAM = {
    "n": [-1, 5, 7, 2**40], "info": [np.nan, "x"], "factor": [None, np.ones(7)],
    "c": [None, np.ones(5), np.zeros(6), np.full(6, np.nan)], "kept": [None, {}],
    "rows": [np.ones(18), np.full((6, 3), np.nan), "abc", np.ones((1, 6, 3))],
}


@pytest.mark.parametrize(
    ("name", "field"), [(name, field) for name, fields in DAMAGE.items() for field in fields]
)
def test_a_damaged_field_is_refused(name, field):
    cls = CLASSES[name]
    state = made(cls).state()
    for value in DAMAGE[name][field]:
        with pytest.raises((ValueError, TypeError)):
            cls.from_state({**state, field: value})
    assert nasty.frozen(cls.from_state(state)) == nasty.frozen(made(cls))


@pytest.mark.parametrize("field", DAMAGED_GRAM)
def test_damaged_rows_and_factors_of_dual_are_refused(field):
    gram = made(cf.metric.Dual).state()["gram"]
    for value in DAMAGED_GRAM[field]:
        damaged = {**gram, field: value}
        if field == "rows":
            damaged = {**gram, "kept": {**gram["kept"], "rows": value}}
        with pytest.raises((ValueError, TypeError)):
            cf.metric.Dual.from_state({**made(cf.metric.Dual).state(), "gram": damaged})


@every
def test_a_missing_field_is_named(cls):
    state = made(cls).state()
    for field in state:
        with pytest.raises(ValueError, match=field):
            cls.from_state({k: v for k, v in state.items() if k != field})
    with pytest.raises(TypeError, match="state"):
        cls.from_state(3)


@pytest.mark.parametrize("n", [3, 20])
@pytest.mark.parametrize("precision", ["fast", "robust"])
def test_arrays_of_zeros_are_no_state_of_full(precision, n):
    m = cf.metric.Full(n, precision=precision)
    for x in np.random.default_rng(0).standard_normal((5, n)):
        m.update(x)
    state = m.state()
    other = "robust" if precision == "fast" else "fast"
    for field, value in (("memory", state["memory"] * 0.0), ("memory", -state["memory"]),
                         ("precision", other)):
        with pytest.raises(ValueError, match="memory"):
            cf.metric.Full.from_state({**state, field: value})


@pytest.mark.parametrize("power", [8, 10, 20, 40, 75])
def test_long_rows_leave_a_state_that_is_read(power):
    """Whatever digits they have cost the inverse."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        m = cf.metric.Full(4)
        for _ in range(3):
            m.update([10.0**power * rng.uniform(1.0, 2.0), *rng.normal(size=3)])
        other = cf.metric.Full.from_state(m.state())
        assert nasty.frozen(other) == nasty.frozen(m)
        x = rng.normal(size=4)
        assert m.update(x) == other.update(x)


@pytest.mark.parametrize("field", ["c", "factor"])
@pytest.mark.parametrize("factor", [0.0, -1.0, np.nan])
def test_arrays_that_are_no_factor_of_dual(field, factor):
    state = made(cf.metric.Dual, kernel="rbf").state()
    gram = {**state["gram"], field: state["gram"][field] * factor}
    with pytest.raises(ValueError, match=field):
        cf.metric.Dual.from_state({**state, "gram": gram})


def test_the_inner_metric_of_a_budget():
    state = made(cf.metric.Dual, budget=3).state()
    for inner in (None, cf.metric.Full(1).state(), cf.metric.Full(9).state(),
                  cf.metric.Full(3, ridge=2.0).state()):
        with pytest.raises(ValueError, match="inner"):
            cf.metric.Dual.from_state({**state, "inner": inner})
    with pytest.raises(ValueError, match="inner|budget"):
        cf.metric.Dual.from_state({**state, "budget": 1})


# --- kernels ----------------------------------------------------------------------------------


def test_a_kernel_cannot_write_to_what_it_is_shown():
    def greedy(x, y):
        for row in (x, y):
            try:
                row[:] = 0.0
            except ValueError:
                refused.append(1)
        return 1.0 + float(x @ y)

    refused, x = [], np.array([1.0, 2.0])
    m = cf.metric.Dual(kernel=greedy)
    m.update(x)
    m.quad(x)
    assert len(refused) == 6
    np.testing.assert_array_equal(x, [1.0, 2.0])
    np.testing.assert_array_equal(m.state()["gram"]["kept"]["rows"], [[1.0, 2.0]])


def test_the_parameters_of_a_kernel_are_those_it_was_made_with():
    m = cf.metric.Dual(kernel="rbf", kernel_params={"gamma": 1.0})
    m.update([1.0, 2.0])
    m.kernel_params["gamma"] = 100.0
    assert m.kernel_params == {"gamma": 1.0}
    assert m.quad([1.0, 2.5]) == m.copy().quad([1.0, 2.5])


@pytest.mark.parametrize("answer", [None, "a", np.array([1.0]), 1j, np.nan, np.inf])
def test_a_kernel_whose_answer_is_no_number(answer):
    with pytest.raises((TypeError, ValueError), match="kernel"):
        cf.metric.Dual(kernel=lambda x, y: answer).update([1.0])


def test_several_sparse_rows_are_not_one():
    import scipy.sparse

    for module in (cf.metric, cf.reference):
        with pytest.raises(ValueError, match=r"\bx must be one row"):
            module.Dual().update(scipy.sparse.csr_matrix(np.ones((2, 3))))


# --- overflow ---------------------------------------------------------------------------------


@pytest.mark.parametrize("module", [cf.metric, cf.reference], ids=["metric", "reference"])
@pytest.mark.parametrize("cls", list(CLASSES))
def test_readings_that_overflow_are_refused(module, cls):
    m = getattr(module, cls)(*(() if cls == "Dual" else (2,)), ridge=1e-200)
    for method, x in (("quad", [1e200, 1e200]), ("solve", [1e200, 1e200])):
        if cls == "Dual":
            if method == "solve":
                continue  # no row is stored: no coefficients
        with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"x\b|kernel"):
            getattr(m, method)(x)
