// Shortest paths in a graph from many starts at once, one start in each lane of a vector.
#pragma once

#include <algorithm>
#include <limits>

#include "graph.hpp"
#include "simd.hpp"

namespace lowfold {

/// Where paths begin: row r starts at nodes[r][l] with length lengths[r][l] already behind it, for any l.
template <class T>
struct Starts {
    MatrixView<const std::int32_t> nodes;
    const T* lengths;
};

/// The rows of `starts` in an order in which rows that begin near each other in the graph stand together: breadth first
/// from one of them until a group is full, then on from the next that is left.
template <class T>
std::vector<std::size_t> grouped(SparseView<T> graph, const Starts<T>& starts, std::size_t group) {
    const std::size_t rows = starts.nodes.rows;
    std::vector<std::int64_t> first(graph.rows, -1), next(rows, -1);  // rows by the node that they begin at
    for (std::size_t r = rows; r-- > 0;) {
        const auto node = starts.nodes.row(r)[0];
        next[r] = first[node];
        first[node] = static_cast<std::int64_t>(r);
    }
    std::vector<std::size_t> order, queue;
    std::vector<std::size_t> seen(graph.rows, 0);
    std::size_t patch = 0;
    for (std::size_t node = 0; node < graph.rows; ++node) {
        while (first[node] >= 0) {
            queue.assign(1, node);
            seen[node] = ++patch;
            const std::size_t end = order.size() + group, farthest = 64 * group;  // nodes looked at
            for (std::size_t at = 0; at < queue.size() && at < farthest && order.size() < end; ++at) {
                auto& row = first[queue[at]];
                for (; row >= 0 && order.size() < end; row = next[row]) order.push_back(static_cast<std::size_t>(row));
                for (auto edge = graph.begin[queue[at]]; edge < graph.begin[queue[at] + 1]; ++edge) {
                    const auto to = static_cast<std::size_t>(graph.columns[edge]);
                    if (seen[to] != patch) {
                        seen[to] = patch;
                        queue.push_back(to);
                    }
                }
            }
        }
    }
    return order;
}

/// The length of the shortest path from each start to each target.
///
/// A node whose label fell offers its neighbours a way through it, until no label falls. Nodes wait in buckets, each
/// twice as wide as a typical edge is long, and the nearest bucket is served first (Meyer and Sanders 2003). Starts
/// near each other reach a node at about the same time; it waits where the last of its labels that fell belongs, so
/// that it makes its offers for most of them together. Each label is the smallest sum over all paths, added up from the
/// start: the bits that Dijkstra's algorithm gives, whatever the order. Each group of rows has one owner.
template <class T>
class Geodesics {
   public:
    static constexpr std::size_t LANE_COUNT = 256 / sizeof(T);  // four cache lines for each node
    static constexpr T UNREACHED = std::numeric_limits<T>::infinity();

    /// out[r][c] = the shortest way from start r to node targets[c].
    static void solve(const Context& context, SparseView<T> graph, const Starts<T>& starts, const std::int32_t* targets,
                      MatrixView<T> out) {
        const std::vector<std::size_t> order = grouped(graph, starts, LANE_COUNT);
        const T width = bucket_width(graph);
        parallel_ranges(context, order.size(), LANE_COUNT, [&](std::size_t first, std::size_t last, Worker& worker) {
            Geodesics group(graph, width);
            for (std::size_t r = first; r < last; ++r) group.begin(starts, order[r], r - first);
            group.serve(worker);
            for (std::size_t c = 0; c < out.columns; ++c) {
                const T* labels = group.labels(targets[c]);
                for (std::size_t r = first; r < last; ++r) out.row(order[r])[c] = labels[r - first];
            }
        });
    }

   private:
    using Lanes = Vec<T>;
    static constexpr std::size_t WIDTH = LANES<T>, VECTORS = LANE_COUNT / WIDTH;
    static constexpr std::size_t BUCKETS = 1 << 14;  // what is farther than all of them waits in the last one, unsorted
    static constexpr std::size_t CHECK_EVERY = 4096;
    static constexpr std::int32_t NOWHERE = std::numeric_limits<std::int32_t>::max();

    Geodesics(SparseView<T> graph, T width)
        : graph_(graph),
          width_(width),
          labels_(graph.rows * LANE_COUNT, UNREACHED),
          waits_in_(graph.rows, NOWHERE),
          buckets_(1) {}

    /// Twice the median length of the edges, or 1 where that is zero.
    static T bucket_width(SparseView<T> graph) {
        std::vector<T> lengths(graph.values, graph.values + graph.begin[graph.rows]);
        if (lengths.empty()) return T{1};
        const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
        std::nth_element(lengths.begin(), middle, lengths.end());
        return *middle > 0 ? 2 * *middle : T{1};
    }

    T* labels(std::size_t node) { return &labels_[node * LANE_COUNT]; }

    void begin(const Starts<T>& starts, std::size_t row, std::size_t lane) {
        const std::size_t k = starts.nodes.columns;
        for (std::size_t l = 0; l < k; ++l) {
            const auto node = starts.nodes.row(row)[l];
            const T length = starts.lengths[row * k + l];
            if (length < labels(node)[lane]) {
                labels(node)[lane] = length;
                wait(node, length);
            }
        }
    }

    std::size_t bucket(T label) const {
        return static_cast<std::size_t>(std::min(label / width_, static_cast<T>(BUCKETS - 1)));
    }

    /// A node that waits in an earlier bucket stays there; one that moves to an earlier one leaves a stale entry
    /// behind.
    void wait(std::int32_t node, T label) {
        const auto number = static_cast<std::int32_t>(std::max(bucket(label), current_));
        if (number >= waits_in_[node]) return;
        waits_in_[node] = number;
        if (static_cast<std::size_t>(number) >= buckets_.size()) buckets_.resize(static_cast<std::size_t>(number) + 1);
        buckets_[number].push_back(node);
    }

    void serve(Worker& worker) {
        std::size_t served = 0;
        for (current_ = 0; current_ < buckets_.size(); ++current_) {
            for (std::size_t at = 0; at < buckets_[current_].size(); ++at) {  // it may grow meanwhile
                prefetch(buckets_[current_], at + 2);
                const auto node = buckets_[current_][at];
                if (waits_in_[node] != static_cast<std::int32_t>(current_)) continue;
                waits_in_[node] = NOWHERE;
                offer(node);
                if (++served % CHECK_EVERY == 0) worker.check();
            }
            buckets_[current_] = {};
        }
    }

    /// The labels of large graphs are far away: asked for two nodes ahead.
    void prefetch(const std::vector<std::int32_t>& waiting, std::size_t at) {
        if (at >= waiting.size()) return;
        const auto node = static_cast<std::size_t>(waiting[at]);
        __builtin_prefetch(&graph_.columns[graph_.begin[node]]);
        __builtin_prefetch(&graph_.values[graph_.begin[node]]);
        prefetch_labels(node);
    }

    void prefetch_labels(std::size_t node) {
        for (std::size_t lane = 0; lane < LANE_COUNT; lane += CACHE_LINE / sizeof(T))
            __builtin_prefetch(labels(node) + lane);
    }

    /// Offers the neighbours of a node a way through it.
    void offer(std::int32_t node) {
        const auto first = graph_.begin[node], last = graph_.begin[node + 1];
        for (auto at = first; at < last; ++at) prefetch_labels(static_cast<std::size_t>(graph_.columns[at]));
        Lanes here[VECTORS];
        for (std::size_t v = 0; v < VECTORS; ++v) here[v] = load<Lanes>(labels(node) + v * WIDTH);
        for (auto at = first; at < last; ++at) {
            T* to = labels(static_cast<std::size_t>(graph_.columns[at]));
            Lanes farthest = broadcast<Lanes>(T{-1});
            bool shorter = false;
            for (std::size_t v = 0; v < VECTORS; ++v) {
                const Lanes there = load<Lanes>(to + v * WIDTH), through = here[v] + graph_.values[at];
                const auto below = through < there;
                if (!any(below)) continue;
                shorter = true;
                store(to + v * WIDTH, below ? through : there);
                farthest = below && through > farthest ? through : farthest;
            }
            if (shorter) wait(graph_.columns[at], largest(farthest));
        }
    }

    template <class Mask>
    static bool any(Mask mask) {
#if defined(__AVX512F__)
        return _mm512_movepi32_mask((__m512i)mask) != 0;
#elif defined(__AVX2__)
        return _mm256_movemask_epi8((__m256i)mask) != 0;
#else
        std::uint64_t words[VECTOR_BYTES / 8];
        std::memcpy(words, &mask, sizeof(words));
        return std::any_of(std::begin(words), std::end(words), [](std::uint64_t word) { return word != 0; });
#endif
    }

    static T largest(Lanes lanes) {
        T values[WIDTH];
        store(values, lanes);
        for (std::size_t half = WIDTH / 2; half > 0; half /= 2)
            for (std::size_t i = 0; i < half; ++i) values[i] = std::max(values[i], values[i + half]);
        return values[0];
    }

    SparseView<T> graph_;
    T width_;
    Buffer<T> labels_;
    std::vector<std::int32_t> waits_in_;  // the bucket that each node waits in
    std::vector<std::vector<std::int32_t>> buckets_;
    std::size_t current_ = 0;
};

}  // namespace lowfold
