"""Docstrings by numpydoc's rules: every public name, but for the codes that are left out here."""

import inspect
import re

import public_names
import pytest

validation = pytest.importorskip("numpydoc.validate")

# Left out everywhere. ES01: a summary may say all there is. SS05: summaries here tell what comes
# back ("Indices of the k largest scores"), which the rule takes for verbs. RT02: a single value may
# have a name.
STYLE = {"ES01", "SS05", "RT02"}
# Of methods and attributes the class has the example and the other names to look at, of functions
# the page of their module has the latter; of a record the function that answers it has both.
MEMBERS, FUNCTIONS, RECORDS = {"EX01", "SA01"}, {"SA01"}, {"EX01", "SA01"}
CLUSTER = {f"coactive_fast.adapters.dask.{name}" for name in ("Workers", "distributed_simulate")}
# A twin's methods take and give what those of the class of its name do, and are described there.
TWINS = {"EX01", "GL08", "PR01", "RT01", "SA01"}

EVERYTHING = public_names.everything()
OBJECTS = public_names.objects()


class Docstring(validation.Validator):
    """What Cython has compiled is a function too; numpydoc would look at less of it."""

    def __init__(self, obj_name):
        super().__init__(validation.get_doc_object(EVERYTHING[obj_name]))

    @property
    def is_function_or_method(self):
        return inspect.isroutine(self.obj)


def owner(name):
    return OBJECTS.get(name.rpartition(".")[0])


def attributes(cls):
    """The names in the section Attributes of a class."""
    doc = inspect.getdoc(cls) or ""
    found = re.search(r"^Attributes\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)", doc, re.M | re.S)
    lines = re.findall(r"^(\S[^:\n]*?)(?: :.*)?$", found[1], re.M) if found else []
    return {word for line in lines for word in line.split(", ")}


def explained(name, value, code, message, docstring):
    """Whether what numpydoc misses stands in another place."""
    cls = value if inspect.isclass(value) else owner(name)
    member = name.rpartition(".")[2]
    if code == "PR01":  # the fields of a record
        return inspect.isclass(value) and \
            set(re.findall(r"'\**(\w+)'", message)) <= attributes(value)
    if code in ("PR04", "PR10"):  # "As for `Confidit`."
        parameter = re.search(r'"(.+?)"', message)[1]
        words = docstring.doc_all_parameters[parameter][1]
        return words and words[0].startswith(("As for ", "As of ", "See "))
    if code == "SS03":  # the fields of a named tuple: "Alias for field number 0"
        return cls is not None and member in getattr(cls, "_fields", ()) \
            and member in attributes(cls)
    if code == "GL08":  # what a base class describes, or the section Attributes
        return cls is not None and (bool(inspect.getdoc(getattr(cls, member)))
                                    or member in attributes(cls) or f"\n{member} : "
                                    in inspect.getdoc(cls))
    return False


def complaints(name, value):
    result = validation.validate(name, Docstring)
    docstring = Docstring(name)
    left_out = set(STYLE)
    if name not in OBJECTS:
        left_out |= MEMBERS
    elif not inspect.isclass(value):
        left_out |= FUNCTIONS
    elif is_record(value):
        left_out |= RECORDS
    if name in CLUSTER:
        left_out |= {"EX01"}  # no example without one
    if name.startswith("coactive_fast.reference."):
        left_out |= TWINS
    return [f"{name}: {code} {message}" for code, message in result["errors"]
            if code not in left_out and not explained(name, value, code, message, docstring)]


def is_record(cls):
    """What a call leaves behind: nobody has to choose it among others."""
    return hasattr(cls, "__dataclass_fields__") or hasattr(cls, "_fields") \
        or cls.__name__ in {"History", "LearningPolicy", "Query"}


@pytest.mark.parametrize("module", public_names.modules(), ids=lambda module: module.__name__)
def test_docstrings(module):
    found = [complaint for name, value in EVERYTHING.items()
             if owner_module(name) == module.__name__ for complaint in complaints(name, value)]
    assert not found, "\n".join(found)


def owner_module(name):
    """The module whose ``__all__`` a name of `everything` comes from."""
    while name not in OBJECTS:
        name = name.rpartition(".")[0]
    return name.rpartition(".")[0]


def test_what_is_left_out_is_still_seen():
    """The check itself: a docstring without words for a parameter is complained of."""
    def bad(x):
        """Does something.

        Parameters
        ----------
        x : int

        Examples
        --------
        >>> 1
        1
        """

    EVERYTHING["bad"] = OBJECTS["bad"] = bad
    try:
        assert [c.split()[1] for c in complaints("bad", bad)] == ["PR07"]
    finally:
        del EVERYTHING["bad"], OBJECTS["bad"]
