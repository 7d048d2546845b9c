// The local problems of the LLE family: each point and its neighbours give a small matrix, by itself.
//
// Everything local is float64: the maps are read off the smallest eigenvalues of what is built here.
#pragma once

#include "graph.hpp"
#include "jacobi.hpp"

namespace lowfold {

/// The points of one neighbourhood, and the inner products of their differences. One of thousands of points in
/// thousands of dimensions takes seconds: the worker is asked on the way whether to stop.
class Patch {
   public:
    std::size_t k = 0, dimensions = 0;
    std::vector<double> Z;  // k x dimensions: the neighbours less an origin

    explicit Patch(Worker& worker) : worker_(worker) {}

    /// Neighbours less the point x.
    template <class T>
    void around(const T* x, MatrixView<const T> X, const std::int32_t* neighbors, std::size_t count) {
        take(X, neighbors, count);
        for (std::size_t a = 0; a < k; ++a)
            for (std::size_t p = 0; p < dimensions; ++p) Z[a * dimensions + p] -= x[p];
    }

    /// Neighbours less their mean.
    template <class T>
    void centred(MatrixView<const T> X, const std::int32_t* neighbors, std::size_t count) {
        take(X, neighbors, count);
        for (std::size_t p = 0; p < dimensions; ++p) {
            const double origin = Z[p];  // first near the patch: a mean rounds relative to what it is taken of
            double mean = 0;
            for (std::size_t a = 0; a < k; ++a) mean += Z[a * dimensions + p] -= origin;
            mean /= static_cast<double>(k);
            for (std::size_t a = 0; a < k; ++a) Z[a * dimensions + p] -= mean;
            worker_.check_after(2 * k);
        }
    }

    /// G = Z Z^T, k x k.
    void gram(std::vector<double>& G) const {
        G.resize(k * k);
        for (std::size_t a = 0; a < k; ++a) {
            for (std::size_t b = 0; b <= a; ++b) {
                double sum = 0;
                for (std::size_t p = 0; p < dimensions; ++p) sum += Z[a * dimensions + p] * Z[b * dimensions + p];
                G[a * k + b] = G[b * k + a] = sum;
            }
            worker_.check_after((a + 1) * dimensions);
        }
    }

    /// S = Z^T Z, dimensions x dimensions.
    void scatter(std::vector<double>& S) const {
        S.assign(dimensions * dimensions, 0.0);
        for (std::size_t a = 0; a < k; ++a) {
            for (std::size_t p = 0; p < dimensions; ++p)
                for (std::size_t q = 0; q <= p; ++q)
                    S[p * dimensions + q] += Z[a * dimensions + p] * Z[a * dimensions + q];
            worker_.check_after(dimensions * dimensions);
        }
        for (std::size_t p = 0; p < dimensions; ++p)
            for (std::size_t q = 0; q < p; ++q) S[q * dimensions + p] = S[p * dimensions + q];
    }

   private:
    template <class T>
    void take(MatrixView<const T> X, const std::int32_t* neighbors, std::size_t count) {
        k = count;
        dimensions = X.columns;
        Z.resize(k * dimensions);
        for (std::size_t a = 0; a < k; ++a) {
            std::copy_n(X.row(neighbors[a]), dimensions, &Z[a * dimensions]);
            worker_.check_after(dimensions);
        }
    }

    Worker& worker_;
};

/// Solves (G + shift I) w = 1 by Cholesky's factorisation and divides w by its sum; G is overwritten.
/// Where G + shift I is zero, as for equal points, all weights are equal.
inline void barycentric(std::vector<double>& G, std::size_t k, double regularisation, double* w, Worker& worker) {
    double trace = 0;
    for (std::size_t a = 0; a < k; ++a) trace += G[a * k + a];
    if (!(trace > 0)) {
        std::fill_n(w, k, 1.0 / static_cast<double>(k));
        return;
    }
    // Relative to the trace, so that nothing depends on the scale; never less than rounding, which could make a pivot
    // of a singular G negative.
    const double shift = std::max(regularisation, static_cast<double>(k) * 1e-15);
    for (std::size_t a = 0; a < k; ++a) {
        for (std::size_t b = 0; b < k; ++b) G[a * k + b] /= trace;
        G[a * k + a] += shift;
    }
    for (std::size_t a = 0; a < k; ++a) {
        for (std::size_t b = 0; b <= a; ++b) {
            double sum = G[a * k + b];
            for (std::size_t l = 0; l < b; ++l) sum -= G[a * k + l] * G[b * k + l];
            G[a * k + b] = a == b ? std::sqrt(sum) : sum / G[b * k + b];
        }
        double sum = 1;
        for (std::size_t l = 0; l < a; ++l) sum -= G[a * k + l] * w[l];
        w[a] = sum / G[a * k + a];
        worker.check_after(a * a);
    }
    double total = 0;
    for (std::size_t a = k; a-- > 0;) {
        for (std::size_t l = a + 1; l < k; ++l) w[a] -= G[l * k + a] * w[l];
        w[a] /= G[a * k + a];
        total += w[a];
    }
    for (std::size_t a = 0; a < k; ++a) w[a] /= total;
}

inline constexpr std::size_t PATCHES_AT_ONCE = 64;

/// Row i: the weights, of sum 1, with which the neighbours of query i rebuild it best. Each row has one owner.
/// G_ab = (x_a - q_i)(x_b - q_i), (G + regularisation trace(G) I) w = 1. Cost n k^2 (D + k).
template <class T>
void barycentric_weights(const Context& context, MatrixView<const T> queries, MatrixView<const T> X,
                         MatrixView<const std::int32_t> neighbors, double regularisation, double* weights) {
    const std::size_t k = neighbors.columns;
    parallel_ranges(context, neighbors.rows, PATCHES_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
        Patch patch(worker);
        std::vector<double> G;
        for (std::size_t i = first; i < last; ++i) {
            patch.around(queries.row(i), X, neighbors.row(i), k);
            patch.gram(G);
            barycentric(G, k, regularisation, weights + i * k, worker);
        }
    });
}

/// The best d coordinates of a neighbourhood in its tangent plane: orthonormal columns, each orthogonal to 1.
class Tangent {
   public:
    std::size_t found = 0;        // at most d: equal points or points on a line have fewer
    std::vector<double> columns;  // found x k, one coordinate after another

    explicit Tangent(Worker& worker) : worker_(worker), patch_(worker), eigen_(worker) {}

    template <class T>
    void fit(MatrixView<const T> X, const std::int32_t* neighbors, std::size_t k, std::size_t d) {
        patch_.centred(X, neighbors, k);
        const bool by_gram = k <= X.columns;
        if (by_gram)
            patch_.gram(A_);
        else
            patch_.scatter(A_);
        const std::size_t size = by_gram ? k : X.columns;
        eigen_.solve(A_, size);
        found = 0;
        columns.assign(d * k, 0.0);
        while (found < std::min(d, size) && eigen_.values[found] > NEGLIGIBLE * eigen_.values[0]) {
            double* column = &columns[found * k];
            if (by_gram) {
                std::copy_n(eigen_.vector(found), k, column);
            } else {
                for (std::size_t a = 0; a < k; ++a) {
                    double sum = 0;
                    for (std::size_t p = 0; p < size; ++p) sum += patch_.Z[a * size + p] * eigen_.vector(found)[p];
                    column[a] = sum / std::sqrt(eigen_.values[found]);
                }
            }
            orthonormalise(column, k);
            ++found;
            worker_.check_after((size + found) * k);
        }
    }

   private:
    /// A thin patch has its last column from small differences of large numbers: orthogonal again to 1 and the others.
    void orthonormalise(double* column, std::size_t k) const {
        double mean = 0, square = 0;
        for (std::size_t a = 0; a < k; ++a) mean += column[a] / static_cast<double>(k);
        for (std::size_t a = 0; a < k; ++a) column[a] -= mean;
        for (std::size_t j = 0; j < found; ++j) {
            double dot = 0;
            for (std::size_t a = 0; a < k; ++a) dot += column[a] * columns[j * k + a];
            for (std::size_t a = 0; a < k; ++a) column[a] -= dot * columns[j * k + a];
        }
        for (std::size_t a = 0; a < k; ++a) square += column[a] * column[a];
        for (std::size_t a = 0; a < k; ++a) column[a] /= std::sqrt(square);
    }

    static constexpr double NEGLIGIBLE = 1e-12;  // of the largest variance: rounding of float64 data
    Worker& worker_;
    Patch patch_;
    SmallEigen eigen_;
    std::vector<double> A_;
};

}  // namespace lowfold
