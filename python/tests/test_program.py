"""Programs: compiled, described, called."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path

import numpy as np
import pytest

import dastac

import programs


@pytest.mark.parametrize("n", [0, 1, 2, 7, 33])
def test_structured_inputs_are_packed(rng: np.random.Generator, n: int) -> None:
    product = dastac.compile(programs.SYMMETRIC)
    half = rng.random((n, n))
    a, x = half + half.T, rng.random(n)
    np.testing.assert_allclose(product(A=a, x=x), a @ x)
    np.testing.assert_allclose(product(a, x), a @ x)
    np.testing.assert_allclose(product(np.asfortranarray(a), x=x[::-1][::-1]), a @ x)


def test_data_that_contradicts_its_structure_is_refused() -> None:
    product = dastac.compile(programs.SYMMETRIC)
    with pytest.raises(dastac.InputError, match=r"structure of `A`: at \[1, 0\] it must be 2, but it is 3"):
        product(np.array([[1.0, 2.0], [3.0, 4.0]]), np.ones(2))


@pytest.mark.parametrize("threads", [None, 1, 2])
@pytest.mark.parametrize("shape", [(0, 0, 0), (1, 1, 1), (3, 5, 4), (65, 1, 70), (130, 90, 70)])
def test_dense_products(
    rng: np.random.Generator, shape: tuple[int, int, int], threads: int | None
) -> None:
    product = dastac.compile(programs.DENSE, threads=threads)
    m, n, k = shape
    a, b = rng.random((m, n)), rng.random((n, k))
    options = {} if threads is None else {"threads": threads}
    np.testing.assert_allclose(product(a, b, **options), a @ b)


def test_arrays_are_read_and_written_where_they_stand(rng: np.random.Generator) -> None:
    product = dastac.compile(programs.DENSE)
    a, b, out = rng.random((20, 30)), rng.random((30, 10)), np.empty((20, 10))
    assert product(a, b, out=out) is out
    np.testing.assert_allclose(out, a @ b)
    strided = np.zeros((20, 20))[:, ::2]
    assert product(a, b, out=strided) is strided
    np.testing.assert_allclose(strided, a @ b)


def test_results_that_overlap_inputs_are_computed_first(rng: np.random.Generator) -> None:
    product = dastac.compile(programs.DENSE)
    a, b = rng.random((9, 9)), rng.random((9, 9))
    expected = a @ b
    product(a, b, out=a)
    np.testing.assert_allclose(a, expected)


def test_several_results() -> None:
    program = dastac.compile(programs.TWO)
    found = program(np.arange(3.0))
    y, s = found
    assert y.tolist() == [0, 2, 4] and s == 5 and found.s == 5 and found["y"] is y
    out = {"y": np.empty(3)}
    assert program(x=np.arange(3.0), out=out)["y"] is out["y"]
    assert repr(found).startswith("Results(y=")


def test_sizes() -> None:
    text = "symbols: N\ny(i) := i * (0 <= i < N)"
    assert dastac.compile(text)(N=3).tolist() == [0, 1, 2]
    assert dastac.compile(text, N=4)().tolist() == [0, 1, 2, 3]
    with pytest.raises(dastac.InputError, match="`N`: pass it"):
        dastac.compile(text)()
    with pytest.raises(dastac.InputError, match="not negative"):
        dastac.compile(text)(N=-1)
    with pytest.raises(TypeError, match="no input and no size `M`"):
        dastac.compile(text)(M=1)


def test_what_a_program_says_of_itself() -> None:
    product = dastac.compile(programs.SYMMETRIC)
    assert product.inputs == ("A", "x") and product.outputs == ("y",) and product.symbols == ("N",)
    assert product.sizes(N=10)["A"] == ((10, 10), 55, 440, 800)
    assert product.bytes_saved(N=10) == 360
    assert "A:U(i, j) := (i <= j)" in product.structure
    assert "1/2*N^2 + 1/2*N" in product.layouts
    assert "for" in product.loops and "kernel" in product.code()
    proof = product.prove()
    assert proof and proof.proven > 0 and "proven" in proof.text
    assert repr(product) == "<dastac.Program (A, x) -> y>"
    assert product.tensors["A"].dtype == "float64"


def test_packed_buffers(rng: np.random.Generator) -> None:
    product = dastac.compile(programs.SYMMETRIC)
    half = rng.random((6, 6))
    a, x = half + half.T, rng.random(6)
    packed = dastac.Packed(a[np.triu_indices(6)])
    np.testing.assert_allclose(product(packed, x), a @ x)
    with pytest.raises(dastac.InputError, match="needs 21 elements"):
        product(dastac.Packed(np.zeros(20)), x)


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "a.stur"
    file.write_text(programs.TWO)
    assert dastac.compile(file).outputs == dastac.compile(str(file)).outputs == ("y", "s")
    with pytest.raises(FileNotFoundError):
        dastac.compile(tmp_path / "none.stur")
    for text in ("", "y(i) = x(i)", "none.stur", "y(i) = " + "x(i) + " * 1000 + "0", "\0"):
        with pytest.raises(FileNotFoundError, match="neither the path of a file nor a program: .*:="):
            dastac.compile(text)


def test_errors_show_the_place() -> None:
    text = "A(i) := B(i)\n"
    with pytest.raises(dastac.CompileError, match="E0303") as caught:
        dastac.compile(text, name="a.stur")
    error = caught.value
    assert error.span == (8, 12) and "--> a.stur:1:9" in str(error)
    assert error.diagnostics[0].is_error and error.diagnostics[0].hint


def test_programs_are_pickled(rng: np.random.Generator) -> None:
    product = dastac.compile(programs.DENSE, N=4)
    copy = pickle.loads(pickle.dumps(product))
    a, b = rng.random((3, 4)), rng.random((4, 5))
    np.testing.assert_allclose(copy(a, b), a @ b)


def test_the_same_text_is_compiled_once() -> None:
    assert dastac.compile(programs.TWO) is dastac.compile(programs.TWO)


def test_threads_share_a_program(rng: np.random.Generator) -> None:
    product = dastac.compile(programs.SYMMETRIC)
    failed: list[BaseException] = []

    def work(seed: int) -> None:
        own = np.random.default_rng(seed)
        try:
            for n in range(1, 40):
                half = own.random((n, n))
                a, x = half + half.T, own.random(n)
                np.testing.assert_allclose(product(a, x), a @ x)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
