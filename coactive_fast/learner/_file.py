"""One file that holds a state: plain data and arrays, checked from the first byte to the last.

Layout, all numbers little endian::

    magic            8 bytes
    format           uint32
    header's length  uint64
    header           JSON: {"head": ..., "arrays": [{name, dtype, shape, order, offset, nbytes}]}
    arrays           in the order of the table, C order, each on a 64-byte boundary of the file;
                     `offset` counts from where the first one begins; zeros in the gaps
    SHA-256          32 bytes, of everything before

The offsets follow from the sizes; they stand in the header for readers in other languages. A file
in which they differ is refused, so that no two arrays can overlap. Nothing in the file is code.
"""

import contextlib
import errno
import hashlib
import io
import json
import math
import os
import secrets
import stat
import struct

import numpy as np

from .._memory import refuse_beyond_limit

try:
    import fcntl
except ImportError:  # not a POSIX system: what killed processes leave stays
    fcntl = None  # type: ignore[assignment]

MAGIC = b"\x89COACT\r\n"  # the line end tells a file that went through a text-mode transfer
FORMAT = 1
PREAMBLE = struct.Struct("<8sIQ")
DIGEST = hashlib.sha256().digest_size
ALIGNMENT = 64
CHUNK = 1 << 24  # bytes between two moments at which Ctrl-C is heard: some 10 ms
# no long double: the same name means other bytes on other machines
DTYPES = ("|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8")
TEMPORARY = ".coactive_fast-{}.tmp"
PLACES = 32  # temporary files of a folder that have a number for a name
DEPTH = 100  # lists and dicts within each other, in a head: states have less than 20
PARSED = 24.0  # bytes that one of a header takes when it was parsed, at the most
ENTRY = {"name", "dtype", "shape", "order", "offset", "nbytes"}


def write(path, head, arrays):
    """Puts a state into a file, which holds the old content or the new one at every moment.

    Parameters
    ----------
    path : str or os.PathLike
        What is there already is replaced and keeps its permissions; a symbolic link is followed,
        a hard link is not. A process killed while it writes leaves a hidden file
        ``.coactive_fast-*.tmp`` beside it, which the next save into the folder removes.
    head : dict
        Of str keys and None, bool, int, finite float, str, list and dict, at most 100 of these
        within each other. All comes back exactly, but for a tuple, which comes back as a list.
    arrays : dict of str to ndarray or Streamed
        Bool, integer or floating point (not long double), of any shape. Strided and big-endian
        ones come back contiguous and in the machine's own order. Who calls sees to it that they
        do not change meanwhile; one that is not C-contiguous is copied, one at a time.
    """
    replace(path, _parts(_header(head, arrays), arrays.values()))


class Streamed:
    """An array for `write` that is nowhere whole: its pieces come one after another.

    Parameters
    ----------
    dtype, shape
        Of all of it.
    pieces : iterable of C-contiguous ndarray
        Of this dtype; one behind the other they hold as many numbers as the shape says, or `write`
        raises and leaves the file as it was.
    """

    def __init__(self, dtype, shape, pieces):
        self.dtype, self.shape, self.pieces = np.dtype(dtype), tuple(shape), pieces
        self.nbytes = self.dtype.itemsize * math.prod(self.shape)

    def chunks(self):
        left = self.nbytes
        for piece in self.pieces:
            left -= piece.nbytes
            if left < 0:
                break
            yield from _chunks(np.ascontiguousarray(piece, self.dtype.newbyteorder("<")))
        if left:
            raise ValueError(f"the pieces of an array of shape {self.shape} do not fill it")


def read(path):
    """What `write` put there, as ``(head, arrays)``; the arrays are fresh and writable.

    Every damage is a `ValueError` that says what is wrong. No more memory is asked for than the
    file is long.
    """
    path = _plain_path(path)
    with open(path, "rb") as file:
        return _Reader(file).state(path)


def to_bytes(head, arrays):
    """What `write` would write, for a state that is part of another file."""
    return b"".join(_parts(_header(head, arrays), arrays.values()))


def from_bytes(data, path):
    """The reverse of `to_bytes`; `path` is named where the bytes are damaged."""
    return _Reader(io.BytesIO(data), len(data)).state(path)


# --- replacing a file -----------------------------------------------------------------------------


def replace(path, parts):
    """Puts the bytes of an iterable in the place of the file at `path`, all of them or none.

    A temporary file in the same folder takes them, is forced to the disk and then renamed; it is
    removed when anything goes wrong, Ctrl-C included, and by the next call where this process was
    killed.
    """
    path = _plain_path(path)
    target, mode = _target(path)
    with _temporary(path, target, mode) as file:
        if mode not in (None, stat.S_IMODE(os.fstat(file.fileno()).st_mode)):
            os.chmod(file.name, mode)  # the umask took something away
        for part in parts:
            file.write(part)
        file.flush()
        os.fsync(file.fileno())
        if fcntl is None:  # such systems rename no open file
            file.close()
        os.replace(file.name, target)
    _sync_folder(os.path.dirname(target))


# Who writes a temporary file holds a lock of it (flock), which the system takes back when the
# process ends, however it does. So a file under one of the numbered names that can be locked was
# left by a process that was killed. A lock is of the file, not of its name: who has got one looks
# whether the name is still that of the file, the writer because in the moment before the lock the
# file may have been taken for one that was left, and who removes one because the name may have been
# given anew. Where there are no locks, and where all numbers are taken, a name is drawn by chance,
# and that file is left alone by all others. What this cannot see is another machine that writes
# into the same folder of a file system that is mounted with locks of each machine alone.


@contextlib.contextmanager
def _temporary(path, target, mode):
    """A new file beside `target`, open for writing and mapping; at the end it is gone, unless it
    has another name by then. Errors name `path`, which the caller gave.

    What killed processes have left in the folder goes too.
    """
    # from the start no wider than the mode it ends with; a new file gets what the umask leaves
    folder, mode = os.path.dirname(target), 0o666 if mode is None else mode
    drawn = own = os.path.join(folder, TEMPORARY.format(secrets.token_hex(8)))
    file = None
    try:
        for place in range(PLACES if fcntl else 0):
            name = os.path.join(folder, TEMPORARY.format(place))
            _remove_left(name)
            if file is None:
                own = name
                file = _locked(name, mode)
        if file is None:
            own = drawn
            file = _created(drawn, mode)
        yield file
    except OSError as error:
        if os.path.basename(str(error.filename)).startswith(TEMPORARY[:15]):
            error.filename = path
        raise
    finally:
        if own != drawn:
            _remove_own(file, own)
        if file is not None:
            file.close()
        if own == drawn:
            with contextlib.suppress(OSError):
                os.unlink(drawn)


def _created(name, mode):
    """A new file for writing and, since a fleet maps its file, reading."""
    return open(name, "xb", opener=lambda name, flags: os.open(
        name, flags & ~os.O_WRONLY | os.O_RDWR, mode))


def _locked(name, mode):
    """A new file with a lock of it; None where the name is taken, or there are no locks."""
    try:
        file = _created(name, mode)
    except FileExistsError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_named(file.fileno(), name):
            return file
    except BlockingIOError:  # it is being removed, as one that was left
        pass
    except OSError:
        os.unlink(name)
    except BaseException:
        file.close()
        raise
    file.close()
    return None


def _is_named(handle, name):
    """Whether an open file has this name, and no other file has."""
    try:
        return os.path.samestat(os.stat(handle), os.lstat(name))
    except FileNotFoundError:
        return False


def _remove_own(file, name):
    """Removes what this process was writing, unless it was renamed."""
    if file is None:
        _remove_left(name)
    elif _is_named(file.fileno(), name):
        os.unlink(name)


def _remove_left(name):
    """Removes what a killed process has left under this name; all else stays."""
    try:
        found = os.lstat(name)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or found.st_uid != os.geteuid():
            return
        handle = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # mostly: there is none
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_named(handle, name):
            os.unlink(name)
    except OSError:  # it is being written
        pass
    finally:
        os.close(handle)


def _plain_path(path):
    try:
        return os.fsdecode(path)
    except TypeError:
        kind = type(path).__name__
        raise TypeError(f"path must be a string or os.PathLike, got {kind}") from None


def _target(path):
    """Where the file itself lies, behind all links, and its permissions (None: no such file)."""
    if not os.path.basename(path):
        raise _os_error(errno.EISDIR, path)
    target = os.path.realpath(path)
    try:
        found = os.stat(path)
    except FileNotFoundError:
        if not os.path.isdir(os.path.dirname(target)):
            raise
        return target, None
    if stat.S_ISDIR(found.st_mode):
        raise _os_error(errno.EISDIR, path)
    if not stat.S_ISREG(found.st_mode):  # renaming over /dev/null would do away with it
        raise ValueError(f"path must be a regular file, and {path!r} is not")
    if not os.access(target, os.W_OK):  # renaming would not ask
        raise _os_error(errno.EACCES, path)
    return target, stat.S_IMODE(found.st_mode) & 0o777


def _os_error(number, path):
    return OSError(number, os.strerror(number), path)


def _sync_folder(folder):
    """Makes the new name itself safe from a power cut, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    cannot = (errno.EACCES, errno.EPERM, errno.EINVAL, errno.ENOTSUP, errno.ENOSYS)
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in cannot:
            raise


# --- writing --------------------------------------------------------------------------------------


def _header(head, arrays):
    """The header as bytes."""
    if not isinstance(head, dict):
        raise TypeError(f"head must be a dict, got {type(head).__name__}")
    _check_plain(head, "head")
    table, end = [], 0
    for name, array in arrays.items():
        dtype, offset = _dtype(name, array), _aligned(end)
        end = offset + array.nbytes
        table.append({"name": name, "dtype": dtype, "shape": array.shape, "order": "C",
                      "offset": offset, "nbytes": array.nbytes})
    return json.dumps({"head": head, "arrays": table}, separators=(",", ":")).encode("ascii")


def _dtype(name, array):
    """Name of the array's little-endian dtype, if the file can hold it."""
    if not isinstance(name, str):
        raise TypeError(f"arrays must have names that are strings, got {name!r}")
    # no subclasses: a mask, or what makes a matrix, would be lost
    if type(array) not in (np.ndarray, np.memmap, Streamed):
        raise TypeError(f"array {name!r} must be a numpy array, got {type(array).__name__}")
    dtype = array.dtype.newbyteorder("<").str
    if dtype not in DTYPES:
        raise TypeError(f"array {name!r} must hold bools, integers or floats of at most 8 bytes, "
                        f"got dtype {array.dtype}")
    return dtype


def _check_plain(value, where, depth=0):
    """Refuses what JSON would not give back, and what `read` refuses."""
    if depth > DEPTH:
        raise ValueError(f"{where[:60]}... must have no more than {DEPTH} lists and dicts within "
                         "each other")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{where} must be finite, got {value}: JSON has no such number")
    if isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            _check_plain(item, f"{where}[{i}]", depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{where} must have keys that are strings, got {key!r}")
            _check_plain(item, f"{where}[{key!r}]", depth + 1)
    elif not isinstance(value, (bool, int, float, str)) and value is not None:
        raise TypeError(f"{where} must be plain data (None, bool, int, float, str, list, dict), "
                        f"got {type(value).__name__}")


def _parts(header, arrays):
    """The bytes of the file, in order."""
    digest = hashlib.sha256()
    for part in _content(header, arrays):
        digest.update(part)
        yield part
    yield digest.digest()


def _content(header, arrays):
    yield PREAMBLE.pack(MAGIC, FORMAT, len(header))
    yield header
    end = PREAMBLE.size + len(header)
    for array in arrays:
        yield bytes(_aligned(end) - end)
        end = _aligned(end) + array.nbytes
        if isinstance(array, Streamed):
            yield from array.chunks()
        else:
            yield from _chunks(np.ascontiguousarray(array, array.dtype.newbyteorder("<")))


def _aligned(position):
    """The first boundary at or behind a position."""
    return -(-position // ALIGNMENT) * ALIGNMENT


def _chunks(array):
    """The memory of a contiguous array, piece by piece."""
    view = memoryview(array.reshape(-1).view(np.uint8))
    for start in range(0, len(view), CHUNK):
        yield view[start : start + CHUNK]


# --- reading --------------------------------------------------------------------------------------


class _Damaged(Exception):
    """What is wrong with the file; `_Reader.state` puts the path in front."""


class _Reader:
    """Goes through the file once: what is handed out is what the checksum was taken of."""

    def __init__(self, file, size=None):
        self.file = file
        self.digest = hashlib.sha256()
        self.size = os.fstat(file.fileno()).st_size if size is None else size
        self.position = 0

    def state(self, path):
        """``(head, arrays)``; `path` is named where the file is damaged."""
        try:
            return self.content()
        except _Damaged as damage:
            raise ValueError(f"{path!r} {damage}") from None

    def content(self):
        header = self.header()
        self.begin = _aligned(self.position)
        arrays = {}
        for entry in header["arrays"]:
            name, dtype, shape = self.checked(entry)
            if name in arrays:
                raise _Damaged(f"has an inconsistent header: two arrays have the name {name!r}")
            arrays[name] = self.array(dtype, shape)
        self.checksum()
        native = {name: array.astype(array.dtype.newbyteorder("="), copy=False)
                  for name, array in arrays.items()}
        return header["head"], native

    def header(self):
        start = self.file.read(PREAMBLE.size)
        if start[: len(MAGIC)] != MAGIC[: len(start)]:
            raise _Damaged("is not a file saved by coactive_fast")
        if len(start) < PREAMBLE.size:
            raise _Damaged(f"is truncated: only {self.size} bytes are left")
        _, number, length = PREAMBLE.unpack(start)
        if number > FORMAT:
            raise _Damaged(f"has format {number}, and this version of coactive_fast reads formats "
                           f"up to {FORMAT}: it was saved by a newer version, or is damaged")
        if number < 1:
            raise _Damaged(f"is damaged: there is no format {number}")
        self.digest.update(start)
        self.position = len(start)
        self.require(length, "its header")
        refuse_beyond_limit(PARSED * length, f"the parsed header of a file, {length} bytes,",
                            "no state has such a one")
        text = bytearray(length)
        self.fill(memoryview(text))
        return self.parsed(text)

    def parsed(self, text):
        try:
            header = json.loads(text.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise _Damaged(f"has a damaged header: {error}") from None
        kinds = {"head": dict, "arrays": list}
        if not isinstance(header, dict) or {k: type(v) for k, v in header.items()} != kinds:
            raise _Damaged("has an inconsistent header: it must hold 'head' and 'arrays'")
        try:
            _check_plain(header["head"], "head")
        except ValueError as error:
            raise _Damaged(f"has an inconsistent header: {error}") from None
        return header

    def checked(self, entry):
        """Name, dtype and shape of a line of the table that agrees with the place in the file."""
        if not isinstance(entry, dict) or set(entry) != ENTRY:
            raise _Damaged(f"has an inconsistent header: an array is described by {entry!r:.200}")
        name, dtype, shape = entry["name"], entry["dtype"], entry["shape"]
        if not isinstance(name, str):
            raise _Damaged(f"has an inconsistent header: an array has the name {name!r:.200}")
        fault = f"has an inconsistent header: array {name!r:.200} has"
        if dtype not in DTYPES or entry["order"] != "C":
            raise _Damaged(f"{fault} unknown dtype {dtype!r:.200} or order {entry['order']!r:.200}")
        if not isinstance(shape, list) or len(shape) > 64 or not all(map(_is_size, shape)):
            raise _Damaged(f"{fault} shape {shape!r:.200}")
        nbytes = math.prod(shape) * np.dtype(dtype).itemsize
        offset = _aligned(self.position) - self.begin
        if entry["nbytes"] != nbytes or entry["offset"] != offset:
            raise _Damaged(f"{fault} {entry['nbytes']!r:.200} bytes at {entry['offset']!r:.200}, "
                           f"and should have {nbytes} at {offset}")
        self.require(offset + self.begin - self.position + nbytes, f"array {name!r:.200}")
        return name, np.dtype(dtype), shape

    def array(self, dtype, shape):
        refuse_beyond_limit(float(math.prod(shape)) * dtype.itemsize, "an array of a file",
                            "a machine with more memory can read it")
        try:
            array = np.empty(shape, dtype)
        except (ValueError, OverflowError) as error:  # too many dimensions, or 0 times too much
            raise _Damaged(f"has an inconsistent header: shape {shape!r:.200}: {error}") from None
        self.fill(memoryview(bytearray(_aligned(self.position) - self.position)))
        for view in _chunks(array):
            self.fill(view)
        return array

    def checksum(self):
        beyond = self.size - self.position - DIGEST
        if beyond > 0:
            raise _Damaged(f"is damaged: {beyond} bytes too many at the end")
        if self.file.read(DIGEST) != self.digest.digest():
            raise _Damaged("is damaged: its checksum is wrong")

    def require(self, count, what):
        """So many bytes, and the checksum behind them, are still to come."""
        if count + DIGEST > self.size - self.position:
            raise _Damaged(f"is truncated or damaged: {what} ends behind the end of the file "
                           f"({self.size} bytes)")

    def fill(self, view):
        if self.file.readinto(view) != len(view):
            raise _Damaged("is truncated: it became shorter while it was read")
        self.digest.update(view)
        self.position += len(view)


def _is_size(n):
    return type(n) is int and 0 <= n < 2**63
