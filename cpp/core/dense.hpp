// Dense products whose entries do not depend on the number of threads or on the other rows of a batch.
#pragma once

#include <numeric>
#include <utility>

#include "frame.hpp"
#include "narrow_product.hpp"
#include "tile.hpp"

namespace lowfold {

/// A point to measure from, in two parts of type T: its entries are known to twice the digits of T, so that x - centre
/// has all the digits of T without a detour through float64.
template <class T>
class Centre {
   public:
    Centre(const double* values, std::size_t columns) : high_(columns), low_(columns) {
        for (std::size_t p = 0; p < columns; ++p) {
            high_[p] = static_cast<T>(values[p]);
            low_[p] = static_cast<T>(values[p] - static_cast<double>(high_[p]));
        }
    }

    /// to = x - centre in `columns` columns from the given one on.
    void subtract(const T* x, std::size_t first, std::size_t columns, T* to) const {
        for (std::size_t p = 0; p < columns; ++p) to[p] = (x[p] - high_[first + p]) - low_[first + p];
    }

    /// x - centre in one column of a whole row.
    T difference(const T* x, std::size_t p) const { return (x[p] - high_[p]) - low_[p]; }

   private:
    Buffer<T> high_, low_;
};

/// Y = (X - mean) B. Row i of Y depends on row i of X alone: X may be cut into batches anyhow.
/// Each row has one owner. Cost n * dimensions * columns of B.
template <class T>
void project(const Context& context, MatrixView<const T> X, const double* mean, MatrixView<const T> B,
             MatrixView<T> Y) {
    constexpr std::size_t ROWS = NarrowProduct<T>::ROWS, ROWS_AT_ONCE = 16 * ROWS;
    const NarrowProduct<T> product(B);
    const Centre<T> centre(mean, X.columns);
    parallel_ranges(context, X.rows, ROWS_AT_ONCE, [&](std::size_t begin, std::size_t end, Worker& worker) {
        Buffer<T> centred(ROWS * X.columns);
        for (std::size_t first = begin; first < end; first += ROWS) {
            const std::size_t count = std::min(ROWS, end - first);
            for (std::size_t i = 0; i < count; ++i)
                centre.subtract(X.row(first + i), 0, X.columns, &centred[i * X.columns]);
            if (count == ROWS)
                product.template multiply<static_cast<int>(ROWS)>(centred.data(), Y.row(first));
            else
                for (std::size_t i = 0; i < count; ++i)
                    product.template multiply<1>(&centred[i * X.columns], Y.row(first + i));
        }
        worker.check();
    });
}

/// One side of a product: rows less a centre, in those columns where that is not zero in every row. Images and counts
/// have many others, and they add nothing.
template <class T>
class CentredColumns {
   public:
    CentredColumns(const Context& context, MatrixView<const T> X, const double* mean)
        : X_(X), centre_(mean, X.columns), place_(X.columns, NOWHERE) {
        std::vector<std::vector<std::int32_t>> zeros((X.rows + ROWS_PER_SUM - 1) / ROWS_PER_SUM);
        parallel_ranges(context, X.rows, ROWS_PER_SUM, [&](std::size_t begin, std::size_t end, Worker&) {
            auto& zero = zeros[begin / ROWS_PER_SUM];
            zero.resize(X.columns);
            std::iota(zero.begin(), zero.end(), 0);
            for (std::size_t i = begin; i < end && !zero.empty(); ++i)
                std::erase_if(zero, [&](std::int32_t p) { return centre_.difference(X.row(i), p) != 0; });
        });
        std::vector<std::size_t> parts(X.columns);
        for (const auto& zero : zeros)
            for (const auto p : zero) ++parts[p];
        for (std::size_t p = 0; p < X.columns; ++p)
            if (parts[p] < zeros.size()) {
                place_[p] = static_cast<std::int32_t>(which_.size());
                which_.push_back(static_cast<std::int32_t>(p));
            }
    }

    static constexpr std::int32_t NOWHERE = -1;

    std::size_t rows() const { return X_.rows; }
    std::size_t columns() const { return which_.size(); }
    /// Which of the columns the p-th of X is, or NOWHERE.
    std::int32_t place(std::size_t p) const { return place_[p]; }

    /// `width` columns from the first-th on, of the row-th row.
    void read(std::size_t row, std::size_t first, std::size_t width, T* to) const {
        const std::int32_t* which = &which_[first];
        if (which[width - 1] - which[0] == static_cast<std::int32_t>(width - 1))
            centre_.subtract(X_.row(row) + which[0], which[0], width, to);
        else
            for (std::size_t p = 0; p < width; ++p) to[p] = centre_.difference(X_.row(row), which[p]);
    }

   private:
    MatrixView<const T> X_;
    Centre<T> centre_;
    std::vector<std::int32_t> which_, place_;
};

/// C = sum_i (a_i - a_mean)(b_i - b_mean)^T over the rows of A and B, in blocks of rows: the sums of one block in T,
/// the sums over blocks in float64. For A = B (`symmetric`) only tiles that touch the upper triangle are computed.
/// Each tile has one owner; while a block is multiplied, the next one is packed. Cost n * columns of A * columns of B.
template <class T>
class CrossProduct {
   public:
    CrossProduct(const Context& context, MatrixView<const T> A, const double* a_mean, MatrixView<const T> B,
                 const double* b_mean, bool symmetric)
        : A_(context, A, a_mean), B_(symmetric ? A_ : CentredColumns<T>(context, B, b_mean)), symmetric_(symmetric) {
        sum_.assign(left_panels() * TILE_ROWS * width(), 0.0);
        Block current, next;
        next.begin(*this, 0);
        parallel_for(context, PIECES, [&](std::size_t piece, Worker&) { next.pack(*this, piece); });
        for (std::size_t first = 0; first < A.rows; first += BLOCK) {
            std::swap(current, next);
            const bool more = first + BLOCK < A.rows;
            if (more) next.begin(*this, first + BLOCK);
            // The tallest panels first, and the packing last, so that threads end together.
            parallel_for(context, right_panels() + (more ? PIECES : 0), [&](std::size_t item, Worker& worker) {
                if (item < right_panels())
                    multiply(current, right_panels() - 1 - item, worker);
                else
                    next.pack(*this, item - right_panels());
            });
        }
    }

    /// Of the i-th column of A and the j-th of B.
    double at(std::size_t i, std::size_t j) const {
        const auto a = A_.place(i), b = B_.place(j);
        if (a == CentredColumns<T>::NOWHERE || b == CentredColumns<T>::NOWHERE) return 0;
        return symmetric_ && a > b ? sum_[b * width() + a] : sum_[a * width() + b];
    }

   private:
    static constexpr std::size_t BLOCK = 1024;  // few enough for sums in float32, many enough to hide the rest
    static constexpr std::size_t PIECES = 16;   // of a block, to be packed by any thread

    /// Some rows, centred, in panels: value(r, panel, lane) at [(panel * rows + r) * panel width + lane].
    struct Block {
        Buffer<T> left, right;
        std::size_t first = 0, rows = 0;

        void begin(const CrossProduct& product, std::size_t row) {
            first = row;
            rows = std::min(BLOCK, product.A_.rows() - row);
            left.resize(product.left_panels() * TILE_ROWS * BLOCK);
            right.resize(product.width() * BLOCK);
        }

        void pack(const CrossProduct& product, std::size_t piece) {
            const std::size_t begin = piece * rows / PIECES, end = (piece + 1) * rows / PIECES;
            pack_columns<TILE_ROWS>(product.A_, begin, end, left);
            pack_columns<PANEL<T>>(product.B_, begin, end, right);
        }

        /// Panel by panel: row by row would write to places a power of two apart, which share few lines of the cache.
        template <std::size_t WIDTH>
        void pack_columns(const CentredColumns<T>& X, std::size_t begin, std::size_t end, Buffer<T>& to) const {
            for (std::size_t p = 0; p < X.columns(); p += WIDTH) {
                T* panel = &to[p * rows];
                const std::size_t width = std::min(WIDTH, X.columns() - p);
                for (std::size_t r = begin; r < end; ++r) {
                    if (width == WIDTH)
                        X.read(first + r, p, WIDTH, panel + r * WIDTH);
                    else
                        X.read(first + r, p, width, std::fill_n(panel + r * WIDTH, WIDTH, T{}) - WIDTH);
                }
            }
        }
    };

    std::size_t left_panels() const { return (A_.columns() + TILE_ROWS - 1) / TILE_ROWS; }
    std::size_t right_panels() const { return (B_.columns() + PANEL<T> - 1) / PANEL<T>; }
    std::size_t width() const { return right_panels() * PANEL<T>; }

    /// Adds a block's products of all of A's columns with one panel of B's.
    void multiply(const Block& block, std::size_t right, Worker& worker) {
        const bool half = B_.columns() - right * PANEL<T> <= LANES<T>;  // the rest of the last panel is empty
        half ? multiply_vectors<1>(block, right) : multiply_vectors<TILE_VECTORS>(block, right);
        worker.check();
    }

    template <int VECTORS>
    void multiply_vectors(const Block& block, std::size_t right) {
        const std::size_t below = symmetric_ ? (right + 1) * PANEL<T> : A_.columns();
        for (std::size_t left = 0; left < left_panels() && left * TILE_ROWS < below; ++left) {
            Vec<T> sum[TILE_ROWS][VECTORS];
            accumulate<InnerProduct>(&block.left[left * block.rows * TILE_ROWS],
                                     &block.right[right * block.rows * PANEL<T>], block.rows, sum);
            for (int i = 0; i < TILE_ROWS; ++i) {
                T values[VECTORS * LANES<T>];
                std::memcpy(values, sum[i], sizeof(values));
                double* to = &sum_[(left * TILE_ROWS + i) * width() + right * PANEL<T>];
                for (int lane = 0; lane < VECTORS * LANES<T>; ++lane) to[lane] += values[lane];
            }
        }
    }

    CentredColumns<T> A_, B_;
    bool symmetric_;
    Buffer<double> sum_;
};

}  // namespace lowfold
