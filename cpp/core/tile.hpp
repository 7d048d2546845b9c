// The inner loop of every dense kernel: a few rows against one panel of columns, accumulated in registers.
//
// A panel holds PANEL columns (reference points, or columns of a matrix) side by side for each step of depth. Rows are
// interleaved in the same way. Each accumulator runs over the depth in order, whatever the number of rows in the tile,
// so that an entry has the same bits in every batch.
#pragma once

#include <algorithm>

#include "simd.hpp"

namespace lowfold {

inline constexpr int TILE_VECTORS = 2;

/// Columns that one accumulator takes in before it is joined to the others of its group: the rounding of a sum of many
/// columns grows with columns / GROUP, not with the columns.
inline constexpr std::size_t SEGMENT = 128, GROUP = 8 * SEGMENT;

template <class T>
inline constexpr int PANEL = LANES<T> * TILE_VECTORS;

/// sum_p x_p y_p
struct InnerProduct {
    template <class V>
    static V step(V sum, V x, V y) {
        return multiply_add(x, y, sum);
    }
    template <class V>
    static V join(V a, V b) {
        return a + b;
    }
};

/// sum_p (x_p - y_p)^2: no digits are lost for points that are close to each other, and equal ones have distance 0.
struct SumOfSquares {
    template <class V>
    static V step(V sum, V x, V y) {
        const V difference = x - y;
        return multiply_add(difference, difference, sum);
    }
    template <class V>
    static V join(V a, V b) {
        return a + b;
    }
};

/// sum_p |x_p - y_p|
struct SumOfDifferences {
    template <class V>
    static V step(V sum, V x, V y) {
        return sum + absolute(x - y);
    }
    template <class V>
    static V join(V a, V b) {
        return a + b;
    }
};

/// max_p |x_p - y_p|
struct LargestDifference {
    template <class V>
    static V step(V largest, V x, V y) {
        return maximum(largest, absolute(x - y));
    }
    template <class V>
    static V join(V a, V b) {
        return maximum(a, b);
    }
};

/// result[i][v] = Operation over the depth of row i and vector v of the panel, for its first VECTORS vectors. Of one
/// step of depth, rows lie side by side, and so do columns; those of the next lie behind as many as the strides say.
template <class Operation, std::size_t ROW_STRIDE, std::size_t PANEL_STRIDE, int ROWS, int VECTORS, class T>
inline void accumulate_strided(const T* rows, const T* panel, std::size_t depth, Vec<T> (&result)[ROWS][VECTORS]) {
    Vec<T> sum[ROWS][VECTORS] = {};  // local, so that it stays in registers: nothing else can point to it
    for (std::size_t p = 0; p < depth; ++p) {
        Vec<T> y[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; ++v) y[v] = load<Vec<T>>(panel + p * PANEL_STRIDE + v * LANES<T>);
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; ++i) {
            const auto x = broadcast<Vec<T>>(rows[p * ROW_STRIDE + i]);
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; ++v) sum[i][v] = Operation::step(sum[i][v], x, y[v]);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; ++i)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; ++v) result[i][v] = sum[i][v];
}

/// The same of interleaved rows and a panel of PANEL columns.
template <class Operation, int ROWS, int VECTORS, class T>
inline void accumulate(const T* rows, const T* panel, std::size_t depth, Vec<T> (&result)[ROWS][VECTORS]) {
    accumulate_strided<Operation, ROWS, PANEL<T>>(rows, panel, depth, result);
}

/// The same in segments and groups of them, for more columns than one segment has.
template <class Operation, int ROWS, int VECTORS, class T>
[[gnu::noinline]] void accumulate_groups(const T* rows, const T* panel, std::size_t depth,
                                         Vec<T> (&result)[ROWS][VECTORS]) {
    using Sums = Vec<T>[ROWS][VECTORS];
    const auto join = [](Sums& to, const Sums& sums, bool first) {
        for (int i = 0; i < ROWS; ++i)
            for (int v = 0; v < VECTORS; ++v) to[i][v] = first ? sums[i][v] : Operation::join(to[i][v], sums[i][v]);
    };
    for (std::size_t group = 0; group < depth; group += GROUP) {
        const std::size_t end = std::min(group + GROUP, depth);
        Sums sums, segment;
        for (std::size_t p = group; p < end; p += SEGMENT) {
            accumulate<Operation>(rows + p * ROWS, panel + p * PANEL<T>, std::min(end - p, SEGMENT), segment);
            join(sums, segment, p == group);
        }
        join(result, sums, group == 0);
    }
}

/// The same for any number of columns.
template <class Operation, int ROWS, int VECTORS, class T>
inline void accumulate_all(const T* rows, const T* panel, std::size_t depth, Vec<T> (&result)[ROWS][VECTORS]) {
    if (depth <= SEGMENT)
        accumulate<Operation>(rows, panel, depth, result);
    else
        accumulate_groups<Operation>(rows, panel, depth, result);
}

/// Calls body.operator()<ROWS>() with the run-time `rows` (1 to TILE_ROWS) as a constant.
template <int ROWS = TILE_ROWS, class Body>
inline void with_rows(int rows, Body&& body) {
    if (rows == ROWS) {
        body.template operator()<ROWS>();
    } else if constexpr (ROWS > 1) {
        with_rows<ROWS - 1>(rows, body);
    }
}

/// to[p * stride] = from[p]. Not vectorised: compilers would use scatter instructions, which take several times as long
/// as plain stores on many processors.
template <class T>
[[gnu::optimize("no-tree-vectorize")]] inline void copy_strided(const T* from, std::size_t count, T* to,
                                                                std::size_t stride) {
    for (std::size_t p = 0; p < count; ++p) to[p * stride] = from[p];
}

}  // namespace lowfold
