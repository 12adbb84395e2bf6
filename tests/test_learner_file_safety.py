"""The state file is the old one or the new one at every moment, and lies where it should; what
stands in one from elsewhere takes neither time nor memory without bounds."""

import errno
import json
import os
import pathlib
import signal
import stat
import sys
import tempfile
import threading

import children
import numpy as np
import pytest
from state_files import assert_state, forge, python

import coactive_fast as cf
from coactive_fast.learner import _file

HEAD = {"name": "x", "rounds": 3}
POSIX = pytest.mark.skipif(os.name != "posix", reason="POSIX permissions and links")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state.cf"


# --- old or new, whatever happens -----------------------------------------------------------

OLD = {"state": "old"}, {"a": np.zeros(300)}
NEW = {"state": "new"}, {"a": np.ones(200), "b": np.ones(3)}


def assert_old_or_new(path):
    """One of the two is there, whole, and nothing else in the folder; which one."""
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    name = _file.read(path)[0]["state"]
    assert_state(path, *{"old": OLD, "new": NEW}[name])
    return name


def interrupted_at(line, path):
    """Writes NEW and interrupts before the given line is run; the number of lines if it ended."""
    seen = 0

    def trace(frame, event, argument):
        nonlocal seen
        if frame.f_code.co_filename != _file.__file__:
            return None
        if event == "line":
            seen += 1
            if seen == line:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        _file.write(path, *NEW)
    finally:
        sys.settrace(before)
    return seen


def test_interrupted_at_every_line(path, monkeypatch):
    monkeypatch.setattr(_file, "PLACES", 3)
    lines = interrupted_at(0, path)
    found = []
    for line in range(1, lines + 1):
        _file.write(path, *OLD)
        with pytest.raises(KeyboardInterrupt):
            interrupted_at(line, path)
        found.append(assert_old_or_new(path))
    assert set(found) == {"old", "new"}
    assert found == sorted(found, reverse=True)  # one moment at which it becomes the new one


@pytest.mark.parametrize("call", ["fsync", "replace", "fstat"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError,
                                   lambda: OSError(errno.ENOSPC, "No space left on device")])
def test_failing_calls(path, monkeypatch, call, error):
    _file.write(path, *OLD)

    def fail(*arguments):
        raise error()

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises((KeyboardInterrupt, MemoryError, OSError)):
            _file.write(path, *NEW)
    assert assert_old_or_new(path) == "old"


def test_everything_is_forced_to_the_disk_before_the_name_changes(path, monkeypatch):
    calls = []
    fsync, replace = os.fsync, os.replace

    def watched_fsync(handle):
        found = os.fstat(handle)
        calls.append("folder" if stat.S_ISDIR(found.st_mode) else f"{found.st_size} bytes")
        fsync(handle)

    def watched_replace(source, target):
        calls.append("replace")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "replace", watched_replace)
    _file.write(path, *NEW)
    expected = [f"{path.stat().st_size} bytes", "replace"]
    assert calls[:2] == expected
    assert calls[2:] == (["folder"] if hasattr(os, "O_DIRECTORY") else [])


@pytest.mark.skipif(not hasattr(os, "O_DIRECTORY"), reason="folders are not synced here")
def test_folder_that_cannot_be_synced(path, monkeypatch):
    fsync = os.fsync

    def failing(number):
        def call(handle):
            if stat.S_ISDIR(os.fstat(handle).st_mode):
                raise OSError(number, os.strerror(number))
            fsync(handle)
        return call

    monkeypatch.setattr(os, "fsync", failing(errno.EINVAL))
    _file.write(path, *NEW)  # the file system knows no such thing
    monkeypatch.setattr(os, "fsync", failing(errno.EIO))
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        _file.write(path, *OLD)
    assert assert_old_or_new(path) == "old"


def test_many_writers_of_one_file(path):
    def work():
        for state in (OLD, NEW) * 10:
            _file.write(path, *state)
            _file.read(path)

    _file.write(path, *OLD)
    failures = []
    threads = [threading.Thread(target=lambda: failures.append(_failure(work))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [None] * 4
    assert_old_or_new(path)


def _failure(work):
    try:
        work()
    except BaseException as error:
        return error
    return None


KILLS = '''
import json, os, random, signal, sys, time
import numpy as np
from coactive_fast.learner import _file

path, kills = sys.argv[1], int(sys.argv[2])
folder = os.path.dirname(path)
sizes = (150_000, 100_000)
states = [({"n": n, "size": size}, {"x": np.full(size, float(n)), "y": np.full(9, n)})
          for n, size in enumerate(sizes)]
random = random.Random(7)
told = {"killed": 0, "in the middle": 0, "found": [0, 0], "most left": 0}
start = time.monotonic()
for _ in range(5):
    _file.write(path, *states[0])
duration = (time.monotonic() - start) / 5  # of one write, on this machine as busy as it is
n = 0
for _ in range(kills):
    ready, begun = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(begun, b".")
            end = time.monotonic() + 60  # should nobody be left to kill it
            while time.monotonic() < end:
                n = 1 - n  # first the one that is not there
                _file.write(path, *states[n])
        finally:
            os._exit(1)
    os.read(ready, 1)
    os.close(ready), os.close(begun)
    time.sleep(random.uniform(0.0, 3.0 * duration))
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    told["killed"] += os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    head, arrays = _file.read(path)
    n = head["n"]
    assert head["size"] == sizes[n] == len(arrays["x"]) and set(arrays) == {"x", "y"}
    assert (arrays["x"] == n).all() and (arrays["y"] == n).all()
    told["found"][n] += 1
    left = [name for name in os.listdir(folder) if name.endswith(".tmp")]
    told["in the middle"] += bool(left)
    told["most left"] = max(told["most left"], len(left))
_file.write(path + " too", {}, {})
told["files"] = sorted(os.listdir(folder))
print(json.dumps(told))
'''


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_two_hundred_times(path):
    done = python(KILLS, path, 200)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["killed"] == sum(told["found"]) == 200
    assert told["in the middle"] > 0 and all(told["found"])
    assert told["most left"] == 1  # the first save of the next process has removed it
    assert told["files"] == [path.name, f"{path.name} too"]


# --- what killed processes leave ------------------------------------------------------------

forking = pytest.mark.skipif(_file.fcntl is None or not hasattr(os, "fork"),
                             reason="needs locks and fork")


class Saver:
    """A child that saves and stops in the middle, until it is told to go on, or killed."""

    def __init__(self, path, value):
        self.begun, begun = os.pipe()
        go, self.go = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            try:
                os.close(self.go)

                def pieces():
                    yield np.full(1000, value)
                    os.write(begun, b".")
                    os.read(go, 1)
                    yield np.full(1000, value)

                _file.write(path, {}, {"a": _file.Streamed(np.float64, (2000,), pieces())})
                os._exit(0)
            except BaseException as error:
                os.write(2, f"{error!r}".encode())
            finally:
                os._exit(1)
        os.close(begun), os.close(go)
        assert os.read(self.begun, 1) == b"."

    def end(self, kill):
        if kill:
            os.kill(self.child, signal.SIGKILL)
        else:
            os.write(self.go, b".")
        status = os.waitpid(self.child, 0)[1]
        os.close(self.begun), os.close(self.go)
        assert os.WIFSIGNALED(status) if kill else status == 0


def temporary(folder):
    return sorted(p.name for p in folder.glob(".*.tmp"))


def some_die(folder):
    tmp_path = pathlib.Path(folder)
    savers = [Saver(tmp_path / f"{i}.cf", float(i)) for i in range(9)]
    before = temporary(tmp_path)
    assert len(before) == 9
    for i in (0, 3, 4, 8):
        savers[i].end(kill=True)
    assert temporary(tmp_path) == before
    _file.write(tmp_path / "new.cf", *NEW)
    assert_state(tmp_path / "new.cf", *NEW)
    assert len(temporary(tmp_path)) == 5
    more = [Saver(tmp_path / f"{i}.cf", float(i)) for i in (3, 9)]  # under names that were free
    for saver in [savers[i] for i in (1, 2, 5, 6, 7)] + more:
        saver.end(kill=False)
    assert temporary(tmp_path) == []
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        [*(f"{i}.cf" for i in (1, 2, 3, 5, 6, 7, 9)), "new.cf"])
    for i in (1, 2, 3, 5, 6, 7, 9):
        assert_state(tmp_path / f"{i}.cf", {}, {"a": np.full(2000, float(i))})


@forking
def test_what_killed_processes_left_goes_and_what_lives_stays(tmp_path):
    children.run(some_die, str(tmp_path))


@forking
def test_files_of_others_stay(tmp_path):
    """Whatever has one of the names and is no plain file of ours, and all other names."""
    user = tmp_path / "user"
    user.write_text("mine")
    kept = {place: tmp_path / f".coactive_fast-{place}.tmp" for place in range(6)}
    kept[0].mkdir()
    kept[1].symlink_to(user)
    os.link(user, kept[2])
    os.mkfifo(kept[3])
    kept[4].symlink_to("nowhere")
    kept[5].write_text("of somebody else")
    try:
        os.chown(kept[5], 65534, 65534)
    except OSError:
        kept.pop(5).unlink()
    for name in (".coactive_fast-64.tmp", ".coactive_fast-0123456789abcdef.tmp",
                 ".coactive_fast-x.tmp", ".coactive_fast-.tmp", "coactive_fast-1.tmp",
                 ".coactive_fast-00.tmp", ".coactive_fast-7.tmp.old"):
        kept[name] = tmp_path / name
        kept[name].write_text(name)
    before = {name: os.lstat(p) for name, p in kept.items()}
    for state in (OLD, NEW):
        _file.write(tmp_path / "state.cf", *state)
    for name, p in kept.items():
        after = os.lstat(p)
        assert (after.st_ino, after.st_mode, after.st_size) == (
            before[name].st_ino, before[name].st_mode, before[name].st_size), name
    assert user.read_text() == "mine" and len(list(tmp_path.iterdir())) == len(kept) + 2


RACE = '''
import os, random, signal, sys, time
import numpy as np
from coactive_fast.learner import _file

folder, lives, deaths = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def save(name, number):
    value = number % 251
    _file.write(os.path.join(folder, name), {"n": value}, {"a": np.full(2000, value)})


def forked(work):
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            os.write(2, repr(error).encode() + b"\\n")
        finally:
            os._exit(1)
    return child


def some(name, count):
    for i in range(count):
        save(name, i)
        head, arrays = _file.read(os.path.join(folder, name))
        assert (arrays["a"] == head["n"]).all()


def for_ever(name):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        save(name, 0)


living = [forked(lambda i=i: some(f"{i % 3}.cf", 150)) for i in range(lives)]
random = random.Random(3)
for _ in range(deaths):
    child = forked(lambda: for_ever("dying.cf"))
    time.sleep(random.uniform(0.005, 0.03))
    os.kill(child, signal.SIGKILL)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
assert [os.waitpid(child, 0)[1] for child in living] == [0] * lives
save("last.cf", 0)
found = sorted(os.listdir(folder))
assert found == ["0.cf", "1.cf", "2.cf", "dying.cf", "last.cf"], found
print("all is well")
'''


@forking
def test_savers_beside_each_other_and_beside_dying_ones(tmp_path):
    done = python(RACE, tmp_path, 5, 60)
    assert done.stdout.strip() == "all is well", done.stderr


@pytest.mark.skipif(_file.fcntl is None, reason="needs locks")
@pytest.mark.parametrize("how", ["no locks", "no module", "all taken"])
def test_without_a_numbered_name(path, monkeypatch, how):
    def none(*arguments):
        raise OSError(errno.ENOLCK, "No locks available")

    if how == "no locks":
        monkeypatch.setattr(_file.fcntl, "flock", none)
    elif how == "no module":
        monkeypatch.setattr(_file, "fcntl", None)
    else:
        monkeypatch.setattr(_file, "PLACES", 0)
    _file.write(path, *OLD)
    assert assert_old_or_new(path) == "old"
    with pytest.raises(ValueError, match="do not fill it"):
        _file.write(path, {}, {"a": _file.Streamed(np.float64, (3,), [np.ones(2)])})
    assert assert_old_or_new(path) == "old"


# --- paths, links and permissions -----------------------------------------------------------


@pytest.mark.parametrize("kind", [str, pathlib.Path, os.fsencode])
def test_kinds_of_path(path, kind):
    _file.write(kind(path), HEAD, {})
    assert _file.read(kind(path))[0] == HEAD


def test_relative_path(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    _file.write(path.name, *NEW)
    assert_state(path.name, *NEW)
    assert assert_old_or_new(path) == "new"


@pytest.mark.parametrize("value", [3, None, 2.5, [b"a"]])
def test_what_is_no_path(value):
    with pytest.raises(TypeError, match="path must be a string or os.PathLike"):
        _file.write(value, {}, {})
    with pytest.raises(TypeError, match="path must be a string or os.PathLike"):
        _file.read(value)


def test_missing_folder(tmp_path):
    path = tmp_path / "missing" / "state.cf"
    with pytest.raises(FileNotFoundError) as caught:
        _file.write(path, *NEW)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["folder", "folder/", "missing/", ""])
@POSIX
def test_folder_as_target(tmp_path, name):
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        _file.write(f"{tmp_path}/{name}", *NEW)
    assert [p.name for p in tmp_path.rglob("*")] == ["folder"]


def test_file_as_folder(path):
    _file.write(path, *OLD)
    with pytest.raises(OSError):
        _file.write(path / "inner", *NEW)
    assert assert_old_or_new(path) == "old"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_no_regular_file_is_left_alone(path):
    """Devices too, but never try it on a real one: where this fails for root, it is gone."""
    os.mkfifo(path)
    link = path.with_name("link")
    link.symlink_to(path)
    for name in (path, link):
        with pytest.raises(ValueError, match="regular file"):
            _file.write(name, *NEW)
    assert stat.S_ISFIFO(os.stat(path).st_mode) and link.is_symlink()
    assert sorted(p.name for p in path.parent.iterdir()) == ["link", "state.cf"]


@POSIX
def test_longest_name(tmp_path):
    path = tmp_path / ("x" * 255)
    _file.write(path, *NEW)
    assert assert_old_or_new(path) == "new"


@POSIX
def test_symbolic_links_are_followed(tmp_path):
    (tmp_path / "data").mkdir()
    target, link, second = tmp_path / "data" / "target", tmp_path / "link", tmp_path / "second"
    link.symlink_to(os.path.join("data", "target"))  # relative to the link's own folder
    second.symlink_to(link)
    for state in (OLD, NEW):  # first it leads nowhere, as `open` would have it
        _file.write(second, *state)
        assert link.is_symlink() and second.is_symlink() and not target.is_symlink()
        assert_state(target, *state)
        assert_state(second, *state)
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["data", "link", "second", "target"]


@POSIX
def test_symbolic_links_that_lead_nowhere(tmp_path):
    circle, lost = tmp_path / "circle", tmp_path / "lost"
    circle.symlink_to(circle)
    with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
        _file.write(circle, *NEW)
    lost.symlink_to(tmp_path / "missing" / "target")
    with pytest.raises(FileNotFoundError):
        _file.write(lost, *NEW)
    assert circle.is_symlink() and lost.is_symlink()


@POSIX
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o027, 0o077])
def test_permissions(path, umask):
    before = os.umask(umask)
    try:
        _file.write(path, *OLD)
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
        for mode in (0o600, 0o640, 0o664, 0o666, 0o755):
            path.chmod(mode)
            _file.write(path, *NEW)
            assert stat.S_IMODE(path.stat().st_mode) == mode
    finally:
        os.umask(before)


@POSIX
def test_temporary_file_is_never_more_open_than_the_target(path, monkeypatch):
    _file.write(path, *OLD)
    path.chmod(0o600)
    seen = []
    content = _file._content

    def watched(*arguments):
        for part in content(*arguments):
            seen.extend(stat.S_IMODE(p.stat().st_mode) for p in path.parent.glob(".*.tmp"))
            yield part

    monkeypatch.setattr(_file, "_content", watched)
    monkeypatch.setattr(os, "chmod", lambda *arguments: None)  # right from the first moment
    before = os.umask(0)
    try:
        _file.write(path, *NEW)
    finally:
        os.umask(before)
    assert set(seen) == {0o600}


READ_ONLY = '''
import os, stat, sys
import numpy as np
from coactive_fast.learner import _file

folder = sys.argv[1]
path = os.path.join(folder, "state.cf")
if os.geteuid() == 0:  # whom permissions do not bind
    try:
        os.chown(folder, 65534, 65534)
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    except OSError:
        sys.exit("cannot become another user")


def refused(new):
    try:
        _file.write(new, {"n": 2}, {})
    except PermissionError as error:
        assert error.filename == new, error
    else:
        raise AssertionError("written")
    assert os.listdir(folder) == ["state.cf"]
    assert _file.read(path) == ({"n": 1}, {})


_file.write(path, {"n": 1}, {})
os.chmod(path, 0o444)
refused(path)
os.chmod(path, 0o644)
os.chmod(folder, 0o555)
refused(path)
refused(os.path.join(folder, "other.cf"))
os.chmod(folder, 0o300)  # may be written to, not looked at
_file.write(path, {"n": 3}, {})
os.chmod(folder, 0o700)
assert os.listdir(folder) == ["state.cf"]
assert _file.read(path) == ({"n": 3}, {})
print("refused")
'''


@POSIX
def test_read_only_file_and_folder():
    folder = tempfile.mkdtemp()  # not below a folder that only its owner may enter
    try:
        done = python(READ_ONLY, folder)
        if "cannot become" in done.stderr:
            pytest.skip(done.stderr.strip())
        assert done.stdout.strip() == "refused", done.stderr
    finally:
        os.chmod(folder, 0o700)
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs interval timers")
def test_signals_while_writing(path):
    """Handlers that return interrupt system calls, which then go on where they were."""
    count = 0

    def handler(number, frame):
        nonlocal count
        count += 1

    before = signal.signal(signal.SIGALRM, handler)
    state = {"state": "new"}, {"a": np.ones(3_000_000)}
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        _file.write(path, *state)
        assert_state(path, *state)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert count > 0


# --- files from elsewhere ---------------------------------------------------------------------

MEMORY = 2**28  # bytes that refusing one may take


def nested(kind, depth):
    found = 1
    for _ in range(depth):
        found = {"tuple": {"@tuple": [found]}, "list": [found], "object": {"x": found},
                 "dict": {"@dict": [["x", found]]}}[kind]
    return found


def learned():
    """Learners, and the parameter by which one takes its memory."""
    x = np.ones((1, 3))
    for make in (cf.Confidit, cf.MulticlassPerceptron, cf.MulticlassSecondOrderPerceptron,
                 cf.MulticlassAROW, cf.Banditron, cf.Newtron,
                 lambda k: cf.Confidit(k, covariance="full"),
                 lambda k: cf.Confidit(k, covariance="kernel")):
        learner = make(3)
        yield learner, "n_classes"
        yield learner.clone(), "n_classes"
        learner.run(x, [1])
    bandit = cf.ArmBandit(3)
    bandit.learn(x[0], 1, 1.0)
    yield bandit, "n_arms"
    for make in (cf.OGD, cf.ONS):
        yield make(3, cf.Ball(1.0), 0.5), "dimension"
    yield cf.DikinFTRL(3, eta=0.1), "dimension"
    yield cf.ONSEG(3, cf.Ball(1.0), delta=0.1, gamma=0.2), "dimension"


def refuses(path, words, *, error=ValueError):
    before = children.peak()
    with pytest.raises(error, match=words) as caught:
        cf.load(path)
    assert str(path) in str(caught.value)
    assert children.peak() - before < MEMORY


def sizes_beyond_the_state(path, size):
    for learner, name in learned():
        learner.save(path)
        head, arrays = _file.read(path)
        assert head["learner"]["parameters"][name] == 3
        head["learner"]["parameters"][name] = size
        forge(path, head, arrays)
        refuses(path, f"{name} is {size}, and nothing in the state is so long")


@children.forks
@pytest.mark.parametrize("size", [10**8, 2**40, 2**62])
def test_a_size_that_the_state_does_not_have(path, size):
    children.run(sizes_beyond_the_state, str(path), size, seconds=20)


def seeds(path, parts, words):
    cf.Banditron(3, seed=np.random.SeedSequence(1)).save(path)
    head, arrays = _file.read(path)
    assert head["learner"]["parameters"]["seed"] == {"@seeds": [1, {"@tuple": []}, 4, 0]}
    head["learner"]["parameters"]["seed"] = {"@seeds": parts}
    forge(path, head, arrays)
    refuses(path, words)


@children.forks
@pytest.mark.parametrize("parts, words", [
    ([1, [], 2**18, 0], "pool_size must be at most 4096, got 262144"),
    ([1, [], 2**62, 0], "pool_size must be at most 4096"), ([1, [], 4.0, 0], "pool_size must be"),
    ([1, [], 3, 0], "pool"), ([["0x" + "f" * 10**6], [], 4, 0], "are too long"),
    ([[1] * 10**5, [], 4096, 0], "are too long"), ([1, [1] * 10**5, 4096, 0], "are too long"),
    ([1, [], 4, -1], "n_children"), ([1, [], 4, 2**70], "n_children"),
    ([1, [], 4, "x"], "n_children"), ([1, [], 4], "."),
], ids=lambda value: str(value)[:30])
def test_seeds_that_take_for_ever(path, parts, words):
    children.run(seeds, str(path), parts, words, seconds=10)


def test_seeds_that_are_taken(path):
    for sequence in (np.random.SeedSequence(pool_size=8), np.random.SeedSequence([1, 2**200]),
                     np.random.SeedSequence(3).spawn(2)[1]):
        learner = cf.Banditron(3, seed=sequence)
        learner.save(path)
        assert cf.load(path).choose([1.0]) == learner.choose([1.0])
    with pytest.raises(ValueError, match="pool_size must be at most 4096"):
        cf.Banditron(3, seed=np.random.SeedSequence(pool_size=4097)).save(path)


def deep(path, kind, depth):
    cf.Confidit(3).save(path)
    head, arrays = _file.read(path)
    for part in ("parameters", "state", "beside"):
        changed = {**head, "learner": {**head["learner"]}}
        (changed if part == "beside" else changed["learner"])[part] = {"x": nested(kind, depth)}
        forge(path, changed, arrays)
        refuses(path, "more than 100 lists and dicts within each other|damaged header")


@children.forks
@pytest.mark.parametrize("kind, depth", [
    (kind, depth) for kind, most in [("tuple", 450), ("list", 900), ("object", 900), ("dict", 300)]
    for depth in (100, most)])
def test_nesting(path, kind, depth):
    children.run(deep, str(path), kind, depth, seconds=10)


def test_nesting_that_is_saved_is_read(path):
    head = {"x": nested("list", 99)}
    _file.write(path, head, {})
    assert _file.read(path)[0] == head
    with pytest.raises(ValueError, match="no more than 100 lists and dicts within each other"):
        _file.write(path, {"x": nested("list", 100)}, {})
    with pytest.raises(ValueError, match="no more than 100"):
        circle = []
        circle.append(circle)
        _file.write(path, {"x": circle}, {})
    assert _file.read(path)[0] == head


@pytest.mark.parametrize("value", [
    7, "x", None, True, 1.5, [], [1], {}, {"x": 1}, {"@float": "inf"}, {"@tuple": [1]},
    {"@dict": [[1, 2]]}, {"@array": "a"}, {"@seeds": [1, [], 4, 0]},
    {"@thing": "Ball", "fields": {"radius": 1.0}}, {"@missing": "Mine"}, {"@learner": "Nobody"},
], ids=str)
def test_a_file_of_something_else(path, value):
    forge(path, {"package": "x", "learner": value}, {"a": np.ones(3)})
    for task in (None, cf.Confidit(3)):
        with pytest.raises(ValueError, match=r"state.cf: "):
            cf.load(path, task=task)
    forge(path, {"package": "x"}, {})
    refuses(path, "it holds no learner")


def test_an_array_stands_once(path):
    """Else a small file could stand for any number of copies."""
    learner = cf.Confidit(3)
    learner.run(np.ones((1, 3)), [1])
    learner.save(path)
    head, arrays = _file.read(path)
    state = dict((key, value) for key, value in head["learner"]["state"]["@dict"])
    assert state["weights"] != state["second"]
    state["second"] = state["weights"]
    head["learner"]["state"]["@dict"] = [list(pair) for pair in state.items()]
    forge(path, head, arrays)
    refuses(path, "'a0'")


def long_header(path):
    """Of 60 MB, in a file that is no longer than that."""
    from coactive_fast import _memory

    cf.Confidit(3).save(path)
    head, arrays = _file.read(path)
    forge(path, {**head, "beside": [[]] * 20_000_000}, arrays)
    _memory.limit = 2.0**30
    before = children.peak()
    with pytest.raises(MemoryError, match="the parsed header of a file, .* bytes, takes"):
        cf.load(path)
    assert children.peak() - before < MEMORY


@children.forks
def test_a_header_beyond_memory(path):
    children.run(long_header, str(path), seconds=60)
