// A large symmetric matrix times a few vectors, reading only what is on and above its diagonal.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "parallel.hpp"
#include "simd.hpp"

namespace lowfold {

/// The entries of a symmetric matrix on and above its diagonal, row by row, in strips of HEIGHT rows: a strip holds the
/// columns from its first row on.
template <class T>
struct PackedRows {
    static constexpr std::size_t HEIGHT = 64;
    T* data;
    std::size_t n;

    /// Numbers in the strips of all rows, or of the first few.
    static std::size_t size(std::size_t n) { return size(n, n); }
    static std::size_t size(std::size_t n, std::size_t rows) {
        const std::size_t strips = rows / HEIGHT;
        return before(n, strips) + rows % HEIGHT * (n - strips * HEIGHT);
    }

    /// So that row(i)[j] is a_ij for j >= i.
    T* row(std::size_t i) const {
        const std::size_t strip = i / HEIGHT, first = strip * HEIGHT;
        return data + before(n, strip) + (i - first) * (n - first) - first;
    }

   private:
    static std::size_t before(std::size_t n, std::size_t strips) {
        return strips ? HEIGHT * (strips * n - HEIGHT * strips * (strips - 1) / 2) : 0;
    }
};

/// An entry a_ij above the diagonal is used twice while it is in a register: for row i and for row j.
///
/// The triangle is cut into STRIPS of rows with about the same number of entries. A strip sums what it adds to each row
/// by itself, in T; the sums of all strips are added in float64, one after another, so that the result does not depend
/// on who computed which.
template <class T>
class SymmetricProduct {
   public:
    explicit SymmetricProduct(MatrixView<const T> V)
        : n_(V.rows), columns_(V.columns), packed_(V.rows * WIDTH), V_(V) {}

    /// out = A V for a square A, given as a matrix or packed. Cost: half of it is read for each WIDTH columns of V.
    template <class Rows>
    void run(const Context& context, const Rows& A, double* out) {
        const std::vector<std::size_t> begin = strips();
        const std::size_t count = begin.size() - 1;
        Buffer<T> sums(count * n_ * WIDTH);
        for (std::size_t first = 0; first < columns_; first += WIDTH) {
            const std::size_t width = std::min(WIDTH, columns_ - first);
            pack(first, width);
            parallel_for(context, count, [&](std::size_t strip, Worker& worker) {
                multiply(A, begin[strip], begin[strip + 1], &sums[strip * n_ * WIDTH], worker);
            });
            // Short: STRIPS numbers are added for each of ROWS_AT_ONCE rows and WIDTH columns.
            parallel_ranges(context, n_, ROWS_AT_ONCE, [&](std::size_t from, std::size_t to, Worker&) {
                for (std::size_t j = from; j < to; ++j) {
                    double total[WIDTH] = {};
                    for (std::size_t strip = 0; strip < count && begin[strip] <= j; ++strip)
                        for (std::size_t c = 0; c < WIDTH; ++c)
                            total[c] += static_cast<double>(sums[(strip * n_ + j) * WIDTH + c]);
                    std::copy_n(total, width, out + j * columns_ + first);
                }
            });
        }
    }

   private:
    using Lanes = Wide<T>;
    static constexpr std::size_t WIDTH = 64 / sizeof(T);
    static constexpr int ROWS = VECTOR_BYTES == 64 ? 8 : 2;  // whose vectors and sums fit into the registers
    static constexpr std::size_t STRIPS = 32, ROWS_AT_ONCE = 256, BLOCK = 512;

    /// The first row of each strip, and n: multiples of ROWS but for the last.
    std::vector<std::size_t> strips() const {
        std::vector<std::size_t> begin = {0};
        for (std::size_t strip = 1; strip < STRIPS; ++strip) {
            const double share = static_cast<double>(strip) / static_cast<double>(STRIPS);
            const auto row = static_cast<std::size_t>(static_cast<double>(n_) * (1 - std::sqrt(1 - share)));
            if (row / ROWS * ROWS > begin.back()) begin.push_back(row / ROWS * ROWS);
        }
        begin.push_back(n_);
        return begin;
    }

    void pack(std::size_t first, std::size_t width) {
        for (std::size_t j = 0; j < n_; ++j)
            for (std::size_t c = 0; c < WIDTH; ++c) packed_[j * WIDTH + c] = c < width ? V_.row(j)[first + c] : T{};
    }

    /// sums[j] = what the rows of a strip add to row j, for all j from the strip's first row on.
    template <class Rows>
    void multiply(const Rows& A, std::size_t first, std::size_t last, T* sums, Worker& worker) const {
        std::fill(sums + first * WIDTH, sums + n_ * WIDTH, T{});
        std::size_t row = first;
        for (; row + ROWS <= last; row += ROWS) {
            corner<ROWS>(A, row, sums);
            for (std::size_t begin = row + ROWS; begin < n_; begin += BLOCK)
                beside<ROWS>(A, row, begin, std::min(begin + BLOCK, n_), sums);
            worker.check_after(ROWS * (n_ - row) * WIDTH);
        }
        for (; row < last; ++row) {
            corner<1>(A, row, sums);
            beside<1>(A, row, row + 1, n_, sums);
        }
    }

    /// The entries on the diagonal and between rows that go together.
    template <int COUNT, class Rows>
    void corner(const Rows& A, std::size_t row, T* sums) const {
        for (std::size_t i = row; i < row + COUNT; ++i) {
            auto sum = load<Lanes>(sums + i * WIDTH);
            for (std::size_t j = row; j < row + COUNT; ++j)
                sum = multiply_add(broadcast<Lanes>(A.row(std::min(i, j))[std::max(i, j)]),
                                   load<Lanes>(&packed_[j * WIDTH]), sum);
            store(sums + i * WIDTH, sum);
        }
    }

    /// The entries of COUNT rows in the columns begin .. end, all above the diagonal.
    template <int COUNT, class Rows>
    void beside(const Rows& A, std::size_t row, std::size_t begin, std::size_t end, T* sums) const {
        const T* from[COUNT];
        Lanes own[COUNT], sum[COUNT] = {};
        for (int i = 0; i < COUNT; ++i) {
            from[i] = A.row(row + static_cast<std::size_t>(i));
            own[i] = load<Lanes>(&packed_[(row + static_cast<std::size_t>(i)) * WIDTH]);
        }
        for (std::size_t j = begin; j < end; ++j) {
            const auto v = load<Lanes>(&packed_[j * WIDTH]);
            auto other = load<Lanes>(sums + j * WIDTH);
#pragma GCC unroll 8
            for (int i = 0; i < COUNT; ++i) {
                const auto a = broadcast<Lanes>(from[i][j]);
                sum[i] = multiply_add(a, v, sum[i]);
                other = multiply_add(a, own[i], other);
            }
            store(sums + j * WIDTH, other);
        }
        for (int i = 0; i < COUNT; ++i) {
            T* to = sums + (row + static_cast<std::size_t>(i)) * WIDTH;
            store(to, load<Lanes>(to) + sum[i]);
        }
    }

    std::size_t n_, columns_;
    Buffer<T> packed_;
    MatrixView<const T> V_;
};

}  // namespace lowfold
