// A large dense matrix times a few vectors: as fast as the matrix can be read.
#pragma once

#include <algorithm>

#include "parallel.hpp"
#include "simd.hpp"

namespace lowfold {

/// Products of rows with a matrix V of few columns. Sums run over BLOCK entries in T and over the blocks in float64, in
/// the same order whatever rows go together: a row has the same bits in every batch.
template <class T>
class NarrowProduct {
   public:
    static constexpr int ROWS = VECTOR_BYTES == 64 ? 8 : 4;  // sums that fit into the registers

    explicit NarrowProduct(MatrixView<const T> V)
        : depth_(V.rows),
          columns_(V.columns),
          panels_((V.columns + WIDTH - 1) / WIDTH),
          packed_(panels_ * V.rows * WIDTH) {
        for (std::size_t j = 0; j < V.rows; ++j)
            for (std::size_t c = 0; c < panels_ * WIDTH; ++c)
                packed_[(c / WIDTH * V.rows + j) * WIDTH + c % WIDTH] = c < V.columns ? V.row(j)[c] : T{};
    }

    /// out = A V, with A read at the speed of memory. Each row has one owner.
    void run(const Context& context, MatrixView<const T> A, double* out) const {
        parallel_ranges(context, A.rows, ROWS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
            std::size_t row = first;
            for (; row + ROWS <= last; row += ROWS) {
                multiply<ROWS>(A.row(row), out + row * columns_);
                worker.check_after(ROWS * depth_ * columns_);
            }
            for (; row < last; ++row) multiply<1>(A.row(row), out + row * columns_);
        });
    }

    /// out = COUNT rows, one after another, times V.
    template <int COUNT, class Out>
    void multiply(const T* rows, Out* out) const {
        for (std::size_t panel = 0; panel < panels_; ++panel) {
            double total[COUNT][WIDTH] = {};
            for (std::size_t begin = 0; begin < depth_; begin += BLOCK)
                add<COUNT>(rows, panel, begin, std::min(begin + BLOCK, depth_), total);
            const std::size_t width = std::min(WIDTH, columns_ - panel * WIDTH);
            for (int i = 0; i < COUNT; ++i)
                for (std::size_t c = 0; c < width; ++c)
                    out[i * columns_ + panel * WIDTH + c] = static_cast<Out>(total[i][c]);
        }
    }

   private:
    using Lanes = Wide<T>;
    static constexpr std::size_t WIDTH = 64 / sizeof(T);
    static constexpr std::size_t ROWS_AT_ONCE = 64, BLOCK = 512;

    template <int COUNT>
    void add(const T* rows, std::size_t panel, std::size_t begin, std::size_t end,
             double (&total)[COUNT][WIDTH]) const {
        const T* from[COUNT];
        for (int i = 0; i < COUNT; ++i) from[i] = rows + i * depth_;
        const T* V = &packed_[panel * depth_ * WIDTH];
        Lanes sum[COUNT] = {};
        for (std::size_t j = begin; j < end; ++j) {
            const auto v = load<Lanes>(V + j * WIDTH);
#pragma GCC unroll 8
            for (int i = 0; i < COUNT; ++i) sum[i] = multiply_add(broadcast<Lanes>(from[i][j]), v, sum[i]);
        }
        for (int i = 0; i < COUNT; ++i)
            for (std::size_t c = 0; c < WIDTH; ++c) total[i][c] += static_cast<double>(sum[i][c]);
    }

    std::size_t depth_, columns_, panels_;
    Buffer<T> packed_;
};

}  // namespace lowfold
