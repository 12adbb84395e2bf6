"""Checked by ``mypy --strict``, not run: the types a user of the package sees."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import coactive_fast as cf
from coactive_fast import kernels, metric, testing
from coactive_fast.adapters import dask as cf_dask
from coactive_fast.adapters import mabwiser as cf_mabwiser
from coactive_fast.adapters import river as cf_river
from coactive_fast.adapters import sklearn as cf_sklearn
from coactive_fast.filtering import FilteringHistory
from coactive_fast.learner import CoactiveHistory, Learner

Vector = NDArray[np.float64]
Labels = NDArray[np.int64]
x = np.array([1.0, 0.5])
x32 = x.astype(np.float32)
Ainv = np.eye(2)

assert_type(cf.__version__, str)
assert_type(cf.get_include(), str)
assert_type(cf.show_config(), None)
assert_type(cf.show_config("dicts"), dict[str, Any])

assert_type(kernels.top_k(x32, 1), NDArray[np.intp])
assert_type(kernels.top_k([0.5, 1.0], np.int64(1)), NDArray[np.intp])
assert_type(kernels.rank(Ainv, [1, 0], 2), NDArray[np.intp])
assert_type(kernels.ranking_features(Ainv, kernels.rank(Ainv, x, 2), k=2), Vector)
assert_type(kernels.inverse_update(Ainv, x), float)
assert_type(kernels.inverse_update(Ainv, x, c=np.float32(2), triangle="lower"), float)
assert_type(kernels.project_scores(x, x, 1), tuple[Vector, float])
assert_type(kernels.project_ball(x, Ainv, 1.0), tuple[Vector, float])
assert_type(kernels.project_simplex(x, Ainv), Vector)
assert_type(kernels.project_l1(x, Ainv, 1.0), Vector)
assert_type(kernels.project_box(x, Ainv, 0.0, [1.0, 2.0]), Vector)
assert_type(kernels.exponentiated_weights(x, both_signs=False), Vector)
assert_type(kernels.exp(x), Vector)
assert_type(kernels.log(x), Vector)

ridge = cf.RidgeFilter(covariance="kernel", cost_ratio=2, calibrate=True, width=0.5, rule="dgs")
assert_type(ridge.margins(Ainv), Vector)
assert_type(ridge.select(Ainv, 1), NDArray[np.intp])
assert_type(ridge.probability(x), float)
cf.ProbabilisticRidgeFilter(horizon="anytime", covariance="kernel", window=5)
assert_type(cf.run_topics(ridge, Ainv, [[True], [False]], labelled=(Ainv, [[True], [False]])),
            list[FilteringHistory])

log = cf.logs.BanditLog(Ainv, [0, 2], [1], [1.0], [0.5], context=[[1.0]], groups=["a"])
found = cf.logs.evaluate(lambda X, context: [0.5, 0.5], log, estimator="dr", force=True)
assert_type(found.value, float)
assert_type(found.interval, tuple[float, float])
assert_type(found.running.lower, Vector)
items = cf.Catalogue([[1.0], [2.0]], n_jobs=2)
assert_type(cf.LinearBandit().choose(items), int)
assert_type(items.add([[3.0]]), NDArray[np.intp])
assert_type(cf.logs.evaluate(cf.LinearBandit(), log, reward_range=(0, 1)), cf.logs.Evaluation)
assert_type(cf.logs.replay(cf.ArmBandit(2), log, p_min=0.5), cf.logs.ReplayHistory)
assert_type(cf.logs.replay([cf.Confidit(2), cf.LinearBandit()], log, seed=1),
            list[cf.logs.ReplayHistory])
assert_type(cf.logs.BanditLog.from_vw("log.json", hash_bits=18, names=None), cf.logs.BanditLog)
assert_type(cf.logs.BanditLog.from_table({"arm": [1]}, action="arm").left_out, dict[str, int])
assert_type(log[1:].groups, NDArray[Any] | None)

# what must not pass: mypy reports an ignore that is not needed
kernels.inverse_update([[1.0]], [1.0])  # type: ignore[arg-type]
kernels.inverse_update(Ainv, x, triangle="upper")  # type: ignore[arg-type]
cf.RidgeFilter(rule="best")  # type: ignore[arg-type]
kernels.top_k(x, 1.5)  # type: ignore[arg-type]
cf.logs.BanditLog.from_vw("log.json", format="csv")  # type: ignore[arg-type]
cf.logs.evaluate(x, log, estimator="best")  # type: ignore[arg-type]
cf.logs.replay(cf.RidgeFilter(), log)  # type: ignore[call-overload]
metric.Full(2.5)  # type: ignore[arg-type]
metric.Full(2, precision="slow")  # type: ignore[arg-type]
metric.Dual(kernel="cubic")  # type: ignore[arg-type]


def in_turn(m: metric.Full | metric.Diagonal | metric.Dual) -> None:
    """What the three metrics share."""
    assert_type(m.update(x, c=0.5), float)
    assert_type(m.quad(x32), float)
    assert_type(m.solve([1, 2]), Vector)
    assert_type(m.inverse(), Vector)
    assert_type(m.matrix(), Vector)
    assert_type(m.logdet, float)
    assert_type(m.updates, int)
    assert_type(m.state(), dict[str, Any])


full = metric.Full(2, ridge=0.5, precision="robust")
assert_type(full.copy(), metric.Full)
assert_type(metric.Full.from_state(full.state()), metric.Full)
assert_type(full.update_many(Ainv, c=[1.0, 2.0]), Vector)
assert_type(full.health()["worst_residual"], float)
assert_type(full.n, int)

assert_type(metric.Full.from_matrix(Ainv, 0.5, precision="robust"), metric.Full)
assert_type(full.quad_many(Ainv), Vector)
assert_type(full.solve_many([[1.0, 0.0]]), Vector)
assert_type(full.sample(3, np.random.default_rng(0)), Vector)
full.forget(0.9)
full.decay(1)
full.merge(metric.Full(2))
full.merge(metric.Diagonal(2))  # type: ignore[arg-type]

diagonal = metric.Diagonal(2)
assert_type(diagonal.copy(), metric.Diagonal)
assert_type(diagonal.quad(([0, 1], [0.5, 1.0])), float)
assert_type(diagonal.quad_many([([0], [0.5]), ([1], [1.0])]), Vector)
assert_type(diagonal.solve(x), Vector)
assert_type(diagonal.solve(([0], [0.5]))[1], Vector)
assert_type(diagonal.sample(3, 0), Vector)


def product(a: Vector, b: Vector) -> float:
    return float(a @ b)


dual = metric.Dual(kernel=product, window=10)
assert_type(len(dual), int)
assert_type(dual.window, int | None)
rbf = metric.Dual(kernel="rbf", kernel_params={"gamma": 0.5}, budget=5)
assert_type(rbf.approximation_error, float)
assert_type(rbf.kernel_params, dict[str, Any])
assert_type(metric.Dual.from_state(rbf.state()), metric.Dual)
metric.Full(2, 0.5)  # type: ignore[call-arg]

# the slow twins have the same signatures
assert_type(cf.reference.top_k(x, 1), NDArray[np.intp])
assert_type(cf.reference.project_ball(x, Ainv, 1.0), tuple[Vector, float])

# learning from right or wrong
confidit = cf.Confidit(3, covariance="full", eta=0.5)
assert_type(confidit.choose(x), int)
confidit.learn(x, 1, True)
assert_type(confidit.run(Ainv, [0, 1], label_noise=0.1).mistakes, NDArray[np.bool_])
assert_type(confidit.predict(Ainv), NDArray[np.intp])
assert_type(confidit.information(), Vector)
cf.Confidit(3, confidence="selfnormalized", approximation_error=lambda t: 1.0 / t)
cf.MulticlassAROW(3).learn(x, 1, True)  # type: ignore[call-arg]
newtron = cf.Newtron(3, covariance="full", norm_bound=2.0)
newtron.learn(x, 1, True)
made = cf.data.make_confidit(n_rows=10)
told = newtron.run(made.features, made.labels, chances=made.chances)
assert_type(told.cumulative_regret, Vector)
assert_type(made.regret(told.choices), Vector)
cf.ONSEG(2, cf.Ball(1.0), delta=0.1, gamma=0.2, feedback="residual")
cf.Confidit(3, confidence="wide")  # type: ignore[arg-type]

# what a file gives beside its rows follows from what is asked of it
read = cf.data.load_svmlight
assert_type(read("rows")[1:], tuple[Vector])
assert_type(read("rows", multilabel=True)[1:], tuple[list[tuple[float, ...]]])
assert_type(read("rows", query_id=True)[1:], tuple[Vector, Labels])
assert_type(read("rows", multilabel=True, query_id=True)[1:],
            tuple[list[tuple[float, ...]], Labels])
assert_type(read("rows", integer_labels=True)[1:], tuple[Labels])
assert_type(read("rows", multilabel=True, integer_labels=True)[1:], tuple[list[tuple[int, ...]]])
assert_type(read("rows", query_id=True, integer_labels=True)[1:], tuple[Labels, Labels])

# sets of the field
assert_type(cf.data.load_letor("MSLR", fold=2, into="mslr.cf"), cf.data.RankingData)
assert_type(cf.data.load_rcv1(["train", "test"], "topics").names, tuple[str, ...])
assert_type(cf.data.load_terms({"books": "a", "music": "b"}).labels, Labels)
assert_type(cf.data.load_table("table", target="kind").classes, tuple[str, ...] | None)
assert_type(cf.data.choose_factors([[1.0, 2.0], [2.0, 1.0]]).rank, int)
assert_type(read("rows", multilabel=True, query_id=True, integer_labels=True)[1:],
            tuple[list[tuple[int, ...]], Labels])

clicks = cf.users.Clicks("position", preset="informational", eta=0.5, seed=1)
ranker = cf.PDGD(cf.Ranking(k=3), rate=0.2, seed=0)
ranker.learn_clicks([[0.0], [1.0]], [0, 1], {1})
assert_type(cf.feedback_from_clicks([0, 1], [1]), NDArray[np.intp])
assert_type(ranker.scores([[1.0]], average=True), Vector)
assert_type(cf.PairwisePerceptron(cf.Ranking(), swap=0.1).rng, np.random.Generator)
cf.users.Clicks("eyes")  # type: ignore[arg-type]
cf.PDGD(cf.Items([[1.0]]))  # type: ignore[arg-type]

# under scikit-learn and river: what is ours of their classes
sk = cf_sklearn.ConfiditClassifier(eta=0.5, scale=False, n_epochs=2)
assert_type(sk.fit(Ainv, ["a", "b"]), cf_sklearn.ConfiditClassifier)
assert_type(sk.partial_fit(Ainv, ["a", "b"], classes=["a", "b"]), cf_sklearn.ConfiditClassifier)
assert_type(sk.coef_, Vector)
assert_type(sk.predict_proba(Ainv), Vector)
assert_type(sk.decision_function(Ainv), Vector)
logistic = cf_sklearn.OnlineLogisticClassifier(covariance="diagonal")
assert_type(logistic.fit(Ainv, [0, 1], sample_weight=x), cf_sklearn.OnlineLogisticClassifier)
assert_type(cf_sklearn.RidgeFilterClassifier(rule="bbq").predict_proba(Ainv), Vector)
assert_type(cf_sklearn.OnlineRidgeRegressor().predict(Ainv, return_std=True),
            tuple[Vector, Vector])
ranks = cf_sklearn.CoactiveRanker("second-order", k=5).fit(Ainv, [1, 0], qid=[0, 0])
assert_type(ranks, cf_sklearn.CoactiveRanker)
assert_type(ranks.rank(Ainv), NDArray[np.intp])
assert_type(ranks.score(Ainv, [1, 0]), float)
cf_sklearn.CoactiveRanker(cf.PDGD(cf.Ranking(k=3)), user=clicks)
cf_sklearn.ConfiditClassifier(covariance="sparse")  # type: ignore[arg-type]
cf_sklearn.PerceptronClassifier(scale="sparse")  # type: ignore[arg-type]
cf_sklearn.PerceptronClassifier().fit(Ainv, [0, 1], sample_weight=x)  # type: ignore[call-arg]
cf_sklearn.CoactiveRanker("best")  # type: ignore[arg-type]
cf_sklearn.AROWClassifier(1.0)  # type: ignore[call-arg]

live = cf_river.ConfiditClassifier(classes=["a", "b"], seed=1)
live.learn_one({"word": 1.0}, live.choose_one({"word": 1.0}), True)
live.learn_one({"word": 1.0}, action="a", correct=False)
assert_type(live.decision_one({"word": 1.0}), dict[Any, float])
cf_river.AROWClassifier().learn_one({"word": 1.0}, "a", True)  # type: ignore[call-arg]
cf_river.BanditronClassifier(covariance="full")  # type: ignore[call-arg]
with cf.Fleet(None, cf.LinearBandit(), 10, prior=cf.LinearBandit(), prior_weight=0.5) as fleet:
    fleet.learn("anna", [1.0], 2.0, weight=0.5)
    fleet.run(["anna", "ben"], [[1.0], [2.0]], [1.0, 0.0], n_jobs=2)
    fleet["anna"] = fleet["ben"]
    assert_type(fleet["anna"], cf.LinearBandit)
    assert_type(fleet.template.weights, Vector)
    assert_type(len(fleet), int)
    assert_type(fleet.health(), dict[str, int])
    assert_type("anna" in fleet, bool)
reader = cf.Fleet("file", mode="r")
assert_type(reader["anna"], Any)
cf.Fleet("file", mode="a")  # type: ignore[arg-type]

# what a file holds is known where it is said; else it is some learner, told apart by isinstance
assert_type(cf.load("model.cf", kind=cf.Confidit), cf.Confidit)
assert_type(cf.load("model.cf", kind=cf.Confidit).choose(x), int)
assert_type(cf.load("model.cf", task=cf.Ranking(), kind=None), Learner)
loaded = cf.load("model.cf")
loaded.clone().reset().save("other.cf")
assert_type(loaded.get_params(), dict[str, Any])
if isinstance(loaded, cf.RidgeFilter):
    assert_type(loaded.forward(x), bool)
cf.load("model.cf", kind=cf.Ball)  # type: ignore[type-var]
assert_type(cf.Confidit(3).clone(), cf.Confidit)
assert_type(metric.Dual().copy(), metric.Dual)

mab = cf_mabwiser.MAB(["a", 1], cf_mabwiser.LearningPolicy.LinUCB(alpha=0.5))
mab.fit(["a", 1], [1.0, 0.0], [[1.0], [2.0]])
mab.add_arm("b")
assert_type(mab.bandit, cf.ArmBandit)
assert_type(mab.cold_arms, list[Any])
assert_type(mab.predict_expectations([[1.0]]), dict[Any, float] | list[dict[Any, float]])
cf_mabwiser.MAB(["a"], "LinUCB")  # type: ignore[arg-type]

assert_type(cf_dask.distributed_order([3, 2], 3), NDArray[np.intp])
assert_type(cf_dask.distributed_simulate(cf.PreferencePerceptron(cf.Ranking()), [],
                                         cf.users.NoisyDepth(2), 10, None), CoactiveHistory)
with cf_dask.Workers("tcp://host:8786", timeout=5) as crew:
    assert_type(next(crew.each([], None))[0], int)

streams = testing.Streams(seed=1)
assert_type(streams.labels(10, 5, n_classes=3)[1], NDArray[np.intp])
assert_type(streams.rankings(10, 5), cf.data.RankingData)
ratio = testing.assert_ratio(lambda: kernels.top_k(x, 1), lambda: np.argsort(-x)[:1], 2.0, series=2)
assert_type(ratio.ours.seconds, float)
assert_type(ratio.value, float)
