// Sparse matrices over the points of a graph, and the symmetric graph of a list of neighbours.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "matrix.hpp"
#include "parallel.hpp"

namespace lowfold {

/// A sparse matrix by rows that somebody else owns: row i has columns[begin[i] .. begin[i + 1]).
template <class T>
struct SparseView {
    const std::int64_t* begin = nullptr;
    const std::int32_t* columns = nullptr;
    const T* values = nullptr;
    std::size_t rows = 0;
};

/// A sparse matrix by rows; the columns of a row ascend.
template <class T>
struct SparseMatrix {
    Buffer<std::int64_t> begin;
    Buffer<std::int32_t> columns;
    Buffer<T> values;

    SparseView<T> view() const { return {begin.data(), columns.data(), values.data(), begin.size() - 1}; }

    /// Turns counts in begin[i + 1] into offsets, and makes room.
    void allocate() {
        for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
        columns.resize(static_cast<std::size_t>(begin.back()));
        values.resize(static_cast<std::size_t>(begin.back()));
    }
};

/// For each of `points` points, the places (row * width + column) of `entries` at which it stands, in ascending order.
struct Occurrences {
    Buffer<std::int64_t> begin, places;

    Occurrences(const Context& context, const std::int32_t* entries, std::size_t count, std::size_t points)
        : begin(points + 1), places(count) {
        std::fill(begin.begin(), begin.end(), 0);
        in_parts(context, count, [&](std::size_t place) { ++begin[entries[place] + 1]; });
        for (std::size_t i = 0; i < points; ++i) begin[i + 1] += begin[i];
        Buffer<std::int64_t> next(begin.begin(), begin.end() - 1);
        in_parts(context, count, [&](std::size_t place) { places[next[entries[place]]++] = place; });
    }

   private:
    /// Calls body(place) for each place in turn, and hears in between that it is to stop: there may be a hundred
    /// million.
    template <class Body>
    static void in_parts(const Context& context, std::size_t count, const Body& body) {
        constexpr std::size_t AT_ONCE = 1 << 16;
        alone(context, [&](Worker& worker) {
            for (std::size_t first = 0; first < count; first += AT_ONCE) {
                const std::size_t last = std::min(count, first + AT_ONCE);
                for (std::size_t place = first; place < last; ++place) body(place);
                worker.check();
            }
        });
    }
};

/// The graph with an edge i - j, in both directions, wherever one of the two is a neighbour of the other. Where both
/// are, its length is the one that the lower of the two has for it: the two may differ in their last bits.
/// Each row has one owner. Cost n k log k.
template <class T>
class SymmetricGraph {
   public:
    SymmetricGraph(const Context& context, MatrixView<const std::int32_t> neighbors, const T* lengths)
        : context_(context),
          neighbors_(neighbors),
          lengths_(lengths),
          reverse_(context, neighbors.data, neighbors.rows * neighbors.columns, neighbors.rows) {}

    SparseMatrix<T> build() const {
        const std::size_t n = neighbors_.rows, k = neighbors_.columns;
        SparseMatrix<T> graph;
        graph.begin.resize(n + 1);
        graph.begin[0] = 0;
        parallel_ranges(context_, n, ROWS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
            for (std::size_t i = first; i < last; ++i) {
                std::int64_t degree = static_cast<std::int64_t>(k);
                for (auto at = reverse_.begin[i]; at < reverse_.begin[i + 1]; ++at) degree += !has(i, from(at));
                graph.begin[i + 1] = degree;
                worker.check_after(static_cast<std::size_t>(reverse_.begin[i + 1] - reverse_.begin[i]) * k);
            }
        });
        graph.allocate();
        parallel_ranges(context_, n, ROWS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
            std::vector<Edge> own(k);
            for (std::size_t i = first; i < last; ++i) {
                for (std::size_t l = 0; l < k; ++l) own[l] = {neighbors_.row(i)[l], lengths_[i * k + l]};
                std::sort(own.begin(), own.end(), [](const Edge& a, const Edge& b) { return a.to < b.to; });
                merge(i, own, graph.columns.data() + graph.begin[i], graph.values.data() + graph.begin[i]);
                worker.check_after(static_cast<std::size_t>(graph.begin[i + 1] - graph.begin[i]));
            }
        });
        return graph;
    }

   private:
    static constexpr std::size_t ROWS_AT_ONCE = 512;

    struct Edge {
        std::int32_t to;
        T length;
    };

    /// The point that has another among its neighbours at the given place of the other's occurrences.
    std::int32_t from(std::int64_t at) const {
        return static_cast<std::int32_t>(reverse_.places[at] / static_cast<std::int64_t>(neighbors_.columns));
    }

    bool has(std::size_t i, std::int32_t j) const {
        bool found = false;
        for (std::size_t l = 0; l < neighbors_.columns; ++l) found |= neighbors_.row(i)[l] == j;
        return found;
    }

    /// The edges of point i by their other end: its own and those of the points that have it as a neighbour.
    void merge(std::size_t i, const std::vector<Edge>& own, std::int32_t* columns, T* lengths) const {
        auto next = own.begin();
        const auto write = [&](Edge edge) {
            *columns++ = edge.to;
            *lengths++ = edge.length;
        };
        for (auto at = reverse_.begin[i]; at < reverse_.begin[i + 1]; ++at) {
            const Edge back{from(at), lengths_[reverse_.places[at]]};
            while (next != own.end() && next->to < back.to) write(*next++);
            const bool both = next != own.end() && next->to == back.to;
            write(both && static_cast<std::size_t>(back.to) > i ? *next : back);
            next += both;
        }
        while (next != own.end()) write(*next++);
    }

    Context context_;
    MatrixView<const std::int32_t> neighbors_;
    const T* lengths_;
    Occurrences reverse_;
};

/// For each point of a symmetric graph the lowest point that it hangs together with. Trees of points are merged along
/// the edges, and paths to their roots halved on the way (Tarjan and van Leeuwen 1984). Cost about the edges.
template <class T>
void find_components(SparseView<T> graph, std::int32_t* lowest, Worker& worker) {
    constexpr std::size_t ROWS_AT_ONCE = 4096;
    for (std::size_t i = 0; i < graph.rows; ++i) lowest[i] = static_cast<std::int32_t>(i);
    const auto root = [&](std::int32_t i) {
        while (lowest[i] != i) i = lowest[i] = lowest[lowest[i]];
        return i;
    };
    for (std::size_t i = 0; i < graph.rows; ++i) {
        if (i % ROWS_AT_ONCE == 0) worker.check();
        for (auto at = graph.begin[i]; at < graph.begin[i + 1]; ++at) {
            const auto a = root(static_cast<std::int32_t>(i)), b = root(graph.columns[at]);
            lowest[std::max(a, b)] = std::min(a, b);
        }
    }
    for (std::size_t i = 0; i < graph.rows; ++i) lowest[i] = root(static_cast<std::int32_t>(i));
}

}  // namespace lowfold
