// Points in cells, as an engine scores them. Nothing here hangs on the type of the points, so it is compiled once.
#pragma once

#include <cmath>
#include <memory>
#include <numeric>

#include "candidates.hpp"
#include "distance.hpp"
#include "partition.hpp"

namespace lowfold {

template <class Engine, class Operation>
class Cells {
   public:
    /// About `cells` of n points, which `read` moves into the frame of the search.
    Cells(const Context& context, std::size_t n, std::size_t dimensions, std::size_t cells, std::uint64_t seed,
          const ReadPoint& read)
        : dimensions_(dimensions) {
        Partition<Operation> partition(context, n, dimensions, seed, read);
        centroids_ = std::make_unique<Centroids<Operation>>(partition.centroids(cells));
        Grouping groups(partition.labels, count());
        order_ = std::move(groups.order);
        begin_ = std::move(groups.begin);
        position_.resize(n);
        cell_.resize(n);
        // Short: two numbers for each of 4096 points.
        parallel_ranges(context, n, 4096, [&](std::size_t begin, std::size_t end, Worker&) {
            for (std::size_t i = begin; i < end; ++i) {
                position_[order_[i]] = static_cast<std::int32_t>(i);
                cell_[i] = partition.labels[order_[i]];
            }
        });
    }

    /// Makes ready what is scored: `read` gives points by their position. metric: of the distances between centroids.
    void pack(const Context& context, Metric metric, const ReadPoint& read) {
        panels_ = std::make_unique<Panels<Engine>>(context, dimensions_, begin_, read);
        measure_cells(context, Engine::INNER || Engine::SQUARES ? Metric::euclidean : metric);
        measure_error();
    }

    std::size_t count() const { return centroids_->count(); }
    std::size_t dimensions() const { return dimensions_; }
    const Centroids<Operation>& centroids() const { return *centroids_; }
    const Panels<Engine>& panels() const { return *panels_; }

    /// The first position in each cell, and the number of points.
    const std::vector<std::size_t>& begin() const { return begin_; }
    /// Indices of all points, cell by cell.
    const std::vector<std::int32_t>& order() const { return order_; }
    std::int32_t position(std::int32_t index) const { return position_[index]; }
    std::int32_t cell_at(std::int32_t position) const { return cell_[position]; }

    /// All cells by the distance of their centroids from that of one, which comes first.
    const std::int32_t* nearest_to(std::size_t cell) const { return &nearest_cells_[cell * count()]; }

    /// The engine's error, for the points themselves or for other queries.
    float error(bool of_points) const { return of_points ? error_ : query_error_; }

    /// An upper bound of the distance from x to the centroid of its home, given its score there.
    float distance_home(float own, float size, std::size_t home) const {
        const float upper = rounded_up(own, size) + slack(home);
        return Engine::INNER ? std::sqrt(2 * std::max(upper, 0.0f)) : upper;
    }

    /// What a row's own score is taken for: not less than it can be.
    float rounded_up(float own, float size) const { return own + 2 * float_error(dimensions_) * size + Engine::LOST; }

    /// A function (score of the cell's centroid, score of the home centroid rounded up, distance to it) -> margin of
    /// the cell: how near to x its points can be at best, or less. For numbers and for registers of them. The larger of
    /// two bounds, since the first says nothing of cells with far points, where scores are rounded: with |y - c_j| <=
    /// |y - c_home| for y in the cell, |c_j - c_home| <= 2 |y - c_home| <= 2 (|y - x| + |x - c_home|).
    auto margin_bound(std::size_t home, std::size_t cell) const {
        const float between = between_[home * count() + cell];
        const float factor = home == cell ? 0 : Engine::INNER ? (between > 0 ? 1 / between : 0) : 0.5f;
        const float half = home == cell ? 0 : HALF * between - misplaced(cell), loose = slack(cell);
        return [=](auto score, auto own, auto from_home) {
            const auto first = (score - own - loose) * factor, second = half - from_home;
            return first > second ? first : second;
        };
    }

   private:
    static constexpr float HALF = 0.499f;  // of a distance, less the rounding of it

    /// Distances between centroids, for each cell the others by that distance, and the largest size in each cell.
    void measure_cells(const Context& context, Metric metric) {
        const std::size_t cells = count();
        between_.resize(cells * cells);
        nearest_cells_.resize(cells * cells);
        largest_size_.assign(cells, 0);
        const std::size_t width = padded<float>(dimensions_);
        Buffer<float> centres(cells * width);
        std::fill(centres.begin(), centres.end(), 0.0f);
        for (std::size_t c = 0; c < cells; ++c) std::copy_n(centroids_->row(c), dimensions_, &centres[c * width]);
        parallel_for(context, cells, [&](std::size_t a, Worker& worker) {
            float* row = &between_[a * cells];
            for (std::size_t b = 0; b < cells; ++b) {
                row[b] = distance(metric, &centres[a * width], &centres[b * width], width);
                worker.check_after(width);
            }
            std::int32_t* near = &nearest_cells_[a * cells];
            std::iota(near, near + cells, 0);
            row[a] = -1;  // a cell comes first in its own list, even where two centroids coincide
            std::sort(near, near + cells, [&](auto x, auto y) { return row[x] != row[y] ? row[x] < row[y] : x < y; });
            row[a] = 0;
            const float* sizes = &panels_->sizes[panels_->panel_begin[a] * PANEL<float>];
            for (std::size_t i = 0; i < begin_[a + 1] - begin_[a]; ++i)
                largest_size_[a] = std::max(largest_size_[a], sizes[i]);
        });
    }

    /// The most by which `score` of a point of this cell may have put it into the wrong one.
    float slack(std::size_t cell) const { return 2 * float_error(dimensions_) * largest_size_[cell] + Engine::LOST; }

    /// What misplaced points may take off half the distance between two centroids.
    float misplaced(std::size_t cell) const { return Engine::INNER ? std::sqrt(slack(cell) / 2) : slack(cell) / 2; }

    void measure_error() {
        error_ = query_error_ = Engine::error(dimensions_);
#if defined(__AVX512VNNI__)
        if constexpr (std::is_same_v<Engine, ByteEngine>) {
            // Each coordinate is off by half its point's scale at most: |e| <= scale sqrt(dimensions) / 2.
            float rounding = 0;
            for (std::size_t c = 0; c < panels_->sizes.size(); ++c)
                if (std::isfinite(panels_->sizes[c]) && panels_->sizes[c] > 0)
                    rounding = std::max(rounding, panels_->scales[c] / std::sqrt(panels_->sizes[c]));
            rounding *= std::sqrt(static_cast<float>(dimensions_)) / 2;
            // A query that is not one of the points may have a scale as large as its length / 127.
            const float other = std::sqrt(static_cast<float>(dimensions_)) / 2 / ByteEngine::LARGEST;
            query_error_ = error_ + rounding + other + rounding * other;
            error_ += rounding * (2 + rounding);
        }
#endif
    }

    std::size_t dimensions_;
    std::unique_ptr<Centroids<Operation>> centroids_;
    std::unique_ptr<Panels<Engine>> panels_;
    std::vector<std::size_t> begin_;
    std::vector<std::int32_t> order_, position_;  // position -> index, and back
    std::vector<std::int32_t> cell_;              // of a position
    Buffer<float> between_;                       // distances between centroids
    std::vector<std::int32_t> nearest_cells_;
    std::vector<float> largest_size_;
    float error_ = 0, query_error_ = 0;
};

}  // namespace lowfold
