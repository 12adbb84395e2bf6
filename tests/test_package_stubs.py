"""Stubs of compiled modules: bare in the sources, with docstrings, for editors, in a wheel."""

import ast
import importlib
import inspect
import runpy
from pathlib import Path

import pytest

import coactive_fast

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(coactive_fast.__file__).resolve().parent
STUBS = sorted((ROOT / "coactive_fast").rglob("*.pyi"))
INSIDE = {"_table"}  # what no user calls
WRITER = runpy.run_path(str(ROOT / "stub_docstrings.py"))
docstrings, documented = WRITER["docstrings"], WRITER["documented"]

each_stub = pytest.mark.parametrize("path", STUBS, ids=lambda path: path.parent.name + path.stem)


def members(body, holder):
    """(name, node, object) of the classes and functions of a stub; of overloads the first one."""
    seen = set()
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name not in seen \
                and not node.name.startswith("_") and node.name in vars(holder):
            seen.add(node.name)
            value = vars(holder)[node.name]
            value = getattr(value, "__func__", value)  # of a class method
            yield node.name, node, value
            if isinstance(node, ast.ClassDef):
                for name, *rest in members(node.body, value):
                    yield f"{node.name}.{name}", *rest


def described(path, text):
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return list(members(ast.parse(text).body, importlib.import_module(module)))


@each_stub
def test_sources_hold_signatures_only(path):
    assert '"""' not in path.read_text(encoding="utf-8")


@each_stub
def test_docstrings_are_those_of_the_compiled_objects(path):
    found = described(path, documented(path))
    assert found
    for name, node, value in found:
        assert ast.get_docstring(node) == (inspect.cleandoc(value.__doc__ or "") or None), name


@each_stub
def test_every_public_call_has_one(path):
    """But attributes of Cython's own making: the section Attributes of the class has those."""
    for name, node, value in described(path, documented(path)):
        if path.stem not in INSIDE and inspect.isroutine(value):
            assert ast.get_docstring(node), name


@each_stub
def test_signatures_are_left_alone(path):
    bare, written = (ast.parse(text) for text in (path.read_text(encoding="utf-8"),
                                                  documented(path)))
    for tree in (bare, written):
        for node in ast.walk(tree):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                node.body = [s for s in node.body if not isinstance(s, ast.Expr)]
    assert ast.dump(bare) == ast.dump(written)


@each_stub
def test_installed(path):
    """An installed wheel has the docstrings; built in place, these are the sources."""
    installed = PACKAGE / path.relative_to(ROOT / "coactive_fast")
    if installed != path:
        assert installed.read_text(encoding="utf-8") == documented(path)


SOURCE = '''
include "part.pxi"

def first(a, b=f(g(1)), *, c="):"):  # a comment
    r"""First, \\alpha.

    More.
    """
    def inner():
        """Inner."""

cdef int hidden(int a) except -1:
    """Hidden."""

def none(x): return x

cdef class One(Base):
    """One(a)\\n--\\n
    A class of things:
        def or other.

    More.
    """
    @staticmethod
    def first(double x,
              int y) -> dict[str, int]:
        """Another."""

    cdef int method(self):
        pass

    property_ = 1
    def last(self):
        pass

class Two:
    def last(self):
        \'\'\'Not with these quotes.\'\'\'
'''

WRITTEN = '''def part():
    """Of a part."""
def first(
    a: int,
) -> int:
    r"""First, \\alpha.

    More.
    """
class One:
    """A class of things:
        def or other.

    More.
    """
    x: int
    @staticmethod
    def first() -> None:
        """Another."""
class Two: ...
'''


def test_sources_of_many_forms(tmp_path):
    (tmp_path / "part.pxi").write_text('def part():\n    """Of a part."""\n', encoding="utf-8")
    (tmp_path / "a.pyx").write_text(SOURCE, encoding="utf-8")
    assert docstrings(tmp_path / "a.pyx") == {
        "part": "Of a part.", "first": "First, \\alpha.\n\nMore.", "first.inner": "Inner.",
        "One": "A class of things:\n    def or other.\n\nMore.", "One.first": "Another."}
    (tmp_path / "a.pyi").write_text(
        "def part(): ...\ndef first(\n    a: int,\n) -> int: ...\nclass One:\n    x: int\n"
        "    @staticmethod\n    def first() -> None: ...\nclass Two: ...\n", encoding="utf-8")
    assert documented(tmp_path / "a.pyi") == WRITTEN
