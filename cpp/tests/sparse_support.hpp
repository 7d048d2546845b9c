// Sparse matrices for the tests.
#pragma once

#include <algorithm>
#include <cstring>
#include <tuple>
#include <vector>

#include "data.hpp"
#include "graph.hpp"
#include "harness.hpp"

namespace lowfold::tests {

template <class T>
struct Entry {
    std::size_t row, column;
    T value;
};

/// The matrix of a list of entries, each place at most once.
template <class T>
SparseMatrix<T> make_sparse(std::size_t rows, std::vector<Entry<T>> entries) {
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return std::tie(a.row, a.column) < std::tie(b.row, b.column); });
    SparseMatrix<T> matrix;
    matrix.begin.resize(rows + 1);
    std::fill(matrix.begin.begin(), matrix.begin.end(), 0);
    for (const auto& entry : entries) ++matrix.begin[entry.row + 1];
    matrix.allocate();
    for (std::size_t at = 0; at < entries.size(); ++at) {
        matrix.columns[at] = static_cast<std::int32_t>(entries[at].column);
        matrix.values[at] = entries[at].value;
    }
    return matrix;
}

template <class T>
SparseView<T> view(const SparseMatrix<T>& matrix) {
    return {matrix.begin.data(), matrix.columns.data(), matrix.values.data(), matrix.begin.size() - 1};
}

/// The same entries at the same places, the values in every bit.
template <class T>
void expect_same_matrix(const SparseMatrix<T>& found, const SparseMatrix<T>& wanted, const std::string& what,
                        Where where = Where::current()) {
    expect(found.begin == wanted.begin, text("the rows' lengths: ", what), where);
    expect(found.columns == wanted.columns, text("the columns: ", what), where);
    expect(found.values.size() == wanted.values.size() &&
               (found.values.empty() ||
                std::memcmp(found.values.data(), wanted.values.data(), found.values.size() * sizeof(T)) == 0),
           text("the values: ", what), where);
}

/// k different neighbours for each of n points, none of them the point itself; where `strides` > 1 point i has
/// neighbours j = i modulo `strides` only.
inline Data<std::int32_t> random_neighbors(std::size_t n, std::size_t k, Dice& dice, std::size_t strides = 1) {
    Data<std::int32_t> neighbors(n, k);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t l = 0; l < k;) {
            const std::size_t j = dice.below(n);
            const auto same = [&](std::int32_t other) { return static_cast<std::size_t>(other) == j; };
            if (j == i || j % strides != i % strides || std::any_of(neighbors.row(i), neighbors.row(i) + l, same))
                continue;
            neighbors.row(i)[l++] = static_cast<std::int32_t>(j);
        }
    return neighbors;
}

/// Whole numbers in [-8, 8]: sums of some thousand products are exact in float32, whatever their order.
template <class T>
Data<T> whole_numbers(std::size_t rows, std::size_t columns, std::uint64_t seed) {
    Dice dice(seed);
    Data<T> data(rows, columns);
    for (auto& x : data.values) x = static_cast<T>(static_cast<double>(dice.below(17)) - 8);
    return data;
}

/// About `per_row` whole numbers in each row, none in every seventh; not symmetric, so that rows are not columns.
template <class T>
SparseMatrix<T> sparse_whole_numbers(std::size_t rows, std::size_t per_row, std::uint64_t seed) {
    Dice dice(seed);
    std::vector<Entry<T>> entries;
    for (std::size_t i = 0; i < rows; ++i) {
        const std::size_t step = std::max<std::size_t>(rows / per_row, 1);
        for (std::size_t j = dice.below(step); j < rows && i % 7 != 3; j += step)
            entries.push_back({i, j, static_cast<T>(static_cast<double>(dice.below(17)) - 8)});
    }
    return make_sparse(rows, entries);
}

}  // namespace lowfold::tests
