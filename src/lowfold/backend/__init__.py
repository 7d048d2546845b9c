"""The kernels: `native` is C++ and fast, `reference` is NumPy and the specification. One test ties them."""
