"""The functions and files that one call enters, in the order in which they are entered first.

    python bench/walks.py                         # builds a copy of this tree (minutes), all walks
    python bench/walks.py --keep copy             # the copy is built in that folder and stays
    python bench/walks.py --built copy            # one that was kept is used
    python bench/walks.py --tree ../other         # another tree than this one
    python bench/walks.py "Confidit.choose" -v    # walks whose names hold a text; all functions

How much one must read to understand what a call does. Counted are the package's own
functions: those of its Python files, its Cython functions (def, cdef, cpdef, inline ones too) and
those of the C library. Not counted are what Cython adds, Python, NumPy and the operations on lanes
(csrc/isa/lanes*.h). Each function counts once, however often it is entered; of a run those count
that every fourth round at least enters. A second count ends at the C library: of its functions
those count that Python or Cython enters, without the inline ones of headers, and modules are
counted (a .pyx with its .pxd), not files.

It is exact, not sampled: the copy is compiled without optimisation, each function calls
``__cyg_profile_func_enter`` (``-finstrument-functions``), a small library that is preloaded writes
the addresses down, and the symbols of the build name function and file. Python functions are noted
by ``sys.setprofile``. Calls are warmed up, so that nothing is counted that happens once. Needs
Linux, GCC and addr2line.
"""

import argparse
import collections
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOM = 1 << 22  # entries of one walk
HOOK = f"#define ROOM {ROOM}" + """
static void *entered[ROOM];
static int many, on;

#define PLAIN __attribute__((no_instrument_function))

PLAIN void __cyg_profile_func_enter(void *function, void *site)
{
    (void)site;
    if (on && many < ROOM)
        entered[many++] = function;
}
PLAIN void __cyg_profile_func_exit(void *function, void *site)
{
    (void)function, (void)site;
    if (on && many < ROOM)
        entered[many++] = 0;
}
PLAIN void walk_from_here(void) { many = 0, on = 1; }
PLAIN void walk_to_here(void) { on = 0; }
PLAIN int walk_length(void) { return many; }
PLAIN void *walk_step(int i) { return entered[i]; }
"""
UNCOUNTED = "/usr/,numpy,python3,lanes"  # parts of the paths of files whose functions are none
MADE = ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")  # no functions in newer Pythons
UNITS = ("baseline", "v3", "v4")  # csrc/isa/*.c that only include the others
ROUNDS = 16
WALKS = {}


def walk(name):
    """Registers a function that makes ready and returns the call, or that of n rounds."""
    def register(function):
        WALKS[name] = function
        return function
    return register


def per_round(name):
    def register(function):
        function.rounds = True
        return walk(name)(function)
    return register


# --- the calls ----------------------------------------------------------------------------------


def register_all():
    import numpy as np

    import coactive_fast as cf

    rng = np.random.default_rng(20260101)
    X = rng.standard_normal((64, 9))
    documents = rng.standard_normal((64, 20, 10))
    labels = np.argmax(X[:, :5], axis=1)

    @walk("(a) Confidit.choose")
    def choose():
        learner = cf.Confidit(5)
        learner.run(X, labels)
        return lambda t: learner.choose(X[t])

    @walk("(a) Confidit.learn, after choose")
    def learn():
        learner = cf.Confidit(5)
        learner.run(X, labels)
        for t in (0, 1):
            learner.choose(X[t])
            learner.learn(X[t], 1, True)
        learner.choose(X[2])
        return lambda t: learner.learn(X[2], 1, True)

    @walk("(b) LinearBandit.choose")
    def linear():
        learner, actions = cf.LinearBandit(), rng.standard_normal((64, 10, 16))
        for t in range(8):
            learner.learn(actions[t, 0], 1.0)
        return lambda t: learner.choose(actions[t])

    @per_round("(c) simulate, a round")
    def simulated():
        features = documents.reshape(-1, 10)
        data = cf.data.RankingData(features, np.round(features @ np.arange(10.0)),
                                   np.arange(65) * 20)
        learner = cf.PreferencePerceptron(cf.Ranking(k=5))
        user = cf.users.AlphaInformative(0.8)
        return lambda n: cf.simulate(learner, data, user, order=np.arange(n) % 64,
                                     weights=np.arange(10.0))

    @per_round("(d) RidgeFilter.run, a round")
    def filtered():
        learner = cf.RidgeFilter()
        return lambda n: learner.run(np.resize(X, (n, 9)), np.ones(n, dtype=bool))

    def rows():
        """A file of 500 rows in the working directory, which is a temporary one."""
        with open("rows.svm", "w") as file:
            for t in range(500):
                entries = " ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(X[t % 64]))
                file.write(f"{labels[t % 64]} {entries}\n")
        return "rows.svm"

    @walk("(e) coactive-fast train confidit rows.svm --model model.cf")
    def train():
        from coactive_fast import cli

        words = ["train", "confidit", rows(), "--model", "model.cf", "--quiet"]
        return lambda t: cli.main(words)

    @walk("(e) the same in four lines of Python")
    def four_lines():
        file = rows()

        def call(t):
            features, found = cf.data.load_svmlight(file)
            learner = cf.Confidit(5)
            learner.run(features, found)
            learner.save("model.cf")
        return call

    @walk("(f) Fleet.learn")
    def fleet():
        models = cf.Fleet(None, cf.LinearBandit(), capacity=8)
        for key in (1, 2):
            models.learn(key, X[0], 1.0)
        return lambda t: models.learn(1, X[t], 1.0)

    @walk("(g) logs.evaluate")
    def evaluate():
        n = 512
        log = cf.logs.BanditLog(rng.standard_normal((2 * n, 10)), range(0, 2 * n + 1, 2),
                                np.arange(n) % 2, rng.random(n), np.full(n, 0.5))
        policy = cf.LinearBandit(explore="greedy")
        policy.learn(documents[0, 0], 1.0)
        return lambda t: cf.logs.evaluate(policy, log)

    @walk("PreferencePerceptron.present, a ranking")
    def present():
        learner = cf.PreferencePerceptron(cf.Ranking(k=5))
        learner.learn(documents[0], [0, 1], [1, 0])
        return lambda t: learner.present(documents[t])

    @walk("ONSEG.ask and tell")
    def ask():
        learner = cf.ONSEG(5, cf.Ball(1.0), horizon=100_000, loss_bound=100.0, seed=1)

        def call(t):
            learner.ask()
            learner.tell(0.5)
        return call

    @walk("RidgeFilter.forward")
    def forward():
        learner = cf.RidgeFilter()
        learner.learn(X[0], True)
        return lambda t: learner.forward(X[t])

    @walk("ArmBandit.choose")
    def arm():
        learner = cf.ArmBandit(5)
        learner.learn(X[0], 1, 1.0)
        return lambda t: learner.choose(X[t])


# --- in the copy --------------------------------------------------------------------------------


class Recorder:
    """Inside a `with`: what is entered, compiled and not."""

    def __init__(self, library, package):
        import ctypes

        self.library = ctypes.CDLL(library)
        self.library.walk_step.restype = ctypes.c_void_p
        self.package = package + os.sep

    def __enter__(self):
        self.python = []
        sys.setprofile(self.called)
        self.library.walk_from_here()

    def __exit__(self, *error):
        self.library.walk_to_here()
        sys.setprofile(None)

    def called(self, frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(self.package):
            name = getattr(code, "co_qualname", code.co_name)
            if not name.endswith(MADE):
                step = ("python", name, code.co_filename)
                self.python.append((self.library.walk_length(), step))

    def steps(self):
        """Addresses of compiled functions, each with that of the one that it was entered from, and
        Python functions between them."""
        found, stack, many, length = [], [], 0, self.library.walk_length()
        if length == ROOM:
            raise RuntimeError("a walk is too long for the hook")
        for at, step in [*self.python, (length, None)]:
            for i in range(many, at):
                address = self.library.walk_step(i)
                if address is None:
                    stack[-1:] = []
                    continue
                found.append(("compiled", address, stack[-1] if stack else None))
                stack.append(address)
            many = at
            if step is not None:
                found.append(step)
        return found


def child(library, names):
    """Plays the walks; prints their steps and where the modules stand, as JSON."""
    import coactive_fast

    package = os.path.dirname(coactive_fast.__file__)
    recorder = Recorder(library, package)
    register_all()
    found = {}
    for name in names:
        call = WALKS[name]()
        rounds = (ROUNDS, 2 * ROUNDS) if hasattr(WALKS[name], "rounds") else (2,)
        if len(rounds) > 1 or "after" not in name:
            call(rounds[-1] - 1)
        found[name] = []
        for n in rounds:
            with recorder:
                call(n)
            found[name].append(recorder.steps())
    with open("/proc/self/maps") as lines:
        maps = [line.split() for line in lines if package in line]
    bases = {}
    for where, _, offset, _, _, path in maps:
        if int(offset, 16) == 0:
            bases.setdefault(path, int(where.split("-")[0], 16))
    ends = {path: int(where.split("-")[1], 16) for where, *_, path in maps}
    modules = [(bases[path], ends[path], path) for path in bases]
    json.dump({"steps": found, "modules": modules, "package": package}, sys.stdout)


# --- names --------------------------------------------------------------------------------------


def named(steps, modules):
    """{address: (function, file)} of all compiled steps; None for what Cython made."""
    addresses = sorted({step[1] for kind in steps.values() for walked in kind for step in walked
                        if step[0] == "compiled"})
    by_module = collections.defaultdict(list)
    for address in addresses:
        for begin, end, path in modules:
            if begin <= address < end:
                by_module[path, begin].append(address)
    found = {}
    for (path, begin), inside in by_module.items():
        text = "\n".join(hex(address - begin) for address in inside)
        lines = subprocess.run(["addr2line", "-f", "-e", path], input=text, text=True,
                               stdout=subprocess.PIPE, check=True).stdout.splitlines()
        for address, name, where in zip(inside, lines[::2], lines[1::2], strict=True):
            found[address] = readable(name, where.rsplit(":", 1)[0])
    return found


def readable(name, file):
    """("Class.method", file) of a symbol, None for what stands in no source."""
    cython = re.match(r"__pyx_(?:f|pf|fuse_\d+)_(.*)", name)
    if not cython:
        return None if re.match(r"__[pP]yx|Py", name) else (name, file)
    rest, parts = cython[1], []
    while (length := re.match(r"(\d+)", rest)) and len(rest) > len(length[1]) + int(length[1]):
        end = len(length[1]) + int(length[1])
        if rest[end] != "_":
            break
        parts.append(rest[len(length[1]):end])
        rest = rest[end + 1:]
    classes = [part for part in parts if part[:1].isupper() or part.startswith("__")]
    return ".".join([*classes, re.sub(r"^\d+", "", rest)]), file


def functions(walked, names, source):
    """The functions of one walk, each once, as (name, file, whether the second count leaves it
    out): of two lengths of a run those that the longer one enters more often."""
    counted, outer = [collections.Counter(), collections.Counter()], set()
    for steps, counts in zip(walked, counted, strict=False):
        for step in steps:
            entry = names[step[1]] if step[0] == "compiled" else tuple(step[1:])
            if entry is None:
                continue
            entry = entry[0], source(*entry)
            counts[entry] += 1
            parent = names.get(step[2]) if step[0] == "compiled" else None
            if not (is_c(entry[1]) and parent is not None and is_c(source(*parent))):
                outer.add(entry)
    if len(walked) == 1:
        found = counted[0]
    else:
        found = [entry for entry, times in counted[1].items()
                 if times - counted[0][entry] >= ROUNDS // 4]
    return [(*entry, entry not in outer or is_inline(*entry)) for entry in found]


def is_c(file):
    """Whether a file is one of the C library."""
    return file.startswith("csrc")


def is_inline(name, file):
    """Whether that is an inline C function of a header or of a .pxd."""
    return file.startswith("csrc/include") or (name.startswith("cf_") and file.endswith(".pxd"))


class Sources:
    """In which source of the tree a function stands."""

    def __init__(self, root):
        self.root = Path(root)
        self.texts = {path.relative_to(self.root): path.read_text()
                      for folder in ("csrc", "coactive_fast")
                      for path in sorted((self.root / folder).rglob("*"))
                      if path.suffix in (".h", ".pyx", ".pxd", ".pxi")}

    def __call__(self, name, file):
        """The file that the symbols name; where Cython made it or it only includes others, the one
        with the definition."""
        path = Path(os.path.normpath(self.root / file))
        if not path.is_relative_to(self.root):
            return str(path)
        path = path.relative_to(self.root)
        if path.suffix == ".c" and (path.parts[0] == "coactive_fast" or path.stem in UNITS):
            defined = re.compile(rf"^ *static [^\n;=]*\b{name}\(", re.MULTILINE)
            found = (other for other, text in self.texts.items() if defined.search(text))
            path = next(found, path)
        return str(path)


# --- the copy -----------------------------------------------------------------------------------

BUILD = """
import functools, runpy, sys
import Cython.Build
Cython.Build.cythonize = functools.partial(Cython.Build.cythonize, emit_linenums=True)
sys.argv = ["setup.py", "build_ext", "--inplace"]
sys.path.insert(0, ".")
runpy.run_path("setup.py", run_name="__main__")
"""


def build(tree, folder):
    """A copy of the sources, compiled so that each function says when it is entered."""
    ignore = shutil.ignore_patterns("*.so", "*.o", "__pycache__", "reference")
    shutil.copytree(tree / "csrc", folder / "csrc", ignore=ignore)
    shutil.copytree(tree / "coactive_fast", folder / "coactive_fast", ignore=lambda path, names: (
        {*shutil.ignore_patterns("*.so", "*.c", "__pycache__")(path, names)}))
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(tree / name, folder / name)
    flags = f"-finstrument-functions -finstrument-functions-exclude-file-list={UNCOUNTED}"
    print("building a copy ...", file=sys.stderr, flush=True)
    done = subprocess.run([sys.executable, "-c", BUILD], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, "COACTIVE_DEBUG": "1", "CFLAGS": flags})
    if done.returncode:
        raise SystemExit(done.stdout[-4000:] + "\nthe copy cannot be built")


def hook(folder):
    """The library that is preloaded."""
    source, library = Path(folder, "hook.c"), Path(folder, "hook.so")
    source.write_text(HOOK)
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()
    subprocess.run([*compiler, "-O1", "-shared", "-fPIC", str(source), "-o", str(library)],
                   check=True)
    return str(library)


def walked(built, names):
    """{name: its functions} in the copy."""
    with tempfile.TemporaryDirectory() as folder:
        library = hook(folder)
        environment = {**os.environ, "LD_PRELOAD": library, "PYTHONPATH": str(built),
                       "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        if platform.machine() == "x86_64":  # the same kernels wherever it runs
            environment["COACTIVE_FAST_ISA"] = "v3"
        done = subprocess.run(
            [sys.executable, os.path.abspath(__file__), "--child", library, *names], cwd=folder,
            env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit("the walks failed")
    found = json.loads(done.stdout.splitlines()[-1])
    names_of = named(found["steps"], found["modules"])
    source = Sources(os.path.dirname(found["package"]))
    return {name: functions(steps, names_of, source) for name, steps in found["steps"].items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="*", help="parts of the names of walks (default: all)")
    parser.add_argument("-v", "--verbose", action="store_true", help="list the functions")
    parser.add_argument("--tree", type=Path, default=Path(__file__).resolve().parents[1],
                        help="the sources (default: those that this file is beside)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="build here and leave it")
    parser.add_argument("--built", type=Path, metavar="FOLDER", help="a copy that was kept")
    parser.add_argument("--child", metavar="LIBRARY", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        return child(given.child, given.texts)
    with tempfile.TemporaryDirectory() as temporary:
        built = given.built or given.keep or Path(temporary, "copy")
        if not given.built:
            built.mkdir(parents=True, exist_ok=True)
            build(given.tree.resolve(), built.resolve())
        os.environ["PYTHONPATH"] = str(built.resolve())
        sys.path.insert(0, str(built.resolve()))
        register_all()
        names = [name for name in WALKS
                 if not given.texts or any(text in name for text in given.texts)]
        if not names:
            parser.error("no walk has such a name")
        report(walked(built.resolve(), names), given.verbose)
    return 0


def report(found, verbose):
    for name, entered in found.items():
        if verbose:
            print(f"\n{name}")
            for number, (function, file, inner) in enumerate(entered, 1):
                print(f"  {number:3}  {function:44} {file}{'  (C)' if inner else ''}")
        files = [file for _, file, _ in entered]
        outer = {os.path.splitext(file)[0] for _, file, inner in entered
                 if not (inner or is_c(file))}
        changes = sum(a != b for a, b in zip(files, files[1:], strict=False))
        python = [file for file in files if file.endswith(".py")]
        print(f"{name}: {len(entered)} functions, {len(set(files))} files, {changes} changes of "
              f"file (of Python: {len(python)} functions, {len(set(python))} files); up to the C "
              f"library: {sum(not inner for *_, inner in entered)} functions, {len(outer)} modules")


if __name__ == "__main__":
    sys.exit(main())
