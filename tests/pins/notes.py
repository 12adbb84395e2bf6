"""What a stream leaves behind, the file that holds it, and the comparison.

An entry has a label, and under it in their order: a description of each value (its type, dtype and
shape), its whole numbers, its texts (messages among them), and its real numbers. Of many real
numbers a few are kept, and of all a digest, which tells whether any bit has changed.
"""

import hashlib
import inspect
import io
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import scipy.sparse

FILE = Path(__file__).parent / "pins.npz"
FOLDER = "pins_folder_"  # begins the names of temporary folders, which no message keeps
KEPT = 20  # real numbers that are kept of one entry
TOLERANCE = 1e-9
ROUNDING = ("health", "approximation_error")  # measured, and itself of the size of rounding errors

# --- what the streams have used ---------------------------------------------------------------

used = {}  # {class or function: {parameter: [values]}}
asked = {}  # {class: names of its methods and properties}


def make(kind, /, *args, **kwargs):
    """``kind(*args, **kwargs)``, a class or a function; its arguments count as used."""
    try:
        given = inspect.signature(kind).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        given = {}
    result = kind(*args, **kwargs)
    note_used(kind, **given)
    return result


def note_used(kind, /, **given):
    names = used.setdefault(kind.__name__, {})
    for name, value in given.items():
        names.setdefault(name, []).append(value)


# --- messages ---------------------------------------------------------------------------------

SIGNATURE = re.compile(r"argument|takes (exactly|at (least|most)|no|from)|positional")
FOREIGN = [  # texts of Python and NumPy, which differ between their versions
    r"cannot be interpreted as an integer", r"could not convert string", r"inhomogeneous shape",
    r"has no len\(\)", r"not iterable", r"not callable", r"unsupported operand", r"must be real",
    r"an integer is required", r"not supported between", r"ufunc", r"Cannot cast", r"cannot unpack",
    r"only (0-dimensional|length-1|integer)", r"float\(\) argument", r"int\(\) argument",
    r"must be a mapping", r"object is not subscriptable", r"could not be broadcast", r"truth value",
    r"too large to convert", r"int too (big|large)", r"setting an array element", r"unhashable",
    r"not enough values", r"too many values", r"has no attribute", r"object argument after",
    r"SeedSequence expects", r"seed must be integer", r"expected non-negative integer",
    r"unrecognized seed string", r"unsized object", r"can't convert complex",
    r"expected (str|bytes)", r"out of bounds for", r"invalid literal", r"takes no keyword",
    r"bad operand", r"Object arrays", r"unexpected keyword", r"dtype\('O'\)",
    r"maximum recursion", r"index \d+ is out of",
]
FOREIGN = re.compile("|".join(FOREIGN))


def plain(text):
    """A text without what differs from process to process, or between versions of NumPy, and
    without private module names."""
    text = re.sub(r"<coactive_fast[\w.]*\.(\w+) object at 0x\w+>", r"<\1 object>", text)
    text = re.sub(r"0x[0-9a-fA-F]+", "0x", text)
    text = re.sub(r"[^\s'\"]*" + FOLDER + r"[^/'\"]*/", "", text)
    text = re.sub(r"np\.(?:str_|bytes_|float\d+|int\d+|intp|uint\d+)\(([^()]*)\)", r"\1", text)
    text = re.sub(r"and \d+ is all there is", "and this is all there is", text)
    text = re.sub(r"np\.(True|False)_", r"\1", text)
    text = re.sub(r"<Compressed Sparse[^>]*>|<\d+x\d+ sparse[^>]*>", "<sparse>", text)
    return text


def message(error):
    """The type and the text of an exception, without what is not the package's own text."""
    text, kind = str(error), type(error).__name__
    if isinstance(error, TypeError) and SIGNATURE.search(text) and "must" not in text:
        return f"{kind}: a call that does not fit the signature"
    own, colon, rest = text.rpartition(": ")
    if FOREIGN.search(rest):
        text = f"{own}{colon}(text of Python or NumPy)"
    return f"{kind}: {plain(text)}"


# --- notes ------------------------------------------------------------------------------------


class Notes:
    """The entries of one stream."""

    def __init__(self):
        self.entries = {}
        self.waiting = []  # decisions whose rewards are to come

    def _entry(self, label):
        return self.entries.setdefault(label, {"kinds": [], "ints": [], "texts": [], "reals": []})

    def add(self, label, value):
        """Records a number, a text, an array, or a list, tuple or dict of these."""
        entry = self._entry(label)
        self._add(entry, label, value)

    def _add(self, entry, label, value):
        kinds = entry["kinds"]
        if value is None:
            kinds.append("None")
        elif isinstance(value, str):
            kinds.append("str")
            entry["texts"].append(plain(str(value)))
        elif isinstance(value, (bool, int, np.bool_, np.integer)):
            kinds.append(_kind(value))
            entry["ints"].append(int(value))
        elif isinstance(value, (float, np.floating)):
            kinds.append(_kind(value))
            entry["reals"].append(np.array([value], dtype=np.float64))
        elif isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            kinds.append(f"{value.dtype.name}{list(value.shape)}")
            flat = np.ravel(value)
            if value.dtype.kind == "f":
                entry["reals"].append(flat.astype(np.float64))
            else:
                entry["ints"].extend(flat.astype(np.int64).tolist())
        elif scipy.sparse.issparse(value):
            kinds.append(type(value).__name__)
            value = value.tocsr()
            for part in (value.indptr.astype(np.int64), value.indices.astype(np.int64), value.data):
                self._add(entry, label, part)
        elif isinstance(value, dict):
            kinds.append("dict")
            for name, part in value.items():
                entry["texts"].append(str(name))
                self._add(entry, label, part)
        elif isinstance(value, (list, tuple)):
            kinds.append(f"{type(value).__name__} {len(value)}")
            for part in value:
                self._add(entry, label, part)
        elif isinstance(value, np.ndarray):
            self._add(entry, label, value.tolist())
        else:
            kinds.append(type(value).__name__)

    def attempt(self, label, call, /, *args, **kwargs):
        """Records what a call returns or raises; returns the former, or None."""
        try:
            value = call(*args, **kwargs)
        except Exception as error:
            self.add(label, message(error))
            return None
        if value is not None:
            self.add(label, value)
        return value

    def ask(self, subject, name, *args, label=None, **kwargs):
        """A public method's answer, or a property's value."""
        asked.setdefault(type(subject).__name__, set()).add(name)

        def call():
            value = getattr(subject, name)
            return value(*args, **kwargs) if callable(value) else value

        return self.attempt(label or name, call)

    def history(self, label, history):
        """The columns of a history."""
        if history is None:
            return
        for name, value in sorted(history.to_dict().items()):
            self.add(f"{label} {name}", value)

    def finished(self):
        """{label: entry} as it stands in the file."""
        found = {}
        for label, entry in self.entries.items():
            reals = np.concatenate([np.zeros(0), *entry["reals"]])
            found[label] = {"kinds": _runs(entry["kinds"]), "ints": entry["ints"],
                            "texts": entry["texts"], "n": len(reals), "all": reals}
        return {label: _summary(entry) for label, entry in found.items()}


def _kind(value):
    return f"numpy {value.dtype}" if isinstance(value, np.generic) else type(value).__name__


def _runs(kinds):
    """Equal descriptions one after the other as one with a count."""
    found = []
    for kind in kinds:
        if found and found[-1][0] == kind:
            found[-1][1] += 1
        else:
            found.append([kind, 1])
    return [kind if n == 1 else f"{kind} x {n}" for kind, n in found]


def _summary(entry):
    reals = entry.pop("all")
    at = np.unique(np.linspace(0, max(len(reals) - 1, 0), min(KEPT, len(reals))).astype(int))
    finite = np.abs(reals[np.isfinite(reals)])
    entry["reals"] = reals[at]
    entry["scale"] = float(finite.max()) if finite.size else 0.0
    entry["digest"] = hashlib.blake2b(reals.astype("<f8").tobytes(), digest_size=8).hexdigest()
    return entry


# --- comparison -------------------------------------------------------------------------------


def differences(recorded, found, *, bits, tolerance=TOLERANCE):
    """What differs between two streams, a line each.

    ``bits(label)`` says whether of the real numbers of an entry every bit counts; else they must be
    equal to `tolerance`, relative to the largest of the entry.
    """
    lines = [f"{label}: not there any more" for label in recorded if label not in found]
    lines += [f"{label}: not recorded" for label in found if label not in recorded]
    for label in recorded:
        if label in found:
            lines += _compared(label, recorded[label], found[label], bits(label), tolerance)
    return lines


def _compared(label, a, b, bits, tolerance):
    lines = []
    for name in ("kinds", "texts", "ints"):
        if a[name] != b[name]:
            at = next((i for i, (x, y) in enumerate(zip(a[name], b[name], strict=False)) if x != y),
                      min(len(a[name]), len(b[name])))
            lines.append(f"{label}: {name}[{at}] of {len(a[name])} was {a[name][at:at + 3]}, is "
                         f"{b[name][at:at + 3]} of {len(b[name])}")
    if a["n"] != b["n"]:
        return [*lines, f"{label}: {a['n']} real numbers were there, there are {b['n']}"]
    if bits and a["digest"] == b["digest"]:
        return lines
    x, y = np.asarray(a["reals"]), np.asarray(b["reals"])
    with np.errstate(all="ignore"):
        off = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.abs(x - y))
    off = np.where(np.isnan(off), np.inf, off)
    worst = float(off.max(initial=0.0))
    scale = max(a["scale"], 1.0) if label.endswith(ROUNDING) else a["scale"]
    if bits or not worst <= tolerance * scale:
        lines.append(f"{label}: of {a['n']} real numbers up to {a['scale']:.3g} some differ, of "
                     f"{len(x)} kept by up to {worst:.3g}")
    return lines


# --- the file ---------------------------------------------------------------------------------


def write(streams, path=FILE):
    """{name: finished entries} as one file, whose bytes depend on nothing else."""
    texts, reals, index = {}, [], {}
    for name, entries in streams.items():
        index[name] = {}
        for label, entry in entries.items():
            numbered = [[texts.setdefault(text, len(texts)) for text in entry[part]]
                        for part in ("kinds", "texts")]
            index[name][label] = [*numbered, entry["ints"], entry["n"], entry["digest"],
                                  entry["scale"]]
            reals.append(entry["reals"])
    text = json.dumps({"texts": list(texts), "streams": index}, separators=(",", ":"))
    values = np.concatenate([np.zeros(0), *reals]).astype("<f8")
    arrays = {"index": np.frombuffer(text.encode(), dtype=np.uint8),
              # the first bytes of all numbers, then the second ones: smaller when compressed
              "bytes": values.view(np.uint8).reshape(-1, 8).T}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as file:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(array), version=(1, 0))
            file.writestr(zipfile.ZipInfo(f"{name}.npy"), buffer.getvalue(), zipfile.ZIP_LZMA)


def read(path=FILE):
    """What `write` was given."""
    with np.load(path) as file:
        head = json.loads(file["index"].tobytes())
        values = np.ascontiguousarray(file["bytes"].T).view("<f8").reshape(-1)
    texts, at, streams = head["texts"], 0, {}
    for name, entries in head["streams"].items():
        streams[name] = {}
        for label, (kinds, words, ints, n, digest, scale) in entries.items():
            kept = len(np.unique(np.linspace(0, max(n - 1, 0), min(KEPT, n)).astype(int)))
            streams[name][label] = {
                "kinds": [texts[i] for i in kinds], "texts": [texts[i] for i in words],
                "ints": ints, "n": n, "digest": digest, "scale": scale,
                "reals": values[at:at + kept]}
            at += kept
    return streams
