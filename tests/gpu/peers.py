"""What was measured, beside what libraries of others take: `python3 peers.py FOLDER MEASURED > gpu.json`.

MEASURED has the lines of `measure`. Each case that names a peer is measured with random inputs of the same sizes, five
times after two runs that do not count: the least time of the device. Cases without sizes of their own are examples, of
which only what is wrong is kept.
"""

import datetime
import gzip
import json
import subprocess
import sys

import cupy
import cupyx.scipy.sparse as sparse
import numpy
import scipy.io
import scipy.sparse
import torch


def device_seconds(call, repeat=5):
    """The least time that the device takes for a call. What starts its kernels is not measured: the device is kept busy
    until they are in its queue."""
    for _ in range(2):
        call()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeat):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(4_000_000)
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    return min(times)


def element(case):
    return torch.float32 if "f32" in case["program"] else torch.float64


def dense(case, *shape):
    return torch.rand(*shape, dtype=element(case), device="cuda")


def stored(case, file):
    """The matrix of a file: `.mtx`, or the rows and columns of `.smtx`, whose values are drawn."""
    if ".mtx" in file:
        return scipy.io.mmread(file).tocsr()
    with gzip.open(file, "rt") as text:
        rows, columns, count = (int(word) for word in next(text).replace(",", " ").split())
        begins, crossed = ([int(word) for word in next(text).split()] for _ in range(2))
    return scipy.sparse.csr_matrix((numpy.random.rand(count), crossed, begins), shape=(rows, columns))


def pattern(case, rows, columns):
    kind = numpy.float32 if "f32" in case["program"] else numpy.float64
    if "files" in case:
        (file,) = case["files"].values()
        matrix = stored(case, sys.argv[1] + "/" + file)
        matrix.sort_indices()
        return sparse.csr_matrix(matrix.astype(kind))
    count = int(rows * columns * case["density"])
    row = cupy.random.randint(0, rows, count, dtype=cupy.int32)
    column = cupy.random.randint(0, columns, count, dtype=cupy.int32)
    values = cupy.random.rand(count).astype(kind)
    matrix = sparse.csr_matrix((values, (row, column)), shape=(rows, columns))
    matrix.sum_duplicates()
    return matrix


def on_cupy(call):
    """A call of CuPy's on the stream whose events are recorded."""
    stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)

    def inside():
        with stream:
            return call()

    return inside


def copy(case, s):
    x = dense(case, s["N"])
    y = torch.empty_like(x)
    return {"torch": lambda: torch.mul(x, 2, out=y)}, None


def triangle_copy(case, s):
    x = dense(case, s["N"], s["N"])
    y = torch.empty_like(x)
    return {"torch, dense": lambda: torch.mul(x, 2, out=y)}, None


def ttm(case, s):
    b, c = dense(case, s["M"] * s["N"], s["Q"]), dense(case, s["P"], s["Q"])
    out = torch.empty(s["M"] * s["N"], s["P"], dtype=b.dtype, device="cuda")
    n = s["N"]
    return matrix_product(lambda: torch.matmul(b, c.T, out=out), b), (s["M"] * n * s["P"] * s["Q"], (n + 1) / (2 * n))


def matrix_product(call, like):
    ways = {"cuBLAS": call}
    if like.dtype == torch.float32:

        def tensor_cores():
            torch.backends.cuda.matmul.allow_tf32 = True
            call()
            torch.backends.cuda.matmul.allow_tf32 = False

        ways["cuBLAS, tf32"] = tensor_cores
    return ways


def matmul(case, s):
    n, p = s["N"], s.get("P", s["N"])
    a, b = dense(case, n, n), dense(case, n, p)
    out = torch.empty(n, p, dtype=a.dtype, device="cuda")
    part = (n + 1) / (2 * n) if "triangle" in case["program"] else 1
    return matrix_product(lambda: torch.matmul(a, b, out=out), a), (n * n * p, part)


def gram(case, s):
    b = dense(case, s["M"], s["N"])
    out = torch.empty(s["N"], s["N"], dtype=b.dtype, device="cuda")
    n = s["N"]
    return matrix_product(lambda: torch.matmul(b.T, b, out=out), b), (s["M"] * n * n, (n + 1) / (2 * n))


def matvec(case, s):
    n = s["N"]
    a, x = dense(case, n, n), dense(case, n)
    return {"cuBLAS": lambda: torch.mv(a, x)}, None


def spmv(case, s):
    a = pattern(case, s["M"], s["N"])
    x = cupy.random.rand(s["N"]).astype(a.dtype)
    import cupyx.cusparse as cusparse

    return {"cuSPARSE": on_cupy(lambda: cusparse.spmv(a, x))}, None


def spmm(case, s):
    a = pattern(case, s["M"], s["N"])
    x = cupy.random.rand(s["N"], s["P"]).astype(a.dtype)
    columns = cupy.asfortranarray(x)
    import cupyx.cusparse as cusparse

    def torch_way():
        crow, col, value = (torch.as_tensor(one, device="cuda") for one in (a.indptr, a.indices, a.data))
        matrix = torch.sparse_csr_tensor(crow, col, value, size=a.shape)
        right = torch.as_tensor(x, device="cuda")
        return lambda: torch.sparse.mm(matrix, right)

    return {"cuSPARSE, columns": on_cupy(lambda: cusparse.spmm(a, columns)), "torch, rows": torch_way()}, None


def spgemm(case, s):
    a, b = pattern(case, s["M"], s["N"]), pattern(case, s["N"], s["P"])
    import cupyx.cusparse as cusparse

    return {"cuSPARSE": on_cupy(lambda: cusparse.spgemm(a, b))}, None


def conv(case, s):
    picture = dense(case, 1, s["C"], s["H"] + 2, s["W"] + 2)
    filters = dense(case, s["K"], s["C"], 3, 3)
    torch.backends.cudnn.benchmark = True

    def exact():
        torch.backends.cudnn.allow_tf32 = False
        return torch.nn.functional.conv2d(picture, filters)

    def tf32():
        torch.backends.cudnn.allow_tf32 = True
        return torch.nn.functional.conv2d(picture, filters)

    work = s["K"] * s["C"] * 9 * s["H"] * s["W"]
    return {"cuDNN": exact, "cuDNN, tf32": tf32}, (work, case["density"])


def layer(case, s):
    size, stride = (3 if "_3_" in case["program"] else 1), (2 if "_half_" in case["program"] else 1)
    picture = dense(case, 1, s["C"], stride * s["H"], stride * s["W"])
    filters = dense(case, s["K"], s["C"], size, size)
    torch.backends.cudnn.benchmark = True

    def with_tf32(allowed):
        def call():
            torch.backends.cudnn.allow_tf32 = allowed
            return torch.nn.functional.conv2d(picture, filters, stride=stride, padding=size // 2)

        return call

    return {"cuDNN": with_tf32(False), "cuDNN, tf32": with_tf32(True)}, None


PEERS = {one.__name__: one for one in (copy, triangle_copy, ttm, matmul, gram, matvec, spmv, spmm, spgemm, conv, layer)}


def compared(case):
    """What libraries take for a case."""
    found = {"peers": {}}
    try:
        ways, work = PEERS[case["peer"]](case, case["symbols"])
        if work:
            found["dense"], found["part"] = work
        for name, call in ways.items():
            found["peers"][name] = device_seconds(call)
    except Exception as error:  # what one library cannot do is no reason to measure nothing
        print(f"{case['name']}: {type(error).__name__}: {error}", file=sys.stderr)
    cupy.get_default_memory_pool().free_all_blocks()
    torch.cuda.empty_cache()
    return found


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    with open(sys.argv[1] + "/cases.json") as file:
        cases = {case["name"]: case for case in json.load(file)}
    with open(sys.argv[2]) as file:
        measured = [json.loads(line) for line in file]
    examples = [one for one in measured if "/" not in one["name"]]
    programs = [one for one in measured if "/" in one["name"]]
    for one in programs:
        case = cases[one["name"]]
        if case.get("peer") in PEERS:
            one.update(compared(case))
        if "group" in case:
            one["group"] = case["group"]
    driver = subprocess.run(
        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
        capture_output=True,
        text=True,
    )
    everything = {
        "device": torch.cuda.get_device_name(),
        "driver": driver.stdout.split("\n")[0].strip(),
        "date": datetime.date.today().isoformat(),
        "libraries": {"torch": torch.__version__, "cupy": cupy.__version__, "cuda": torch.version.cuda},
        "cases": programs,
        "examples": {
            "count": len(examples),
            "wrong": [one["name"] for one in examples if one["wrong"]],
            "failed": {one["name"]: one["error"] for one in examples if one["error"]},
        },
    }
    print(json.dumps(everything, indent=1))


main()
