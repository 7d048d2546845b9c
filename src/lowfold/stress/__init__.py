"""Methods that match distances in the embedding to dissimilarities: sum over pairs of w_ij (|y_i - y_j| - delta_ij)^2.

| method                   | w(delta)                    | target delta                    |
| ------------------------ | --------------------------- | ------------------------------- |
| MDS                      | 1, or given                 | input dissimilarity             |
| MDS(scaling="nonmetric") | 1, or given                 | isotonic fit of the input order |
| Sammon                   | 1 / delta, normalised by    | input dissimilarity             |
|                          | the sum of all delta        |                                 |

A missing dissimilarity is w = 0. `pairs` says where the dissimilarities come from, `problem` and `ordinal` make stress
and gradient of them, `majorise` is the one loop, `start` where it begins, `place` puts new points among fitted ones.
"""
