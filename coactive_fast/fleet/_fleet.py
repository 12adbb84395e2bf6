"""Very many small models in one file: the thin class over the engine."""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, Literal, SupportsIndex, TypeAlias

from numpy.typing import ArrayLike

from .._initialized import Initialized
from .._typing import Real, RowsLike, Self
from ..learner import _file, _store
from ..learner._base import Learner
from ..learner._check import choice, count, number, switch
from ._engine import FleetCalls, Records
from ._file import MOST, File
from ._kinds import kind_of, refuse_other

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Model = TypeVar("Model", bound=Learner, default=Any)  # any, where the file says which
else:
    from typing import TypeVar

    Model = TypeVar("Model", bound=Learner)

Key: TypeAlias = int | str


class Fleet(FleetCalls, Initialized, Generic[Model]):
    """One model of the template's kind for each key, all in one memory-mapped file.

    A model comes into being when its key learns for the first time; until then it is the prior,
    which costs no room. Each behaves as a learner of its own of that kind and with those parameters
    that was given the same rows: the same choices, weights within 1e-8 (relative, while A has a
    condition of at most 1e6).

    Parameters
    ----------
    path : str, path-like or None
        None: in memory, and gone with the fleet.
    template : Learner
        A fresh `LinearBandit`, `ArmBandit`, `OnlineRidge` or `RidgeFilter` (without a window or
        calibration), each with the full covariance, or a `PreferencePerceptron` over `Ranking`.
        With mode="r" and "r+" it may be left out; if given it must be of the kind and parameters in
        the file.
    capacity : int
        How many models the file has room for at first; it grows by itself, twice as large each
        time. With mode="r" and "r+" it is not looked at.
    mode : {"w", "r+", "r"}, default "w"
        "w" puts a new file in the place of what is there, "r+" goes on with it, "r" only reads.
        One writer at a time; any number of processes may read meanwhile, and see whole models only.
    prior : Learner, optional
        A learner of the template's kind and parameters that has learned: with what every model
        begins. It stands in the file.
    prior_weight : float, default 1.0
        Above 0: how many times the prior's evidence counts, ``A <- ridge I + f (A - ridge I)`` and
        ``A w <- f A w``.

    keep_flushed : bool, default False
        Each model is kept as it was at the last `flush` until the next one, so that after the
        machine itself has stopped the file is exactly as of the last `flush`. A model that learns
        for the first time since then is moved to another place, so that it takes its room twice
        until the next flush, which gives it back.

    See Also
    --------
    LinearBandit : One of the models that may be a template.
    load : A single learner from its own file.

    Notes
    -----
    **Keys** are whole numbers of 64 bits or texts of at most 63 bytes of UTF-8, all of one kind.

    **Room.** A model of d features takes ``8 (d^2 / 2 + 3 d / 2 + 7)`` bytes, rounded up to 64 (64
    more where keys are texts, 40 more where choices are drawn; of arms so many for each), and 16
    bytes of the index. The inverse is kept as ``U D U^T`` (Bierman, 1977), which loses the root of
    what Sherman and Morrison's formula loses. The number of features is known when something is
    learned; then the room is taken, and each time the file grows. A full disc is an `OSError` that
    names the file, and nothing is lost.

    **Safety.** A process that is killed at any moment loses at most the call under way, of a `run`
    the row in hand of each thread (and the rows that were not reached): all other models are as
    they were learned. `flush` waits until all is on the disc. When the machine itself stops, models
    that have not learned since the last `flush` are as they were; with `keep_flushed` all are.
    Without it the others may be as they were then or later, each for itself, and one whose writing
    was cut in two is dropped, with a warning when the file is opened for writing again. A bit that
    the disc has turned is a `ValueError` that names the file, and the key of a model, or is put
    right by the writer.

    **Chance.** With a seed each model draws as a learner of its own with that seed would; with the
    seed None each draws for itself. The generator of a model is part of its record; that of a key
    which nobody has fed yet, and those that a reader draws from, are in the memory of the process.

    **Threads** may read and learn at the same time; a `run` holds the fleet for some thousand rows
    at a time. After a fork the child can only read.

    References
    ----------
    Gerald J. Bierman: Factorization Methods for Discrete Sequential Estimation, 1977.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> fleet = cf.Fleet(None, cf.LinearBandit(), 1000)
    >>> fleet.learn("anna", [1.0, 0.0], 4.0)
    >>> fleet["anna"].weights, "anna" in fleet, "ben" in fleet, len(fleet)
    (array([2., 0.]), True, False, 1)
    >>> fleet.run(["ben", "anna", "ben"], [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]], [3.0, 1.0, 3.0])
    >>> fleet["ben"].weights
    array([0., 2.])
    """

    _beside: Any
    _kind: Any

    def __init__(self, path: str | os.PathLike[str] | None, template: Model | None = None,
                 capacity: SupportsIndex | None = None, *, mode: Literal["w", "r+", "r"] = "w",
                 prior: Model | None = None, prior_weight: Real = 1.0,
                 keep_flushed: bool = False) -> None:
        mode = choice("mode", mode, ("w", "r+", "r"))
        keep = switch("keep_flushed", keep_flushed)
        if mode == "w":
            self._create(path, template, capacity, prior, prior_weight, keep)
        else:
            self._open(path, template, mode, prior)

    # --- opening --------------------------------------------------------------------------------

    def _create(self, path, template, capacity, prior, weight, keep, beside=None):
        if template is None or capacity is None:
            raise TypeError('template and capacity must be given with mode="w"')
        slots = count("capacity", capacity, least=1, most=MOST)
        weight = number("prior_weight", weight, above=0.0)
        kind = kind_of(template)
        _refuse_prior(prior, template)
        arrays: dict[str, Any] = {}
        head = {"fleet": 1, "capacity": slots, "prior_weight": weight, "keep": keep,
                "template": _store.encode(template, arrays, "template"),
                "prior": _store.encode(prior, arrays, "prior")}
        if beside is not None:
            head["beside"] = beside
        self._beside = beside
        self._kind = kind(template, prior, weight)
        self._begin(File.create(path, _file.to_bytes(head, arrays)), slots, keep)

    def _open(self, path, template, mode, prior):
        if path is None:
            raise TypeError(f"path must be given with mode={mode!r}")
        if prior is not None:
            raise TypeError(f"prior stands in the file with mode={mode!r}")
        file = File.open(path, mode == "r+")
        try:
            head, arrays = _file.from_bytes(file.identity, file.path)
            try:
                found = _store.decode(head["template"], arrays)
                prior = _store.decode(head["prior"], arrays)
                kind = kind_of(found)
                _refuse_prior(prior, found)
                self._kind = kind(found, prior, number("prior_weight", head["prior_weight"],
                                                       above=0.0))
                slots = count("capacity", head["capacity"], least=1, most=MOST)
                keep = switch("keep_flushed", head["keep"])
                self._beside = head.get("beside")
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                raise ValueError(f"{file.path!r}: {error}") from error
            if template is not None:
                refuse_other(template, found, "template")
            self._begin(file, slots, keep)
        except BaseException:
            file.close()
            raise

    def _begin(self, file, slots, keep):
        records = Records(file, self._kind)
        if file.writable:
            lost = records.put_in_order()
            file.trim()
            file.begin_work()
            if lost:
                warnings.warn(f"{file.path!r}: the machine stopped while it was written, and "
                              f"{lost} models were cut in two: they begin again from the prior",
                              RuntimeWarning, stacklevel=4)
        self._engine = self._kind.fleet(records, slots=slots, keep=keep)
        _fleets.add(self)

    # --- one model ------------------------------------------------------------------------------

    def __getitem__(self, key: Key) -> Model:
        """A copy of a key's model as an ordinary learner; of a key not there: the prior."""
        words = self._engine.words(key)
        if words is None:
            return self._kind.unfed()
        return self._kind.learner(self._engine.records.file.layout, words)

    def __setitem__(self, key: Key, learner: Model) -> None:
        """A learner of the template's kind and parameters becomes the model of a key."""
        kind, _ = self._kind, len(self)  # a closed fleet has no length
        refuse_other(learner, kind.template, "learner")
        if getattr(learner, "pending", 0):
            raise ValueError(f"learner has {learner.pending} pending decisions, for which a record "
                             "has no room")
        d, layout = kind.dimension(learner), self._engine.records.file.layout
        if d == 0:
            raise ValueError("learner has learned nothing: delete the key instead")
        if layout is None:
            kind.refuse_width(d)
            self._engine.begin(d, key)
            layout = self._engine.records.file.layout
        if d != layout.d:
            raise ValueError(f"learner must have {layout.d} features, as the fleet has, got {d}")
        arms = getattr(learner, "n_arms", 1)
        if arms != layout.k:
            raise ValueError(f"learner must have {layout.k} arms, as the fleet has, got {arms}")
        self._engine.put(key, kind.record(layout, learner))

    def __delitem__(self, key: Key) -> None:
        """Forgets a model; its room is used again."""
        if not self._engine.remove(key):
            raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return self._engine.words(key, whole=False) is not None

    def __len__(self) -> int:
        return int(self._engine.live)

    def __iter__(self) -> Iterator[Key]:
        """The keys, in the order in which their records lie."""
        return iter(self._engine.keys())

    # --- many -----------------------------------------------------------------------------------

    def run(self, keys: ArrayLike, X: RowsLike, *answers: ArrayLike,
            weight: ArrayLike | None = None, context: ArrayLike | None = None,
            n_jobs: SupportsIndex = 1) -> Any:
        """Row t is learned by the model of ``keys[t]``; one compiled call for any number of rows.

        Parameters
        ----------
        keys : array_like of int or of str, shape (n,)
            In any order, and repeated as may be: rows of one key are learned in their order.
        X : array_like of shape (n, d) or scipy.sparse matrix
            The row of each round.
        *answers : array_like of shape (n,)
            The rewards or targets; of arms first the arms, then their rewards.
        weight : array_like of shape (n,), optional
            How many times each round counts; None: each once.
        context : array_like of shape (n, context_features), optional
            The context of each round, where the template has context_features.
        n_jobs : int, default 1
            Threads, at most 16; each has keys of its own, and the models do not depend on how many
            there are.

        Returns
        -------
        None, or for `OnlineRidge` a `RegressionHistory`, as of its `run`
            What each model predicted for its row before it learned from it.

        Notes
        -----
        A row that leaves the range of float64 is a `ValueError` that names it; the rows before it
        were learned, with several threads rows of other keys behind it too.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> fleet = cf.Fleet(None, cf.OnlineRidge(), 100)
        >>> fleet.run([1, 2, 1], [[1.0], [1.0], [1.0]], [4.0, 6.0, 4.0]).predictions
        array([0., 0., 2.])
        """
        jobs = count("n_jobs", n_jobs, least=1, most=16)
        return self._engine.run(keys, X, answers, weight, context, jobs)

    # --- the file -------------------------------------------------------------------------------

    @property
    def template(self) -> Model:
        """A fresh learner of the kind and parameters of all models."""
        return self._kind.template.clone()

    @property
    def capacity(self) -> int:
        """How many models there is room for now; it grows by itself."""
        return self._engine.capacity

    def health(self) -> dict[str, int]:
        """What is in the file; every record is looked at.

        Returns
        -------
        dict
            Numbers by name: models; capacity; features (0: not known yet); record and index (bytes
            a model); bytes (of the file); free (slots of deleted models); kept (slots kept until
            the next flush); damaged (records and entries of the index whose checksum is wrong).
        """
        return self._engine.health()

    def flush(self) -> None:
        """Returns when all that was learned is on the disc."""
        self._engine.flush()

    def close(self) -> None:
        """Ends the use of the file; another writer may then open it. It does not flush."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Fleet({self._engine.path!r}, {self._kind.template!r})"

    def __reduce__(self) -> Any:
        raise TypeError("a Fleet cannot be copied or pickled: open its file with mode='r'")


def create(path: str | os.PathLike[str] | None, template: Learner, capacity: int,
           beside: dict[str, Any]) -> Fleet:
    """A new `Fleet`, whose file also tells how its rows are made: plain data, which no model
    depends on."""
    fleet = Fleet.__new__(Fleet)
    fleet._create(path, template, capacity, None, 1.0, False, beside)
    return fleet


def beside_of(fleet: Fleet) -> Any:
    """What `create` was given; None of other fleets."""
    return fleet._beside


def _refuse_prior(prior, template):
    if prior is None:
        return
    refuse_other(prior, template, "prior")
    arms, wanted = (getattr(one, "n_arms", 1) for one in (prior, template))
    if arms != wanted:
        raise ValueError(f"prior must have {wanted} arms, as the template has, got {arms}")


# --- forks ----------------------------------------------------------------------------------------

_fleets: weakref.WeakSet[Fleet] = weakref.WeakSet()


def _forked():
    for fleet in list(_fleets):
        fleet._engine.stop_writing("this process was forked from the one that writes")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
