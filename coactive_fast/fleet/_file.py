"""The file of a fleet: who may open it, how its room is taken, and where everything lies in it.

Layout, in words of eight bytes, little endian; every region begins on a page::

    0       magic, version, where the identity lies and its bytes, whether a writer is at work, in
            which boot of the machine; 64: the layout's generation
    512     counts: slots used, first free slot + 1, models, deleted entries of the index, retired
            slots, their checksum; the epoch of the last flush, that of the retired slots
    1024    a layout of generation 2, 4, ...
    2048    a layout of generation 1, 3, ...
    4096    the identity: template and prior, as `learner/_file.py` writes a learner
    ...     areas of the writer, index, records: of these the layout tells, which is made when the
            number of features is known; growth adds a larger index and more records at the end

Single words (whether a writer is at work, the boot, the generation, the epochs) are a number of 48
bits above its checksum of 16. A layout is written where the other one is not, and then the
generation raised: one store. So a kill leaves the old or the new one. Room is taken by
posix_fallocate, or the file stays as it was: under a sparse mapping a full disc would be the end of
the process instead of an error.
"""

from __future__ import annotations

import binascii
import contextlib
import errno
import mmap
import os
import struct
import sys
import tempfile
import zlib
from typing import NamedTuple

from ..learner._file import _sync_folder, _target, _temporary, fcntl

MAGIC = b"\x89CFLEET\n"
VERSION = 2
PAGE = 4096
COUNTS = 512
GENERATION = 64
OPEN = 32
BOOT = OPEN + 8
KEPT, TAG = COUNTS + 48, COUNTS + 56
PLACES = (1024, 2048)
AREAS = 16           # threads of one writer
FIXED = 15           # words of a layout before its segments
MOST_SEGMENTS = 48
MOST = 2**31 - 1     # slots, so that an index has less than 2^32 entries
IDENTITY = struct.Struct("<8sQQQ")
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS)


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

    def regions(self):
        """Where they begin, and their bytes."""
        yield self.areas, 8 * AREAS * self.area
        yield from ((place, 8 * self.entries) for place in (self.index, self.spare) if place)
        if self.retired:
            yield self.retired, 8 * self.capacity
        yield from ((place, 8 * self.record * slots) for place, slots in self.segments)

    @property
    def end(self):
        return max(place + length for place, length in self.regions())

    def same_records(self, other):
        return self[:8] == other[:8]

    def is_sound(self, begin, size):
        """Whether it can be one of a file of so many bytes, whose identity ends at `begin`."""
        if not (self.d > 0 and self.text in (0, 8) and self.head > self.text and self.block > 2
                and self.k > 0 and self.areas == begin and self.capacity <= MOST
                and self.capacity < self.entries < 2**32
                and self.record == _record(self.head + self.k * self.block)
                and self.area == _area(self.record) and min(slots for _, slots in self.segments)):
            return False
        end = begin
        for place, length in sorted(self.regions()):
            if place % PAGE or place < end:
                return False
            end = place + length
        return end <= size

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


def _record(words):
    """Words of a record that needs so many."""
    return -(-words // 8) * 8


def _behind(index, slots, keep):
    """Where the list of retired slots begins (0: there is none), and the records, behind an index
    with two entries a slot."""
    end = _pages(index + 16 * slots)
    return (end, _pages(end + 8 * slots)) if keep else (0, end)


def _area(record):
    return -(-(16 + record) // 512) * 512


def sealed(number, place):
    """The word that stands for a number at this place of the file."""
    return number << 16 | binascii.crc_hqx(struct.pack("<QQ", number, place), 0)


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
        self.layout = self.map = self.interrupted = self.process = None
        self.generation = 0

    # --- opening --------------------------------------------------------------------------------

    @classmethod
    def create(cls, path, identity):
        """A new file in the place of what is there, which its readers keep."""
        if path is None:
            return cls("a fleet in memory", _nameless(), True).begun(identity)
        path = os.fsdecode(path)
        target, mode = _target(path)
        old, self = _lock_what_is_there(target), None
        try:
            with _temporary(path, target, mode) as file:
                self = cls(path, os.dup(file.fileno()), True)
                _lock(self.handle, path)
                self.begun(identity)
                self.flush()
                while not _put_in_place(file.name, target, old):
                    old = _lock_what_is_there(target)
                _sync_folder(os.path.dirname(target))
        except BaseException:
            if self is not None:
                self.close()
            raise
        finally:
            if old is not None:
                os.close(old)
        return self

    def begun(self, identity):
        """The first pages of a new file; the same object."""
        size = PAGE + _pages(len(identity))
        self.reserve(0, size)
        self.remap(size)
        self.map[PAGE:PAGE + len(identity)] = self.identity = identity
        IDENTITY.pack_into(self.map, 0, MAGIC, VERSION, PAGE, len(identity))
        for place, number in ((GENERATION, 0), (KEPT, 0), (TAG, 1)):
            self.write(place, number)
        self.begin_work()
        return self

    @classmethod
    def open(cls, path, writable):
        """A file that is there."""
        path = os.fsdecode(path)
        _needs_the_system()
        self = cls(path, _locked(path) if writable
                   else os.open(path, os.O_RDONLY | os.O_CLOEXEC), writable)
        try:
            size = os.fstat(self.handle).st_size
            start = os.pread(self.handle, PAGE, 0)
            if start[:len(MAGIC)] != MAGIC:
                raise ValueError(f"{path!r} is not a file of a fleet")
            if len(start) < PAGE:
                raise ValueError(f"{path!r} is truncated: only {size} bytes are left")
            _, version, place, length = IDENTITY.unpack_from(start)
            if version != VERSION:
                by = ", as coactive_fast 0.2 wrote it" if version == 1 else ""
                raise ValueError(f"{path!r} is of version {version} of the format{by}, and this "
                                 f"version of coactive_fast reads version {VERSION}")
            if place != PAGE:
                raise ValueError(f"{path!r} is damaged: its head is not whole")
            if place + length > size:
                raise ValueError(f"{path!r} is truncated: only {size} bytes are left")
            self.remap(size)
            self.identity = self.map[place:place + length]
            if writable and self.number(OPEN):
                self.interrupted = "process" if self.number(BOOT) == _boot() else "machine"
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
                if self.layout is None:
                    return
                raise ValueError(f"{self.path!r} is damaged: its layout is gone")
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
            if self.layout is not None and not self.layout.same_records(found[1]):
                raise ValueError(f"{self.path!r} is damaged: its layout is of other records")
            if self.interrupted == "machine":
                self.write(GENERATION, generation)
            self.generation, self.layout = found
            return

    def layout_at(self, place):
        """``(generation, layout)`` of a place; None where it is not whole or beyond the file."""
        found = _unpacked(bytes(self.map[place:place + 1024]))
        return found if found is not None and self.fits(found[1]) else None

    def fits(self, layout):
        """Whether it can be, and all of it lies in the file, which is mapped as far as it goes."""
        begin, size = PAGE + _pages(len(self.identity)), os.fstat(self.handle).st_size
        if not layout.is_sound(begin, size):
            return False
        if layout.end > len(self.map):
            self.remap(size)
        return True

    # --- room -----------------------------------------------------------------------------------

    def first_layout(self, d, text, head, block, k, slots, keep):
        """Not yet in force; keep: what was flushed is kept."""
        record = _record(head + k * block)
        area = _area(record)
        areas = _pages(len(self.map))
        index = areas + 8 * AREAS * area
        retired, place = _behind(index, slots, keep)
        return Layout(d, text, head, block, k, record, areas, area, index, 2 * slots, 0, retired,
                      ((place, slots),))

    def begin(self, layout):
        """The first layout comes into force."""
        self.extend(_pages(layout.end))
        self.put(layout)

    def grown(self, slots):
        """The layout with so many slots more, and room for an index of all; not yet in force."""
        old = self.layout
        if slots:
            slots = min(slots, MOST - old.capacity)
            if slots == 0 or len(old.segments) == MOST_SEGMENTS:
                raise ValueError(f"{self.path!r} cannot grow any more: {old.capacity} models")
        elif old.spare:
            return old._replace(index=old.spare, spare=old.index)
        capacity, index = old.capacity + slots, _pages(len(self.map))
        retired, place = _behind(index, capacity, slots and old.retired)
        self.extend(_pages(place + 8 * old.record * slots))
        more = ((place, slots),) if slots else ()
        return old._replace(index=index, entries=2 * capacity, spare=0 if slots else old.index,
                            retired=retired or old.retired, segments=old.segments + more)

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
        self.map = (mmap.mmap(self.handle, size, access=mmap.ACCESS_WRITE) if self.writable
                    else mmap.mmap(self.handle, 0, access=mmap.ACCESS_READ))

    def trim(self):
        """Gives back what a writer that was killed had taken, but not brought into force."""
        end = PAGE + _pages(len(self.identity)) if self.layout is None else self.layout.end
        if _pages(end) < len(self.map):
            os.ftruncate(self.handle, _pages(end))
            self.remap(_pages(end))

    def number(self, place):
        """The number of a sealed word."""
        word = int.from_bytes(self.map[place:place + 8], "little")
        if word != sealed(word >> 16, place) or word >> 63:
            raise ValueError(f"{self.path!r} is damaged: the word at byte {place} is not whole")
        return word >> 16

    def write(self, place, number):
        """One store."""
        self.map[place:place + 8] = struct.pack("<Q", sealed(number, place))

    # --- the writer -------------------------------------------------------------------------------

    def begin_work(self):
        """Notes that a writer is at work: once what the one before left is in order."""
        self.process = os.getpid()
        self.write(BOOT, _boot())
        self.write(OPEN, 1)

    def flush(self):
        os.fsync(self.handle)

    def close(self):
        """Ends the work of this process; whoever still has `map` keeps it."""
        if self.handle is None:
            return
        if self.map is not None and self.writable and self.process == os.getpid():
            self.write(OPEN, 0)
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


# --- the system -----------------------------------------------------------------------------------


def _pages(size):
    return -(-size // PAGE) * PAGE


def _needs_the_system():
    if fcntl is None or not hasattr(os, "posix_fallocate") or sys.byteorder != "little":
        raise OSError(errno.ENOTSUP, "fleets need POSIX files and a little-endian machine, which "
                      f"{sys.platform} has not")


def _boot():
    """Which run of the machine this is, a random number of 32 bits; 0 where that is not known."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return int(file.read(8), 16)
    except (OSError, ValueError):
        return 0


def _lock(handle, path):
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OSError(errno.EAGAIN, "another process, or another Fleet of this one, writes to it",
                      path) from None


def _locked(path):
    """A handle of the file that is there, which is locked."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            _lock(handle, path)
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # another one was put in its place meanwhile


def _lock_what_is_there(path):
    """A file that is to be replaced must have no writer. Its handle, or None."""
    _needs_the_system()
    try:
        return _locked(path)
    except FileNotFoundError:
        return None


def _put_in_place(temporary, target, old):
    """Gives a new file its name; False where there is one by now, while `old` says there is none.

    Of several processes that make the same file where there was none, one is the first.
    """
    if old is None:
        try:
            os.link(temporary, target)
            os.unlink(temporary)
            return True
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
        with contextlib.suppress(FileExistsError):  # a file system without links
            os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC))
        return False
    os.replace(temporary, target)
    return True


def _nameless():
    _needs_the_system()
    if hasattr(os, "memfd_create"):
        return os.memfd_create("coactive_fast")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
