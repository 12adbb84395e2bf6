"""Writes the docstrings of a compiled module into its stub, for the wheel: see `setup.py`.

An editor that finds a stub beside a module shows the docstrings of the stub, since it cannot read
those of a compiled function. They are read from the source, because a module that was compiled for
another platform cannot be imported.
"""

import ast
import inspect
import re
import textwrap

# The head of a class or function, its parameters with two levels of brackets inside, its docstring.
DEFINITION = re.compile(
    r'^( *)(?:(?:cdef )?class|def) +(\w+)'
    r'(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?[^:\n]*:[^\n]*\n'
    r'(?:\s*(r?"""(?:[^\\]|\\.)*?"""))?', re.M | re.S)


def docstrings(path):
    """The docstrings of the classes and functions of a ``.pyx`` file, by their qualified names."""
    source = re.sub(r'^include "(.+)"$', lambda match: (path.parent / match[1]).read_text("utf-8"),
                    path.read_text("utf-8"), flags=re.M)
    found, names = {}, []
    for indent, name, literal in DEFINITION.findall(source):
        names[len(indent) // 4:] = [name]
        if literal:  # that of a class may begin with its signature
            text = ast.literal_eval(literal).split(")\n--\n\n", 1)[-1]
            found.setdefault(".".join(names), inspect.cleandoc(text))
    return found


def documented(path):
    """The text of a stub with the docstrings of the ``.pyx`` file beside it."""
    known, lines = docstrings(path.with_suffix(".pyx")), path.read_text("utf-8").splitlines()
    places = []

    def collect(nodes, owner):
        for node in nodes:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                name = owner + node.name
                if not node.name.startswith("_") and name in known:
                    places.append((node, known.pop(name)))  # of overloads the first one
                collect(node.body, name + ".")

    collect(ast.parse("\n".join(lines)).body, "")
    for node, text in reversed(places):
        first = node.body[0]
        at = min([first, *getattr(first, "decorator_list", [])], key=lambda n: n.lineno).lineno - 1
        if ast.unparse(first) == "...":
            lines[at] = lines[at][:first.col_offset].rstrip()
            at += 1
        quoted = ('r"""' if "\\" in text else '"""') + text + ('\n"""' if "\n" in text else '"""')
        lines[at:at] = textwrap.indent(quoted, " " * (node.col_offset + 4)).splitlines()
    return "\n".join(lines) + "\n"
