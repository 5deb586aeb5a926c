"""What must never end the process or leak: many calls, other threads, memory that changes or goes away."""

from __future__ import annotations

import gc
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dastac

import programs

CALLS = int(os.environ.get("DASTAC_PYTHON_CALLS", "100000"))


def resident() -> int:
    """The process's memory, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_memory_stays_flat() -> None:
    dense, vector = dastac.compile(programs.DENSE), dastac.compile(programs.SPARSE_VECTOR)
    product = dastac.compile(programs.SPARSE_PRODUCT)
    a, x = np.ones((4, 4)), np.ones(4)
    s = sp.csr_array(np.eye(4))
    lazy = dastac.array(s)

    def round() -> None:
        dense(a, a)
        vector(s, x)
        product(s, s)
        (lazy @ x + 1).compute()
        with pytest.raises(dastac.InputError):
            dense(a, x)

    for _ in range(CALLS // 50):
        round()
    gc.collect()
    before = resident()
    for _ in range(CALLS // 5):
        round()
    gc.collect()
    assert resident() - before < 4 << 20


def test_results_outlive_their_program() -> None:
    program = dastac.compile(programs.SPARSE_PRODUCT + "    # of its own\n")
    s = sp.random_array((50, 50), density=0.2, format="csr", rng=1)
    first, second = program(s, s), program(s, s)
    expected = (s @ s).toarray()
    assert not np.shares_memory(first.data, second.data)
    del program, s
    gc.collect()
    first.data[:] = 0
    np.testing.assert_allclose(second.toarray(), expected)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(2, 2)", "dcsr"])
def test_memory_of_results_is_used_again(format: str) -> None:
    """Whatever was written to a result does not show in the next one."""
    program = dastac.compile(programs.SPARSE_PRODUCT.replace("C:F := csr", f"C:F := {format}"))
    for size in (40, 40, 8, 40, 2):
        s = sp.random_array((size, size), density=0.2, format="csr", rng=size)
        found = program(s, s)
        np.testing.assert_allclose(found.toarray(), (s @ s).toarray())
        names = ("data", "indices", "indptr") if found.format != "coo" else ("data",)
        for name in names:
            getattr(found, name)[...] = 7
        if found.format == "coo":
            for one in found.coords:
                one[...] = 7
        del found


def test_arrays_are_held_while_they_are_read() -> None:
    program = dastac.compile(programs.DENSE)
    buffer = bytearray(8 * 16)
    view = np.frombuffer(buffer, dtype=np.float64).reshape(4, 4)
    assert program(view, view).sum() == 0
    del view
    gc.collect()
    buffer.extend(b"more")  # nothing holds the buffer any more: it may be resized
    view = memoryview(np.ones((4, 4)))
    assert program(view, view).tolist() == [[4.0] * 4] * 4
    view.release()
    with pytest.raises((ValueError, TypeError)):
        program(view, np.ones((4, 4)))


KINDS = ["negative", "zero", "step", "misaligned", "swapped", "read-only", "broadcast", "field"]


def field_of_records(values: Any) -> Any:
    """The values as a field of an array of records, between bytes of others."""
    records = np.zeros(values.shape, dtype=[("before", "i1"), ("field", values.dtype), ("after", "f4")])
    records["field"] = values
    return records["field"]


@pytest.mark.parametrize("kind", KINDS)
def test_strides_and_kinds_of_memory(kind: str) -> None:
    program = dastac.compile(programs.DENSE)
    base = np.random.default_rng(1).random((4, 4))
    strange: Any = {
        "negative": lambda: base[::-1, ::-1],
        "zero": lambda: np.lib.stride_tricks.as_strided(base, (4, 4), (0, 8)),
        "step": lambda: np.repeat(base, 2, axis=1)[:, ::2],
        "misaligned": lambda: np.frombuffer(b"x" + base.tobytes(), np.uint8)[1:].view(np.float64).reshape(4, 4),
        "swapped": lambda: base.astype(">f8"),
        "read-only": lambda: np.frombuffer(base.tobytes()).reshape(4, 4),
        "broadcast": lambda: np.broadcast_to(base[0], (4, 4)),
        "field": lambda: field_of_records(base),
    }[kind]()
    np.testing.assert_allclose(program(strange, base), strange @ base)
    np.testing.assert_allclose(np.asarray(dastac.array(strange) @ base), strange @ base)
    if kind not in ("read-only", "broadcast", "zero"):
        out = strange.copy() if kind == "misaligned" else strange
        expected = base @ base
        assert program(base.copy(), base.copy(), out=out) is out
        np.testing.assert_allclose(out, expected)


def test_out_that_overlaps() -> None:
    program = dastac.compile(programs.DENSE)
    memory = np.random.default_rng(2).random(24)
    a, b, out = memory[:16].reshape(4, 4), np.random.default_rng(3).random((4, 4)), memory[8:].reshape(4, 4)
    expected = a @ b
    program(a, b, out=out)
    np.testing.assert_allclose(out, expected)


@pytest.mark.parametrize("threads", [2, 4])
def test_threads_change_what_others_read(threads: int) -> None:
    """Values may be any, but the process goes on; the interpreter's lock is free while a program runs."""
    program = dastac.compile(programs.DENSE)
    a = np.ones((64, 64))
    stop = threading.Event()
    failed: list[BaseException] = []

    def work() -> None:
        try:
            while not stop.is_set():
                try:
                    assert program(a, a).shape == (64, 64)
                    (dastac.array(a) @ a + 1).compute()
                except dastac.InputError:
                    pass  # a structure that was found before the values changed
        except BaseException as error:
            failed.append(error)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for value in range(200):
        a[:] = value
    stop.set()
    for worker in workers:
        worker.join()
    assert not failed


def test_matrices_that_change_between_calls() -> None:
    program = dastac.compile(programs.SPARSE_VECTOR)
    s = sp.csr_array(np.eye(5))
    assert program(s, np.ones(5)).tolist() == [1.0] * 5
    s.indices[3] = 77
    with pytest.raises((ValueError, IndexError)):
        program(s, np.ones(5))
    s.indices[3] = 2
    assert program(s, np.ones(5)).tolist() == [1.0] * 5
    s.data = s.data[:3]
    with pytest.raises((ValueError, IndexError)):
        program(s, np.ones(5))
    s.indptr = s.indptr[:2]
    with pytest.raises((ValueError, IndexError)):
        program(s, np.ones(5))
