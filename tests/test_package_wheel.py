"""What is given away: wheels, the interpreters they are for, installations to be edited."""

import ast
import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import coactive_fast as cf

ROOT = Path(__file__).resolve().parent.parent
MODULE = next(Path(cf.__file__).resolve().parent.glob("_lock.*.so"), None)


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def settings():
    """pyproject.toml as a dictionary."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        tomllib = pytest.importorskip("tomli")
    return tomllib.loads(text("pyproject.toml"))


# --- .ci/wheel.py -------------------------------------------------------------------------------


@pytest.fixture
def checker():
    if sys.platform != "linux" or not shutil.which("readelf"):
        pytest.skip("modules are looked into by readelf, on Linux")
    spec = importlib.util.spec_from_file_location("wheel_checker", ROOT / ".ci" / "wheel.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wheel(folder, files, name="a-1-py3-none-linux_x86_64.whl"):
    """A wheel of these files: {name inside: file or bytes}."""
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as made:
        for inside, source in files.items():
            made.writestr(inside, source if isinstance(source, bytes) else source.read_bytes())
    return folder / name


def library(folder, name, *flags):
    """A shared library of one function, linked with these flags."""
    compiler = shutil.which("cc") or pytest.skip("no C compiler here")
    (folder / "one.c").write_text("int one(void) { return 1; }\n", encoding="utf-8")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / name, folder / "one.c", *flags],
                   check=True, cwd=folder)
    return folder / name


def test_a_wheel_that_is_fit(checker, tmp_path, capsys):
    made = wheel(tmp_path, {"a/one.so": library(tmp_path, "one.so"), "a/b.py": b"1\n"})
    assert checker.main([made]) == 0
    said = capsys.readouterr().out
    assert said.startswith(made.name) and "1 modules" in said and "unfit" not in said


def test_size(checker, tmp_path, capsys):
    files = {"a/one.so": library(tmp_path, "one.so"), "a/b": os.urandom(checker.MOST)}
    assert checker.main([wheel(tmp_path, files)]) == 1
    assert "bytes, more than 5000000" in capsys.readouterr().out


def test_what_is_linked_and_where_it_is_looked_for(checker, tmp_path, capsys):
    library(tmp_path, "libother.so")
    files = {
        "a/far.so": library(tmp_path, "far.so", "-Wl,-rpath,/nowhere"),
        "a/more.so": library(tmp_path, "more.so", "-Wl,--no-as-needed", "-L.", "-lother"),
    }
    assert checker.main([wheel(tmp_path, files)]) == 1
    said = capsys.readouterr().out
    assert re.search(r"unfit: a/far.so has R(UN)?PATH /nowhere", said)
    assert "unfit: a/more.so links libother.so" in said


def test_no_modules(checker, tmp_path, capsys):
    assert checker.main([wheel(tmp_path, {"a/b.py": b"1\n"})]) == 1
    assert "no compiled modules" in capsys.readouterr().out
    assert checker.main([]) == 1


def test_a_module_of_this_build(checker):
    assert MODULE is not None
    found = checker.dynamic(MODULE)
    assert found
    assert {kind for kind, _ in found} == {"NEEDED"}


# --- who they are for ---------------------------------------------------------------------------


def test_interpreters():
    """cibuildwheel, .ci/pythons and CONTRIBUTING speak of the same ones, from the least on."""
    config = settings()
    wheels = config["tool"]["cibuildwheel"]["build"]
    built = [re.fullmatch(r"cp3(\d+)-\*", one)[1] for one in wheels]
    assert config["project"]["requires-python"] == f">=3.{built[0]}"
    assert [int(one) for one in built] == list(range(int(built[0]), int(built[-1]) + 1))
    assert f"for minor in {' '.join(built)};" in text(".ci/pythons")
    assert f"CPython 3.{built[0]} to 3.{built[-1]}" in text("CONTRIBUTING.md")


def test_platforms():
    """CONTRIBUTING has a line for each platform that wheels are built for."""
    config = settings()["tool"]["cibuildwheel"]
    section = re.search(r"^## Platforms$(.*?)^## ", text("CONTRIBUTING.md"), re.M | re.S)[1]
    told = {line.split("|")[1].strip() for line in section.splitlines() if line.startswith("|")}
    names = {f"{kind} {arch}" for kind in ("manylinux", "musllinux")
             for arch in config["linux"]["archs"]}
    names |= {f"macOS {arch}" for arch in config["macos"]["archs"]}
    assert names <= told, names - told
    assert "Windows" in told and "*-win*" in config["skip"]


def test_addresses():
    """None is invented; once there is one, CITATION has the same."""
    urls = settings()["project"].get("urls", {})
    cited = re.search(r"^repository-code: (.+)$", text("CITATION.cff"), re.M)
    assert urls.get("Source") == (cited[1].strip('"') if cited else None)


# --- installations to be edited -----------------------------------------------------------------

NOT_COMPILED = """
import sys
import Cython.Build
Cython.Build.cythonize = lambda *arguments, **options: []
from setuptools import build_meta
"""
EDITABLE = "build_meta.build_editable(sys.argv[1])"
WHEEL = "build_meta.build_wheel(sys.argv[1])"


def built(tmp_path, code):
    """(tree, out): a copy of the sources, and the folder that this code has filled there."""
    pytest.importorskip("Cython", reason="setup.py needs it")
    pytest.importorskip("setuptools", reason="setup.py needs it")
    tree, out = tmp_path / "tree", tmp_path / "out"
    out.mkdir()
    for name in ("coactive_fast", "csrc", "docs"):
        shutil.copytree(ROOT / name, tree / name,
                        ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__", "_build"))
    for name in ("LICENSE", "README.md", "pyproject.toml", "pytest_coactive_fast.py", "setup.py",
                 "stub_docstrings.py"):
        shutil.copy(ROOT / name, tree)
    done = subprocess.run([sys.executable, "-c", NOT_COMPILED + code, str(out)], cwd=tree,
                          timeout=300, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return tree, out


def test_an_editable_installation_is_a_folder_on_the_path(tmp_path):
    """What Cython and type checkers look into; a finder serves nobody but Python's imports."""
    tree, out = built(tmp_path, EDITABLE)
    made = zipfile.ZipFile(next(out.glob("*.whl")))
    (path,) = [name for name in made.namelist() if ".dist-info/" not in name]
    assert path.endswith(".pth")
    assert [Path(line).resolve() for line in made.read(path).decode().splitlines()] == [tree]
    assert texts(tree) == texts(ROOT)


# --- stubs --------------------------------------------------------------------------------------


def texts(tree):
    """The stubs of a folder: {path inside: text}."""
    return {path.relative_to(tree).as_posix(): path.read_text(encoding="utf-8")
            for path in (tree / "coactive_fast").rglob("*.pyi")}


def test_the_stubs_of_a_wheel_have_docstrings(tmp_path):
    """Those of the compiled objects; the sources stay bare."""
    tree, out = built(tmp_path, WHEEL)
    made = zipfile.ZipFile(next(out.glob("*.whl")))
    assert texts(tree) == texts(ROOT)
    assert {name for name in made.namelist() if name.endswith(".pyi")} == set(texts(ROOT))

    def docstring(file, *names):
        node = ast.parse(made.read(file))
        for name in names:
            node = next(one for one in node.body if getattr(one, "name", "") == name)
        return ast.get_docstring(node)

    for file, *names, compiled in [
            ("kernels.pyi", "top_k", cf.kernels.top_k),
            ("metric/_metrics.pyi", "Full", cf.metric.Full),
            ("metric/_metrics.pyi", "Full", "update", cf.metric.Full.update),
            ("metric/_metrics.pyi", "Full", "logdet", cf.metric.Full.logdet)]:
        assert docstring(f"coactive_fast/{file}", *names) == inspect.getdoc(compiled)
