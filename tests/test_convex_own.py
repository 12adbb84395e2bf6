"""Sets of one's own under the compiled learners; the compiled losses; the record of a run."""

import copy
import pickle

import numpy as np
import pytest
from convex_cases import quiet
from convex_runs import LOSSES, Unknown, learners, losses, same_learner, state_of

import coactive_fast as cf
from coactive_fast import reference

# --- sets of one's own --------------------------------------------------------------------------


class Cube(cf.FeasibleSet):
    """The box -1 <= x <= 1, in Python."""

    def __init__(self):
        self.fails = self.ask = None

    def contains(self, x):
        return bool((np.abs(x) <= 1.0).all())

    def center(self, dimension):
        return np.zeros(dimension)

    def in_radius(self, dimension):
        return 1.0

    def diameter(self, dimension):
        return 2.0 * np.sqrt(dimension)

    def shrunk(self, gamma, dimension):
        smaller = copy.copy(self)
        smaller.whole, smaller.size = self, 1.0 - gamma
        return smaller

    def project(self, z):
        self._may_fail()
        return np.clip(z, -self.size, self.size)

    def project_in(self, z, Ainv):
        self._may_fail()
        return cf.Box(-self.size, self.size).project_in(z, Ainv)

    def _may_fail(self):
        if self.whole.ask is not None:
            self.whole.ask()
        if self.whole.fails is not None:
            raise self.whole.fails


@pytest.mark.parametrize("kind", ["ONSEG", "ONSEG baseline", "OGDEG"])
def test_a_set_of_ones_own_gives_what_the_built_in_one_gives(kind):
    rows = losses(cf, "squared", 3)
    own, built_in = (learners(cf, s, 3)[kind]() for s in (Cube(), cf.Box(-1.0, 1.0)))
    history, expected = (quiet(learner.run, rows, 60) for learner in (own, built_in))
    np.testing.assert_allclose(history.loss, expected.loss, rtol=1e-8)
    np.testing.assert_allclose(own.center, built_in.center, rtol=1e-8, atol=1e-12)
    same_learner(copy.deepcopy(own), own)


@pytest.mark.parametrize("kind", ["ONSEG", "OGDEG"])
def test_an_error_of_a_set_of_ones_own_is_the_callers(kind):
    cube = Cube()
    learner = learners(cf, cube, 3)[kind]()
    for _ in range(20):
        learner.ask()
        learner.tell(0.5)
    learner.ask()
    state = state_of(learner)
    cube.fails = LookupError("mine")
    with pytest.raises(LookupError, match="mine"):
        learner.tell(0.5)
    assert state_of(learner) == state
    cube.fails = None
    cube.ask = lambda: learner.tell(0.5)  # from within a round
    with pytest.raises(RuntimeError, match="from within"):
        learner.tell(0.5)
    assert state_of(learner) == state
    cube.ask = None
    learner.tell(0.5)
    assert learner.rounds == 21


def test_a_set_of_ones_own_cannot_be_saved(tmp_path):
    learner = learners(cf, Cube(), 3)["OGDEG"]()
    with pytest.raises(ValueError, match="feasible"):
        learner.save(tmp_path / "learner.cf")
    assert not list(tmp_path.iterdir())


def test_a_class_derived_from_a_built_in_set_is_ones_own():
    class Corner(cf.Box):
        def project(self, z):
            return np.zeros(len(z))

    learner = cf.OGD(2, Corner(0.0, 1.0), 1.0)
    learner.ask()
    learner.tell([0.1, 0.1])
    np.testing.assert_array_equal(learner.center, [0.0, 0.0])


@pytest.mark.parametrize("whole", [cf.Ball(1.0), cf.L1Ball(1.0), cf.Box(0.0, 1.0), cf.Simplex()],
                         ids=repr)
def test_a_class_derived_from_a_built_in_set_projects_as_that_set(whole):
    class Named(type(whole)):
        pass

    own = Named(*(getattr(whole, name) for name in whole._stored))
    z = [2.0, -0.5, 0.25]
    np.testing.assert_array_equal(own.project(z), whole.project(z))
    ends = []
    for feasible in (own, whole):
        learner = cf.OGD(3, feasible, 1.0)
        learner.ask()
        learner.tell([1.0, -2.0, 0.5])
        ends.append(learner.center)
    np.testing.assert_array_equal(*ends)


def test_sets_are_values():
    assert cf.Ball(1.0) == cf.Ball(1) and cf.Ball(1.0) != cf.Ball(2.0) != cf.L1Ball(2.0)
    assert cf.Box(0.0, [1.0, 2.0]) == cf.Box(0.0, np.array([1.0, 2.0])) != cf.Box(0.0, 1.0)
    assert cf.Simplex() == cf.Simplex()
    box = cf.Box(0.0, [1.0, 2.0])
    with pytest.raises(AttributeError):
        box.upper = 3.0
    with pytest.raises(ValueError, match="read-only"):
        box.upper[0] = 3.0
    learner = cf.OGD(2, box, 1.0)
    learner.ask()
    learner.tell([1.0, 1.0])
    learner.set_params(feasible=cf.Box(0.0, [1.0, 2.0]))  # the same one


# --- losses -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LOSSES)
def test_losses_are_the_twins(kind, rng):
    for n in (1, 8, 33):
        own, twin = (losses(module, kind, n) for module in (cf, reference))
        for t in range(20):
            x = 3.0 * rng.standard_normal(n)
            assert own.value(t, x) == pytest.approx(twin.value(t, x), rel=1e-13, abs=1e-15)
            np.testing.assert_allclose(own.gradient(t, x), twin.gradient(t, x), rtol=1e-12,
                                       atol=1e-15)
            if twin.classifies:
                assert own.mistake(t, x) is twin.mistake(t, x)


def test_losses_can_be_pickled_and_not_written_to():
    for kind in LOSSES:
        rows = losses(cf, kind, 3)
        again = pickle.loads(pickle.dumps(rows))
        assert type(again) is type(rows) and again.value(2, [1.0, 2.0, 3.0]) == rows.value(
            2, [1.0, 2.0, 3.0])
        for array in (rows.Z, rows.y):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1.0


def test_losses_of_other_forms():
    sparse = pytest.importorskip("scipy.sparse")
    Z = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    expected = cf.losses.PortfolioReturn(Z.astype(float)).value(1, np.ones(3))
    for form in (Z, Z[::-1][::-1], np.asfortranarray(Z), sparse.csr_matrix(Z), Z.tolist()):
        assert cf.losses.PortfolioReturn(form).value(1, np.ones(3)) == expected


def test_a_subclass_of_a_loss_is_asked_itself():
    class Half(cf.losses.Squared):
        def value(self, t, x):
            return 0.5 * super().value(t, x)

    plain, half = (kind([[1.0]], [0.7]) for kind in (cf.losses.Squared, Half))
    history = cf.OGD(1, cf.Ball(1.0), 1.0).run(half, 4)
    np.testing.assert_array_equal(history.loss, cf.OGD(1, cf.Ball(1.0), 1.0).run(plain, 4).loss / 2)


# --- the record ---------------------------------------------------------------------------------


def test_the_record_of_a_run():
    rows = losses(cf, "logistic", 3)
    history = cf.OGD(3, cf.Ball(1.0), 2.0).run(rows, 9)
    assert set(history.to_dict()) == {"loss", "mistakes"}
    assert type(history)(**history.to_dict()) == history
    assert "average_loss" in repr(history) and "error_rate" in repr(history)
    without = cf.OGD(3, cf.Ball(1.0), 2.0).run(losses(cf, "return", 3), 9)
    assert set(without.to_dict()) == {"loss"} and "error_rate" not in repr(without)
    pandas = pytest.importorskip("pandas")
    frame = history.to_dataframe()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame) == ["loss", "mistakes", "average_loss", "error_rate"]


def test_a_scaling_is_part_of_the_record():
    Z = np.array([[0.0, 5.0], [2.0, 1.0], [4.0, 3.0]])
    scaling = cf.data.minmax(Z)
    rows = cf.losses.PortfolioReturn(Z, Z_scaling=scaling)
    again = pickle.loads(pickle.dumps(rows))
    np.testing.assert_array_equal(again.Z, rows.Z)  # not scaled a second time
    assert again.scaling == rows.scaling == {"Z": scaling}
    for wrap in (lambda one: one, Unknown):
        history = cf.OGD(2, cf.Simplex(), 2.0).run(wrap(rows), 4)
        assert history.scaling == {"Z": scaling}
        assert type(history)(**history.to_dict()) == history == copy.deepcopy(history)
        assert history != cf.OGD(2, cf.Simplex(), 2.0).run(
            cf.losses.PortfolioReturn(rows.Z), 4), "the same losses, another record"
    sparse = pytest.importorskip("scipy.sparse")
    np.testing.assert_array_equal(
        cf.losses.PortfolioReturn(sparse.csr_matrix(Z), Z_scaling=scaling).Z, rows.Z)


def test_a_learner_that_is_made_anew_during_a_run():
    learner, rows = cf.OGD(3, cf.Ball(1.0), 1.0), cf.losses.Squared(np.ones((4, 3)), np.ones(4))

    def anew(done, total):
        learner.__init__(5, cf.Ball(1.0), 1.0)

    with pytest.raises(RuntimeError, match="dimension was changed to 5 while a run over rows of 3"):
        learner.run(rows, 20_000_000, progress=anew)
    assert learner.center.shape == (5,)
