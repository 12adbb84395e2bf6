"""The package as a whole: what it shows, what importing it does, its instruction sets, its docs."""

import ast
import ctypes
import doctest
import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import coactive_fast as cf
from coactive_fast import _table

PACKAGE = Path(cf.__file__).resolve().parent
PUBLIC = {f"kernels.{name}": getattr(cf.kernels, name) for name in cf.kernels.__all__}
PUBLIC |= {f"metric.{name}": getattr(cf.metric, name) for name in cf.metric.__all__}
PUBLIC |= {"get_include": cf.get_include, "show_config": cf.show_config}


def python(code, *arguments, cwd, **environment):
    """Runs code in a fresh process that imports the same package as this one."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), **environment}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=cwd, env=environment, capture_output=True, text=True, timeout=300,
    )


# --- what is shown --------------------------------------------------------------------------


def test_version():
    assert cf.__version__ == cf.show_config("dicts")["coactive_fast"]
    assert all(part.isdigit() for part in cf.__version__.split(".")[:2])


def test_show_config(capsys):
    config = cf.show_config("dicts")
    assert set(config) == {"coactive_fast", "isa", "build", "python", "numpy", "include"}
    isa = config["isa"]
    assert isa["chosen"] in isa["runnable"]
    assert set(isa["runnable"]) <= set(isa["built"])
    assert "baseline" in isa["runnable"]
    assert isinstance(isa["fused_multiply_add"], bool)
    assert config["build"]["compiler"]
    assert cf.show_config() is None
    assert ast.literal_eval(
        capsys.readouterr().out.replace("true", "True").replace("false", "False")
    ) == config
    with pytest.raises(ValueError, match="mode"):
        cf.show_config("yaml")


def test_get_include_has_the_headers():
    headers = Path(cf.get_include()) / "coactive_fast"
    for name in ("cf_library.h", "cf_table.h", "cf_dense.h", "cf_inverse.h"):
        assert (headers / name).is_file(), name


def test_sources_that_are_not_built(tmp_path):
    """Who imports from the source folder is told what to do, in one sentence."""
    shutil.copytree(PACKAGE, tmp_path / "coactive_fast",
                    ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    done = subprocess.run([sys.executable, "-c", "import coactive_fast"], cwd=tmp_path,
                          capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""})
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: the compiled modules of coactive_fast are not in")
    assert str(tmp_path) in last and "build_ext --inplace" in last


def test_public_names():
    assert set(cf.__all__) <= set(dir(cf))
    for name in cf.__all__:
        getattr(cf, name)
    with pytest.raises(AttributeError, match="no_such_name"):
        cf.no_such_name  # noqa: B018


# --- importing ------------------------------------------------------------------------------


def test_import_loads_nothing_it_does_not_need(tmp_path):
    code = (
        "import sys, numpy; before = set(sys.modules); import coactive_fast\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = python(code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.split()
    assert "coactive_fast.kernels" in loaded
    unwanted = ("scipy", "pytest", "hypothesis", "matplotlib", "jinja2", "Cython", "setuptools",
                "argparse", "coactive_fast.reference", "coactive_fast.testing", "coactive_fast.cli",
                "coactive_fast._tour")
    found = [name for name in loaded
             if any(name == u or name.startswith(u + ".") for u in unwanted)]
    assert not found


def test_floating_point_mode_is_left_alone(tmp_path):
    code = """
import sys
import numpy as np
tiny = np.array([5e-324, 2e-310])
import coactive_fast as cf
def check():
    assert float(sys.argv[1]) * float(sys.argv[2]) != 0.0
    assert (tiny * 1.0 != 0.0).all() and (tiny / 2.0)[1] != 0.0
    assert 1.0 + float("1e-16") == 1.0 and 0.1 + float("0.2") == 0.30000000000000004
check()
Ainv = np.eye(300)
cf.kernels.inverse_update(Ainv, np.ones(300))
cf.kernels.project_ball(np.ones(300), Ainv, 0.5)
cf.kernels.exp(np.linspace(-745.0, 700.0, 100))
cf.metric.Full(100).update(np.ones(100))
check()
print("kept")
"""
    done = python(code, "5e-324", "1", cwd=tmp_path)
    assert done.stdout.strip() == "kept", done.stderr


def test_reference_is_loaded_when_asked_for(tmp_path):
    done = python("import coactive_fast as cf; print(cf.reference.top_k([1.0, 2.0], 1))",
                  cwd=tmp_path)
    assert done.stdout.strip() == "[1]", done.stderr


# --- instruction sets -----------------------------------------------------------------------

BUNDLE = '''
import sys
import numpy as np
import coactive_fast as cf
from coactive_fast.kernels import *
from coactive_fast.metric import Diagonal, Dual, Full

rng = np.random.default_rng(7)
out = {"fma": np.array(cf.show_config("dicts")["isa"]["fused_multiply_add"])}


def keep(name, *values):
    for i, value in enumerate(values):
        out[f"{name} {i}"] = np.asarray(value)


for n in (1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 131):
    x, z, w = rng.standard_normal((3, n))
    X = rng.standard_normal((n, 37))
    F = rng.standard_normal((2 * n + 3, n))
    B = np.linalg.inv(np.round(F.T @ F / n, 6) + 0.1 * np.eye(n))
    B = np.round(np.tril(B) + np.tril(B, -1).T, 12)
    q = rng.uniform(0.05, 1.0, n)
    keep(f"top_k {n}", top_k(x, n // 2), top_k(x.astype(np.float32), n))
    keep(f"rank {n}", rank(X, X[0], n), rank(X.astype(np.float32), X[0], n))
    keep(f"features {n}", ranking_features(X, rng.permutation(n), k=n),
         ranking_features(X.astype(np.float32), rng.permutation(n), k=n))
    for triangle in ("both", "lower"):
        A = B.copy()
        qs = [inverse_update(A, v, c=0.5, triangle=triangle) for v in (x, z)]
        keep(f"inverse {triangle} {n}", *qs, A)
    keep(f"scores {n}", *project_scores(z, q, 1.5))
    keep(f"ball {n}", *project_ball(z, B, 0.5 * np.linalg.norm(z)))
    keep(f"simplex {n}", project_simplex(z, B))
    keep(f"l1 {n}", project_l1(z, B, 0.7))
    keep(f"box {n}", project_box(z, B, -0.3, 0.3))
    keep(f"weights {n}", exponentiated_weights(3.0 * z), exponentiated_weights(z, both_signs=False))
    keep(f"exp {n}", exp(200.0 * z), log(np.abs(z)))
    for precision in ("fast", "robust"):
        m = Full(n, ridge=0.5, precision=precision)
        keep(f"full {precision} {n}", m.update_many(F), m.solve(x), m.quad(z), m.inverse(),
             m.matrix(), m.logdet)
    d = Diagonal(n)
    keep(f"diagonal {n}", d.update_many(F), d.solve(x), d.quad(z), d.inverse(), d.logdet)
    for kernel in ("linear", "rbf", "poly"):
        for limit in ({}, {"window": 9}, {"budget": 6}):
            params = {"gamma": 0.1} if kernel != "linear" else None
            m = Dual(kernel=kernel, kernel_params=params, **limit)
            keep(f"dual {kernel} {limit} {n}", *[m.update(row) for row in F[:30]], m.quad(x),
                 m.inverse(), m.logdet)
keep("large", *project_scores(rng.standard_normal(20_000), rng.uniform(0.1, 1.0, 20_000), 1.0),
     top_k(rng.standard_normal(20_000), 10))
np.savez(sys.argv[1], **out)
'''


@pytest.fixture(scope="module")
def bundles(tmp_path_factory):
    """The results of every instruction set that this CPU can run, each from its own process."""
    folder = tmp_path_factory.mktemp("isa")
    found = {}
    for name in ["auto", *_table.isa()["runnable"]]:
        file = folder / f"{name}.npz"
        # one thread of BLAS: the inputs too must be the same bits in every process
        done = python(BUNDLE, str(file), cwd=folder, COACTIVE_FAST_ISA=name,
                      OPENBLAS_NUM_THREADS="1")
        assert done.returncode == 0, done.stderr
        with np.load(file) as arrays:
            found[name] = {key: arrays[key] for key in arrays.files}
    return found


def test_same_bits_with_fma(bundles):
    fused = {name: b for name, b in bundles.items() if b["fma"]}
    if len(fused) < 2:
        pytest.skip("this CPU runs no instruction set with fused multiply-add")
    first, *others = fused.values()
    assert len(first) > 500
    for other in others:
        different = [k for k in first if first[k].tobytes() != other[k].tobytes()]
        assert not different


def test_plain_instruction_set_is_close(bundles):
    first, plain = bundles["auto"], bundles["baseline"]
    for key, value in first.items():
        if key != "fma":
            scale = np.abs(value).max(initial=1e-300)
            np.testing.assert_allclose(plain[key], value, rtol=1e-9, atol=1e-9 * scale,
                                       err_msg=key)


@pytest.mark.parametrize("name", _table.isa()["runnable"])
def test_instruction_set_can_be_forced(name, tmp_path):
    code = "import coactive_fast as cf; print(cf.show_config('dicts')['isa']['chosen'])"
    done = python(code, cwd=tmp_path, COACTIVE_FAST_ISA=name)
    assert done.stdout.strip() == name, done.stderr


@pytest.mark.parametrize("name", ["avx9", "V3", "v3 "])
def test_unknown_instruction_set(name, tmp_path):
    done = python("import coactive_fast", cwd=tmp_path, COACTIVE_FAST_ISA=name)
    assert done.returncode != 0
    assert "ImportError" in done.stderr
    for word in ("COACTIVE_FAST_ISA", repr(name), "auto", *_table.isa()["runnable"]):
        assert word in done.stderr


# --- the C level ----------------------------------------------------------------------------


def test_exported_c_functions():
    """Compiled code of others is bound to these strings: add, never change."""
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    exported = {key: name_of(value).decode() for key, value in _table.__pyx_capi__.items()}
    assert exported == {
        "cf_fitting_table": "cf_table const *(size_t, int)",
        "cf_fitting_library": "cf_library const *(size_t, int)",
        "cf_refuse": "int (PyObject *, int)",
    }


def test_declarations_are_shipped():
    for name in ("__init__.pxd", "_table.pxd", "metric/__init__.pxd", "metric/_metrics.pxd",
                 "py.typed"):
        assert (PACKAGE / name).is_file(), name


# --- docs and stubs -------------------------------------------------------------------------


@pytest.mark.parametrize("name", PUBLIC)
def test_docstring(name):
    doc = inspect.getdoc(PUBLIC[name])
    assert doc and doc.splitlines()[0].endswith("."), doc
    assert "\nExamples\n--------\n>>> " in doc
    if inspect.isclass(PUBLIC[name]):
        for attribute, value in vars(PUBLIC[name]).items():
            if not attribute.startswith("_"):
                assert value.__doc__ or f"\n{attribute} : " in doc


@pytest.mark.parametrize("name", PUBLIC)
def test_examples_in_docstring(name):
    doc = inspect.getdoc(PUBLIC[name])
    test = doctest.DocTestParser().get_doctest(doc, {}, name, None, 0)
    assert test.examples
    report = []
    failed, _ = doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert failed == 0, "".join(report)


def stub_names(path):
    """Top-level names of a stub, classes with the set of theirs."""
    found = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            inside = node.body if isinstance(node, ast.ClassDef) else []
            found[node.name] = {n.name for n in inside if isinstance(n, ast.FunctionDef)}
            found[node.name] |= {n.target.id for n in inside if isinstance(n, ast.AnnAssign)}
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: set() for alias in node.names}
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = set()
    return found


def test_stubs_name_everything_public():
    assert set(cf.kernels.__all__) <= set(stub_names(PACKAGE / "kernels.pyi"))
    stubs = stub_names(PACKAGE / "metric" / "_metrics.pyi")
    for name in cf.metric.__all__:
        names = stubs[name]
        public = {a for a in vars(getattr(cf.metric, name)) if not a.startswith("_")}
        assert public <= names
    assert stubs["_Health"] == set(cf.metric.Full(2).health())


@pytest.mark.parametrize("name", [n for n in cf.kernels.__all__ if n in cf.reference.__all__])
def test_twins_have_the_same_signature(name):
    """The stubs of `reference` are those of `kernels`."""
    fast, slow = getattr(cf.kernels, name), getattr(cf.reference, name)
    assert str(inspect.signature(fast)) == str(inspect.signature(slow))
