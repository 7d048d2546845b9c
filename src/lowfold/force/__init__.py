"""Methods that pull neighbours together and push all points apart: grad E = 4 (L[P o a(r)] - L[b(r) / Z]) Y.

| method           | P                            | w(r)                        | normalisation Z of the repulsion |
| ---------------- | ---------------------------- | --------------------------- | -------------------------------- |
| SNE              | row-stochastic, (P+P^T) / 2   | exp(-r)                     | per row                          |
| SymmetricSNE     | joint                        | exp(-r)                     | global                           |
| TSNE             | joint                        | (1 + r/dof)^(-(dof + 1)/2)  | global                           |
| ElasticEmbedding | any W+                       | exp(-r), times lambda W-    | none                             |
| UMAP             | fuzzy union                  | 1 / (1 + a r^b), sampled    | none                             |

r is a squared distance in the embedding and L[M] = diag(M 1) - M. Attraction along an edge is a = -w' / w (1 / (1 + r)
for Student's kernel with one degree of freedom, 1 for the Gaussian), repulsion b = -w' (1 / (1 + r)^2, exp(-r)).
`affinities` makes P, `law` names w, `repulsion` sums it over all points (`Exact`, on a `Grid`, by a `Tree`), `problem`
puts the gradient together, `descend` is the one loop, through the phases of a `schedule`.
"""
