// Sparse matrices in another order, and times diagonal ones.
#pragma once

#include <vector>

#include "graph.hpp"

namespace lowfold {

/// The points of a symmetric graph in an order in which neighbours stand near each other: Cuthill and McKee's (1969),
/// reversed. Each component is gone through in breadth, from a point with the fewest neighbours on, and the neighbours
/// of a point by their own numbers of neighbours. Cost: the entries, sorted row by row; one thread.
template <class T>
Buffer<std::int32_t> banded_order(SparseView<T> A, Worker& worker) {
    constexpr std::size_t ROWS_AT_ONCE = 4096;
    const std::size_t n = A.rows;
    const auto degree = [&](std::int32_t i) { return A.begin[i + 1] - A.begin[i]; };
    Buffer<std::int32_t> starts(n), order;
    for (std::size_t i = 0; i < n; ++i) starts[i] = static_cast<std::int32_t>(i);
    std::stable_sort(starts.begin(), starts.end(), [&](auto a, auto b) { return degree(a) < degree(b); });
    std::vector<char> seen(n, 0);
    order.reserve(n);
    const auto add = [&](std::int32_t i) {
        if (seen[static_cast<std::size_t>(i)]) return;
        seen[static_cast<std::size_t>(i)] = 1;
        order.push_back(i);
    };
    std::size_t next = 0;
    for (const std::int32_t start : starts) {
        add(start);
        for (; next < order.size(); ++next) {
            if (next % ROWS_AT_ONCE == 0) worker.check();
            const auto first = static_cast<std::ptrdiff_t>(order.size());
            for (auto at = A.begin[order[next]]; at < A.begin[order[next] + 1]; ++at) add(A.columns[at]);
            std::stable_sort(order.begin() + first, order.end(), [&](auto a, auto b) { return degree(a) < degree(b); });
        }
    }
    std::reverse(order.begin(), order.end());
    return order;
}

/// A with rows and columns in a given order: entry (i, j) of the result is A's (order[i], order[j]). The columns of a
/// row ascend, or stand as they did in A, which takes a fifth of the time. Each row has one owner. Cost: the entries.
template <class T>
SparseMatrix<T> permuted(const Context& context, SparseView<T> A, const std::int32_t* order, bool ascending) {
    constexpr std::size_t ROWS_AT_ONCE = 1024;
    const std::size_t n = A.rows;
    Buffer<std::int32_t> rank(n);
    SparseMatrix<T> result;
    result.begin.resize(n + 1);
    result.begin[0] = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const auto old = static_cast<std::size_t>(order[i]);
        rank[old] = static_cast<std::int32_t>(i);
        result.begin[i + 1] = A.begin[old + 1] - A.begin[old];
    }
    result.allocate();
    parallel_ranges(context, n, ROWS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
        std::vector<std::uint64_t> row;  // new column, and place in the old row
        for (std::size_t i = first; i < last; ++i) {
            const auto old = static_cast<std::size_t>(order[i]);
            row.clear();
            const auto begin = A.begin[old];
            worker.check_after(static_cast<std::size_t>(A.begin[old + 1] - begin));
            if (!ascending) {
                auto to = static_cast<std::size_t>(result.begin[i]);
                for (auto at = begin; at < A.begin[old + 1]; ++at) {
                    result.columns[to] = rank[static_cast<std::size_t>(A.columns[at])];
                    result.values[to++] = A.values[at];
                }
                continue;
            }
            for (auto at = begin; at < A.begin[old + 1]; ++at)
                row.push_back(static_cast<std::uint64_t>(rank[static_cast<std::size_t>(A.columns[at])]) << 32 |
                              static_cast<std::uint64_t>(at - begin));
            std::sort(row.begin(), row.end());
            std::size_t to = static_cast<std::size_t>(result.begin[i]);
            for (const std::uint64_t entry : row) {
                result.columns[to] = static_cast<std::int32_t>(entry >> 32);
                result.values[to++] = A.values[begin + static_cast<std::int64_t>(entry & 0xFFFFFFFF)];
            }
        }
    });
    return result;
}

/// The transpose of a square matrix; the columns of a row ascend. One thread. Cost: the entries.
template <class T>
SparseMatrix<T> transposed(SparseView<T> A) {
    const std::size_t n = A.rows;
    SparseMatrix<T> result;
    result.begin.resize(n + 1);
    std::fill(result.begin.begin(), result.begin.end(), 0);
    for (auto at = A.begin[0]; at < A.begin[n]; ++at) ++result.begin[static_cast<std::size_t>(A.columns[at]) + 1];
    result.allocate();
    Buffer<std::int64_t> next(result.begin.begin(), result.begin.end() - 1);
    for (std::size_t i = 0; i < n; ++i)
        for (auto at = A.begin[i]; at < A.begin[i + 1]; ++at) {
            const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(A.columns[at])]++);
            result.columns[to] = static_cast<std::int32_t>(i);
            result.values[to] = A.values[at];
        }
    return result;
}

/// out = the values of diag(scale) A diag(scale). Each row has one owner.
template <class T>
void scale_both_sides(const Context& context, SparseView<T> A, const T* scale, T* out) {
    constexpr std::size_t ROWS_AT_ONCE = 4096;
    parallel_ranges(context, A.rows, ROWS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
        for (std::size_t i = first; i < last; ++i)
            for (auto at = A.begin[i]; at < A.begin[i + 1]; ++at)
                out[at] = scale[i] * A.values[at] * scale[A.columns[at]];
        worker.check();
    });
}

}  // namespace lowfold
