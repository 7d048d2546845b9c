// All eigenvalues and eigenvectors of a small symmetric matrix, by Jacobi's rotations (1846).
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "parallel.hpp"

namespace lowfold {

/// A = sum_j values[j] v_j v_j^T with values[0] >= values[1] >= ...; row j of `vectors` is v_j.
///
/// Each rotation makes one off-diagonal entry zero; a few sweeps over all of them leave only rounding. Exact zeros, as
/// equal points give, are left alone. Cost about 50 size^3, for sizes up to some tens; the worker is asked on the way
/// whether to stop, since hundreds take seconds.
class SmallEigen {
   public:
    std::vector<double> values, vectors;

    explicit SmallEigen(Worker& worker) : worker_(worker) {}

    /// A is row-major and is overwritten.
    void solve(std::vector<double>& A, std::size_t size) {
        size_ = size;
        vectors.assign(size * size, 0.0);
        for (std::size_t i = 0; i < size; ++i) vectors[i * size + i] = 1.0;
        for (int sweep = 0; sweep < MAX_SWEEPS && rotate_all(A); ++sweep) {
        }
        values.resize(size);
        for (std::size_t i = 0; i < size; ++i) values[i] = A[i * size + i];
        sort();
    }

    const double* vector(std::size_t j) const { return &vectors[j * size_]; }

   private:
    static constexpr int MAX_SWEEPS = 30;  // six or seven are usual

    /// Whether any entry was large enough to be worth a rotation.
    bool rotate_all(std::vector<double>& A) {
        bool any = false;
        for (std::size_t p = 0; p + 1 < size_; ++p) {
            for (std::size_t q = p + 1; q < size_; ++q) {
                const double off = A[p * size_ + q];
                const double scale = std::sqrt(std::abs(A[p * size_ + p])) * std::sqrt(std::abs(A[q * size_ + q]));
                if (std::abs(off) <= std::numeric_limits<double>::epsilon() * scale ||
                    std::abs(off) < std::numeric_limits<double>::min())
                    continue;
                rotate(A, p, q);
                any = true;
            }
            worker_.check_after((size_ - p) * size_);
        }
        return any;
    }

    void rotate(std::vector<double>& A, std::size_t p, std::size_t q) {
        const double theta = (A[q * size_ + q] - A[p * size_ + p]) / (2 * A[p * size_ + q]);
        const double t = std::copysign(1.0, theta) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        const double shift = t * A[p * size_ + q];
        const double at_p = A[p * size_ + p] - shift, at_q = A[q * size_ + q] + shift;
        turn(&A[p * size_], &A[q * size_], c, s);
        for (std::size_t r = 0; r < size_; ++r) {  // the columns are the rows: A stays symmetric in every bit
            A[r * size_ + p] = A[p * size_ + r];
            A[r * size_ + q] = A[q * size_ + r];
        }
        A[p * size_ + p] = at_p;
        A[q * size_ + q] = at_q;
        A[p * size_ + q] = A[q * size_ + p] = 0;
        turn(&vectors[p * size_], &vectors[q * size_], c, s);
    }

    void turn(double* a, double* b, double c, double s) const {
        for (std::size_t r = 0; r < size_; ++r) {
            const double x = a[r], y = b[r];
            a[r] = c * x - s * y;
            b[r] = s * x + c * y;
        }
    }

    void sort() {
        for (std::size_t j = 0; j < size_; ++j) {
            std::size_t largest = j;
            for (std::size_t l = j + 1; l < size_; ++l)
                if (values[l] > values[largest]) largest = l;
            if (largest == j) continue;
            std::swap(values[j], values[largest]);
            for (std::size_t r = 0; r < size_; ++r) std::swap(vectors[j * size_ + r], vectors[largest * size_ + r]);
        }
    }

    Worker& worker_;
    std::size_t size_ = 0;
};

}  // namespace lowfold
