"""The function tables that other people's compiled code reads by place: nothing in them moves.

tests/table_entries.txt says where each entry stands, its signature, and the structs they take; the
names of the arguments too, since two that change places may well have the same type.
This file, run as a program, prints what it should say of the package as built.
"""

import re
from pathlib import Path

import pytest

import coactive_fast as cf
from coactive_fast import _table

PINNED = Path(__file__).resolve().parent / "table_entries.txt"
TABLES = ("cf_table", "cf_library")
COMMAND = "python tests/test_package_table.py > tests/table_entries.txt"


def entries():
    """Line by line: the ABI number, the fields of the structs, then of the tables by number."""
    text = (Path(cf.__file__).resolve().parent / "_table.pxd").read_text(encoding="utf-8")
    structs = {name: [field.strip().removesuffix(" noexcept nogil") for field in body.splitlines()]
               for name, body in re.findall(r"^    ctypedef struct (\w+):\n((?:        .*\n)+)",
                                            text, re.MULTILINE)}
    lines = [f"abi {_table.build()['abi']}"]
    lines += [f"{name}: {'; '.join(fields)}" for name, fields in structs.items()
              if name not in TABLES]
    return lines + [f"{name} {number}: {field}" for name in TABLES
                    for number, field in enumerate(structs[name])]


def complaint(pinned, found):
    """What is wrong with the entries found, and what to do; None if nothing is."""
    if pinned[0] != found[0]:
        return f"CF_ABI has changed: {COMMAND}"
    if moved := [line for line in pinned if line not in found]:
        return ("these were moved, changed or taken out, which breaks every module that others "
                "compiled:\n    " + "\n    ".join(moved) + "\nPut them back and add what is new at "
                "the end, as the head of csrc/include/coactive_fast/cf_table.h says")
    if set(found) - set(pinned):
        return f"entries were added, as they should be, at the end; now pin them: {COMMAND}"
    return None


def test_every_entry_is_in_its_place():
    wrong = complaint(PINNED.read_text(encoding="utf-8").splitlines(), entries())
    assert wrong is None, wrong


def test_what_is_pinned_are_both_tables():
    pinned = PINNED.read_text(encoding="utf-8").splitlines()
    assert pinned[0] == f"abi {_table.build()['abi']}"
    for name in TABLES:
        assert pinned.count(f"{name} 0: size_t size") == pinned.count(f"{name} 1: int abi") == 1
    assert "cf_table 4: double (*dot)(ptrdiff_t n, const double *x, const double *y)" in pinned
    assert "cf_triangle: double *data; ptrdiff_t n; ptrdiff_t ld" in pinned


BEFORE = ["abi 1", "s: int a", "t 0: void (*f)()", "t 1: int (*g)(int x)"]


@pytest.mark.parametrize("after, words", [
    (BEFORE, None),
    ([*BEFORE, "t 2: void (*h)()"], "now pin them"),
    ([*BEFORE, "r: int b"], "now pin them"),
    (["abi 2", *BEFORE[1:]], "CF_ABI has changed"),
    (["abi 1", "s: int a", "t 0: void (*h)()", "t 1: void (*f)()", "t 2: int (*g)(int x)"],
     r"moved, .*\n    t 0: void \(\*f\)\(\)\n    t 1: int .*\n.* at the end"),
    ([*BEFORE[:3], "t 1: int (*g)(long x)"], "moved"),
    (["abi 1", "s: int a; int b", *BEFORE[2:]], "moved"),
    (BEFORE[:3], "moved"),
])
def test_the_rules(after, words):
    wrong = complaint(BEFORE, after)
    assert wrong is None if words is None else re.search(words, wrong)


if __name__ == "__main__":
    print("\n".join(entries()))
