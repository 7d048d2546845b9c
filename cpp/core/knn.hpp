// Nearest neighbours, exact and approximate, by one search.
//
// The points lie in cells (partition.hpp). A query visits its own cell and then others by the distance of their
// centroids; each row decides for itself: cell j is worth a visit if its points can be nearer than `alpha` times the
// distance to the k-th neighbour found so far. No point of cell j is nearer to x than
//   inner product:  (d^2(x, c_j) - d^2(x, c_home)) / (2 |c_j - c_home|)   (the bisecting hyperplane)
//   any metric:     (d(x, c_j) - d(x, c_home)) / 2                        (the triangle inequality)
// so alpha = 1 is exact, and a smaller alpha trades recall for time. Candidates are scored by an engine (engine.hpp)
// and ranked at last by their exact distance, ties by index. What a row gets depends on nothing but that row.
#pragma once

#include <array>
#include <memory>
#include <numeric>

#include "candidates.hpp"
#include "distance.hpp"
#include "partition.hpp"

namespace lowfold {

/// What to look for, and where to put it: `count` rows of k.
template <class T>
struct Request {
    MatrixView<const T> queries = {};      // no data: the indexed points themselves, without each its own self
    const std::int32_t* subset = nullptr;  // of those, only these (original indices)
    std::size_t count = 0, k = 0;
    float alpha = 1;    // 1: exact; infinite: exact, and every cell is visited
    float caution = 1;  // how much of the engine's worst-case error to allow for; 1 for an exact result
    std::int32_t* indices = nullptr;
    T* distances = nullptr;
    float* needed = nullptr;  // with an infinite alpha of a subset: the alpha that each neighbour would have needed
};

template <class T>
class Index {
   public:
    virtual ~Index() = default;
    virtual void search(const Context& context, const Request<T>& request) const = 0;
    virtual std::size_t cells() const = 0;
    /// Indices of all points, cell by cell.
    virtual const std::int32_t* order() const = 0;
};

template <class T, class Engine, class Operation>
class CellIndex final : public Index<T> {
   public:
    CellIndex(const Context& context, MatrixView<const T> X, Metric metric, std::size_t cells, std::uint64_t seed)
        : metric_(metric),
          frame_(find_frame(context, X)),
          n_(X.rows),
          dimensions_(X.columns),
          padded_(padded<T>(X.columns)) {
        const auto read = [&](std::size_t i, float* to) { frame_.read(X.row(i), to); };
        Partition<Operation, decltype(read)> partition(context, n_, dimensions_, seed, read);
        centroids_ = std::make_unique<Centroids<Operation>>(partition.centroids(cells));
        cell_ = std::move(partition.labels);
        Grouping groups(cell_, centroids_->count());
        order_ = std::move(groups.order);
        sort_rows(context, X);
        panels_ = std::make_unique<Panels<Engine>>(context, dimensions_, std::move(groups.begin),
                                                   [&](std::size_t i, float* to) { frame_.read(row(i), to); });
        measure_cells(context);
        measure_error();
    }

    std::size_t cells() const override { return centroids_->count(); }
    const std::int32_t* order() const override { return order_.data(); }

    void search(const Context& context, const Request<T>& request) const override;

   private:
    struct Batch;

    static constexpr float HALF = 0.499f;  // of a distance, less the rounding of it

    const T* row(std::size_t position) const { return rows_.data() + position * padded_; }

    void sort_rows(const Context& context, MatrixView<const T> X) {
        rows_.resize(n_ * padded_);
        position_.resize(n_);
        std::vector<std::int32_t> cell(n_);
        parallel_ranges(context, n_, 4096, [&](std::size_t begin, std::size_t end, Worker& worker) {
            for (std::size_t i = begin; i < end; ++i) {
                T* to = rows_.data() + i * padded_;
                std::fill(std::copy_n(X.row(order_[i]), dimensions_, to), to + padded_, T{});
                position_[order_[i]] = static_cast<std::int32_t>(i);
                cell[i] = cell_[order_[i]];
                worker.check_after(padded_);
            }
        });
        cell_ = std::move(cell);
    }

    /// Distances between centroids, for each cell the others by that distance, and the largest size in each cell.
    void measure_cells(const Context& context) {
        const std::size_t count = cells();
        between_.resize(count * count);
        nearest_cells_.resize(count * count);
        largest_size_.assign(count, 0);
        const Metric metric = Engine::INNER || Engine::SQUARES ? Metric::euclidean : metric_;
        const std::size_t width = padded<float>(dimensions_);
        Buffer<float> centres(count * width);
        std::fill(centres.begin(), centres.end(), 0.0f);
        for (std::size_t c = 0; c < count; ++c) std::copy_n(centroids_->row(c), dimensions_, &centres[c * width]);
        parallel_for(context, count, [&](std::size_t a, Worker& worker) {
            float* row = &between_[a * count];
            for (std::size_t b = 0; b < count; ++b) {
                row[b] = distance(metric, &centres[a * width], &centres[b * width], width);
                worker.check_after(width);
            }
            std::int32_t* near = &nearest_cells_[a * count];
            std::iota(near, near + count, 0);
            row[a] = -1;  // a cell comes first in its own list, even where two centroids coincide
            std::sort(near, near + count, [&](auto x, auto y) { return row[x] != row[y] ? row[x] < row[y] : x < y; });
            row[a] = 0;
            for (std::size_t i = panels_->group_begin[a]; i < panels_->group_begin[a + 1]; ++i)
                largest_size_[a] = std::max(largest_size_[a], size_of(i));
        });
    }

    float size_of(std::size_t position) const {
        const std::size_t c = cell_[position];
        return panels_->sizes[panels_->panel_begin[c] * PANEL<float> + position - panels_->group_begin[c]];
    }

    /// The most by which `score` of a point of this cell may have put it into the wrong one.
    float slack(std::size_t cell) const { return 2 * float_error(dimensions_) * largest_size_[cell] + Engine::LOST; }

    /// An upper bound of the distance from x to the centroid of its home, given its score there.
    float distance_home(float own, float size, std::size_t home) const {
        const float upper = rounded_up(own, size) + slack(home);
        return Engine::INNER ? std::sqrt(2 * std::max(upper, 0.0f)) : upper;
    }

    /// What misplaced points may take off half the distance between two centroids.
    float misplaced(std::size_t cell) const { return Engine::INNER ? std::sqrt(slack(cell) / 2) : slack(cell) / 2; }

    /// What a row's own score is taken for: not less than it can be.
    float rounded_up(float own, float size) const { return own + 2 * float_error(dimensions_) * size + Engine::LOST; }

    /// A function (score of the cell's centroid, score of the home centroid rounded up, distance to it) -> margin of
    /// the cell: how near to x its points can be at best, or less. For numbers and for registers of them. The larger of
    /// two bounds, since the first says nothing of cells with far points, where scores are rounded: with |y - c_j| <=
    /// |y - c_home| for y in the cell, |c_j - c_home| <= 2 |y - c_home| <= 2 (|y - x| + |x - c_home|).
    auto margin_bound(std::size_t home, std::size_t cell) const {
        const float between = between_[home * cells() + cell];
        const float factor = home == cell ? 0 : Engine::INNER ? (between > 0 ? 1 / between : 0) : 0.5f;
        const float half = home == cell ? 0 : HALF * between - misplaced(cell), loose = slack(cell);
        return [=](auto score, auto own, auto from_home) {
            const auto first = (score - own - loose) * factor, second = half - from_home;
            return first > second ? first : second;
        };
    }

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

    Metric metric_;
    Frame frame_;
    std::size_t n_, dimensions_, padded_;
    std::unique_ptr<Centroids<Operation>> centroids_;
    std::unique_ptr<Panels<Engine>> panels_;
    Buffer<T> rows_;                              // the points in the order of their cells
    std::vector<std::int32_t> order_, position_;  // position -> original index, and back
    std::vector<std::int32_t> cell_;              // of a position
    Buffer<float> between_;                       // distances between centroids
    std::vector<std::int32_t> nearest_cells_;
    std::vector<float> largest_size_;
    float error_ = 0, query_error_ = 0;  // of the engine, for the points themselves and for other queries
};

}  // namespace lowfold

#include "knn_search.hpp"
