"""Laws of the state file that hold for all states, and of damage that hold for all damage."""

import numpy as np
import pytest

pytest.importorskip("hypothesis")

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from coactive_fast.learner import _file, _random

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
heads = st.dictionaries(st.text(), plain, max_size=5)
dtypes = (hnp.boolean_dtypes() | hnp.integer_dtypes() | hnp.unsigned_integer_dtypes()
          | hnp.floating_dtypes(sizes=(16, 32, 64)))  # either byte order
whole_arrays = hnp.arrays(dtypes, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))


@st.composite
def views(draw):
    """Arrays of any layout: steps, negative ones too, and axes in another order."""
    array = draw(whole_arrays)
    steps = draw(st.tuples(*[st.sampled_from([1, 2, -1, -2])] * array.ndim))
    axes = draw(st.permutations(range(array.ndim)))
    return array[(..., *[slice(None, None, s) for s in steps])].transpose(axes)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("file") / "state.cf"


@given(head=heads, arrays=st.dictionaries(st.text(), views(), max_size=4))
def test_what_goes_in_comes_out(path, head, arrays):
    _file.write(path, head, arrays)
    got_head, got = _file.read(path)
    assert got_head == head
    assert repr(got_head) == repr(head)  # kinds, order and signs of zeros too
    assert list(got) == list(arrays)
    for name, array in arrays.items():
        assert got[name].dtype == array.dtype.newbyteorder("=")
        assert got[name].shape == array.shape
        assert got[name].tobytes() == array.astype(got[name].dtype).tobytes()
        assert got[name].flags.writeable and got[name].flags.c_contiguous


@given(data=st.data())
def test_any_damage_is_a_value_error(path, data):
    _file.write(path, {"a": [1, 2.5]}, {"x": np.arange(5.0), "y": np.array(True)})
    saved = path.read_bytes()
    start = data.draw(st.integers(0, len(saved)))
    end = data.draw(st.integers(start, min(start + 80, len(saved))))
    damaged = saved[:start] + data.draw(st.binary(max_size=80)) + saved[end:]
    path.write_bytes(damaged)
    if damaged == saved:
        _file.read(path)
    else:
        with pytest.raises(ValueError, match="state.cf"):
            _file.read(path)


@given(content=st.binary(max_size=200), magic=st.booleans())
def test_any_bytes_are_a_value_error(path, content, magic):
    path.write_bytes(_file.MAGIC * magic + content)
    with pytest.raises(ValueError, match="state.cf"):
        _file.read(path)


kinds = st.sampled_from(["u32", "u8", "double", "normal", "float", "shuffle"])
steps = st.lists(kinds, max_size=12)


def walk(generator, steps):
    for step in steps:
        yield {"u32": lambda: generator.integers(2**32, dtype=np.uint32),
               "u8": lambda: generator.integers(200, dtype=np.uint8),
               "double": generator.random, "normal": generator.standard_normal,
               "float": lambda: generator.random(dtype=np.float32),
               "shuffle": lambda: tuple(generator.permutation(5))}[step]()


@given(kind=st.sampled_from(_random.BIT_GENERATORS), seed=st.integers(0, 2**256), before=steps,
       after=steps)
def test_a_generator_continues(path, kind, seed, before, after):
    generator = np.random.Generator(getattr(np.random, kind)(seed))
    list(walk(generator, before))
    _file.write(path, *_random.pack(generator))
    assert list(walk(_random.unpack(*_file.read(path)), after)) == list(walk(generator, after))
