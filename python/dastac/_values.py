"""Arrays of all packages as the arrays that programs read, and results as arrays of packages.

A value becomes `(kind, shape, arrays, values)`: `dense`, `packed`, `entries` (the coordinates of all entries, an array for
each dimension), or a format with the arrays of its levels. Nothing is copied whose type, order and format are as the program reads them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ._types import converted, dtype_of
from .errors import InputError

Parts = tuple[str, tuple[int, ...], list[Any], Any]


class Packed:
    """The packed buffer of a tensor: its stored elements, in the order of its layout."""

    __slots__ = ("values",)

    def __init__(self, values: Any) -> None:
        self.values = np.ascontiguousarray(values)

    def __repr__(self) -> str:
        return f"Packed({self.values!r})"


class Results(tuple[Any, ...]):
    """Several results: a tuple, whose items can be had by their tensors' names too, `found["C"]` or `found.C`."""

    _names: tuple[str, ...]

    def __new__(cls, names: Sequence[str], values: Sequence[Any]) -> Results:
        made = super().__new__(cls, values)
        made._names = tuple(names)
        return made

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self._names:
                raise KeyError(key)
            return super().__getitem__(self._names.index(key))
        return super().__getitem__(key)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self._names:
            return self[name]
        raise AttributeError(name)

    def keys(self) -> tuple[str, ...]:
        """The tensors' names."""
        return self._names

    def items(self) -> Iterator[tuple[str, Any]]:
        """Names and values."""
        return zip(self._names, self, strict=True)

    def __reduce__(self) -> Any:
        return Results, (self._names, tuple(self))

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={value!r}" for name, value in self.items())
        return f"Results({inner})"


def parts(value: Any, name: str, element: str, rank: int, format: str | None) -> Parts:
    """What is passed for a tensor of a program, as arrays that the program reads."""
    dtype = dtype_of(element)
    own = getattr(value, "__dastac_parts__", None)
    if own is not None:
        made: Parts = own(name, dtype, rank, format)
        return made
    if isinstance(value, Packed):
        return "packed", (), [], _dense(value.values, dtype, name)
    value = adopted(value)
    if is_sparse(value):
        check(value, f"`{name}`")
        if format is None:
            return "dense", tuple(value.shape), [], _dense(value.toarray(), dtype, name)
        return _sparse(value, name, dtype, format)
    array = np.asarray(value)
    if rank and not array.ndim:
        raise InputError(f"`{name}` has {rank} dimensions, but a number is given")
    return "dense", array.shape, [], _dense(array, dtype, name)


def _dense(array: Any, dtype: np.dtype[Any], name: str) -> Any:
    made = converted(np.asarray(array), dtype, name)
    # The buffer protocol has no shape for arrays without dimensions: they become ones of one element.
    return np.require(np.atleast_1d(made), requirements=["C", "A"])


def is_sparse(value: Any) -> bool:
    """Whether it is one of SciPy's sparse arrays or matrices."""
    scipy = sys.modules.get("scipy.sparse")
    return scipy is not None and bool(scipy.issparse(value))


def origin_of(value: Any) -> str | None:
    """The package of an array whose results are to be arrays of that package: `torch` or `sparse`."""
    if "torch" not in sys.modules and "sparse" not in sys.modules:
        return None
    package = type(value).__module__.partition(".")[0]
    return package if package in ("torch", "sparse") else None


def as_origin(value: Any, origin: str | None) -> Any:
    """A result as an array of the package that the inputs are from, in the same memory where that is possible."""
    if origin == "torch":
        return _to_torch(value)
    if origin == "sparse" and is_sparse(value):
        import sparse

        if value.format in ("csr", "csc"):
            return sparse.GCXS.from_scipy_sparse(value)
        coo = value.tocoo()
        return sparse.COO(np.stack(coo.coords), coo.data, shape=coo.shape, has_duplicates=False)
    return value


def _memory(value: Any) -> list[np.ndarray[Any, Any]]:
    """The arrays of NumPy that an array of NumPy or SciPy stands in."""
    if not is_sparse(value):
        arrays = [value]
    elif value.format == "coo":
        arrays = [value.data, *value.coords]
    else:
        arrays = [getattr(value, name, None) for name in ("data", "indices", "indptr")]
    return [one for one in arrays if isinstance(one, np.ndarray)]


def read_only(value: Any, given: Sequence[Any] = ()) -> Any:
    """The same array of NumPy or SciPy, which no one writes to, but for memory of what it was computed of."""
    others = [other for one in given for other in _memory(one)]
    for one in _memory(value):
        if one.size and one.flags.writeable and not any(np.may_share_memory(one, other) for other in others):
            one.flags.writeable = False
    return value


def writable(out: Any, name: str) -> Any:
    """What is to be written to, as an array of NumPy over the same memory."""
    if type(out).__module__.partition(".")[0] == "torch":
        if getattr(out, "requires_grad", False):
            raise InputError(f"{name} asks for a gradient, which is not recorded: `detach` it")
        return _of_torch(out, exact=True)
    if not isinstance(out, np.ndarray):
        raise TypeError(f"{name} must be an array of NumPy or a tensor of PyTorch, not {type(out).__name__}")
    return out


def _to_torch(value: Any) -> Any:
    import torch

    if not is_sparse(value):
        if not isinstance(value, np.ndarray):
            return torch.as_tensor(value)
        return torch.from_numpy(value if value.flags.writeable else value.copy())
    # What is kept elsewhere is read-only, which tensors cannot be.
    value = value if value.data.flags.writeable else value.copy()
    data = torch.from_numpy(value.data)
    if value.format in ("csr", "csc", "bsr"):
        make = getattr(torch, f"sparse_{value.format}_tensor")
        return make(torch.from_numpy(value.indptr), torch.from_numpy(value.indices), data, size=value.shape)
    coordinates = np.stack([np.asarray(one, dtype=np.int64) for one in value.coords])
    return torch.sparse_coo_tensor(torch.from_numpy(coordinates), data, size=value.shape)


def adopted(value: Any) -> Any:
    """An array of another package as one of NumPy or SciPy, in the same memory where that is possible."""
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.is_masked(value):
            raise InputError("masked arrays are not supported: `filled(0)` puts numbers in the place of what is masked")
        return value.data
    if isinstance(value, np.ndarray) or is_sparse(value):
        return value
    package = type(value).__module__.partition(".")[0]
    if package == "torch":
        return _of_torch(value)
    if package == "sparse":
        return _of_pydata(value)
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array_interface__"):
        return np.from_dlpack(value)
    return value


def _of_torch(tensor: Any, exact: bool = False) -> Any:
    """A tensor's elements; those of 16 bits that NumPy does not have as ones of 32, unless they are to be exact."""
    import torch

    if tensor.requires_grad:
        if torch.is_grad_enabled():
            raise InputError(
                "a tensor asks for a gradient, which only `dastac.einsum` and `dastac.torch.einsum` of tensors record: "
                "pass `x.detach()`"
            )
        tensor = tensor.detach()
    if tensor.device.type != "cpu":
        raise InputError(f"a tensor is on the device {tensor.device}: pass `x.cpu()`")
    if tensor.dtype == torch.bfloat16:
        if exact:
            raise InputError("NumPy has no arrays of bfloat16 to write to")
        tensor = tensor.to(torch.float32)
    if tensor.layout == torch.strided:
        return tensor.resolve_conj().resolve_neg().numpy()
    import scipy.sparse

    shape = tuple(tensor.shape)
    try:
        if tensor.layout == torch.sparse_coo:
            # Elements that are there twice are added up later, by what looks at their coordinates.
            indices, data = tensor._indices().numpy(), tensor._values().numpy()
            return scipy.sparse.coo_array((data, tuple(indices)), shape=shape)
        if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
            made = (tensor.values().numpy(), tensor.col_indices().numpy(), tensor.crow_indices().numpy())
            kind = scipy.sparse.csr_array if tensor.layout == torch.sparse_csr else scipy.sparse.bsr_array
            return kind(made, shape=shape)
        if tensor.layout == torch.sparse_csc:
            made = (tensor.values().numpy(), tensor.row_indices().numpy(), tensor.ccol_indices().numpy())
            return scipy.sparse.csc_array(made, shape=shape)
    except ValueError as error:
        raise InputError(f"a tensor has indices that are none: {error}") from None
    raise InputError(f"tensors of PyTorch of layout {tensor.layout} are not supported")


def _of_pydata(array: Any) -> Any:
    import scipy.sparse

    if getattr(array, "fill_value", 0) != 0:
        raise InputError("sparse arrays with a fill value other than 0 are not supported")
    if hasattr(array, "indptr") and array.ndim == 2:
        kind = scipy.sparse.csr_array if tuple(array.compressed_axes) == (0,) else scipy.sparse.csc_array
        return kind((array.data, array.indices, array.indptr), shape=array.shape)
    convert = getattr(array, "tocoo", None) or getattr(array, "to_coo", None)
    coo = array if convert is None else convert()
    return scipy.sparse.coo_array((coo.data, tuple(coo.coords)), shape=coo.shape)


def check(value: Any, name: str) -> None:
    """Compares the positions and coordinates of an array of SciPy with its shape: SciPy's functions do not.

    Raises:
        InputError: those that are no sparse array.
    """
    shape = tuple(value.shape)
    if value.format == "coo":
        coords = value.coords if hasattr(value, "coords") else (value.row, value.col)
        if len(coords) != len(shape) or any(one.shape != value.data.shape for one in coords):
            raise InputError(f"{name}: there is not one coordinate for each of {value.data.size} elements")
        for axis, (one, extent) in enumerate(zip(coords, shape, strict=True)):
            _within(one, extent, f"{name}: coordinates of dimension {axis}")
    elif value.format in ("csr", "csc", "bsr") and len(shape) <= 2:
        blocks = value.blocksize if value.format == "bsr" else (1,) * len(shape)
        sides = [extent // block for extent, block in zip(shape, blocks, strict=True)]
        inner = sides[0] if value.format == "csc" else sides[-1]
        check_ends(value, name)
        _within(value.indices[: int(value.indptr[-1])], inner, f"{name}: `indices`")


def check_ends(value: Any, name: str) -> None:
    """Compares where rows, columns or blocks of an array of SciPy end with its shape and its other arrays."""
    shape = tuple(value.shape)
    extent = 1 if len(shape) == 1 else shape[value.format == "csc"]
    outer = extent // value.blocksize[0] if value.format == "bsr" else extent
    ends, indices = value.indptr, value.indices
    if ends.shape != (outer + 1,) or ends.dtype.kind not in "iu":
        raise InputError(f"{name}: `indptr` has not {outer + 1} integers")
    count = int(ends[-1])
    if ends[0] != 0 or (ends[1:] < ends[:-1]).any():
        raise InputError(f"{name}: `indptr` does not begin with 0, or falls")
    if indices.ndim != 1 or not count == len(indices) == len(value.data):
        sizes = f"{len(indices)} indices and {len(value.data)} elements"
        raise InputError(f"{name}: `indptr` ends with {count}, but there are {sizes}")


def _within(coordinates: Any, extent: int, what: str) -> None:
    if coordinates.dtype.kind not in "iu":
        raise InputError(f"{what} are not integers")
    if coordinates.size:
        least, most = int(coordinates.min()), int(coordinates.max())
        if least < 0 or most >= extent:
            raise InputError(f"{what} go from {least} to {most}, but the extent is {extent}")


def fresh(value: Any) -> Any:
    """A matrix over the same arrays that does not remember what these were before, such as sorted."""
    options = {"blocksize": value.blocksize} if value.format == "bsr" else {}
    return type(value)((value.data, value.indices, value.indptr), shape=value.shape, **options)


def canonical(value: Any, name: str = "the array") -> Any:
    """An array of SciPy in compressed rows, columns or blocks, or coordinates: checked, sorted, nothing there twice.

    The argument is left as it is, and its arrays are taken where they are so already.
    """
    if value.format not in ("csr", "csc", "bsr", "coo"):
        value = value.tocsr() if len(value.shape) == 2 else value.tocoo()
    check(value, name)
    if value.format == "coo":
        value = type(value)((value.data, tuple(value.coords)), shape=value.shape)
        if len(value.shape) == 2:
            return value.tocsr()
    else:
        value = fresh(value)
        if value.has_canonical_format:
            return value
    value = value.copy()
    value.sum_duplicates()
    return value


def _narrow(array: Any) -> Any:
    """Positions or coordinates in 32 bits where they fit."""
    array = np.ascontiguousarray(array)
    if array.dtype == np.int64 and (array.size == 0 or array.max() <= np.iinfo(np.int32).max):
        return array.astype(np.int32)
    return array


def _sparse(value: Any, name: str, dtype: np.dtype[Any], format: str) -> Parts:
    kind, shape = value.format, tuple(int(extent) for extent in value.shape)
    if kind in ("csr", "csc", "bsr") and len(shape) == 2:
        value = canonical(value)
        if kind == "bsr" and min(value.blocksize) < 2:
            return _entries(value, name, dtype, shape)
        written = f"bsr({value.blocksize[0]}, {value.blocksize[1]})" if kind == "bsr" else kind
        arrays = [_narrow(value.indptr), _narrow(value.indices)]
        return written, shape, arrays, _dense(value.data.reshape(-1), dtype, name)
    return _entries(value, name, dtype, shape)


def _entries(value: Any, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Parts:
    coo = value.tocoo()
    check(coo, f"`{name}`")
    coords = coo.coords if hasattr(coo, "coords") else (coo.row, coo.col)
    lists = [np.ascontiguousarray(c, dtype=None if c.dtype in (np.int32, np.int64) else np.int64) for c in coords]
    return "entries", shape, lists, _dense(coo.data, dtype, name)


def sparse(format: str, shape: Sequence[int], levels: Sequence[Any], values: Any) -> Any:
    """A result that a program stores in a format: an array of SciPy, or of NumPy where all elements are there."""
    arrays = [np.frombuffer(block, dtype) for block, dtype in levels]
    data = np.frombuffer(*values)
    shape = tuple(shape)
    if format == "dense":
        return data.reshape(shape)
    try:
        import scipy.sparse
    except ImportError:
        raise InputError("results with a format are SciPy's arrays: install SciPy, or leave `:F` out") from None
    if format == "csr":
        return scipy.sparse.csr_array((data, arrays[1], arrays[0]), shape=shape)
    if format == "csc":
        return scipy.sparse.csc_array((data, arrays[1], arrays[0]), shape=shape)
    if format.startswith("bsr"):
        blocks = tuple(int(extent) for extent in format[4:-1].split(","))
        if all(extent % block == 0 for extent, block in zip(shape, blocks, strict=True)):
            made = (data.reshape(-1, *blocks), arrays[1], arrays[0])
            return scipy.sparse.bsr_array(made, shape=shape, blocksize=blocks)
        raise InputError(f"SciPy has no arrays of shape {shape} in blocks of {blocks}")
    made = scipy.sparse.coo_array(shape, dtype=data.dtype)
    # The constructor would look for the least and the largest coordinate, and later functions for entries that are
    # there twice.
    if hasattr(made, "coords"):
        made.data, made.coords, made.has_canonical_format = data, tuple(arrays[1:]), True
        return made
    return scipy.sparse.coo_array((data, tuple(arrays[1:])), shape=shape)
