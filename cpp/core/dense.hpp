// Dense products whose entries do not depend on the number of threads or on the other rows of a batch.
#pragma once

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

/// C = sum_i (a_i - a_mean)(b_i - b_mean)^T over the rows of A and B, in blocks of rows: the sums of one block in T,
/// the sums over blocks in float64. For A = B (`symmetric`) only tiles that touch the upper triangle are computed.
/// Each tile has one owner; while a block is multiplied, the next one is packed. Cost n * columns of A * columns of B.
template <class T>
class CrossProduct {
   public:
    CrossProduct(const Context& context, MatrixView<const T> A, const double* a_mean, MatrixView<const T> B,
                 const double* b_mean, bool symmetric)
        : A_(A), B_(B), a_centre_(a_mean, A.columns), b_centre_(b_mean, B.columns), symmetric_(symmetric) {
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

    double at(std::size_t i, std::size_t j) const {
        return symmetric_ && i > j ? sum_[j * width() + i] : sum_[i * width() + j];
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
            rows = std::min(BLOCK, product.A_.rows - row);
            left.resize(product.left_panels() * TILE_ROWS * BLOCK);
            right.resize(product.width() * BLOCK);
        }

        void pack(const CrossProduct& product, std::size_t piece) {
            const std::size_t begin = piece * rows / PIECES, end = (piece + 1) * rows / PIECES;
            pack_columns<TILE_ROWS>(product.A_, product.a_centre_, begin, end, left);
            pack_columns<PANEL<T>>(product.B_, product.b_centre_, begin, end, right);
        }

        /// Panel by panel: row by row would write to places a power of two apart, which share few lines of the cache.
        template <std::size_t WIDTH>
        void pack_columns(const MatrixView<const T>& X, const Centre<T>& centre, std::size_t begin, std::size_t end,
                          Buffer<T>& to) const {
            for (std::size_t p = 0; p < X.columns; p += WIDTH) {
                T* panel = &to[p * rows];
                const std::size_t width = std::min(WIDTH, X.columns - p);
                for (std::size_t r = begin; r < end; ++r) {
                    const T* x = X.row(first + r) + p;
                    if (width == WIDTH)
                        centre.subtract(x, p, WIDTH, panel + r * WIDTH);
                    else
                        centre.subtract(x, p, width, std::fill_n(panel + r * WIDTH, WIDTH, T{}) - WIDTH);
                }
            }
        }
    };

    std::size_t left_panels() const { return (A_.columns + TILE_ROWS - 1) / TILE_ROWS; }
    std::size_t right_panels() const { return (B_.columns + PANEL<T> - 1) / PANEL<T>; }
    std::size_t width() const { return right_panels() * PANEL<T>; }

    /// Adds a block's products of all of A's columns with one panel of B's.
    void multiply(const Block& block, std::size_t right, Worker& worker) {
        const bool half = B_.columns - right * PANEL<T> <= LANES<T>;  // the rest of the last panel is empty
        half ? multiply_vectors<1>(block, right) : multiply_vectors<TILE_VECTORS>(block, right);
        worker.check();
    }

    template <int VECTORS>
    void multiply_vectors(const Block& block, std::size_t right) {
        const std::size_t below = symmetric_ ? (right + 1) * PANEL<T> : A_.columns;
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

    MatrixView<const T> A_, B_;
    Centre<T> a_centre_, b_centre_;
    bool symmetric_;
    Buffer<double> sum_;
};

}  // namespace lowfold
