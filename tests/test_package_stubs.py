"""The stubs of compiled modules carry the docstrings of these, for editors; see make_stubs."""

import ast

import make_stubs
import pytest

INSIDE = {"_table", "_compiled", "_scan"}  # what no user calls


@pytest.mark.parametrize("path", make_stubs.STUBS, ids=lambda path: path.parent.name + path.stem)
def test_docstrings_of_stubs(path):
    """Where this fails: ``python tests/make_stubs.py``."""
    assert path.read_text(encoding="utf-8") == make_stubs.documented(path)


@pytest.mark.parametrize("path", [p for p in make_stubs.STUBS if p.stem not in INSIDE],
                         ids=lambda path: path.parent.name + path.stem)
def test_every_public_call_has_one(path):
    """`from_state` and `copy` and the like by their base class."""
    seen = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for holder in [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]:
        for node in holder.body:
            place = (getattr(holder, "name", ""), getattr(node, "name", "_"))
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") \
                    and place not in seen:  # of overloads the first
                assert ast.get_docstring(node) or undocumented_property(node), node.name
                seen.add(place)


def undocumented_property(node):
    """Attributes of Cython's own making have none: the section Attributes of the class tells."""
    return any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list)


def test_signatures_are_left_alone(tmp_path):
    """What a docstring replaces is a docstring, or the dots."""
    for path in make_stubs.STUBS:
        text = path.read_text(encoding="utf-8")
        bare = make_stubs.bare(text)
        assert shape(bare) == shape(text)
        assert '"""' not in bare
        assert make_stubs.bare(bare) == bare


def shape(text):
    """The tree of a stub without its docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            if ast.get_docstring(node) is not None:
                del node.body[0]
            node.body = [s for s in node.body if not make_stubs.is_dots(s)]
    return ast.dump(tree)
