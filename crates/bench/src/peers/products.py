import json, sys, time


def answer(value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def with_scipy(job, arrays):
    import scipy, scipy.sparse

    of = {True: scipy.sparse.csc_matrix, False: scipy.sparse.csr_matrix}
    operands = [of[each["columns"]](parts, shape=each["shape"]) for each, parts in zip(job["operands"], arrays)]
    version = "SciPy " + scipy.__version__
    if job["call"] == "sparse_transpose":
        return "a.T.tocsr()", version, lambda: operands[0].T.tocsr(), lambda c: c
    if job["call"] == "conversion":
        return converted(operands[0], version, *job["formats"])
    a, b = operands
    if job["call"] == "sparse_columns":
        return "(a @ b).tocsr()", version, lambda: (a @ b).tocsr(), lambda c: c
    if not job["sorted"]:
        return "a @ b", version, lambda: a @ b, lambda c: c

    def ordered():
        c = a @ b
        c.sort_indices()
        return c

    return "a @ b, sort_indices", version, ordered, lambda c: c


def converted(matrix, version, source, target):
    name, _, block = target.rstrip(")").partition("(")
    # SciPy has no empty rows or columns left out.
    known = {"dcsr": "csr", "dcsc": "csc", "bcsr": "bsr"}
    source, name = known.get(source, source), known.get(name, name)
    if source not in ("csr", "csc", "coo") or name not in ("csr", "csc", "coo", "dia", "bsr"):
        raise ValueError(f"SciPy does not convert {source} to {target}")
    a = matrix.asformat(source)
    block = tuple(int(part) for part in block.split(",")) if block else None

    def stored(c):
        c = c.tocsr()
        c.eliminate_zeros()
        return c

    if name == "bsr":
        return f"{source}.tobsr({block})", version, lambda: a.tobsr(block), stored
    # Nothing of the source is handed on.
    return f"{source}.to{name}()", version, lambda: a.asformat(name, copy=True), stored


def with_graphblas(job, arrays):
    import graphblas
    import scipy.sparse
    from graphblas import Matrix, semiring

    operands = []
    for each, (values, coordinates, positions) in zip(job["operands"], arrays):
        rows, columns = each["shape"]
        make = Matrix.from_csc if each["columns"] else Matrix.from_csr
        operands.append(make(positions, coordinates, values, nrows=rows, ncols=columns))
    graphblas.ss.config["nthreads"] = job["threads"]
    version = "SuiteSparse:GraphBLAS " + ".".join(str(part) for part in graphblas.ss.about["library_version"])

    def stored(c):
        positions, coordinates, values = c.to_csr()
        return scipy.sparse.csr_matrix((values, coordinates, positions), shape=(c.nrows, c.ncols))

    def complete(c):
        # What is left for later, sorting too, is done now.
        c.ss.config["format"] = "by_row"
        c.wait("materialize")
        return c

    if job["call"] == "sparse_transpose":
        return "A.T.new(), wait", version, lambda: complete(operands[0].T.new()), stored
    a, b = operands
    return "A.mxm(B), wait", version, lambda: complete(a.mxm(b, semiring.plus_times).new()), stored


def setup(job):
    import numpy

    arrays = []
    for each in job["operands"]:
        values, coordinates, positions = each["files"]
        indices = [numpy.fromfile(name, numpy.int64) for name in (coordinates, positions)]
        arrays.append((numpy.fromfile(values, numpy.float64), *indices))
    return (with_graphblas if job["library"] == "graphblas" else with_scipy)(job, arrays)


def main():
    compute = stored = last = None
    for line in sys.stdin:
        question = json.loads(line)
        try:
            if "library" in question:
                expression, version, compute, stored = setup(question)
                answer({"expression": expression, "version": version})
            elif "run" in question:
                last = None
                start = time.perf_counter_ns()
                last = compute()
                answer({"ns": time.perf_counter_ns() - start})
            elif "forget" in question:
                last = None
                answer({})
            elif "write" in question:
                import numpy

                c, files = stored(last), question["write"]
                c.indptr.astype(numpy.int64).tofile(files[0])
                c.indices.astype(numpy.int64).tofile(files[1])
                c.data.astype(numpy.float64).tofile(files[2])
                answer({})
        except ModuleNotFoundError as error:
            hint = "`./x bench --peers` fetches it" if error.name != "graphblas" else "install python-graphblas"
            answer({"error": f"not installed: Python has no {error.name}; {hint}"})
        except Exception as error:
            answer({"error": f"{type(error).__name__}: {error}"})


main()
