# %% [markdown]
# # Structured covariance and polynomial regression
#
# Structure is said once, or found, and travels through what is computed.

# %%
import numpy as np

import dastac

rng = np.random.default_rng(2)
samples = rng.random((200, 6))

# %% [markdown]
# A covariance matrix is found to be symmetric: half of it is computed.

# %%
x = dastac.array(samples)
centred = x - x.mean(axis=0)
covariance = centred.T @ centred / (len(samples) - 1)
np.testing.assert_allclose(np.asarray(covariance), np.cov(samples.T))
print(dastac.inspect(x.T @ x))

# %% [markdown]
# Where it is known to be symmetric, it is said, and compared with the data.

# %%
known = dastac.symmetric(np.asarray(covariance))
weights = rng.random(6)
print(known)
variance = float(weights @ known @ weights)
np.testing.assert_allclose(variance, weights @ np.cov(samples.T) @ weights)

# %% [markdown]
# The normal equations of a polynomial of degree 2: moments of order four, each of which is computed once.

# %%
moments = dastac.compile("""
    symbols: S, F
    M(i, j, k, l) := X(s, i) * X(s, j) * X(s, k) * X(s, l)
    X:D(s, i) := (0 <= s < S) * (0 <= i < F)
""")
found = moments(samples)
np.testing.assert_allclose(found, np.einsum("si,sj,sk,sl->ijkl", *[samples] * 4))
size = moments.sizes(S=200, F=6)["M"]
print(f"{size.stored} of {6**4} moments are computed")
