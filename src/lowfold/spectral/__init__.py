"""Methods that read an embedding off the eigenvectors of one symmetric matrix: Y = diag(s) V f(lambda).

| method             | symmetric matrix A                | end    | skip | Y                 | row of a new x          |
| ------------------ | --------------------------------- | ------ | ---- | ----------------- | ----------------------- |
| PCA                | Xc Xc^T (or Xc^T Xc)              | top    | 0    | V sqrt(lambda)    | centred inner products  |
| KernelPCA          | H K H                             | top    | 0    | V sqrt(lambda)    | centred kernel row      |
| ClassicalMDS       | -1/2 H D^2 H                      | top    | 0    | V sqrt(lambda)    | centred -1/2 d^2        |
| Isomap             | -1/2 H Dgeo^2 H                   | top    | 0    | V sqrt(lambda)    | the same, shortest ways |
| LaplacianEigenmaps | D^-1/2 W D^-1/2                   | top    | 1    | D^-1/2 V          | row of the random walk  |
| DiffusionMap       | the same with W / (q_i q_j)^alpha | top    | 1    | D^-1/2 V lambda^t | row of the random walk  |
| LLE, ModifiedLLE   | (I - W)^T (I - W)                 | bottom | 1    | V                 | barycentric weights     |
| HessianLLE         | sum of H_i^T H_i                  | bottom | 1    | V                 | barycentric weights     |
| LTSA               | sum of I - G_i G_i^T              | bottom | 1    | V                 | barycentric weights     |

`problem` states the eigenproblem, `eigen.solve` solves it (by `krylov`, `chebyshev` or `factor`), `rows` places new
points: rows(x) B with B = Y / lambda at the top end, and B = Y at the bottom end.
"""
