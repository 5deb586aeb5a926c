import json, sys, time


def answer(value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def ordered(data, about):
    """A tensor with its dimensions in the library's order; those that it does not have have one element."""
    axes = about["axes"]
    data = data.reshape(about["shape"]).permute([axis for axis in axes if axis >= 0]).contiguous()
    for at, axis in enumerate(axes):
        data = data.unsqueeze(at) if axis < 0 else data
    return data


def stored(data, about):
    """A result with its dimensions in the program's order."""
    axes = about["axes"]
    for at in reversed(range(len(axes))):
        data = data.squeeze(at) if axes[at] < 0 else data
    there = [axis for axis in axes if axis >= 0]
    return data.permute([there.index(at) for at in range(len(there))])


def setup(job):
    import numpy

    dtype = {"f64": numpy.float64, "f32": numpy.float32}[job["element"]]
    data = [numpy.fromfile(name, dtype) for name in job["files"]]
    if job["sparse"]:
        import scipy, scipy.sparse

        about, columns = job["sparse"], job["sparse"]["columns"]
        values, coordinates, positions = about["files"]
        # SciPy's own choice of integers: 32 bits where they fit.
        arrays = [numpy.fromfile(name, numpy.int64) for name in (coordinates, positions)]
        matrix = scipy.sparse.csr_matrix((numpy.fromfile(values, dtype), *arrays), shape=about["shape"])
        dense = data[0] if columns == 1 else data[0].reshape(-1, columns)
        return "csr_matrix @", "SciPy " + scipy.__version__, lambda: matrix @ dense
    if job["library"] == "torch":
        global torch
        import torch

        torch.set_num_threads(job["threads"])
        module, version = torch, "PyTorch " + torch.__version__
        data = [torch.from_numpy(each) for each in data]
        empty = lambda size: torch.empty(size, dtype=data[0].dtype)
    else:
        module, version = numpy, "NumPy " + numpy.__version__
        empty = lambda size: numpy.empty(size, dtype)
    m, n, p, q = [job["sizes"].get(name, 0) for name in "MNPQ"]
    call = job["call"]
    if call == "contract":
        b, c = data
        b, c = b.reshape(-1, q), c.reshape(q, p) if job["columns"] else c.reshape(p, q).T
        out = empty((b.shape[0], p))
        return "matmul on the packed contraction", version, lambda: module.matmul(b, c, out=out)
    if call == "multiply" and len(data) == 2:
        out = empty(data[0].shape[0])
        return "multiply", version, lambda: module.multiply(data[0], data[1], out=out)
    if call == "multiply":
        out = empty(data[0].shape[0])

        def both():
            module.multiply(data[0], data[1], out=out)
            return module.multiply(out, data[2], out=out)

        return "multiply", version, both
    if call == "vectors":
        b, c, d = data
        b = b.reshape(m * n, p)
        return "matmul, twice", version, lambda: module.matmul(module.matmul(b, d).reshape(m, n), c)
    if call == "triangle_vectors":
        b, c, d = data
        b = b.reshape(-1, p)
        # C begins with its row 1: row k meets the pairs (i, k) with i < k.
        weights = numpy.concatenate([numpy.arange(i, n - 1) for i in range(n)])
        starts = [sum(n - 1 - j for j in range(i)) for i in range(n - 1)]
        numpy_c = numpy.asarray(c)[weights]
        if job["library"] == "torch":
            rows = module.from_numpy(numpy.repeat(numpy.arange(n - 1), numpy.arange(n - 1, 0, -1)))
            expanded = module.from_numpy(numpy_c)
            zero = empty(job["result"])

            def scattered():
                zero.zero_()
                return zero.index_add_(0, rows, module.mv(b, d) * expanded)

            return "mv and index_add", version, scattered
        starts = numpy.array(starts)
        out = numpy.zeros(job["result"], dtype)

        def reduced():
            numpy.add.reduceat(numpy.matmul(b, d) * numpy_c, starts, out=out[: n - 1])
            out[n - 1 :] = 0
            return out

        return "matmul and add.reduceat", version, reduced
    if call == "triangle":
        packed = numpy.asarray(data[0])
        dense = numpy.zeros((n, n), dtype)
        dense[numpy.triu_indices(n)] = packed
        if job["library"] == "torch":
            dense = module.from_numpy(dense)
        return "matmul on the dense matrix", version, lambda: module.matmul(dense, data[1])
    if call == "leslie":
        b, c = data
        first, below = b[:n], b[n:]
        out = empty(job["result"])

        def leslie():
            out[0] = module.dot(first, c)
            module.multiply(below, c[: below.shape[0]], out=out[1:])
            return out

        return "dot and multiply", version, leslie
    if call == "convolution":
        about = job["convolution"]
        tensors = about["tensors"]
        picture, filters = [ordered(data[tensor["file"]], tensor) for tensor in tensors[:2]]
        strides, function = about["strides"], getattr(torch.nn.functional, "conv%dd" % len(about["strides"]))

        def convolved():
            with torch.inference_mode():
                return stored(function(picture, filters, stride=strides), tensors[2])

        return "conv%dd on dense arrays" % len(strides), version, convolved
    if call == "square":
        b = data[0].reshape(n, m).T if job["columns"] else data[0].reshape(m, n)
        out = empty((n, n))
        return "matmul", version, lambda: module.matmul(b.T, b, out=out)
    raise ValueError("there is no expression for it")


def main():
    compute = last = None
    for line in sys.stdin:
        question = json.loads(line)
        try:
            if "library" in question:
                expression, version, compute = setup(question)
                answer({"expression": expression, "version": version})
            elif "run" in question:
                start = time.perf_counter_ns()
                last = compute()
                answer({"ns": time.perf_counter_ns() - start})
            elif "write" in question:
                import numpy

                numpy.ascontiguousarray(last).tofile(question["write"])
                answer({})
        except ModuleNotFoundError as error:
            hint = "`./x bench --peers` fetches it" if error.name in ("numpy", "scipy") else "install it for Python"
            answer({"error": f"not installed: Python has no {error.name}; {hint}"})
        except Exception as error:
            answer({"error": f"{type(error).__name__}: {error}"})


main()
