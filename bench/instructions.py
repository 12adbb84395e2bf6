"""Instructions of single calls and of rounds, counted by Valgrind: a number that has no noise.

    python bench/instructions.py                     # all operations, a table
    python bench/instructions.py Confidit top_k      # those whose names hold one of these texts
    python bench/instructions.py --write new.json    # keep the counts
    python bench/instructions.py --compare bench/instructions_0.2.1.json

Each operation is warmed up and then plays N and 2 N calls (8 times as many rounds of a run), from a
state that is made anew; the difference, divided by N, is the cost of one. The interpreter's part of
it is some 100 instructions for the loop and the call itself. ``--compare`` lists each operation
beside the recorded count, marks what costs more than 1 % more, and ends with status 1 if there is
such a row.

Counts of one build agree to less than 0.1 % from run to run: the hash seed is fixed, the collector
of cycles is off, BLAS has one thread, clocks stand still, memory is malloc's (Python's own pools
cost more or less by how full they are), and each operation has a process of its own, forked from
one that has imported the package. What was allocated before moves a row by some 0.2 % even so.
Other compilers, interpreters and versions of numpy count otherwise; they stand in the file, and a
comparison warns where they differ. Valgrind's processor has AVX2 and FMA and no AVX-512, so that
the kernels are those of `v3`, whatever the machine has.
``COACTIVE_FAST_ISA`` chooses others. The package is the one that Python finds: ``PYTHONPATH`` names
another tree.

Needs valgrind with its headers, and the C compiler. A count says nothing of caches and branches:
timings stand in the benchmarks beside this file.
"""

import argparse
import gc
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from itertools import cycle, islice
from pathlib import Path

import numpy as np

N = 128  # calls of the shorter one of the two plays
WARM = 32
MORE = 1.01  # what is reported

# Where a count begins and ends; and clocks that stand still: runs check for signals by the time.
MARKS = """
#include <time.h>
#include <valgrind/callgrind.h>
void count_from_here(void) { CALLGRIND_ZERO_STATS; }
void count_to_here(void) { CALLGRIND_DUMP_STATS; }
int timespec_get(struct timespec *t, int base)
{
    t->tv_sec = 1800000000, t->tv_nsec = 0;
    return base;
}
int clock_gettime(clockid_t clock, struct timespec *t)
{
    (void)clock;
    t->tv_sec = 1800000000, t->tv_nsec = 0;
    return 0;
}
"""
LONG = 8  # times as many rounds, for those of a run: what the run itself does varies by some 100
OPERATIONS = {}


def operation(name, times=1):
    """Registers a function that makes ready and returns another one, which makes n calls."""
    def register(function):
        OPERATIONS[name] = function, times
        return function
    return register


# --- data ---------------------------------------------------------------------------------------

D, K = 9, 5
RNG = np.random.default_rng(20260101)
X = RNG.standard_normal((64, D))
ROWS = list(X)
LABELS = [int(label) for label in np.argmax(X[:, :K], axis=1)]
RELEVANT = [bool(row.sum() > 0.0) for row in X]
REWARDS = [float(reward) for reward in X @ RNG.standard_normal(D)]
CANDIDATES = list(RNG.standard_normal((64, 10, 16)))
DOCUMENTS = list(RNG.standard_normal((64, 20, 10)))
WEIGHTS = RNG.standard_normal(10)


def endless(n, *columns):
    """The first n rows of columns that begin again and again."""
    return islice(cycle(zip(*columns, strict=True)), n)


def repeated(column, n):
    return np.resize(np.asarray(column), (n, *np.shape(column)[1:]))


def taught(learner, *columns):
    for row in zip(*columns, strict=True):
        learner.learn(*row)
    return learner


# --- multiclass ---------------------------------------------------------------------------------


def multiclass(name, make, answer):
    """The three operations of a classifier; `answer` is what it learns of a label."""
    answers = [answer(label) for label in LABELS]

    @operation(f"{name}.choose")
    def choose():
        learner = taught(make(), ROWS, *zip(*answers, strict=True))

        def play(n):
            for (x,) in endless(n, ROWS):
                learner.choose(x)
        return play

    @operation(f"{name}.learn")
    def learn():
        learner = make()

        def play(n):
            for x, label in endless(n, ROWS, answers):
                learner.learn(x, *label)
        return play

    @operation(f"{name}.run, a round", 1 if "kernel" in name else LONG)
    def run():
        learner = make()
        return lambda n: learner.run(repeated(X, n), repeated(LABELS, n))


def right(label):
    return label, True


def alone(label):
    return (label,)


def classifiers(cf):
    multiclass("Confidit diagonal 9x5", lambda: cf.Confidit(K), right)
    multiclass("Confidit full 9x5", lambda: cf.Confidit(K, covariance="full"), right)
    multiclass("Confidit kernel 9x5", lambda: cf.Confidit(K, covariance="kernel"), right)
    multiclass("Banditron 9x5", lambda: cf.Banditron(K, seed=1), right)
    multiclass("MulticlassPerceptron 9x5", lambda: cf.MulticlassPerceptron(K), alone)
    multiclass("MulticlassAROW 9x5", lambda: cf.MulticlassAROW(K), alone)

    @operation("Confidit diagonal 9x5, choose and learn")
    def both():
        learner = cf.Confidit(K)

        def play(n):
            for x, label in endless(n, ROWS, LABELS):
                chosen = learner.choose(x)
                learner.learn(x, chosen, chosen == label)
        return play

    @operation("Confidit diagonal, choose, a CSR row of 9 of 1000")
    def sparse():
        import scipy.sparse

        row = scipy.sparse.csr_matrix((X[0], np.arange(0, 900, 100), [0, D]), shape=(1, 1000))
        learner = cf.Confidit(K)
        learner.learn(row, 1, True)

        def play(n):
            for _ in range(n):
                learner.choose(row)
        return play

    @operation("Confidit diagonal 9x5.save and load")
    def save():
        learner = taught(cf.Confidit(K), ROWS, LABELS, RELEVANT)

        def play(n):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "learner.cf")
                for _ in range(n):
                    learner.save(path)
                    cf.load(path)
        return play


# --- filtering ----------------------------------------------------------------------------------


def filtering(name, make):
    @operation(f"{name}.forward")
    def forward():
        learner = taught(make(), ROWS, RELEVANT)

        def play(n):
            for (x,) in endless(n, ROWS):
                learner.forward(x)
        return play

    @operation(f"{name}, forward and learn")
    def both():
        learner = make()

        def play(n):
            for x, relevant in endless(n, ROWS, RELEVANT):
                learner.forward(x)
                learner.learn(x, relevant)
        return play

    @operation(f"{name}.run, a round", LONG)
    def run():
        learner = make()
        return lambda n: learner.run(repeated(X, n), repeated(RELEVANT, n))


def filters(cf):
    filtering("RidgeFilter full 9", cf.RidgeFilter)
    filtering("RidgeFilter diagonal 9", lambda: cf.RidgeFilter(covariance="diagonal"))
    filtering("RidgeFilter window 9", lambda: cf.RidgeFilter(window=20))
    filtering("RidgeFilter kernel 9",
              lambda: cf.RidgeFilter(covariance="kernel", kernel="rbf", window=20))
    filtering("ProbabilisticRidgeFilter 9",
              lambda: cf.ProbabilisticRidgeFilter(explore=0.3, seed=1))


# --- coactive -----------------------------------------------------------------------------------


def ranking(name, make):
    shown = [np.arange(5)] * len(DOCUMENTS)
    better = [np.array([1, 0, 2, 4, 3])] * len(DOCUMENTS)

    @operation(f"{name}.present")
    def present():
        learner = taught(make(), DOCUMENTS, shown, better)

        def play(n):
            for (x,) in endless(n, DOCUMENTS):
                learner.present(x)
        return play

    @operation(f"{name}.learn")
    def learn():
        learner = make()

        def play(n):
            for row in endless(n, DOCUMENTS, shown, better):
                learner.learn(*row)
        return play


def coactive(cf):
    def perceptron():
        return cf.PreferencePerceptron(cf.Ranking(k=5))

    ranking("PreferencePerceptron 20x10", perceptron)
    ranking("SecondOrderPreferencePerceptron 20x10",
            lambda: cf.SecondOrderPreferencePerceptron(cf.Ranking(k=5)))

    @operation("PreferencePerceptron 20x10, simulate, a round", LONG)
    def simulated():
        offsets = np.arange(len(DOCUMENTS) + 1) * 20
        features = np.concatenate(DOCUMENTS)
        data = cf.data.RankingData(features, np.round(features @ WEIGHTS), offsets)
        learner, user = perceptron(), cf.users.AlphaInformative(0.8)
        return lambda n: cf.simulate(learner, data, user, order=np.arange(n) % len(DOCUMENTS),
                                     weights=WEIGHTS)

    @operation("PreferencePerceptron items 200x10, present and learn")
    def items():
        learner = cf.PreferencePerceptron(cf.Items(np.concatenate(DOCUMENTS)[:200]))
        left = [np.arange(start, start + 50) for start in range(64)]

        def play(n):
            for (x,) in endless(n, left):
                learner.learn(x, int(learner.present(x)), int(x[7]))
        return play


# --- online convex optimisation -----------------------------------------------------------------


def convex(cf):
    ball = cf.Ball(1.0)
    losses = cf.losses.Squared(X[:, :5], np.array(REWARDS))

    def asked(name, make, answer):
        @operation(f"{name}, ask and tell")
        def ask():
            learner = make()

            def play(n):
                for (value,) in endless(n, answer):
                    learner.ask()
                    learner.tell(value)
            return play

    def onseg():
        return cf.ONSEG(5, ball, horizon=100_000, loss_bound=100.0, seed=1)

    gradients = list(0.1 * X[:, :5])
    asked("ONSEG ball 5", onseg, [abs(reward) / 4.0 for reward in REWARDS])
    asked("OGD ball 5", lambda: cf.OGD(5, ball, 1.0), gradients)
    asked("ONS ball 5", lambda: cf.ONS(5, ball, 0.5), gradients)

    @operation("ONSEG ball 5.run, a round", LONG)
    def run():
        learner = onseg()
        return lambda n: learner.run(losses, n)


# --- rewards ------------------------------------------------------------------------------------


def rewards(cf):
    @operation("OnlineRidge 9.learn")
    def learn():
        learner = cf.OnlineRidge()

        def play(n):
            for x, y in endless(n, ROWS, REWARDS):
                learner.learn(x, y)
        return play

    @operation("OnlineRidge 9.predict, one row")
    def predict():
        learner, rows = taught(cf.OnlineRidge(), ROWS, REWARDS), [row[None] for row in ROWS]

        def play(n):
            for (x,) in endless(n, rows):
                learner.predict(x)
        return play

    @operation("OnlineRidge 9.run, a round", LONG)
    def run():
        learner = cf.OnlineRidge()
        return lambda n: learner.run(repeated(X, n), repeated(REWARDS, n))

    for explore in ("ucb", "thompson", "squarecb"):
        @operation(f"LinearBandit {explore} 10x16.choose")
        def choose(explore=explore):
            learner = cf.LinearBandit(explore=explore, seed=1)
            taught(learner, [rows[0] for rows in CANDIDATES], REWARDS)

            def play(n):
                for (rows,) in endless(n, CANDIDATES):
                    learner.choose(rows)
            return play

    @operation("LinearBandit 16.learn")
    def linear():
        learner, rows = cf.LinearBandit(), [rows[0] for rows in CANDIDATES]

        def play(n):
            for x, reward in endless(n, rows, REWARDS):
                learner.learn(x, reward)
        return play

    @operation("LinearBandit 10x16, decide and reward")
    def decide():
        learner = cf.LinearBandit(floor=0.1, seed=1)

        def play(n):
            for rows, reward in endless(n, CANDIDATES, REWARDS):
                learner.reward(learner.decide(rows)[0], reward)
        return play

    arms = [label % K for label in LABELS]

    @operation("ArmBandit 9x5.choose")
    def arm():
        learner = taught(cf.ArmBandit(K), ROWS, arms, REWARDS)

        def play(n):
            for (x,) in endless(n, ROWS):
                learner.choose(x)
        return play

    @operation("ArmBandit 9x5.learn")
    def learn_arm():
        learner = cf.ArmBandit(K)

        def play(n):
            for row in endless(n, ROWS, arms, REWARDS):
                learner.learn(*row)
        return play

    def fleet():
        made = cf.Fleet(None, cf.LinearBandit(), capacity=64)
        for key, rows in enumerate(CANDIDATES):
            made.learn(key, rows[0], 1.0)
        return made

    @operation("Fleet of LinearBandit 10x16.choose")
    def fleet_choose():
        models = fleet()

        def play(n):
            for key, rows in endless(n, range(64), CANDIDATES):
                models.choose(key, rows)
        return play

    @operation("Fleet of LinearBandit 16.learn")
    def fleet_learn():
        models, rows = fleet(), [rows[0] for rows in CANDIDATES]

        def play(n):
            for key, x, reward in endless(n, range(64), rows, REWARDS):
                models.learn(key, x, reward)
        return play


# --- metrics and kernels ------------------------------------------------------------------------


def arrays(cf):
    wide = list(RNG.standard_normal((64, 40)))
    scores = list(RNG.standard_normal((64, 1000)))

    @operation("metric.Full 40.update")
    def update():
        metric = cf.metric.Full(40)

        def play(n):
            for (x,) in endless(n, wide):
                metric.update(x)
        return play

    @operation("metric.Full 40.quad")
    def quad():
        metric = cf.metric.Full(40)
        for x in wide:
            metric.update(x)

        def play(n):
            for (x,) in endless(n, wide):
                metric.quad(x)
        return play

    @operation("kernels.top_k, 10 of 1000")
    def top_k():
        def play(n):
            for (x,) in endless(n, scores):
                cf.kernels.top_k(x, 10)
        return play

    @operation("kernels.inverse_update 40")
    def inverse_update():
        inverse = np.eye(40)

        def play(n):
            for (x,) in endless(n, wide):
                cf.kernels.inverse_update(inverse, x)
        return play


def register_all():
    import coactive_fast as cf

    for family in (classifiers, filters, coactive, convex, rewards, arrays):
        family(cf)


# --- under valgrind -----------------------------------------------------------------------------


def count(name, marks):
    """In a process of its own: the part files 1 and 2 of this process count N and 2 N calls."""
    make, times = OPERATIONS[name]
    make()(2 * N)
    for n in (N, 2 * N):
        play = make()
        play(WARM)
        marks.count_from_here()
        play(n * times)
        marks.count_to_here()


def child(library, names):
    """Prints, as JSON, the process of each operation and the versions of what is counted."""
    import ctypes

    marks = ctypes.CDLL(library)
    register_all()
    gc.disable()
    processes = {}
    for name in names:
        sys.stdout.flush()
        process = os.fork()
        if process == 0:
            status = 1
            try:
                count(name, marks)
                status = 0
            finally:
                if status:
                    sys.excepthook(*sys.exc_info())
                os._exit(status)
        if os.waitpid(process, 0)[1] != 0:
            raise SystemExit(f"{name}: it failed")
        processes[name] = process
    json.dump({"processes": processes, "record": versions()}, sys.stdout)


def versions():
    import coactive_fast as cf

    config = cf.show_config("dicts")
    return {"coactive_fast": config["coactive_fast"], "isa": config["isa"]["chosen"],
            "compiler": config["build"]["compiler"], "python": platform.python_version(),
            "numpy": config["numpy"], "machine": config["isa"]["machine"]}


# --- outside ------------------------------------------------------------------------------------


def measured(names):
    """The record of this build and the counts of these operations."""
    for program in ("valgrind", compiler()[0]):
        if shutil.which(program) is None:
            raise SystemExit(f"{program} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "marks.c"), str(Path(folder, "marks.so"))
        source.write_text(MARKS)
        subprocess.run([*compiler(), "-O1", "-shared", "-fPIC", str(source), "-o", library],
                       check=True)
        done = subprocess.run(
            ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={folder}/out.%p",
             sys.executable, os.path.abspath(__file__), "--child", library, *names],
            env={**environment(), "LD_PRELOAD": library}, cwd=folder, stdout=subprocess.PIPE,
            text=True)
        if done.returncode:
            raise SystemExit("nothing was counted")
        found = json.loads(done.stdout)
        found["record"]["valgrind"] = subprocess.run(
            ["valgrind", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        counts = {}
        for name, process in found["processes"].items():
            once, twice = (total(Path(folder, f"out.{process}.{part}")) for part in (1, 2))
            counts[name] = round((twice - once) / (N * OPERATIONS[name][1]), 1)
        return found["record"], counts


def compiler():
    return (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()


def environment():
    """What the counts may depend on, and no more."""
    kept = ("PATH", "PYTHONPATH", "COACTIVE_FAST_ISA", "LD_LIBRARY_PATH", "TMPDIR")
    pools = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")}
    return {**{name: os.environ[name] for name in kept if name in os.environ}, **pools,
            "PYTHONHASHSEED": "0", "PYTHONMALLOC": "malloc"}


def total(path):
    for line in path.read_text().splitlines():
        if line.startswith("summary:"):
            return int(line.split()[1])
    raise SystemExit(f"{path}: no summary")


def table(counts, before):
    """Prints all rows; those that cost more than before by MORE."""
    width, worse = max(map(len, counts)), []
    for name, number in counts.items():
        line = f"{name:{width}}  {number:>11,.1f}"
        if name in before:
            ratio = number / before[name]
            line += f"  {before[name]:>11,.1f}  {100.0 * (ratio - 1.0):>+7.2f} %"
            if ratio > MORE:
                worse.append(name)
                line += "  more"
        print(line)
    return worse


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="*", help="parts of the names of operations (default: all)")
    parser.add_argument("--write", metavar="FILE", help="keep the counts as JSON")
    parser.add_argument("--compare", metavar="FILE", help="beside the counts of this file")
    parser.add_argument("--child", metavar="LIBRARY", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        return child(given.child, given.texts)
    register_all()
    names = [name for name in OPERATIONS
             if not given.texts or any(text in name for text in given.texts)]
    if not names:
        parser.error("no operation has such a name")
    record, counts = measured(names)
    print(", ".join(f"{key} {value}" for key, value in record.items()))
    before = json.loads(Path(given.compare).read_text()) if given.compare else {}
    for key, value in before.get("record", {}).items():
        if key != "coactive_fast" and record.get(key) != value:
            print(f"the file was made with another {key}: {value}")
    worse = table(counts, before.get("instructions", {}))
    if given.write:
        Path(given.write).write_text(json.dumps({"record": record, "instructions": counts},
                                                indent=1) + "\n")
    if worse:
        print(f"{len(worse)} of {len(counts)} cost more than {MORE - 1.0:.0%} more")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
