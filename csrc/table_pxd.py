"""Writes coactive_fast/_table.pxd, what Cython knows of the C library, from the headers.

Run by setup.py before anything is compiled; also by hand: python csrc/table_pxd.py

The headers hold all there is to say: the lists that the two tables are made of, K(type, name,
(arguments)) of the kernels and F(name) of the functions, their prototypes, structs, enums,
constants, inline functions. They are read as the regular text they are, not by a C parser: a
construct of another form than theirs is refused where it would be left out of a table, and missed
by the Cython compiler otherwise.
"""

import keyword
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "csrc" / "include"
TOP = "coactive_fast/cf_library.h"  # includes all the others
OUTPUT = ROOT / "coactive_fast" / "_table.pxd"

HEAD = """\
# Made by csrc/table_pxd.py from the headers that csrc/include/{top} includes.
# Do not edit: every build writes it anew.

"""

TAIL = """
# Exported by coactive_fast._table: the tables of this process (NULL for a module compiled for a
# table that is not the beginning of the one that runs) and the ImportError that says so.
cdef const cf_table *cf_fitting_table(size_t size, int abi) noexcept nogil
cdef const cf_library *cf_fitting_library(size_t size, int abi) noexcept nogil
cdef int cf_refuse(str module, int abi) except -1

# Compiled into the module that calls: the sizes are those of its headers, the name is its own.
"""

GET = """\
cdef inline const cf_{0} *cf_get_{0}() except NULL nogil:
    cdef const cf_{0} *found = cf_fitting_{0}(sizeof(cf_{0}), CF_ABI)
    if found == NULL:
        with gil:
            cf_refuse(__name__, CF_ABI)
    return found
"""

LIST = re.compile(r"^#define (CF_\w+)\((\w)(?:, type, suffix)?\) +(.*)$", re.MULTILINE)
PROTOTYPE = re.compile(r"^(?P<kind>\w[\w *]*[ *])cf_(?P<name>\w+)\((?P<arguments>[^()]*)\);",
                       re.MULTILINE)
DECLARATION = re.compile(
    r"^#define (?P<constant>CF_\w+) (?P<value>[-\w.]+) *$"
    r"|^typedef (?P<kind>struct|enum) (?P<name>\w+) \{(?P<body>[^{}]*)\} (?P=name);"
    r"|^static inline (?P<inline>[^()]*)\((?P<arguments>[^()]*)\)\s*\{",
    re.MULTILINE)


def headers(name, seen=None):
    """The text of a header behind that of the headers it includes, each once, without comments."""
    seen = set() if seen is None else seen
    if name in seen:
        return ""
    seen.add(name)
    text = (INCLUDE / name).read_text(encoding="utf-8")
    inner = [headers(f"coactive_fast/{other}", seen)
             for other in re.findall(r'^#include "(\w+\.h)"', text, re.MULTILINE)]
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    return "".join([*inner, re.sub(r" *\\\n *", " ", text)])


def python(declaration):
    """A declaration of C as Cython takes it: one line, no name that is a word of Python's."""
    text = re.sub(r"\s+", " ", declaration).strip()
    text = re.sub(r"\* (?=[\w(])", "*", text)
    text = text.replace("*const *", "**")  # Cython knows no constant pointers behind pointers
    text = re.sub(r"\(\s*void\s*\)", "()", text)
    return re.sub(r"\w+", lambda m: m[0] + "_" * keyword.iskeyword(m[0]), text)


def entries(lists, name, kind="", suffix=""):
    """The entries of a list in order, those of the lists named in it in their place."""
    mark, body = lists[name]
    found, rest = [], re.sub(r"\btype\b", kind, body.replace("##suffix", suffix))
    while rest := rest.strip():
        entry = re.match(rf"{mark}\(([^,()]+), (\w+), \(([^()]*)\)\)", rest)
        status = re.match(rf"{mark}\((\w+), -?\d+, [^()]*\)", rest)
        other = re.match(rf"(CF_\w+)\({mark}(?:, (\w+), (\w*))?\)", rest)
        function = re.match(rf"{mark}\((\w+)\)", rest)
        if entry:
            kind, field, arguments = entry.groups()
            found.append(f"{kind} (*{field})({arguments})")
        elif status:
            found.append(status[1])
        elif other:
            found += entries(lists, other[1], other[2] or "", other[3] or "")
        elif function:
            kind, arguments = lists["prototypes"][function[1]]
            found.append(f"{kind}(*{function[1]})({arguments})")
        else:
            raise ValueError(f"{name}: expected {mark}(type, name, (arguments)), got {rest[:80]!r}")
        rest = rest[(entry or status or other or function).end():]
    return found


def fields(lists, kind, body):
    """The lines of a struct or an enum."""
    expand = re.compile(r"\b(CF_\w+)\(CF_\w+\)")
    separator = ";" if kind == "struct" else ","
    body = expand.sub(lambda m: separator.join(entries(lists, m[1])) + separator, body)
    found = [python(field) for field in body.split(separator) if field.strip()]
    if kind == "enum":
        return [field.split("=")[0].strip() for field in found]
    lines = []
    for field in found:
        if "(*" in field:
            lines.append(f"{field} noexcept nogil")
        else:  # double *x, y: a line each
            first, *others = field.split(", ")
            base = re.fullmatch(r"(.*?)\**\w+(\[\w+\])?", first)[1]
            lines += [first, *(base + other for other in others)]
    return lines


def declarations(text):
    """The lines of the extern block."""
    lists = {name: (mark, body) for name, mark, body in LIST.findall(text)}
    lists["prototypes"] = {m["name"]: (m["kind"], m["arguments"])
                           for m in PROTOTYPE.finditer(text)}
    for m in DECLARATION.finditer(text):
        if m["constant"]:
            whole = re.fullmatch(r"-?\d+", m["value"])
            yield from ["enum:", f"    {m['constant']}"] if whole else [f"double {m['constant']}"]
        elif m["inline"]:
            yield python(f"{m['inline']}({m['arguments']})")
        else:
            yield f"ctypedef {m['kind']} {m['name']}:"
            yield from (f"    {field}" for field in fields(lists, m["kind"], m["body"]))


def write(output=OUTPUT):
    """Write the file where it is not what the headers say: what is up to date stays untouched."""
    block = "".join(f"    {line}\n" for line in declarations(headers(TOP)))
    whole = sorted(set(re.findall(r"\bu?int\d+_t\b", block)))
    text = (HEAD.format(top=TOP) + f"from libc.stdint cimport {', '.join(whole)}\n\n"
            f'cdef extern from "{TOP}" nogil:\n{block}{TAIL}' +
            "\n".join(map(GET.format, ("table", "library"))))
    if not output.exists() or output.read_text(encoding="utf-8") != text:
        output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
