// When edges fire: an edge with the word p = 2^32 w / largest does so in the epochs t >= 1 in which floor(t p / 2^32)
// grows, which is where t p < p modulo 2^32. Nothing has to be kept about an edge.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "graph.hpp"
#include "lots.hpp"
#include "simd.hpp"

namespace lowfold {

/// The edges of a graph with their words, without those that would not fire in `epochs` epochs. With a seed each row is
/// put in an order by lot: in the order of memory, points would drift towards their last neighbours. Each row has one
/// owner. Cost O(edges).
inline SparseMatrix<std::uint32_t> firing_edges(const Context& context, SparseView<float> graph, float largest,
                                                std::uint32_t epochs, std::optional<std::uint32_t> seed) {
    constexpr std::size_t ROWS_AT_ONCE = 1024;
    const auto word = [&](float weight) {
        const double share = 4294967296.0 * static_cast<double>(weight) / static_cast<double>(largest);
        return static_cast<std::uint32_t>(std::min(share, 4294967295.0));
    };
    const auto kept = [&](std::uint32_t word) { return std::uint64_t{word} * epochs >= 0xFFFFFFFFu; };
    SparseMatrix<std::uint32_t> out;
    out.begin.assign(graph.rows + 1, 0);
    parallel_ranges(context, graph.rows, ROWS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
        for (std::size_t i = first; i < last; ++i)
            out.begin[i + 1] = std::count_if(graph.values + graph.begin[i], graph.values + graph.begin[i + 1],
                                             [&](float weight) { return kept(word(weight)); });
        worker.check();
    });
    out.allocate();
    parallel_ranges(context, graph.rows, ROWS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
        for (std::size_t i = first; i < last; ++i) {
            std::int64_t to = out.begin[i];
            for (auto at = graph.begin[i]; at < graph.begin[i + 1]; ++at) {
                const std::uint32_t edge = word(graph.values[at]);
                if (!kept(edge)) continue;
                out.columns[to] = graph.columns[at];
                out.values[to++] = edge;
            }
            if (!seed) continue;
            Lots lots(*seed, 0, static_cast<std::uint32_t>(i));
            for (std::int64_t left = to - out.begin[i]; left > 1; --left) {
                const std::int64_t chosen = out.begin[i] + lots.below(static_cast<std::size_t>(left)), other = --to;
                std::swap(out.columns[chosen], out.columns[other]);
                std::swap(out.values[chosen], out.values[other]);
            }
        }
        worker.check();
    });
    return out;
}

/// The edges that fire in an epoch, of some rows one after another.
class Fired {
   public:
    /// Those of rows [first, last).
    void collect(SparseView<std::uint32_t> edges, std::size_t first, std::size_t last, std::uint32_t epoch) {
        using Words = Vec<std::uint32_t>;
        base_ = edges.begin[first];
        begin_ = edges.begin;
        const auto count = static_cast<std::size_t>(edges.begin[last] - base_), blocks = count / WIDTH + 1;
        points_.resize(count + WIDTH);
        before_.resize(blocks);
        bits_.resize(blocks);
        std::uint32_t found = 0;
        for (std::size_t block = 0; block < blocks; ++block) {
            const std::size_t at = block * WIDTH, rest = std::min(WIDTH, count - at);
            Words words{};
            Vec<std::int32_t> columns{};
            if (rest == WIDTH) {
                words = load<Words>(edges.values + base_ + at);
                columns = load<Vec<std::int32_t>>(edges.columns + base_ + at);
            } else {
                for (std::size_t lane = 0; lane < rest; ++lane) {
                    words[lane] = edges.values[base_ + at + lane];
                    columns[lane] = edges.columns[base_ + at + lane];
                }
            }
            const std::uint32_t bits = below(words * epoch, words);  // lanes without an edge hold 0, which never fires
            before_[block] = found;
            bits_[block] = bits;
            store_chosen(points_.data() + found, columns, bits);
            found += static_cast<std::uint32_t>(__builtin_popcount(bits));
        }
    }

    /// Where row i's begin among the points; i may be the end of the rows.
    std::uint32_t begin(std::size_t i) const {
        const auto at = static_cast<std::size_t>(begin_[i] - base_);
        const std::uint32_t lower = (1u << at % WIDTH) - 1;
        return before_[at / WIDTH] + static_cast<std::uint32_t>(__builtin_popcount(bits_[at / WIDTH] & lower));
    }

    /// The other ends.
    const std::int32_t* points() const { return points_.data(); }

   private:
    static constexpr std::size_t WIDTH = LANES<std::uint32_t>;
    std::int64_t base_ = 0;
    const std::int64_t* begin_ = nullptr;
    Buffer<std::int32_t> points_;
    Buffer<std::uint32_t> before_, bits_;
};

}  // namespace lowfold
