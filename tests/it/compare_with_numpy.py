"""Runs examples with random inputs and compares their results with NumPy's: compare_with_numpy.py DASTAC EXAMPLES FOLDER.

Without NumPy it says so and ends with code 77.
"""

import subprocess
import sys
from pathlib import Path

try:
    import numpy as np
except ImportError:
    print("NumPy is not installed")
    sys.exit(77)

random = np.random.default_rng(7)


def softmax(scores, mask):
    scores = np.where(mask, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def attention(q, k, v, mask):
    return softmax(q @ k.T / np.sqrt(q.shape[1]), mask) @ v


def attention_causal(Q, K, V):
    return {"O": attention(Q, K, V, np.tri(len(Q), dtype=bool))}


def attention_window(Q, K, V, W):
    places = np.arange(len(Q))
    return {"O": attention(Q, K, V, abs(places[:, None] - places) <= W)}


def layer_norm(X, g, h):
    deviation = np.sqrt(X.var(axis=1, keepdims=True) + 1e-5)
    return {"Y": (X - X.mean(axis=1, keepdims=True)) / deviation * g + h}


def embedding(token, W, P):
    return {"H": W[token] + P}


def grouped_rows(X, label, K):
    sums, sizes = np.zeros((K, X.shape[1])), np.bincount(label, minlength=K)
    np.add.at(sums, label, X)
    return {"S": sums, "size": sizes}


def gaussian_kernel(X):
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    return {"D2": distances, "K": np.exp(-0.5 * distances)}


def covariance(X):
    return {"C": np.cov(X.T), "R": np.corrcoef(X.T)}


def logistic_regression(X, w, y):
    margin = y * (X @ w)
    loss = np.log1p(np.exp(-margin)).mean() + 0.05 * (w**2).sum()
    gradient = -(X.T @ (y / (1 + np.exp(margin)))) / len(y) + 0.1 * w
    return {"loss": loss, "gradient": gradient}


def page_rank(L, rank):
    degree = L.sum(axis=1)
    shares = np.divide(rank, degree, out=np.zeros_like(rank), where=degree != 0)
    return {"next": 0.85 * (L.T @ shares) + 0.15 / len(rank)}


def row_normalised(A):
    sums = A.sum(axis=1, keepdims=True)
    return {"Y": np.divide(A, sums, out=np.zeros_like(A), where=sums != 0)}


def einsum_chain(A, B, C):
    return {"D": np.einsum("ij,jk,kl->il", A, B, C)}


def row_extremes(A, x):
    return {"largest": A.max(axis=1), "smallest": (A * x).min(axis=1)}


def dense(*shape):
    return random.standard_normal(shape)


def sparse(*shape):
    return dense(*shape) * (random.random(shape) < 0.3)


CASES = [
    (attention_causal, dict(Q=dense(13, 4), K=dense(13, 4), V=dense(13, 4)), {}),
    (attention_window, dict(Q=dense(17, 3), K=dense(17, 3), V=dense(17, 3)), dict(W=2)),
    (layer_norm, dict(X=dense(5, 31), g=dense(31), h=dense(31)), {}),
    (
        embedding,
        dict(
            token=random.integers(0, 11, 7),
            W=dense(11, 5).astype(np.float32),
            P=dense(7, 5).astype(np.float32),
        ),
        {},
    ),
    (grouped_rows, dict(X=dense(41, 3), label=random.integers(0, 7, 41)), dict(K=7)),
    (gaussian_kernel, dict(X=dense(19, 3)), {}),
    (covariance, dict(X=dense(23, 5)), {}),
    (logistic_regression, dict(X=dense(23, 5), w=dense(5), y=np.sign(dense(23))), {}),
    (page_rank, dict(L=(sparse(29, 29) != 0).astype(float), rank=dense(29)), {}),
    (row_normalised, dict(A=sparse(11, 23)), {}),
    (einsum_chain, dict(A=dense(7, 11), B=dense(11, 5), C=dense(5, 13)), {}),
    (row_extremes, dict(A=np.triu(dense(9, 14) - 3), x=dense(14)), {}),
]


def main(dastac, examples, folder):
    wrong = 0
    for function, inputs, symbols in CASES:
        expected = function(**inputs, **symbols)
        command = [dastac, "run", f"{examples}/{function.__name__}.stur"]
        for name, value in inputs.items():
            np.save(folder / f"{name}.npy", value)
            command += ["--input", f"{name}={folder}/{name}.npy"]
        for name, value in symbols.items():
            command += ["-p", f"{name}={value}"]
        for name in expected:
            command += ["--output", f"{name}={folder}/{name}.out.npy"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        for name, value in expected.items():
            found = np.load(folder / f"{name}.out.npy")
            if not np.allclose(found, value, rtol=1e-12, atol=1e-13):
                wrong += 1
                print(f"{function.__name__}: {name} differs by {abs(found - value).max()}")
    print(f"{len(CASES)} examples, {wrong} wrong results")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
