"""What all machines share: one learner, a copy that goes another way, and the slow twin.

A machine is made of a class's name and a number from which its parameters are drawn, and goes on
by steps: the name of a rule and a number from which the rule draws its arguments. So a list of
steps says all of what happened, whoever chose them: hypothesis, or the long run.

Three objects go side by side. The learner is called in all forms of rows and in all orders; the
mirror, of the same class, repeats what was accepted another way (dense rows, single calls in place
of a run, copies of itself) and must have the same bits; the twin of `coactive_fast.reference` must
give the same numbers to a tolerance and the same decisions, unless the best two lie within
rounding. What is refused must leave the learner's state, its generator and its parameters as they
were, byte for byte.
"""

import atexit
import copy
import os
import pickle
import random
import re
import shutil
import tempfile
import warnings
import zlib

import numpy as np
from coactive_fast.metric._forms import Moving

import coactive_fast as cf
from coactive_fast import reference
from coactive_fast.learner import _store

REFUSED = (TypeError, ValueError)
MEMORY = "/dev/shm"  # where there is one: files are flushed, at which discs are slow
FOLDER = tempfile.mkdtemp(prefix="machines", dir=MEMORY if os.path.isdir(MEMORY) else None)
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


class Finding(AssertionError):
    """Something that must not be."""


class Boom(Exception):
    """What callables of the user raise here."""


# --- states as bytes ------------------------------------------------------------------------------


def plain(value):
    """A state as something that is equal where all its bits are."""
    if isinstance(value, dict):
        return tuple((key, plain(part)) for key, part in value.items())
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            return "objects", value.shape, plain(value.tolist())
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, (list, tuple)):
        return tuple([plain(part) for part in value])
    if isinstance(value, (type(None), bool, int, str)):
        return value
    if hasattr(value, "_engine"):
        return type(value).__name__, plain(value._engine._state())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, np.random.Generator):
        return plain(value.bit_generator.state)
    if hasattr(value, "state") and callable(value.state):
        return type(value).__name__, plain(value.state())
    if hasattr(value, "__dict__"):
        return type(value).__name__, plain(vars(value))
    return repr(value)


def settled(value):
    """The same with the matrices as they read: a last step that is pending in one may be applied in
    the other, because something was read in between."""
    if isinstance(value, dict):
        if "steepest" in value:  # of metric.Full
            read = Moving.from_state(value)
            others = {k: v for k, v in value.items() if k not in ("memory", "pending")}
            return plain(others), plain(read.inverse()), plain(read.matrix())
        forgets = "excess" in value  # a diagonal that once forgot no longer uses its sums
        return tuple((key, settled(part)) for key, part in value.items()
                     if not (forgets and key == "sums"))
    if isinstance(value, (list, tuple)):
        return tuple([settled(part) for part in value])
    if hasattr(value, "_engine"):
        return type(value).__name__, settled(value._engine._state())
    return plain(value)


def described(learner):
    """Its repr, without addresses and without what a copy may hold otherwise."""
    return re.sub(r"seed=.*\)$|at 0x\w+", "", repr(learner))


def difference(a, b, where="state"):
    """Where two plain states first differ, for the message."""
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        for i, (one, other) in enumerate(zip(a, b, strict=True)):
            if one != other:
                named = isinstance(one, tuple) and one and isinstance(one[0], str)
                return difference(one, other, f"{where}.{one[0] if named else i}")
    return f"{where}: {shown(a)} and {shown(b)}"


def shown(part):
    if isinstance(part, tuple) and len(part) == 3 and isinstance(part[2], bytes):
        return np.frombuffer(part[2], part[0]).reshape(part[1]).tolist()
    return part


def same_numbers(a, b):
    return plain(a) == plain(b)


def near(got, expected, tolerance):
    """Equal to a tolerance relative to the largest expected entry (or 1e-3, of small ones)."""
    got, expected = np.asarray(got, dtype=float), np.asarray(expected, dtype=float)
    if got.shape != expected.shape:
        return False
    if got.size == 0:
        return True
    finite = np.isfinite(expected)
    if not np.array_equal(finite, np.isfinite(got)) or not np.array_equal(
            got[~finite], expected[~finite], equal_nan=True):
        return False
    most = max(np.abs(expected[finite]).max(initial=0.0), 1e-3)
    return bool(np.abs(got[finite] - expected[finite]).max(initial=0.0) <= tolerance * most)


# --- what stands for a user's code ----------------------------------------------------------------


class Switch:
    """What the callables of a machine do besides their work: nothing, raise, call back."""

    def __init__(self):
        self.clear()

    def clear(self):
        self.back, self.left = None, 0

    def arm(self, back, after=0):
        self.clear()
        self.back, self.left = back, after

    def pull(self):
        if self.back is None:
            return
        if self.left:
            self.left -= 1
            return
        back, self.back = self.back, None
        back()


class Shared:
    """A base of callables that copies and pickles share: what they do is of the machine."""

    def __deepcopy__(self, memo):
        return self

    def __copy__(self):
        return self

    def __reduce__(self):
        return _kept, (self.number,)


_objects = {}


def _kept(number):
    return _objects[number]


def keep(thing):
    """A number by which `thing` is found when it is unpickled."""
    thing.number = len(_objects)
    _objects[thing.number] = thing
    return thing


def boom():
    raise Boom("a callable of the user's")


# --- machines -------------------------------------------------------------------------------------


class Machine:
    """One learner, its mirror and its twin; a subclass has the rules of a family.

    A rule is a method named ``rule_...`` with a number as ``weight`` (how often it is drawn).
    """

    tolerance = 1e-6

    def __init__(self, name, seed):
        self.name, self.seed, self.steps = name, seed, []
        r = random.Random(seed)
        self.switch = Switch()
        self.parameters = self.drawn_parameters(r)
        self.learner, self.mirror = self.made(), self.made()
        self.new_twin()
        self.compare("at the beginning")

    # --- what a family says ---------------------------------------------------------------------

    def drawn_parameters(self, r):
        raise NotImplementedError

    def made(self):
        """A fresh learner."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.cls(**self.parameters)

    @property
    def cls(self):
        return _store.learners()[self.name]

    def twin_parameters(self, parameters):
        """Those of the twin's constructor; None where it has no such form."""
        words = twin_words(self.name)
        return {name: value for name, value in parameters.items() if name in words}

    def made_twin(self, parameters):
        given = self.twin_parameters(parameters)
        if given is None:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(reference, self.name)(**given)

    def new_twin(self):
        self.twin = self.made_twin(self.parameters)

    def own_code(self):
        """Whether the parameters hold what no file can."""
        return False

    # --- comparing ------------------------------------------------------------------------------

    def state_of(self, learner):
        return plain(learner._engine._state())

    def finger(self):
        """All that an error must leave as it is."""
        parameters, state = self.learner._parameters, self.learner._engine._state()
        return plain(state), state, tuple(
            (name, id(value), *([plain(value._parameters)] if hasattr(value, "_engine") else ()))
            for name, value in parameters.items())

    def settled_of(self, learner):
        return settled(learner._engine._state())

    def apart(self):
        """Where the bits of the learner and its mirror differ, or nothing."""
        if self.state_of(self.learner) == self.state_of(self.mirror):
            return ""
        ours, theirs = self.settled_of(self.learner), self.settled_of(self.mirror)
        return "" if ours == theirs else difference(ours, theirs)

    def compare(self, what):
        apart = self.apart()
        if apart:
            self.fail(f"{what}: the other way has other bits: {apart}")

    def fail(self, text):
        raise Finding(text)

    def alike(self, what, got, other):
        """Answers of the learner and its mirror: the same bits."""
        if not same_numbers(got, other):
            self.fail(f"{what}: {got!r}, and another way {other!r}")

    def close(self, what, got, expected, tolerance=None):
        if not near(got, expected, self.tolerance if tolerance is None else tolerance):
            self.fail(f"{what}: {got!r}, and the twin {expected!r}")

    def decided(self, what, got, twin_before, ask, x, bounds=None):
        """Compare a decision with the twin's, whose state changes; within rounding any is right.

        That is one whose bound is the twin's best, ``bounds(twin, x)``, up to 1e-9, or one that a
        change of the row by 1e-8 brings about. Returns whether the two decisions are equal.
        """
        expected = ask(self.twin, x)
        if same_numbers(got, expected):
            return True
        if bounds is not None:
            values, chosen = bounds(twin_before, x), got[-1] if isinstance(got, tuple) else got
            if values[chosen] >= values.max() - 1e-9 * max(1.0, abs(values.max())):
                return False
        r = np.random.default_rng(zlib.crc32(repr(len(self.steps)).encode()))
        for size in (1e-12, 1e-10, 1e-9, 1e-9, 1e-8, 1e-8, 1e-8):
            moved = x * (1.0 + size * r.standard_normal(np.shape(x)))
            if same_numbers(got, ask(copy.deepcopy(twin_before), moved)):
                return False
        self.fail(f"{what}: {got!r}, and the twin {expected!r}")

    # --- a step ---------------------------------------------------------------------------------

    @classmethod
    def rules(cls, name):
        """Names and weights of the rules for a class."""
        found = {}
        for key in sorted(dir(cls)):
            if key.startswith("rule_"):
                method = getattr(cls, key)
                if cls.has_rule(name, key):
                    found[key] = getattr(method, "weight", 1)
        return found

    @classmethod
    def has_rule(cls, name, rule):
        return True

    @classmethod
    def share(cls, name):
        """How often a class is drawn in a long run."""
        return 1.0

    def step(self, rule, seed):
        self.steps.append((rule, seed))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                getattr(self, rule)(random.Random(seed))
            finally:
                self.switch.clear()
        self.compare(rule)

    def refused(self, what, call, kinds=REFUSED):
        """A call that must be refused, and must leave no trace."""
        before = self.finger()
        try:
            answer = call()
        except kinds as error:
            if not str(error) and not isinstance(error, Boom):
                self.fail(f"{what}: {type(error).__name__} without a word")
        except Exception as error:
            self.fail(f"{what}: {type(error).__name__} ({error}), not "
                      f"{' or '.join(kind.__name__ for kind in kinds)}")
        else:
            self.fail(f"{what}: accepted, with the answer {answer!r}")
        self.unmoved(what, before)

    def unmoved(self, what, before):
        after = self.finger()
        if after[2] != before[2]:
            self.fail(f"{what}: refused, and yet changed: {difference(before[2], after[2])}")
        if after[0] != before[0]:
            old, new = settled(before[1]), settled(after[1])
            if old != new:
                self.fail(f"{what}: refused, and yet changed: {difference(old, new)}")

    def read(self, what, call, twin=None, tolerance=None):
        """A reading: the same bits of the mirror, the twin's numbers, nothing moved."""
        before = self.finger()
        got = call(self.learner)
        self.unmoved(f"{what} (a reading)", before)
        self.alike(what, got, call(self.mirror))
        if self.twin is not None and twin is not None:
            expected = twin(self.twin)
            if expected is not None:
                self.close(what, got, expected, tolerance)
        return got

    # --- rules that all have --------------------------------------------------------------------

    def copied(self, learner, r):
        """The learner by way of a copy."""
        ways = ["pickle", "deepcopy", "copy"] + ([] if self.own_code() else ["file", "file"])
        way = r.choice(ways)
        if way == "pickle":
            return pickle.loads(pickle.dumps(learner, protocol=r.choice([2, 5])))
        if way == "deepcopy":
            return copy.deepcopy(learner)
        if way == "copy":
            return copy.copy(learner)
        path = os.path.join(FOLDER, f"{os.getpid()}.cf")
        learner.save(path)
        return cf.load(path)

    def rule_copy(self, r):
        """One of the two goes on as a copy of itself."""
        before = self.finger()
        found = self.copied(self.learner, r)
        self.unmoved("copying", before)
        if type(found) is not self.cls or described(found) != described(self.learner):
            self.fail(f"a copy is {found!r}, not {self.learner!r}")
        if self.state_of(found) != before[0]:
            ours, theirs = self.settled_of(self.learner), self.settled_of(found)
            if ours != theirs:
                self.fail(f"a copy differs: {difference(ours, theirs)}")
        if r.random() < 0.5:
            self.learner = found
        else:
            self.mirror = self.copied(self.mirror, r)

    rule_copy.weight = 2

    def rule_clone(self, r):
        fresh = self.made_of(self.learner.get_params(deep=False))
        clone = self.learner.clone()
        for one in (fresh, clone):
            if self.state_of(one) != self.state_of(self.made()):
                self.fail("a clone is not as a fresh one: "
                          f"{difference(self.state_of(one), self.state_of(self.made()))}")
        if described(clone) != described(self.learner):
            self.fail(f"a clone is {clone!r}, not {self.learner!r}")

    def made_of(self, parameters):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.cls(**parameters)

    def rule_save_refused(self, r):
        """To where nothing can be written, and of what no file can hold."""
        path = os.path.join(FOLDER, "no such folder", "learner.cf")
        kinds = (OSError, ValueError) if self.own_code() else (OSError,)
        self.refused("save", lambda: self.learner.save(path), kinds)
        if self.own_code() and not self.only_task():
            self.refused("save", lambda: self.learner.save(os.path.join(FOLDER, "own.cf")),
                         (ValueError,))

    rule_save_refused.weight = 0.3

    def only_task(self):
        """Own code is only in the task, which a file names without holding it."""
        return False

    def rule_reset(self, r):
        if r.random() < 0.5:
            self.learner.reset()
            self.mirror.reset()
        else:  # a fresh one is one that was reset
            self.learner.reset()
            self.mirror = self.made()
        self.new_twin()
        self.forgotten()

    rule_reset.weight = 0.5

    def forgotten(self):
        """After a reset."""

    # --- parameters -----------------------------------------------------------------------------

    def changes(self):
        """Parameters that may be changed at any time: name -> values."""
        return {}

    def bad_changes(self):
        """Pairs of a parameter and a value that is none."""
        return [("no_such_parameter", 1)]

    def rule_set_params(self, r):
        choices = self.changes()
        if not choices:
            return
        names = r.sample(sorted(choices), min(len(choices), r.choice([1, 1, 1, 2])))
        given = {name: r.choice(choices[name]) for name in names}
        self.set_params(given)

    def kept_by_set_params(self, learner):
        """What no allowed change of parameters may move."""
        return learner.rounds

    def set_params(self, given):
        before, fresh = self.finger(), self.learner._engine._fresh
        kept = self.kept_by_set_params(self.learner)
        try:
            self.learner.set_params(**given)
        except REFUSED:
            self.unmoved(f"set_params({given})", before)
            try:
                self.mirror.set_params(**given)
            except REFUSED:
                return
            self.fail(f"set_params({given}): refused, and accepted by a copy")
        self.mirror.set_params(**given)
        if self.kept_by_set_params(self.learner) != kept:
            self.fail(f"set_params({given}) moved {kept} to "
                      f"{self.kept_by_set_params(self.learner)}")
        old, self.parameters = self.parameters, {**self.parameters, **given}
        for name, value in given.items():
            if self.learner.get_params()[name] is not value:
                self.fail(f"set_params({given}): get_params has "
                          f"{self.learner.get_params()[name]!r}")
        if fresh:
            self.new_twin()
            self.forgotten()
        elif self.twin is not None:
            self.twin = self.adopted(old, given)

    def adopted(self, old, given):
        """The twin with other settings: what differs between two fresh ones is set."""
        first, second = self.made_twin(old), self.made_twin(self.parameters)
        if second is None:
            return None
        for name, value in vars(second).items():
            if name not in vars(first) or not same_numbers(vars(first)[name], value):
                setattr(self.twin, name, value)
        return self.twin

    def rule_bad_params(self, r):
        name, value = r.choice(self.bad_changes())
        given = {name: value}
        good = self.changes()
        if good and r.random() < 0.5:  # with one that alone would be good, before or behind
            other = r.choice(sorted(good))
            if other != name:
                pair = [(name, value), (other, r.choice(good[other]))]
                r.shuffle(pair)
                given = dict(pair)
        self.refused(f"set_params({given})", lambda: self.learner.set_params(**given),
                     (*REFUSED, Boom))

    def rule_shaping(self, r):
        """What shapes the state waits for a reset."""
        if self.learner._engine._fresh:
            return
        shaping = self.shaping_changes()
        if not shaping:
            return
        name = r.choice(sorted(shaping))
        value = shaping[name]
        self.refused(f"set_params({name}={value!r})",
                     lambda: self.learner.set_params(**{name: value}))

    rule_shaping.weight = 0.5

    def shaping_changes(self):
        return {}

    def stops(self, r, run, single, X):
        """A run over a row beyond the range of float64: the rows before it are learned, and the
        learner is as after single calls of those. On copies: what follows may be too large, too.

        run : (learner, X) -> history
        single : (learner, X, t): the calls of round t
        """
        one, other = copy.deepcopy(self.learner), copy.deepcopy(self.mirror)
        rounds = one.rounds
        X = X.copy()
        X[r.randrange(len(X))] = r.choice([1e308, 1e200, 1e160, -1e308])
        done = len(X)
        try:
            run(one, X)
        except REFUSED:
            done = one.rounds - rounds
            if one.last_history is None or len(one.last_history) != done:
                self.fail(f"a run stopped after {done} rounds, and its history is "
                          f"{one.last_history!r}")
        for t in range(done):
            single(other, X, t)
        prefix = self.settled_of(other)
        if done < len(X):
            try:
                single(other, X, done)
            except REFUSED:
                pass
            else:
                self.fail(f"a run was refused at row {done}, which single calls accept")
        # those may have chosen, and drawn for that, before the row was refused
        ours, theirs = self.settled_of(one), self.settled_of(other)
        if ours not in (prefix, theirs):
            self.fail(f"a run that stopped after {done} rounds: {difference(ours, prefix)}")

    # --- code of the user's that fails or reaches back --------------------------------------------

    def ways_back(self, r):
        """``(name, call)``: what a callable may do with the learner it works for."""
        return [("reset", lambda one: one.reset())]

    def fails_inside(self, what, call, after):
        """The machine's callables raise during a call: it fails by that, and nothing has moved."""
        before = self.finger()
        self.switch.arm(boom, after)
        try:
            call(self.learner)
        except Boom:
            self.switch.clear()
            self.unmoved(f"{what} whose callable raises", before)
            return
        reached = self.switch.back is None
        self.switch.clear()
        if reached:
            self.fail(f"{what}: what the callable raised was swallowed")
        call(self.mirror)
        self.follow(what, call)

    def follow(self, what, call):
        """The twin does the same, where it has the same method; it does not choose by itself."""
        if self.twin is None:
            return
        twin, self.twin = copy.deepcopy(self.twin), None
        if "run" in what:
            return
        try:
            call(twin)
        except Exception:  # it has not, or not with such rows or words
            return
        self.twin = twin

    def reaches_back(self, what, call, r, after=0, wrap=None):
        """During a call something calls the learner: refused or done, as if before the call."""
        name, back = r.choice(self.ways_back(r))
        outcome = []

        def inner():
            before = self.finger()
            try:
                back(self.learner)
                outcome.append(True)
            except RuntimeError as error:
                outcome.append(False)
                self.unmoved(f"{name} within {what}", before)
                if not str(error):
                    self.fail(f"{name} within {what}: a RuntimeError without a word")
            except REFUSED:
                outcome.append(False)
                self.unmoved(f"{name} within {what}", before)

        target = self.learner
        self.switch.arm(inner, after)
        failed = None
        try:
            call(target)
        except (*REFUSED, RuntimeError) as error:
            failed = error
        self.switch.clear()
        where = f"{name} within {what}"
        if outcome and outcome[0]:
            back(self.mirror)
            self.follow(name, back)
            self.forgotten()
        if failed is None:
            try:
                call(self.mirror)
            except (*REFUSED, RuntimeError) as error:
                self.fail(f"{where}: accepted, and refused one after the other: {error}")
            self.follow(what, call)
        elif self.apart():
            self.fail(f"{where}: {type(failed).__name__} ({failed}), and yet changed: "
                      f"{self.apart()}")
        self.compare(where)


def twin_words(name):
    found = _words.get(name)
    if found is None:
        import inspect

        found = _words[name] = set(inspect.signature(getattr(reference, name).__init__).parameters)
    return found


_words = {}


class Reaching:
    """A number, or an array, that does something before it says what it is."""

    def __init__(self, value, switch):
        self.value, self.switch = value, switch

    def __index__(self):
        self.switch.pull()
        return int(self.value)

    def __float__(self):
        self.switch.pull()
        return float(self.value)

    def __array__(self, dtype=None, copy=None):
        self.switch.pull()
        return np.array(self.value, dtype=dtype)

    def __len__(self):
        return len(self.value)

    def __getitem__(self, i):
        self.switch.pull()
        return np.asarray(self.value)[i]

    def __iter__(self):
        self.switch.pull()
        return iter(np.asarray(self.value).tolist())

    def __repr__(self):
        return f"Reaching({self.value!r})"


def build(name, seed):
    return MACHINES[name](name, seed)


def weights_of(name):
    return MACHINES[name].rules(name)


MACHINES = {}  # by the learner's class name


def machine(*names):
    """Decorator: the machine of these classes."""
    def put(cls):
        for name in names:
            MACHINES[name] = cls
        return cls
    return put


def replay(name, seed, steps):
    """The finding of a list of steps as text, or None."""
    try:
        one = build(name, seed)
        for rule, number in steps:
            one.step(rule, number)
    except Finding as found:
        return str(found)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def kind_of(text):
    """A finding's text without its numbers: which one it is while steps are left out."""
    return "".join(c for c in text.split(":")[0] if not c.isdigit())[:60]


def shrunk(name, seed, steps):
    """Fewer steps with a finding of the same kind."""
    text = replay(name, seed, steps)
    if text is None:
        return steps, None
    kind, size = kind_of(text), max(len(steps) // 2, 1)
    while size:
        i = 0
        while i < len(steps):
            fewer = steps[:i] + steps[i + size:]
            found = replay(name, seed, fewer)
            if found is not None and kind_of(found) == kind:
                steps, text = fewer, found
            else:
                i += size
        size //= 2
    return steps, text
