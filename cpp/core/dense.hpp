// Dense products whose entries do not depend on the number of threads or on the other rows of a batch.
#pragma once

#include "frame.hpp"
#include "tile.hpp"

namespace lowfold {

/// x - mean, rounded to T.
template <class T>
void centre(const T* x, const double* mean, std::size_t columns, T* to) {
    for (std::size_t p = 0; p < columns; ++p) to[p] = static_cast<T>(x[p] - mean[p]);
}

/// Y = (X - mean) B. Row i of Y depends on row i of X alone: X may be cut into batches anyhow.
/// Each row has one owner. Cost n * dimensions * columns of B.
template <class T>
void project(const Context& context, MatrixView<const T> X, const double* mean, MatrixView<const T> B,
             MatrixView<T> Y) {
    constexpr std::size_t ROWS_AT_ONCE = 8 * TILE_ROWS;
    const std::size_t depth = X.columns, panels = (B.columns + PANEL<T> - 1) / PANEL<T>;
    Buffer<T> packed(panels * depth * PANEL<T>);
    for (std::size_t p = 0; p < depth; ++p)
        for (std::size_t column = 0; column < panels * PANEL<T>; ++column)
            packed[(column / PANEL<T> * depth + p) * PANEL<T> + column % PANEL<T>] =
                column < B.columns ? B.row(p)[column] : T{};
    parallel_ranges(context, X.rows, ROWS_AT_ONCE, [&](std::size_t begin, std::size_t end, Worker&) {
        Buffer<T> centred(TILE_ROWS * depth), rows(TILE_ROWS * depth);
        for (std::size_t first = begin; first < end; first += TILE_ROWS) {
            with_rows(static_cast<int>(std::min<std::size_t>(TILE_ROWS, end - first)), [&]<int ROWS>() {
                for (int i = 0; i < ROWS; ++i) centre(X.row(first + i), mean, depth, &centred[i * depth]);
                for (int i = 0; i < ROWS; ++i) copy_strided(&centred[i * depth], depth, &rows[i], ROWS);
                for (std::size_t panel = 0; panel < panels; ++panel) {
                    Vec<T> sum[ROWS][TILE_VECTORS];
                    accumulate<InnerProduct, ROWS>(rows.data(), &packed[panel * depth * PANEL<T>], depth, sum);
                    const std::size_t columns = std::min<std::size_t>(PANEL<T>, Y.columns - panel * PANEL<T>);
                    for (int i = 0; i < ROWS; ++i)
                        std::memcpy(Y.row(first + i) + panel * PANEL<T>, sum[i], columns * sizeof(T));
                }
            });
        }
    });
}

/// C = sum_i (a_i - a_mean)(b_i - b_mean)^T over the rows of A and B, in blocks of rows: the sums of one block in T,
/// the sums over blocks in float64. For A = B (`symmetric`) only tiles that touch the upper triangle are computed.
/// Each tile has one owner. Cost n * columns of A * columns of B.
template <class T>
class CrossProduct {
   public:
    CrossProduct(const Context& context, MatrixView<const T> A, const double* a_mean, MatrixView<const T> B,
                 const double* b_mean, bool symmetric)
        : context_(context), A_(A), B_(B), a_mean_(a_mean), b_mean_(b_mean), symmetric_(symmetric) {
        sum_.assign(left_panels() * TILE_ROWS * width(), 0.0);
        left_.resize(left_panels() * BLOCK * TILE_ROWS);
        right_.resize(BLOCK * width());
        for (std::size_t begin = 0; begin < A.rows; begin += BLOCK) {
            const std::size_t rows = std::min(BLOCK, A.rows - begin);
            parallel_ranges(context, rows, BLOCK / 8, [&](std::size_t first, std::size_t last, Worker&) {
                Buffer<T> centred(std::max(A_.columns, B_.columns));
                for (std::size_t r = first; r < last; ++r) {
                    centre(B_.row(begin + r), b_mean_, B_.columns, centred.data());
                    pack<PANEL<T>>(right_, centred.data(), B_.columns, r, rows);
                    if (!symmetric_) centre(A_.row(begin + r), a_mean_, A_.columns, centred.data());
                    pack<TILE_ROWS>(left_, centred.data(), A_.columns, r, rows);
                }
            });
            multiply(rows);
        }
    }

    double at(std::size_t i, std::size_t j) const {
        return symmetric_ && i > j ? sum_[j * width() + i] : sum_[i * width() + j];
    }

   private:
    static constexpr std::size_t BLOCK = 512;  // few enough for sums in float32, many enough to hide the packing

    std::size_t left_panels() const { return (A_.columns + TILE_ROWS - 1) / TILE_ROWS; }
    std::size_t right_panels() const { return (B_.columns + PANEL<T> - 1) / PANEL<T>; }
    std::size_t width() const { return right_panels() * PANEL<T>; }

    /// Row r of a block into panels of WIDTH columns: to[(panel * rows + r) * WIDTH + lane].
    template <std::size_t WIDTH>
    static void pack(Buffer<T>& to, const T* x, std::size_t columns, std::size_t r, std::size_t rows) {
        std::size_t first = 0;
        for (; first + WIDTH <= columns; first += WIDTH)
            std::copy_n(x + first, WIDTH, &to[(first / WIDTH * rows + r) * WIDTH]);
        if (first == columns) return;
        T* last = &to[(first / WIDTH * rows + r) * WIDTH];
        std::fill(std::copy(x + first, x + columns, last), last + WIDTH, T{});
    }

    void multiply(std::size_t rows) {
        parallel_for(context_, right_panels(), [&](std::size_t item, Worker& worker) {
            const std::size_t right = right_panels() - 1 - item;  // where it is symmetric, the tallest first
            const std::size_t below = symmetric_ ? (right + 1) * PANEL<T> : A_.columns;
            for (std::size_t left = 0; left < left_panels() && left * TILE_ROWS < below; ++left) {
                Vec<T> sum[TILE_ROWS][TILE_VECTORS];
                accumulate<InnerProduct, TILE_ROWS>(&left_[left * rows * TILE_ROWS], &right_[right * rows * PANEL<T>],
                                                    rows, sum);
                for (int i = 0; i < TILE_ROWS; ++i) {
                    T values[PANEL<T>];
                    std::memcpy(values, sum[i], sizeof(values));
                    double* to = &sum_[(left * TILE_ROWS + i) * width() + right * PANEL<T>];
                    for (int lane = 0; lane < PANEL<T>; ++lane) to[lane] += values[lane];
                }
            }
            worker.check();
        });
    }

    const Context& context_;
    MatrixView<const T> A_, B_;
    const double *a_mean_, *b_mean_;
    bool symmetric_;
    Buffer<T> left_, right_;
    Buffer<double> sum_;
};

}  // namespace lowfold
