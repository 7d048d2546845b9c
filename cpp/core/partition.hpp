// Cells: the Voronoi regions of a few centroids, found by Lloyd's algorithm on a sample.
#pragma once

#include <numeric>

#include "points.hpp"
#include "random.hpp"

namespace lowfold {

inline constexpr int LLOYD_STEPS = 4;  // more of them improve the search by less than they cost
inline constexpr std::size_t SAMPLE_PER_CELL = 40;
inline constexpr std::size_t CROWDED = 4;  // a cell this many times the average is divided again
inline constexpr int DIVISIONS = 3;
inline constexpr std::size_t ROWS_AT_ONCE = 256;  // of a thread; one batch of queries
/// Of those rows, at most: 16 megabytes of float32. With four times as many, rows of 50,000 columns take as long.
inline constexpr std::size_t NUMBERS_AT_ONCE = std::size_t{1} << 22;

/// Rows that one thread packs at a time, in whole panels.
inline std::size_t rows_at_once(std::size_t dimensions) {
    return std::clamp<std::size_t>(NUMBERS_AT_ONCE / dimensions, PANEL<float>, ROWS_AT_ONCE) / PANEL<float> *
           PANEL<float>;
}

/// Centroids as interleaved rows, to be scored against panels of points, always in float32.
template <class Operation>
class Centroids {
   public:
    using Engine = FloatEngine<Operation>;
    using PointPanels = Panels<Engine>;

    Centroids(Buffer<float> rows, std::size_t dimensions)
        : dimensions_(dimensions), rows_(std::move(rows)), interleaved_(rows_.size()), half_size_(count()) {
        for (std::size_t first = 0; first < count(); first += TILE_ROWS) {
            const std::size_t tile = std::min<std::size_t>(TILE_ROWS, count() - first);
            for (std::size_t i = 0; i < tile; ++i)
                for (std::size_t p = 0; p < dimensions; ++p)
                    interleaved_[first * dimensions + p * tile + i] = row(first + i)[p];
        }
        for (std::size_t c = 0; c < count(); ++c)
            half_size_[c] = Engine::INNER ? Engine::size(row(c), dimensions) / 2 : 0;
    }

    std::size_t count() const { return rows_.size() / dimensions_; }
    std::size_t dimensions() const { return dimensions_; }
    const float* row(std::size_t c) const { return rows_.data() + c * dimensions_; }
    const Buffer<float>& rows() const { return rows_; }

    /// to[i * stride + column] = d^2/2 or d between centroid `first` + i, for those of one tile, and the point in a
    /// column. Returns how many they are.
    std::size_t score(std::size_t first, const PointPanels& points, float* to, std::size_t stride,
                      Worker& worker) const {
        const std::size_t tile = std::min<std::size_t>(TILE_ROWS, count() - first);
        with_rows(static_cast<int>(tile), [&]<int ROWS>() {
            score_tile<ROWS>(&interleaved_[first * dimensions_], nullptr, points, 0, points.panel_begin.back(), 0.0f,
                             [&](std::size_t panel, auto& scores) {
                                 float* at = to + panel * PANEL<float>;
                                 for (int i = 0; i < ROWS; ++i, at += stride)
                                     for (int v = 0; v < TILE_VECTORS; ++v)
                                         store(at + v * LANES<float>, scores[i][v] + half_size_[first + i]);
                             });
        });
        worker.check_after(TILE_ROWS * points.sizes.size() * dimensions_);
        return tile;
    }

   private:
    std::size_t dimensions_;
    Buffer<float> rows_, interleaved_;
    std::vector<float> half_size_;
};

/// One of each of `count` equal parts of [0, n), at random: distinct, ascending, the same for a seed.
inline std::vector<std::size_t> stratified_sample(std::size_t n, std::size_t count, std::uint64_t seed,
                                                  std::uint64_t stream) {
    count = std::min(n, count);
    std::vector<std::size_t> chosen(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t begin = i * n / count, end = (i + 1) * n / count;
        chosen[i] = begin + random_bits(seed, stream, i) % (end - begin);
    }
    return chosen;
}

/// Takes centroid c where it scores less than the best so far, in whole registers.
inline void keep_nearer(const float* scores, std::size_t c, Buffer<float>& best, Buffer<std::int32_t>& index) {
    const auto number = broadcast<Vec<std::int32_t>>(static_cast<std::int32_t>(c));
    for (std::size_t column = 0; column < best.size(); column += LANES<float>) {
        const auto score = load<Vec<float>>(scores + column), limit = load<Vec<float>>(&best[column]);
        const auto old = load<Vec<std::int32_t>>(&index[column]);
        const auto nearer = score < limit;
        store(&best[column], nearer ? score : limit);
        store(&index[column], nearer ? number : old);
    }
}

/// Index of the nearest centroid of each point i in [0, n); the lowest index among equals.
/// Each entry has one owner. Cost n * centroids * dimensions.
template <class Operation>
std::vector<std::int32_t> nearest_centroids(const Context& context, std::size_t n,
                                            const Centroids<Operation>& centroids, const ReadPoint& read) {
    std::vector<std::int32_t> label(n);
    if (centroids.count() == 1) return label;
    parallel_ranges(context, n, rows_at_once(centroids.dimensions()),
                    [&](std::size_t begin, std::size_t end, Worker& worker) {
                        const typename Centroids<Operation>::PointPanels points(
                            Context{}, centroids.dimensions(), {0, end - begin},
                            [&](std::size_t i, float* to) { read(begin + i, to); });
                        const std::size_t columns = points.sizes.size();
                        Buffer<float> scores(TILE_ROWS * columns), best(columns);
                        Buffer<std::int32_t> index(columns);
                        std::fill(best.begin(), best.end(), INFINITE);
                        std::fill(index.begin(), index.end(), 0);
                        for (std::size_t first = 0; first < centroids.count(); first += TILE_ROWS) {
                            const std::size_t tile = centroids.score(first, points, scores.data(), columns, worker);
                            for (std::size_t i = 0; i < tile; ++i)
                                keep_nearer(&scores[i * columns], first + i, best, index);
                        }
                        std::copy_n(index.begin(), end - begin, label.begin() + begin);
                    });
    return label;
}

/// Points sorted by label: members of label l are order[begin[l] .. begin[l + 1]), ascending.
struct Grouping {
    std::vector<std::size_t> begin;
    std::vector<std::int32_t> order;

    Grouping(const std::vector<std::int32_t>& label, std::size_t labels) : begin(labels + 1), order(label.size()) {
        for (const auto l : label) ++begin[l + 1];
        std::partial_sum(begin.begin(), begin.end(), begin.begin());
        auto at = begin;
        for (std::size_t i = 0; i < label.size(); ++i) order[at[label[i]]++] = static_cast<std::int32_t>(i);
    }
    std::size_t size(std::size_t l) const { return begin[l + 1] - begin[l]; }
};

/// Finds centroids for points i in [0, n), and which of them is the nearest of each point.
template <class Operation>
class Partition {
   public:
    Partition(const Context& context, std::size_t n, std::size_t dimensions, std::uint64_t seed, const ReadPoint& read)
        : context_(context), n_(n), dimensions_(dimensions), seed_(seed), read_(read) {}

    std::vector<std::int32_t> labels;

    /// About `cells` centroids; more where the first ones left crowded cells.
    Centroids<Operation> centroids(std::size_t cells) {
        cells = std::min(cells, n_);
        std::vector<std::int32_t> everything(n_);
        std::iota(everything.begin(), everything.end(), 0);
        Buffer<float> found = lloyd(everything, cells);
        for (int division = 0;; ++division) {
            Centroids<Operation> centroids(found, dimensions_);
            labels = nearest_centroids(context_, n_, centroids, read_);
            if (division == DIVISIONS || !divide_crowded(found, CROWDED * n_ / cells, n_ / cells)) return centroids;
        }
    }

   private:
    /// Lloyd's algorithm on a sample of `members`.
    Buffer<float> lloyd(const std::vector<std::int32_t>& members, std::size_t cells) {
        ++stream_;
        const auto sample = stratified_sample(members.size(), cells * SAMPLE_PER_CELL, seed_, stream_);
        Buffer<float> points(sample.size() * dimensions_);
        parallel_ranges(context_, sample.size(), rows_at_once(dimensions_),
                        [&](std::size_t begin, std::size_t end, Worker& worker) {
                            for (std::size_t i = begin; i < end; ++i) {
                                read_(members[sample[i]], &points[i * dimensions_]);
                                worker.check_after(dimensions_);
                            }
                        });
        Buffer<float> centres(std::min(cells, sample.size()) * dimensions_);
        const auto first = stratified_sample(sample.size(), cells, seed_, ++stream_);
        for (std::size_t c = 0; c < first.size(); ++c)
            std::copy_n(&points[first[c] * dimensions_], dimensions_, &centres[c * dimensions_]);
        const auto read = [&](std::size_t i, float* to) { std::copy_n(&points[i * dimensions_], dimensions_, to); };
        for (int step = 0; step < LLOYD_STEPS; ++step) {
            const Grouping groups(
                nearest_centroids(context_, sample.size(), Centroids<Operation>(centres, dimensions_), read),
                first.size());
            move_to_means(centres, points, groups);
        }
        return centres;
    }

    /// Each centroid has one owner and sums its members in order. An empty cell keeps its centroid.
    void move_to_means(Buffer<float>& centres, const Buffer<float>& points, const Grouping& groups) {
        parallel_for(context_, groups.begin.size() - 1, [&](std::size_t c, Worker& worker) {
            if (groups.size(c) == 0) return;
            std::vector<double> sum(dimensions_);
            for (std::size_t m = groups.begin[c]; m < groups.begin[c + 1]; ++m) {
                for (std::size_t p = 0; p < dimensions_; ++p) sum[p] += points[groups.order[m] * dimensions_ + p];
                worker.check_after(dimensions_);
            }
            for (std::size_t p = 0; p < dimensions_; ++p)
                centres[c * dimensions_ + p] = static_cast<float>(sum[p] / static_cast<double>(groups.size(c)));
        });
    }

    /// Replaces the centroid of each cell above `limit` points by several; true if there was one.
    bool divide_crowded(Buffer<float>& centres, std::size_t limit, std::size_t aim) {
        const std::size_t cells = centres.size() / dimensions_;
        const Grouping groups(labels, cells);
        Buffer<float> divided;
        for (std::size_t c = 0; c < cells; ++c) {
            const auto centre = centres.begin() + c * dimensions_;
            if (groups.size(c) <= limit) {
                divided.insert(divided.end(), centre, centre + dimensions_);
                continue;
            }
            const std::vector<std::int32_t> members(groups.order.begin() + groups.begin[c],
                                                    groups.order.begin() + groups.begin[c + 1]);
            const auto parts = lloyd(members, (members.size() + aim - 1) / aim);
            divided.insert(divided.end(), parts.begin(), parts.end());
        }
        const bool any = divided.size() != centres.size();
        centres = std::move(divided);
        return any;
    }

    const Context& context_;
    std::size_t n_, dimensions_;
    std::uint64_t seed_, stream_ = 0;
    const ReadPoint& read_;
};

}  // namespace lowfold
