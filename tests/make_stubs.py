"""Puts the docstrings of compiled modules into their stubs, where editors look for them.

An editor that finds a stub beside a module shows the docstring that stands in the stub, and cannot
read that of a compiled function. After a docstring of a ``.pyx`` file with a stub has changed::

    python setup.py build_ext --inplace && python tests/make_stubs.py

`test_package_stubs` fails where this was forgotten. Signatures are written by hand; docstrings in a
stub never are: whatever stands there is replaced.
"""

import ast
import importlib
import inspect
import sys
import textwrap
from pathlib import Path

import coactive_fast

PACKAGE = Path(coactive_fast.__file__).resolve().parent
STUBS = sorted(PACKAGE.rglob("*.pyi"))
DESCRIBED = (ast.FunctionDef, ast.ClassDef)


def documented(path):
    """The text of a stub with the docstrings that its module has now."""
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    module = importlib.import_module(name)
    text = bare(path.read_text(encoding="utf-8"))
    lines = text.splitlines()
    for node, place in reversed(list(described(ast.parse(text).body, module))):
        write(lines, node, inspect.cleandoc(place))
    return "\n".join(lines) + "\n"


def described(nodes, holder, seen=None):
    """(node, docstring) of every class and function of a stub whose object has one of its own."""
    seen = set() if seen is None else seen
    for node in nodes:
        if not isinstance(node, DESCRIBED) or node.name.startswith("_"):
            continue
        if not hasattr(holder, node.name):
            continue  # a name for type checkers alone
        value = inspect.getattr_static(holder, node.name)
        if isinstance(value, (classmethod, staticmethod)):
            value = value.__func__
        if value.__doc__ and (holder, node.name) not in seen:
            yield node, value.__doc__
        seen.add((holder, node.name))  # of overloads the first one
        if isinstance(node, ast.ClassDef):
            yield from described(node.body, value, seen)


def write(lines, node, text):
    """Puts a docstring at the head of a node's body."""
    first = node.body[0]
    indent = " " * (node.col_offset + 4)
    quotes = 'r"""' if "\\" in text else '"""'
    block = textwrap.indent(f'{quotes}{text}', indent).splitlines()
    if len(block) == 1:
        block[0] += '"""'
    else:
        block.append(f'{indent}"""')
    if isinstance(node, ast.ClassDef) and not is_dots(first):
        at = min([first.lineno, *(d.lineno for d in getattr(first, "decorator_list", []))]) - 1
        lines[at:at] = [*block, ""]
        return
    head = lines[first.lineno - 1][:first.col_offset].rstrip()
    if head:  # behind the colon
        lines[first.lineno - 1:first.end_lineno] = [head, *block]
    else:
        lines[first.lineno - 1:first.end_lineno] = block


def is_dots(statement):
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) \
        and statement.value.value is ...


def bare(text):
    """A stub without docstrings of classes and functions."""
    lines = text.splitlines()
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, DESCRIBED)
             and ast.get_docstring(node) is not None]
    for node in sorted(nodes, key=lambda node: -node.lineno):
        strip(lines, node)
    return "\n".join(lines) + "\n"


def strip(lines, node):
    first = node.body[0]
    begin, end = first.lineno - 1, first.end_lineno
    if len(node.body) > 1:
        if end < len(lines) and not lines[end].strip():
            end += 1
        del lines[begin:end]
    else:
        lines[begin - 1:end] = [f"{lines[begin - 1]} ..."]


def main():
    for path in STUBS:
        text = documented(path)
        if text != path.read_text(encoding="utf-8"):
            path.write_text(text, encoding="utf-8")
            print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
