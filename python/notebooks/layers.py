# %% [markdown]
# # A pruned layer and a point cloud
#
# Weights that were pruned are a sparse matrix, and so are the neighbours of points: what is multiplied with them is
# computed where they store something.

# %%
import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

import dastac

rng = np.random.default_rng(2)

# %% [markdown]
# ## A pruned layer
# The largest tenth of the weights stays. The layer and its activation are one program: `trace` compiles them together.

# %%
batch, inputs, outputs = 32, 60, 40
weights = rng.normal(size=(outputs, inputs))
pruned = sp.csr_array(weights * (abs(weights) > np.quantile(abs(weights), 0.9)))
bias, x = rng.normal(size=outputs), rng.normal(size=(batch, inputs))


@dastac.trace
def layer(w, b, x):
    return np.maximum(x @ w.T + b, 0)


found = layer(pruned, bias, x)
np.testing.assert_allclose(found, np.maximum(x @ pruned.toarray().T + bias, 0))
print("weights that are multiplied:", pruned.nnz, "of", weights.size)

# %% [markdown]
# The gradient with respect to the weights is needed at those that are there: a product that is sampled by the pattern.

# %%
slope = (found > 0) * rng.normal(size=found.shape)
pattern = pruned.copy()
pattern.data[:] = 1
gradient = dastac.einsum("oi,bo,bi->oi", pattern, slope, x)
np.testing.assert_allclose(gradient.toarray(), pattern.toarray() * (slope.T @ x))
assert gradient.nnz == pruned.nnz

# %% [markdown]
# ## A point cloud
# A convolution over points sums, for each point, the features of the points nearby, weighted by their distance. The
# neighbours are a sparse matrix that a program reads.

# %%
points, channels, wide = 200, 8, 4
place = rng.random((points, 3))
features = rng.normal(size=(points, channels))
mixing = rng.normal(size=(channels, wide))
pairs = cKDTree(place).query_pairs(0.2, output_type="ndarray")
rows, columns = np.concatenate([pairs, pairs[:, ::-1], np.arange(points).repeat(2).reshape(-1, 2)]).T
near = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(points, points))

convolution = dastac.compile("""
    symbols: P, C, D
    outputs: Y
    Y(p, d) := G(p, c) * M(c, d)
    G(p, c) := E(p, q) * F(q, c)
    E(p, q) := N(p, q) * exp(-20 * D2(p, q))
    D2(p, q) := N(p, q) * (X(p, k) - X(q, k))^2
    N:D(p, q) := (0 <= p < P) * (0 <= q < P)
    N:F := csr
    E:F := csr
    D2:F := csr
    X:D(p, k) := (0 <= p < P) * (0 <= k < 3)
    F:D(q, c) := (0 <= q < P) * (0 <= c < C)
    M:D(c, d) := (0 <= c < C) * (0 <= d < D)
""")
smooth = convolution(N=near, X=place, F=features, M=mixing)

squares = ((place[:, None] - place[None]) ** 2).sum(axis=-1)
expected = (near.toarray() * np.exp(-20 * near.toarray() * squares)) @ features @ mixing
np.testing.assert_allclose(smooth, expected)
print("pairs of neighbours:", near.nnz, "of", points**2)
