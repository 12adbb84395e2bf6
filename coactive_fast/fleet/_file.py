"""The file of a fleet: who may open it, how its room is taken, and where everything lies in it.

Layout, in words of eight bytes, little endian; every region begins on a page::

    0       magic, version, where the identity lies and its bytes, whether a writer is at work,
            the machine's boot (2 words), the writer's process, the layout's generation
    512     counts: slots used, first free slot + 1, models, deleted entries of the index, retired
            slots; the epoch of the last flush, that of the retired slots
    1024    a layout of generation 2, 4, ...
    2048    a layout of generation 1, 3, ...
    4096    the identity: template and prior, as `learner/_file.py` writes a learner
    ...     areas of the writer, index, records: of these the layout tells, which is made when the
            number of features is known; growth adds a larger index and more records at the end

A layout is written where the other one is not, and then the generation raised: one store. So a
kill leaves the old or the new one. Room is taken by posix_fallocate, or the file stays as it was:
under a sparse mapping a full disc would be the end of the process instead of an error.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import secrets
import struct
import sys
import tempfile
import zlib
from typing import NamedTuple

from ..learner._file import _plain_path, _sync_folder, _target

try:
    import fcntl
except ImportError:  # no such system is supported, but the package is imported there
    fcntl = None

MAGIC = b"\x89CFLEET\n"
VERSION = 1
PAGE = 4096
COUNTS = 512
GENERATION = 64
OPEN = 32
KEPT, TAG = COUNTS + 40, COUNTS + 48
PLACES = (1024, 2048)
AREAS = 16           # threads of one writer
FIXED = 15           # words of a layout before its segments
MOST_SEGMENTS = 48
IDENTITY = struct.Struct("<8sQQQ")
WORKING = struct.Struct("<Q16sQ")


class Layout(NamedTuple):
    """Where records lie and what is in one; sizes in words, places in bytes."""

    d: int               # features
    text: int            # words of a key that is text, else 0
    head: int
    block: int
    k: int
    record: int
    areas: int
    area: int
    index: int
    entries: int
    spare: int           # an index of as many entries that is not used, or 0
    retired: int         # a list of slots, or 0: nothing is kept
    segments: tuple[tuple[int, int], ...]  # (place, slots)

    @property
    def capacity(self):
        return sum(slots for _, slots in self.segments)

    def ends(self):
        """Where its regions end."""
        indices = (self.index, self.spare) if self.spare else (self.index,)
        listed = 8 * self.capacity if self.retired else 0
        return [self.areas + 8 * AREAS * self.area, self.retired + listed,
                *(place + 8 * self.entries for place in indices),
                *(place + 8 * self.record * slots for place, slots in self.segments)]

    def packed(self, generation):
        words = [generation, *self[:-1], len(self.segments)]
        words += [number for pair in self.segments for number in pair]
        body = struct.pack(f"<{len(words)}Q", *words)
        return struct.pack("<Q", zlib.crc32(body)) + body


def _unpacked(data):
    """``(generation, layout)``, or None where the bytes are none."""
    words = struct.unpack(f"<{len(data) // 8}Q", data)
    count = words[FIXED - 1]
    if not 0 < count <= MOST_SEGMENTS:
        return None
    end = FIXED + 2 * count
    if zlib.crc32(data[8:8 * end]) != words[0]:
        return None
    pairs = tuple(zip(words[FIXED:end:2], words[FIXED + 1:end:2], strict=True))
    return words[1], Layout(*words[2:FIXED - 1], pairs)


class File:
    """A mapped file; `layout` is None until the number of features is known.

    Attributes
    ----------
    path : str
    map : mmap.mmap
        Replaced, not changed, when the file grows.
    writable : bool
    identity : bytes
    interrupted : None, "process" or "machine"
        What ended the writer before, if it did not close the file.
    """

    def __init__(self, path, handle, writable):
        self.path, self.handle, self.writable = path, handle, writable
        self.layout = self.map = self.interrupted = None
        self.generation = 0

    # --- opening --------------------------------------------------------------------------------

    @classmethod
    def create(cls, path, identity):
        """A new file in the place of what is there, which its readers keep."""
        if path is None:
            handle, temporary, shown = _nameless(), None, "a fleet in memory"
        else:
            path = shown = os.fsdecode(path)
            target, mode = _check(path)
            old = _lock_what_is_there(target)
            temporary = os.path.join(os.path.dirname(target),
                                     f".coactive_fast-{secrets.token_hex(8)}.tmp")
            handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC,
                             0o666 if mode is None else mode)
        self = cls(shown, handle, True)
        try:
            if temporary is not None:
                _lock(handle, shown)
            size = PAGE + _pages(len(identity))
            self.reserve(0, size)
            self.remap(size)
            self.map[PAGE:PAGE + len(identity)] = identity
            IDENTITY.pack_into(self.map, 0, MAGIC, VERSION, PAGE, len(identity))
            self.identity = identity
            self.write(TAG, 1)
            self.begin_work()
            if temporary is not None:
                self.flush()
                os.replace(temporary, target)
                _sync_folder(os.path.dirname(target))
        except BaseException as error:
            if temporary is not None and os.path.exists(temporary):
                os.unlink(temporary)
            self.close()
            if isinstance(error, OSError) and error.filename == temporary is not None:
                error.filename = path
            raise
        finally:
            if path is not None and old is not None:
                os.close(old)
        return self

    @classmethod
    def open(cls, path, writable):
        """A file that is there."""
        path = os.fsdecode(path)
        _needs_the_system()
        flags = (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC
        self = cls(path, os.open(path, flags), writable)
        try:
            if writable:
                _lock(self.handle, path)
            size = os.fstat(self.handle).st_size
            start = os.pread(self.handle, PAGE, 0)
            if start[:len(MAGIC)] != MAGIC:
                raise ValueError(f"{path!r} is not a file of a fleet")
            if len(start) < PAGE:
                raise ValueError(f"{path!r} is truncated: only {size} bytes are left")
            _, version, place, length = IDENTITY.unpack_from(start)
            if version != VERSION:
                raise ValueError(f"{path!r} is of version {version}, and this version of "
                                 f"coactive_fast reads version {VERSION}")
            if place + length > size:
                raise ValueError(f"{path!r} is truncated: only {size} bytes are left")
            self.remap(size)
            self.identity = self.map[place:place + length]
            if writable:
                working, boot, _ = WORKING.unpack_from(self.map, OPEN)
                if working:
                    self.interrupted = "process" if boot == _boot() else "machine"
            self.look()
        except BaseException:
            self.close()
            raise
        return self

    def look(self):
        """Takes over the layout as it is now."""
        while True:
            generation = self.number(GENERATION)
            if generation == 0:
                return
            found = self.layout_at(PLACES[generation % 2])
            if generation != self.number(GENERATION):
                continue  # it was changed meanwhile
            if self.interrupted == "machine":  # which wrote the pages in any order
                both = [self.layout_at(place) for place in PLACES]
                found = max((one for one in both if one is not None), default=None)
                generation = 0 if found is None else found[0]
                if found is None and self.number(KEPT) == 0:
                    self.write(GENERATION, 0)  # nothing was flushed
                    return
            if found is None or found[0] != generation:
                raise ValueError(f"{self.path!r} is damaged: its layout is not whole")
            if self.interrupted == "machine":
                self.write(GENERATION, generation)
            self.generation, self.layout = found
            return

    def layout_at(self, place):
        """``(generation, layout)`` of a place; None where it is not whole or beyond the file."""
        found = _unpacked(bytes(self.map[place:place + 1024]))
        return found if found is not None and self.fits(found[1]) else None

    def fits(self, layout):
        """Whether all of a layout lies in the file, which is mapped as far as it goes."""
        end = max(layout.ends())
        if end > len(self.map):
            size = os.fstat(self.handle).st_size
            if end > size:
                return False
            self.remap(size)
        return True

    def moved(self):
        """Whether the layout is another one by now."""
        return self.number(GENERATION) != self.generation

    # --- room -----------------------------------------------------------------------------------

    def first_layout(self, d, text, head, block, k, slots, keep):
        """Not yet in force; keep: what was flushed is kept."""
        record = -(-(head + k * block) // 8) * 8
        area = -(-(16 + record) // 512) * 512
        areas = _pages(len(self.map))
        index = areas + 8 * AREAS * area
        entries = 2 * slots
        place = retired = _pages(index + 8 * entries)
        if keep:
            place = _pages(retired + 8 * slots)
        return Layout(d, text, head, block, k, record, areas, area, index, entries, 0,
                      retired if keep else 0, ((place, slots),))

    def begin(self, layout):
        """The first layout comes into force."""
        self.extend(_pages(max(layout.ends())))
        self.put(layout)

    def grown(self, slots):
        """The layout with so many slots more, and room for an index of all; not yet in force."""
        old = self.layout
        entries = 2 * (old.capacity + slots)
        if slots == 0 and old.spare:
            return old._replace(index=old.spare, spare=old.index)
        if slots and len(old.segments) == MOST_SEGMENTS:
            raise ValueError(f"{self.path!r} cannot grow any more: {old.capacity} models")
        index = _pages(len(self.map))
        place = retired = _pages(index + 8 * entries)
        if slots and old.retired:
            place = _pages(retired + 8 * (old.capacity + slots))
        end = _pages(place + 8 * old.record * slots)
        self.extend(end)
        more = ((place, slots),) if slots else ()
        return old._replace(index=index, entries=entries, spare=0 if slots else old.index,
                            retired=retired if slots and old.retired else old.retired,
                            segments=old.segments + more)

    def put(self, layout):
        """Brings a layout into force."""
        generation = self.generation + 1
        place = PLACES[generation % 2]
        data = layout.packed(generation)
        self.map[place:place + len(data)] = data
        self.write(GENERATION, generation)
        self.generation, self.layout = generation, layout

    def extend(self, size):
        before = len(self.map)
        self.reserve(before, size - before)
        self.flush()  # a layout that tells of it may come to the disc at any time
        self.remap(size)

    def reserve(self, start, length):
        """Takes room on the disc, or leaves the file as it was."""
        try:
            os.posix_fallocate(self.handle, start, length)
        except OSError as error:
            os.ftruncate(self.handle, start)
            raise OSError(error.errno, f"{os.strerror(error.errno)}: a fleet needs {length} bytes "
                          f"more", self.path) from None

    def remap(self, size):
        """Maps so much, to read all there is: the writer may be giving some of it back."""
        if self.writable:
            self.map = mmap.mmap(self.handle, size, access=mmap.ACCESS_WRITE)
        else:
            self.map = mmap.mmap(self.handle, 0, access=mmap.ACCESS_READ)

    def trim(self):
        """Gives back what a writer that was killed had taken, but not brought into force."""
        end = PAGE + _pages(len(self.identity)) if self.layout is None else max(self.layout.ends())
        if _pages(end) < len(self.map):
            os.ftruncate(self.handle, _pages(end))
            self.remap(_pages(end))

    def number(self, place):
        return struct.unpack_from("<Q", self.map, place)[0]

    def write(self, place, number):
        """One store."""
        self.map[place:place + 8] = struct.pack("<Q", number)

    # --- the writer -------------------------------------------------------------------------------

    def begin_work(self):
        """Notes that a writer is at work: once what the one before left is in order."""
        WORKING.pack_into(self.map, OPEN, 1, _boot(), os.getpid())

    def flush(self):
        os.fsync(self.handle)

    def close(self):
        """Ends the work of this process; whoever still has `map` keeps it."""
        if self.handle is None:
            return
        if self.map is not None and self.writable and self.working:
            WORKING.pack_into(self.map, OPEN, 0, _boot(), 0)
            fcntl.flock(self.handle, fcntl.LOCK_UN)  # a child of a fork may still have the file
        os.close(self.handle)
        self.handle = self.map = None

    def forked(self):
        """In a child: the lock is the parent's alone, and must go with the parent."""
        if self.handle is None or not self.writable:
            return
        with contextlib.suppress(OSError):
            other = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            same = os.path.sameopenfile(other, self.handle)
            if same:
                os.dup2(other, self.handle, inheritable=False)
            os.close(other)
        self.writable = False

    @property
    def working(self):
        """Whether the file says that this process writes it."""
        working, _, process = WORKING.unpack_from(self.map, OPEN)
        return working and process == os.getpid()


# --- the system -----------------------------------------------------------------------------------


def _pages(size):
    return -(-size // PAGE) * PAGE


def _needs_the_system():
    if fcntl is None or not hasattr(os, "posix_fallocate") or sys.byteorder != "little":
        raise OSError(errno.ENOTSUP, "fleets need POSIX files and a little-endian machine, which "
                      f"{sys.platform} has not")


def _boot():
    """Which run of the machine this is, 16 bytes; zeros where that cannot be known."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return bytes.fromhex(file.read().strip().replace("-", ""))
    except (OSError, ValueError):
        return bytes(16)


def _lock(handle, path):
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OSError(errno.EAGAIN, "another process, or another Fleet of this one, writes to it",
                      path) from None


def _lock_what_is_there(path):
    """A file that is to be replaced must have no writer. Its handle, or None."""
    _needs_the_system()
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        _lock(handle, path)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _check(path):
    return _target(_plain_path(path))


def _nameless():
    _needs_the_system()
    if hasattr(os, "memfd_create"):
        return os.memfd_create("coactive_fast")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
