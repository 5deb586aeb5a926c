# %% [markdown]
# # Graphs: page ranks, triangles, shortest paths
#
# A graph is a sparse matrix; what is computed of it is a program, or an expression over arrays.

# %%
import numpy as np
import scipy.sparse as sp

import dastac

rng = np.random.default_rng(1)
size = 60
links = sp.random_array((size, size), density=0.1, format="csr", rng=rng, data_sampler=lambda size: np.ones(size))
links.setdiag(0)
links.eliminate_zeros()

# %% [markdown]
# ## Page ranks
# One step of the iteration is a program: it is compiled once, and reads the matrix where it stands.

# %%
step = dastac.compile("""
    symbols: N
    outputs: y
    y(i) := 0.85 * L(j, i) * w(j) + 0.15 * N^-1()
    w(j) := x(j) * d(j)
    L:D(j, i) := (0 <= j < N) * (0 <= i < N)
    L:F := csr
    x:D(j) := (0 <= j < N)
    d:D(j) := (0 <= j < N)
""")
out_degree = np.asarray(links.sum(axis=1)).ravel()
inverse = np.divide(1.0, out_degree, out=np.zeros(size), where=out_degree > 0)
ranks = np.full(size, 1 / size)
for _ in range(50):
    ranks = step(L=links, x=ranks, d=inverse)

expected = np.full(size, 1 / size)
for _ in range(50):
    expected = 0.85 * (links.T @ (expected * inverse)) + 0.15 / size
np.testing.assert_allclose(ranks, expected)

# %% [markdown]
# ## Triangles
# The product is computed at the edges alone, since the mask is sparse.

# %%
edges = sp.csr_array(((links + links.T) > 0).astype(float))
wedges = dastac.einsum("ij,ik,kj->", edges, edges, edges)
print("triangles:", int(wedges) // 6)
np.testing.assert_allclose(wedges, (edges @ edges).multiply(edges).sum())

# %% [markdown]
# ## Shortest paths
# The sum is replaced by a minimum, the product by a sum.

# %%
relax = dastac.compile("""
    symbols: N
    outputs: e
    e(j) := min(d(j), r(j))
    r(j) := min(i) d(i) + W(i, j)
    d:D(j) := (0 <= j < N)
    W:D(i, j) := (0 <= i < N) * (0 <= j < N)
    W:F := csr
""")
distances = np.full(size, np.inf)
distances[0] = 0
for _ in range(size):
    distances = relax(d=distances, W=links)
np.testing.assert_allclose(distances, sp.csgraph.dijkstra(links, indices=0))
print("farthest:", distances[np.isfinite(distances)].max())
