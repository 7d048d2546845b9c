// A large dense matrix times a few vectors: as fast as the matrix can be read.
#pragma once

#include <algorithm>

#include "parallel.hpp"
#include "simd.hpp"

namespace lowfold {

/// out = A V for a row-major A and row-major V with few columns. A is read once for each 64 bytes of a row of V, without
/// being copied; sums run over BLOCK columns in T and over the blocks in float64. Each row has one owner.
template <class T>
class NarrowProduct {
   public:
    NarrowProduct(MatrixView<const T> A, MatrixView<const T> V)
        : A_(A), columns_(V.columns), panels_((V.columns + WIDTH - 1) / WIDTH), packed_(panels_ * V.rows * WIDTH) {
        for (std::size_t j = 0; j < V.rows; ++j)
            for (std::size_t c = 0; c < panels_ * WIDTH; ++c)
                packed_[(c / WIDTH * V.rows + j) * WIDTH + c % WIDTH] = c < V.columns ? V.row(j)[c] : T{};
    }

    void run(const Context& context, double* out) const {
        parallel_ranges(context, A_.rows, ROWS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
            std::size_t row = first;
            for (; row + ROWS <= last; row += ROWS) multiply<ROWS>(row, out);
            for (; row < last; ++row) multiply<1>(row, out);
            worker.check();
        });
    }

   private:
    using Lanes = Wide<T>;
    static constexpr std::size_t WIDTH = 64 / sizeof(T);
    static constexpr int ROWS = VECTOR_BYTES == 64 ? 8 : 4;  // sums that fit into the registers
    static constexpr std::size_t ROWS_AT_ONCE = 64, BLOCK = 512;

    template <int COUNT>
    void multiply(std::size_t row, double* out) const {
        for (std::size_t panel = 0; panel < panels_; ++panel) {
            double total[COUNT][WIDTH] = {};
            for (std::size_t begin = 0; begin < A_.columns; begin += BLOCK)
                add<COUNT>(row, panel, begin, std::min(begin + BLOCK, A_.columns), total);
            const std::size_t width = std::min(WIDTH, columns_ - panel * WIDTH);
            for (int i = 0; i < COUNT; ++i) std::copy_n(total[i], width, out + (row + i) * columns_ + panel * WIDTH);
        }
    }

    template <int COUNT>
    void add(std::size_t row, std::size_t panel, std::size_t begin, std::size_t end,
             double (&total)[COUNT][WIDTH]) const {
        const T* from[COUNT];
        for (int i = 0; i < COUNT; ++i) from[i] = A_.row(row + i);
        const T* V = &packed_[panel * A_.columns * WIDTH];
        Lanes sum[COUNT] = {};
        for (std::size_t j = begin; j < end; ++j) {
            const auto v = load<Lanes>(V + j * WIDTH);
#pragma GCC unroll 8
            for (int i = 0; i < COUNT; ++i) sum[i] = multiply_add(broadcast<Lanes>(from[i][j]), v, sum[i]);
        }
        for (int i = 0; i < COUNT; ++i)
            for (std::size_t c = 0; c < WIDTH; ++c) total[i][c] += static_cast<double>(sum[i][c]);
    }

    MatrixView<const T> A_;
    std::size_t columns_, panels_;
    Buffer<T> packed_;
};

}  // namespace lowfold
