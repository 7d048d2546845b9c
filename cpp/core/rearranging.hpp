// Sparse matrices in another order, and times diagonal ones.
#pragma once

#include <vector>

#include "graph.hpp"

namespace lowfold {

/// A with rows and columns in a given order: entry (i, j) of the result is A's (order[i], order[j]). The columns of a
/// row ascend. Each row has one owner. Cost: the entries, sorted row by row.
template <class T>
SparseMatrix<T> permuted(const Context& context, SparseView<T> A, const std::int32_t* order) {
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
        std::vector<std::pair<std::int32_t, T>> row;
        for (std::size_t i = first; i < last; ++i) {
            const auto old = static_cast<std::size_t>(order[i]);
            row.clear();
            for (auto at = A.begin[old]; at < A.begin[old + 1]; ++at)
                row.emplace_back(rank[static_cast<std::size_t>(A.columns[at])], A.values[at]);
            std::sort(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
            std::size_t to = static_cast<std::size_t>(result.begin[i]);
            for (const auto& [column, value] : row) {
                result.columns[to] = column;
                result.values[to++] = value;
            }
        }
        worker.check();
    });
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
