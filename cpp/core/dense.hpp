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
    void subtract(const T* x, std::size_t first, std::size_t columns, T* __restrict to) const {
        const T *high = &high_[first], *low = &low_[first];
        for (std::size_t p = 0; p < columns; ++p) to[p] = (x[p] - high[p]) - low[p];
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
            worker.check_after(count * X.columns * Y.columns);
        }
    });
}

/// One side of a product: rows less a centre, in those columns where that is not zero in every row, to be laid in
/// panels of WIDTH columns. Images and counts have many other columns, and they add nothing.
template <class T, std::size_t WIDTH>
class CentredColumns {
   public:
    CentredColumns(const Context& context, MatrixView<const T> X, const double* mean)
        : X_(X), centre_(mean, X.columns), place_(X.columns, NOWHERE) {
        std::vector<std::vector<std::int32_t>> zeros((X.rows + ROWS_PER_SUM - 1) / ROWS_PER_SUM);
        parallel_ranges(context, X.rows, ROWS_PER_SUM, [&](std::size_t begin, std::size_t end, Worker& worker) {
            auto& zero = zeros[begin / ROWS_PER_SUM];
            for (std::size_t p = 0; p < X.columns; ++p)
                if (centre_.difference(X.row(begin), p) == 0) zero.push_back(static_cast<std::int32_t>(p));
            const auto differs = [&](std::size_t i, std::int32_t p) { return X.row(i)[p] != X.row(begin)[p]; };
            for (std::size_t i = begin; i < end && !zero.empty(); ++i) {
                bool any = false;  // without a way out, which would take longer than the rest of the row
                for (const auto p : zero) any |= differs(i, p);
                if (any) std::erase_if(zero, [&](std::int32_t p) { return differs(i, p); });
                worker.check_after(zero.size());
            }
        });
        std::vector<std::size_t> parts(X.columns);
        for (const auto& zero : zeros)
            for (const auto p : zero) ++parts[p];
        for (std::size_t p = 0; p < X.columns; ++p)
            if (parts[p] < zeros.size()) append(p);
    }

    static constexpr std::int32_t NOWHERE = -1;

    std::size_t rows() const { return X_.rows; }
    std::size_t columns() const { return columns_; }
    /// Which of the columns the p-th of X is, or NOWHERE.
    std::int32_t place(std::size_t p) const { return place_[p]; }

    /// Writes the columns of a row from the c-th on to place(c), for all c at which a panel or a gap in X begins.
    template <class Place>
    void read(std::size_t row, const Place& place) const {
        for (const auto& run : runs_)
            centre_.subtract(X_.row(row) + run.source, run.source, run.count, place(run.first));
    }

   private:
    /// Columns of one panel that are neighbours in X too.
    struct Run {
        std::size_t source, first, count;
    };

    void append(std::size_t p) {
        const bool follows = !runs_.empty() && columns_ % WIDTH != 0 && runs_.back().source + runs_.back().count == p;
        if (!follows) runs_.push_back({p, columns_, 0});
        ++runs_.back().count;
        place_[p] = static_cast<std::int32_t>(columns_++);
    }

    MatrixView<const T> X_;
    Centre<T> centre_;
    std::vector<std::int32_t> place_;
    std::vector<Run> runs_;
    std::size_t columns_ = 0;
};

/// C = sum_i (a_i - a_mean)(b_i - b_mean)^T over the rows of A and B, in blocks of rows: the sums of one block in T,
/// the sums over blocks in float64. For A = B (`symmetric`) only registers that touch the upper triangle are computed.
/// Each part has one owner; while a block is multiplied, the next one is packed. Cost n * columns of A * columns of B.
template <class T>
class CrossProduct {
   public:
    CrossProduct(const Context& context, MatrixView<const T> A, const double* a_mean, MatrixView<const T> B,
                 const double* b_mean, bool symmetric)
        : A_(context, A, a_mean), B_(symmetric ? A_ : Columns(context, B, b_mean)), symmetric_(symmetric) {
        divide();
        sum_.assign(padded(A_.columns()) * width(), 0.0);
        Block current, next;
        next.begin(*this, 0);
        // Short: 64 rows are copied.
        parallel_for(context, PIECES, [&](std::size_t piece, Worker&) { next.pack(*this, piece); });
        for (std::size_t first = 0; first < A.rows; first += BLOCK) {
            std::swap(current, next);
            const bool more = first + BLOCK < A.rows;
            if (more) next.begin(*this, first + BLOCK);
            // The packing last, in small pieces, so that threads end together.
            parallel_for(context, parts_.size() + (more ? PIECES : 0), [&](std::size_t item, Worker& worker) {
                if (item < parts_.size())
                    multiply(current, parts_[item]);
                else
                    next.pack(*this, item - parts_.size());
                worker.check();
            });
        }
    }

    /// Of the i-th column of A and the j-th of B.
    double at(std::size_t i, std::size_t j) const {
        const auto a = A_.place(i), b = B_.place(j);
        if (a == Columns::NOWHERE || b == Columns::NOWHERE) return 0;
        return symmetric_ && a > b ? sum_[b * width() + a] : sum_[a * width() + b];
    }

   private:
    static constexpr std::size_t BLOCK = 1024;  // few enough for sums in float32, many enough to hide the rest
    static constexpr std::size_t PIECES = 16;   // of a block, to be packed by any thread
    // A tile's height divides the width of a panel, so that the columns of A = B are packed once for both sides. With
    // tiles of TILE_ROWS x PANEL the products took a tenth longer, and the packing twice as long.
    static constexpr int VECTORS = 3, ROWS = VECTOR_BYTES == 64 ? 8 : VECTOR_BYTES == 32 ? 4 : 3;
    static constexpr std::size_t WIDTH = VECTORS * LANES<T>, TILES_OF_PART = 16;
    static_assert(WIDTH % ROWS == 0);
    // One row more than there are: panels a power of two apart would share few lines of the cache.
    static constexpr std::size_t STRIDE = BLOCK + 1;
    using Columns = CentredColumns<T, WIDTH>;

    /// The products of some rows of C, whole tiles, with one panel of columns.
    struct Part {
        std::size_t panel, begin, end;
    };

    /// Some rows, centred, in panels: value(r, panel, lane) at [(panel * STRIDE + r) * WIDTH + lane].
    struct Block {
        Buffer<T> left, right;  // only the latter where both sides are the same
        std::size_t first = 0, rows = 0;

        void begin(const CrossProduct& product, std::size_t row) {
            first = row;
            rows = std::min(BLOCK, product.A_.rows() - row);
            // Where the last panel has no columns, the zeros stay: nothing is written there.
            if (!product.symmetric_) left.resize(padded(product.A_.columns()) * STRIDE, T{});
            right.resize(product.width() * STRIDE, T{});
        }

        void pack(const CrossProduct& product, std::size_t piece) {
            for (std::size_t r = piece * rows / PIECES; r < (piece + 1) * rows / PIECES; ++r) {
                if (!product.symmetric_)
                    product.A_.read(first + r, [&](std::size_t c) { return &left[at(c) + r * WIDTH]; });
                product.B_.read(first + r, [&](std::size_t c) { return &right[at(c) + r * WIDTH]; });
            }
        }

        /// Where the first value of a column is; the next ones follow WIDTH apart.
        static std::size_t at(std::size_t column) { return column / WIDTH * WIDTH * STRIDE + column % WIDTH; }
    };

    static std::size_t padded(std::size_t columns) { return (columns + WIDTH - 1) / WIDTH * WIDTH; }
    std::size_t width() const { return padded(B_.columns()); }

    void divide() {
        for (std::size_t panel = 0; panel * WIDTH < B_.columns(); ++panel) {
            const std::size_t height = symmetric_ ? std::min((panel + 1) * WIDTH, A_.columns()) : A_.columns();
            for (std::size_t begin = 0; begin < height; begin += TILES_OF_PART * ROWS)
                parts_.push_back({panel, begin, std::min(begin + TILES_OF_PART * ROWS, height)});
        }
    }

    /// Adds a block's products of a part.
    void multiply(const Block& block, const Part& part) {
        const std::size_t columns = std::min(WIDTH, B_.columns() - part.panel * WIDTH);
        const int end = static_cast<int>((columns + LANES<T> - 1) / LANES<T>);
        for (std::size_t row = part.begin; row < part.end; row += ROWS) {
            const std::size_t below = row - std::min(row, part.panel * WIDTH);
            const int begin = symmetric_ ? static_cast<int>(below / LANES<T>) : 0;  // registers left of the diagonal
            if (end - begin == 3)
                multiply_tile<3>(block, row, part.panel * WIDTH + begin * LANES<T>);
            else if (end - begin == 2)
                multiply_tile<2>(block, row, part.panel * WIDTH + begin * LANES<T>);
            else if (end - begin == 1)
                multiply_tile<1>(block, row, part.panel * WIDTH + begin * LANES<T>);
        }
    }

    template <int COUNT>
    void multiply_tile(const Block& block, std::size_t row, std::size_t column) {
        Vec<T> sum[ROWS][COUNT];
        accumulate_strided<InnerProduct, WIDTH, WIDTH>(&(symmetric_ ? block.right : block.left)[Block::at(row)],
                                                       &block.right[Block::at(column)], block.rows, sum);
        for (int i = 0; i < ROWS; ++i) {
            T values[COUNT * LANES<T>];
            std::memcpy(values, sum[i], sizeof(values));
            double* to = &sum_[(row + i) * width() + column];
            for (int lane = 0; lane < COUNT * LANES<T>; ++lane) to[lane] += values[lane];
        }
    }

    Columns A_, B_;
    bool symmetric_;
    std::vector<Part> parts_;
    Buffer<double> sum_;
};

}  // namespace lowfold
