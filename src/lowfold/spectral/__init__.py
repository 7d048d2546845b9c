"""Methods that read an embedding off the eigenvectors of one symmetric matrix: Y = diag(s) V f(lambda).

| method | symmetric matrix A                                      | end | Y              | row of a new x         |
|--------|---------------------------------------------------------|-----|----------------|------------------------|
| PCA    | Xc Xc^T (solved as the D x D scatter when D is smaller) | top | V sqrt(lambda) | centred inner products |
"""
