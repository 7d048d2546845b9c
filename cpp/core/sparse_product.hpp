// Products of a sparse symmetric matrix with a few vectors at once, and polynomials of it.
#pragma once

#include <utility>

#include "graph.hpp"
#include "simd.hpp"

namespace lowfold {

/// Out = scale A V + keep V + back B, for row-major blocks of COLUMNS vectors. Each row has one owner; out may be B.
/// T is the type of the vectors and sums; A may be narrower.
template <int COLUMNS, class T, class Entry>
void combine(const Context& context, SparseView<Entry> A, const T* V, const T* B, T scale, T keep, T back, T* out) {
    constexpr std::size_t BYTES = COLUMNS * sizeof(T) < 64 ? COLUMNS * sizeof(T) : 64;
    constexpr std::size_t ROWS_AT_ONCE = 512, WIDTH = BYTES / sizeof(T), VECTORS = COLUMNS / WIDTH;
    static_assert(COLUMNS % WIDTH == 0);
    using Lanes = typename VectorOf<T, BYTES>::type;
    constexpr std::int64_t AHEAD = 96;
    const std::int64_t end = std::max<std::int64_t>(A.begin[A.rows] - 1, 0);
    parallel_ranges(context, A.rows, ROWS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
        for (std::size_t i = first; i < last; ++i) {
            Lanes sum[VECTORS] = {};
            for (auto at = A.begin[i]; at < A.begin[i + 1]; ++at) {
                __builtin_prefetch(V + static_cast<std::size_t>(A.columns[std::min(at + AHEAD, end)]) * COLUMNS);
                const T value = static_cast<T>(A.values[at]);
                const T* from = V + static_cast<std::size_t>(A.columns[at]) * COLUMNS;
                for (std::size_t v = 0; v < VECTORS; ++v) sum[v] += value * load<Lanes>(from + v * WIDTH);
            }
            const std::size_t row = i * COLUMNS;
            for (std::size_t v = 0; v < VECTORS; ++v) {
                Lanes result = scale * sum[v] + keep * load<Lanes>(V + row + v * WIDTH);
                if (B) result += back * load<Lanes>(B + row + v * WIDTH);
                store(out + row + v * WIDTH, result);
            }
        }
        worker.check();
    });
}

/// p(A) V with p the Chebyshev polynomial of a degree that is at most 1 in size on [low, high] and grows fastest above,
/// divided by its value at `top`, so that eigenvectors there keep their length. V is overwritten and holds the result.
///
/// c = (high + low) / 2, e = (high - low) / 2, x -> (x - c) / e; T_{j+1} = 2 x T_j - T_{j-1}, each step divided by the
/// value of T_j at `top` (Zhou, Saad, Tiago, Chelikowsky 2006).
template <int COLUMNS, class T, class Entry>
void chebyshev_inplace(const Context& context, SparseView<Entry> A, T* V, double low, double high, double top,
                       int degree) {
    const double c = (high + low) / 2, e = (high - low) / 2;
    const double first = e / (top - c);
    const std::size_t size = A.rows * COLUMNS;
    Buffer<T> one(V, V + size), other(size);  // on large pages, unlike what Python holds
    const auto step = [&](const T* from, const T* back_from, double scale, double back, T* to) {
        combine<COLUMNS>(context, A, from, back_from, static_cast<T>(scale), static_cast<T>(-c * scale),
                         static_cast<T>(back), to);
    };
    T *before = one.data(), *current = other.data();
    step(before, nullptr, first / e, 0, current);
    double sigma = first;
    for (int j = 2; j <= degree; ++j) {
        const double new_sigma = 1 / (2 / first - sigma);
        step(current, before, 2 * new_sigma / e, -sigma * new_sigma, before);
        std::swap(before, current);
        sigma = new_sigma;
    }
    std::copy_n(current, size, V);
}

}  // namespace lowfold
