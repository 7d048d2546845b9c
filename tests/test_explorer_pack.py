"""Packs: arrays and a header in one run of bytes, and what is refused as one."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowfold import DataError
from lowfold.explorer.pack import TYPES, pack, unpack


@given(st.dictionaries(st.text(max_size=5), st.tuples(st.sampled_from(list(TYPES)), st.integers(0, 9)), max_size=4))
def test_what_is_packed_is_unpacked(shapes):
    rng = np.random.default_rng(0)
    given_arrays = {name: rng.integers(0, 99, (size, 2)).astype(TYPES[kind]) for name, (kind, size) in shapes.items()}
    header, arrays = unpack(pack({"kind": "step", "text": "ä</script>"}, given_arrays))
    assert (header["kind"], header["text"]) == ("step", "ä</script>")
    assert list(arrays) == list(given_arrays)
    for name, values in arrays.items():
        assert values.dtype == given_arrays[name].dtype
        np.testing.assert_array_equal(values, given_arrays[name])
        assert header["arrays"][name]["offset"] % 8 == 0
        assert not values.flags.writeable


def headed(text):
    text += b" " * (-(12 + len(text)) % 8)
    return b"LFSC" + (1).to_bytes(4, "little") + len(text).to_bytes(4, "little") + text


def changed(**place):
    content = pack({}, {"a": np.arange(4, dtype=np.float32)})
    length = int.from_bytes(content[8:12], "little")
    header = json.loads(content[12 : 12 + length])
    header["arrays"]["a"] |= place
    text = json.dumps(header).encode()
    text += b" " * (-(12 + len(text)) % 8)
    return content[:8] + len(text).to_bytes(4, "little") + text + content[12 + length :]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"LFSC",
        b"XXXX" + bytes(20),
        pack({}, {})[:-1],
        pack({}, {"a": np.zeros(9, np.float32)})[:-8],
        headed(b"[" * 20_000),
        headed(b"[]"),
        headed(b'{"arrays": {"a": 1}}'),
        b"LFSC" + (1).to_bytes(4, "little") + (4).to_bytes(4, "little") + b"\xff\xfe{}",
        changed(offset=8),
        changed(offset=4),
        changed(offset=-8),
        changed(offset=None),
        changed(shape=[5]),
        changed(shape=[-1]),
        changed(shape=[2**40, 2**40]),
        changed(shape=[True]),
        changed(shape="4"),
        changed(dtype="f8"),
        changed(dtype="O"),
        changed(dtype=["f4"]),
    ],
)
def test_a_damaged_pack_is_refused(content):
    with pytest.raises(DataError, match="no pack of arrays"):
        unpack(content)


def test_a_pack_refuses_types_that_a_browser_has_no_array_for():
    with pytest.raises(DataError, match="float64"):
        pack({}, {"a": np.zeros(2)})
