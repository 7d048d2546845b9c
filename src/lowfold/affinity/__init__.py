"""From distances to affinities: kernels, their width, and the normalisations of the random walk on them."""
