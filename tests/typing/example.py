"""Checked by ``mypy --strict``, not run: the types a user of the package sees."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import coactive_fast as cf
from coactive_fast import kernels, metric

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

# what must not pass: mypy reports an ignore that is not needed
kernels.inverse_update([[1.0]], [1.0])  # type: ignore[arg-type]
kernels.inverse_update(Ainv, x, triangle="upper")  # type: ignore[arg-type]
kernels.top_k(x, 1.5)  # type: ignore[arg-type]
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

diagonal = metric.Diagonal(2)
assert_type(diagonal.copy(), metric.Diagonal)


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
cf.MulticlassAROW(3).learn(x, 1, True)  # type: ignore[call-arg]
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
assert_type(read("rows", multilabel=True, query_id=True, integer_labels=True)[1:],
            tuple[list[tuple[int, ...]], Labels])
