// What each neighbourhood adds to the matrix whose smallest eigenvectors are the map (LTSA, Hessian LLE, modified LLE).
#pragma once

#include "patches.hpp"

namespace lowfold {

/// block_i = I - 1 1^T / k - Q Q^T with Q the tangent coordinates of the neighbours of i: what no affine function of
/// these coordinates explains (Zhang and Zha 2004). blocks is n x k x k; each block has one owner.
template <class T>
void tangent_blocks(const Context& context, MatrixView<const T> X, MatrixView<const std::int32_t> neighbors,
                    std::size_t d, double* blocks) {
    const std::size_t k = neighbors.columns;
    parallel_ranges(context, neighbors.rows, PATCHES_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
        Tangent tangent(worker);
        for (std::size_t i = first; i < last; ++i) {
            tangent.fit(X, neighbors.row(i), k, d);
            double* block = blocks + i * k * k;
            for (std::size_t a = 0; a < k; ++a) {
                for (std::size_t b = 0; b <= a; ++b) {
                    double sum = (a == b) - 1.0 / static_cast<double>(k);
                    for (std::size_t j = 0; j < tangent.found; ++j)
                        sum -= tangent.columns[j * k + a] * tangent.columns[j * k + b];
                    block[a * k + b] = block[b * k + a] = sum;
                }
                worker.check_after((a + 1) * (tangent.found + 1));
            }
        }
    });
}

/// block_i = H^T H with H the part of the products of tangent coordinates that is orthogonal to 1, to the coordinates
/// and to each other: the size of the second derivatives in the tangent plane (Donoho and Grimes 2003).
template <class T>
void hessian_blocks(const Context& context, MatrixView<const T> X, MatrixView<const std::int32_t> neighbors,
                    std::size_t d, double* blocks) {
    const std::size_t k = neighbors.columns;
    constexpr double NEGLIGIBLE = 1e-8;  // of a column's length: what is left of one that the others span
    parallel_ranges(context, neighbors.rows, PATCHES_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
        Tangent tangent(worker);
        std::vector<double> Q;  // orthonormal columns, one after another
        const auto add = [&](std::vector<double>&& column) {
            double length = 0, before = 0;
            for (const double x : column) before += x * x;
            for (int twice = 0; twice < 2; ++twice)
                for (std::size_t begin = 0; begin < Q.size(); begin += k) {
                    double dot = 0;
                    for (std::size_t a = 0; a < k; ++a) dot += column[a] * Q[begin + a];
                    for (std::size_t a = 0; a < k; ++a) column[a] -= dot * Q[begin + a];
                }
            worker.check_after(4 * Q.size());
            for (const double x : column) length += x * x;
            if (!(length > NEGLIGIBLE * NEGLIGIBLE * before)) return;
            for (double& x : column) x /= std::sqrt(length);
            Q.insert(Q.end(), column.begin(), column.end());
        };
        for (std::size_t i = first; i < last; ++i) {
            tangent.fit(X, neighbors.row(i), k, d);
            const auto coordinate = [&](std::size_t j) { return &tangent.columns[j * k]; };
            Q.clear();
            add(std::vector<double>(k, 1.0));
            for (std::size_t j = 0; j < tangent.found; ++j) add(std::vector<double>(coordinate(j), coordinate(j) + k));
            const std::size_t affine = Q.size();
            for (std::size_t j = 0; j < tangent.found; ++j)
                for (std::size_t l = j; l < tangent.found; ++l) {
                    std::vector<double> product(k);
                    for (std::size_t a = 0; a < k; ++a) product[a] = coordinate(j)[a] * coordinate(l)[a];
                    add(std::move(product));
                }
            double* block = blocks + i * k * k;
            for (std::size_t a = 0; a < k; ++a) {
                for (std::size_t b = 0; b <= a; ++b) {
                    double sum = 0;
                    for (std::size_t begin = affine; begin < Q.size(); begin += k) sum += Q[begin + a] * Q[begin + b];
                    block[a * k + b] = block[b * k + a] = sum;
                }
                worker.check_after((a + 1) * (Q.size() / k));
            }
        }
    });
}

/// Modified LLE (Zhang and Wang 2007): instead of one vector of weights, all that rebuild the point about as well.
///
/// With G = V diag(values) V^T the Gram matrix of neighbours less the point: the s smallest eigenvalues, few enough
/// that their share of the rest stays below `eta`, the median over points of (values beyond d) / (values up to d).
/// W = V_s H + (1 - alpha) w 1^T, alpha = |V_s^T 1| / sqrt(s), H the reflection that turns V_s^T 1 into alpha 1, so
/// that each column of W sums to 1. block_i = S S^T with S = (-1^T; W), over the point itself and its neighbours.
template <class T>
class ModifiedWeights {
   public:
    ModifiedWeights(const Context& context, MatrixView<const T> X, MatrixView<const std::int32_t> neighbors,
                    std::size_t d, double regularisation)
        : n_(neighbors.rows), k_(neighbors.columns), values_(n_ * k_), vectors_(n_ * k_ * k_), weights_(n_ * k_) {
        Buffer<double> ratio(n_);
        parallel_ranges(context, n_, PATCHES_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
            Patch patch(worker);
            SmallEigen eigen(worker);
            std::vector<double> G;
            for (std::size_t i = first; i < last; ++i) {
                patch.around(X.row(i), X, neighbors.row(i), k_);
                patch.gram(G);
                eigen.solve(G, k_);
                for (std::size_t j = 0; j < k_; ++j) values_[i * k_ + j] = std::max(eigen.values[j], 0.0);
                std::copy(eigen.vectors.begin(), eigen.vectors.end(), &vectors_[i * k_ * k_]);
                ratio[i] = beyond(i, std::min(d, k_));
                weigh(i, regularisation);
            }
        });
        eta_ = median(ratio);
    }

    /// blocks is n x (k + 1) x (k + 1), the point itself first.
    void blocks(const Context& context, double* blocks) const {
        const std::size_t side = k_ + 1;
        parallel_ranges(context, n_, PATCHES_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
            std::vector<double> S;
            for (std::size_t i = first; i < last; ++i) {
                const std::size_t s = columns(i, S);
                double* block = blocks + i * side * side;
                for (std::size_t a = 0; a < side; ++a) {
                    for (std::size_t b = 0; b <= a; ++b) {
                        double sum = 0;
                        for (std::size_t j = 0; j < s; ++j) sum += S[j * side + a] * S[j * side + b];
                        block[a * side + b] = block[b * side + a] = sum;
                    }
                    worker.check_after((a + 1) * s);
                }
            }
        });
    }

   private:
    /// (sum of the values from `count` on) / (sum of those before).
    double beyond(std::size_t i, std::size_t count) const {
        double before = 0, after = 0;
        for (std::size_t j = 0; j < k_; ++j) (j < count ? before : after) += values_[i * k_ + j];
        return before > 0 ? after / before : 0.0;
    }

    /// w = V (values + regularisation trace)^-1 V^T 1, divided by its sum.
    void weigh(std::size_t i, double regularisation) {
        double trace = 0, total = 0;
        for (std::size_t j = 0; j < k_; ++j) trace += values_[i * k_ + j];
        double* w = &weights_[i * k_];
        std::fill_n(w, k_, trace > 0 ? 0.0 : 1.0);
        for (std::size_t j = 0; j < k_ && trace > 0; ++j) {
            const double* v = &vectors_[(i * k_ + j) * k_];
            double dot = 0;
            for (std::size_t a = 0; a < k_; ++a) dot += v[a];
            const double share = dot / (values_[i * k_ + j] / trace + regularisation);
            for (std::size_t a = 0; a < k_; ++a) w[a] += share * v[a];
        }
        for (std::size_t a = 0; a < k_; ++a) total += w[a];
        for (std::size_t a = 0; a < k_; ++a) w[a] /= total;
    }

    static double median(Buffer<double>& ratio) {
        const std::size_t half = ratio.size() / 2;
        std::nth_element(ratio.begin(), ratio.begin() + half, ratio.end());
        if (ratio.size() % 2) return ratio[half];
        return (ratio[half] + *std::max_element(ratio.begin(), ratio.begin() + half)) / 2;
    }

    /// S, one column of length k + 1 after another, and how many there are.
    std::size_t columns(std::size_t i, std::vector<double>& S) const {
        std::size_t s = 1;  // at least the direction of the smallest value
        const auto small = [&](double share) { return share < eta_ || share == 0; };
        while (s + 1 < k_ && small(beyond(i, k_ - s - 1))) ++s;
        const std::size_t side = k_ + 1;
        const double* V = &vectors_[(i * k_ + k_ - s) * k_];
        std::vector<double> h(s);
        double alpha = 0;
        for (std::size_t j = 0; j < s; ++j) {
            for (std::size_t a = 0; a < k_; ++a) h[j] += V[j * k_ + a];
            alpha += h[j] * h[j];
        }
        alpha = std::sqrt(alpha / static_cast<double>(s));
        double length = 0;
        for (double& x : h) {
            x = alpha - x;
            length += x * x;
        }
        length = std::sqrt(length);
        for (double& x : h) x = length < 1e-12 ? 0.0 : x / length;
        S.resize(s * side);
        for (std::size_t j = 0; j < s; ++j) S[j * side] = -1;
        for (std::size_t a = 0; a < k_; ++a) {
            double along = 0;
            for (std::size_t j = 0; j < s; ++j) along += V[j * k_ + a] * h[j];
            for (std::size_t j = 0; j < s; ++j)
                S[j * side + 1 + a] = V[j * k_ + a] - 2 * along * h[j] + (1 - alpha) * weights_[i * k_ + a];
        }
        return s;
    }

    std::size_t n_, k_;
    Buffer<double> values_, vectors_, weights_;
    double eta_ = 0;
};

/// M = sum_i E_i block_i E_i^T, where E_i puts a block at the rows and columns of the points of patch i.
/// Each row has one owner and adds in the order of the patches, so that M is symmetric in every bit. Cost n p^2.
class Alignment {
   public:
    Alignment(const Context& context, MatrixView<const std::int32_t> patches, const double* blocks, std::size_t points)
        : context_(context),
          patches_(patches),
          blocks_(blocks),
          points_(points),
          where_(context, patches.data, patches.rows * patches.columns, points) {}

    SparseMatrix<double> build() const {
        SparseMatrix<double> M;
        M.begin.resize(points_ + 1);
        M.begin[0] = 0;
        std::vector<Row> rows(static_cast<std::size_t>(std::max(context_.threads, 1)));
        const auto each_row = [&](auto&& use) {
            parallel_ranges(context_, points_, 256, [&](std::size_t first, std::size_t last, Worker& worker) {
                Row& row = rows[static_cast<std::size_t>(worker.slot())];
                row.sums.resize(points_);
                row.seen.resize(points_, 0);
                for (std::size_t i = first; i < last; ++i) {
                    add(i, row);
                    use(i, row);
                    for (const auto column : row.columns) row.seen[column] = 0;
                    const auto patches = static_cast<std::size_t>(where_.begin[i + 1] - where_.begin[i]);
                    worker.check_after(patches * patches_.columns);
                }
            });
        };
        each_row([&](std::size_t i, Row& row) { M.begin[i + 1] = static_cast<std::int64_t>(row.columns.size()); });
        M.allocate();
        each_row([&](std::size_t i, Row& row) {
            std::sort(row.columns.begin(), row.columns.end());
            std::int64_t at = M.begin[i];
            for (const auto column : row.columns) {
                M.columns[at] = column;
                M.values[at++] = row.sums[column];
            }
        });
        return M;
    }

   private:
    struct Row {
        std::vector<double> sums;
        std::vector<std::uint8_t> seen;
        std::vector<std::int32_t> columns;
    };

    void add(std::size_t i, Row& row) const {
        const std::size_t p = patches_.columns;
        row.columns.clear();
        for (auto at = where_.begin[i]; at < where_.begin[i + 1]; ++at) {
            const auto place = static_cast<std::size_t>(where_.places[at]);
            const std::int32_t* members = patches_.row(place / p);
            const double* values = blocks_ + place * p;
            for (std::size_t b = 0; b < p; ++b) {
                const auto column = members[b];
                if (!row.seen[column]) {
                    row.seen[column] = 1;
                    row.sums[column] = 0;
                    row.columns.push_back(column);
                }
                row.sums[column] += values[b];
            }
        }
    }

    Context context_;
    MatrixView<const std::int32_t> patches_;
    const double* blocks_;
    std::size_t points_;
    Occurrences where_;
};

}  // namespace lowfold
