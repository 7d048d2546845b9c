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
#include <stdexcept>

#include "ranking.hpp"
#include "visits.hpp"

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
          padded_(padded<T>(X.columns)),
          cells_(context, X.rows, X.columns, cells, seed,
                 [&](std::size_t i, float* to) { frame_.read(X.row(i), to); }) {
        sort_rows(context, X);
        cells_.pack(context, metric, [&](std::size_t i, float* to) { frame_.read(row(i), to); });
    }

    std::size_t cells() const override { return cells_.count(); }
    const std::int32_t* order() const override { return cells_.order().data(); }

    void search(const Context& context, const Request<T>& request) const override {
        const auto answer = [&](const std::vector<std::size_t>& begin, const std::vector<std::int32_t>& items) {
            // A batch's lists stay within a few megabytes for any k.
            const std::size_t capacity =
                std::clamp<std::size_t>((std::size_t{1} << 19) / (request.k + 8), 8, rows_at_once(cells_.dimensions()));
            std::vector<std::array<std::size_t, 3>> batches;
            for (std::size_t cell = 0; cell + 1 < begin.size(); ++cell)
                for (std::size_t at = begin[cell]; at < begin[cell + 1]; at += capacity)
                    batches.push_back({cell, at, std::min(at + capacity, begin[cell + 1])});
            std::vector<std::unique_ptr<Batch>> space(std::max(context.threads, 1));
            parallel_for(context, batches.size(), [&](std::size_t b, Worker& worker) {
                auto& batch = space[worker.slot()];
                if (!batch) batch = std::make_unique<Batch>(*this, request, capacity);
                const auto [cell, first, last] = batches[b];
                batch->run(&items[first], last - first, cell, worker);
            });
        };
        if (!request.queries.data && !request.subset) return answer(cells_.begin(), cells_.order());
        const Grouping groups(homes(context, request), cells());
        answer(groups.begin, groups.order);
    }

   private:
    class Batch;

    const T* row(std::size_t position) const { return rows_.data() + position * padded_; }

    /// The home cell of each row that is asked for. Where every row visits every cell, different ones share a batch.
    std::vector<std::int32_t> homes(const Context& context, const Request<T>& request) const {
        std::vector<std::int32_t> home(request.count);
        if (request.alpha == INFINITE) return home;
        if (!request.subset)
            return nearest_centroids(context, request.count, cells_.centroids(),
                                     [&](std::size_t i, float* to) { frame_.read(request.queries.row(i), to); });
        for (std::size_t i = 0; i < request.count; ++i) home[i] = cells_.cell_at(cells_.position(request.subset[i]));
        return home;
    }

    void sort_rows(const Context& context, MatrixView<const T> X) {
        rows_.resize(X.rows * padded_);
        const auto& order = cells_.order();
        parallel_ranges(context, X.rows, 4096, [&](std::size_t begin, std::size_t end, Worker& worker) {
            for (std::size_t i = begin; i < end; ++i) {
                T* to = rows_.data() + i * padded_;
                std::fill(std::copy_n(X.row(order[i]), X.columns, to), to + padded_, T{});
                worker.check_after(padded_);
            }
        });
    }

    Metric metric_;
    Frame frame_;
    std::size_t padded_;
    Cells<Engine, Operation> cells_;
    Buffer<T> rows_;  // the points in the order of their cells
};

/// One thread's work space for a batch: what of it hangs on the type of the points.
template <class T, class Engine, class Operation>
class CellIndex<T, Engine, Operation>::Batch final : public Visits<Engine, Operation> {
   public:
    Batch(const CellIndex& index, const Request<T>& request, std::size_t capacity)
        : Visits<Engine, Operation>(index.cells_, plan_for(index, request, capacity)),
          index_(index),
          request_(request),
          self_(!request.queries.data),
          wanted_(request.k + self_),
          copied_(self_ ? 0 : capacity * index.padded_),
          points_(capacity) {
        std::fill(copied_.begin(), copied_.end(), T{});
    }

    /// Answers rows items[0..count) of the request, all of home cell `home`.
    void run(const std::int32_t* items, std::size_t count, std::size_t home, Worker& worker) {
        for (std::size_t i = 0; i < count; ++i) points_[i] = self_ ? own_row(items[i]) : copy(i, items[i]);
        const auto read = [&](std::size_t i, float* to) {
            index_.frame_.read(points_[i], to);
            worker.check_after(index_.cells_.dimensions());
        };
        this->collect(count, home, read, worker);
        for (std::size_t i = 0; i < count; ++i) finish(static_cast<int>(i), items[i]);
    }

   private:
    static typename Visits<Engine, Operation>::Plan plan_for(const CellIndex& index, const Request<T>& request,
                                                             std::size_t capacity) {
        const bool self = !request.queries.data;  // a query is one of the points, and not its own neighbour
        return {.capacity = capacity,
                .wanted = request.k + self,
                .error = index.cells_.error(self) * request.caution,
                .alpha = request.alpha,
                .everywhere = request.alpha == INFINITE || index.cells() == 1};
    }

    std::int32_t original(std::int32_t item) const { return request_.subset ? request_.subset[item] : item; }

    const T* own_row(std::int32_t item) const { return index_.row(index_.cells_.position(original(item))); }

    const T* copy(std::size_t i, std::int32_t item) {
        std::copy_n(request_.queries.row(item), index_.cells_.dimensions(), &copied_[i * index_.padded_]);
        return &copied_[i * index_.padded_];
    }

    const std::vector<char>& nearest(int row, const std::int32_t* positions, int count) override {
        measure(row, positions, count);
        auto last = ranked_;
        std::nth_element(last.begin(), last.begin() + (wanted_ - 1), last.end());
        stays_.resize(count);
        for (int i = 0; i < count; ++i) stays_[i] = !(last[wanted_ - 1] < ranked_[i]);
        return stays_;
    }

    /// The exact distances of the positions, with the points' indices, into `ranked_`.
    void measure(int row, const std::int32_t* positions, int count) {
        ranked_.resize(count);
        for (int i = 0; i < count; ++i) {
            ranked_[i] = Rank<T>(distance(index_.metric_, points_[row], index_.row(positions[i]), index_.padded_),
                                 index_.order()[positions[i]]);
            this->worker_->check_after(index_.padded_);
        }
    }

    /// The nearest `wanted` candidates, nearest first, into `ranked_`.
    void rank(int row) {
        measure(row, this->candidates_.positions(row), this->candidates_.count(row));
        if (ranked_.size() > 2 * wanted_) {
            std::nth_element(ranked_.begin(), ranked_.begin() + wanted_, ranked_.end());
            ranked_.resize(wanted_);
        }
        std::sort(ranked_.begin(), ranked_.end());
        if (ranked_.size() > wanted_) ranked_.resize(wanted_);
    }

    void finish(int row, std::int32_t item) {
        rank(row);
        const std::int32_t itself = self_ ? original(item) : -1;
        std::int32_t* indices = request_.indices + item * request_.k;
        T* distances = request_.distances + item * request_.k;
        std::size_t found = 0;
        for (const auto& rank : ranked_) {
            if (rank.index() == itself || found == request_.k) continue;
            indices[found] = rank.index();
            distances[found++] = rank.distance();
        }
        if (found < request_.k) throw std::logic_error("the search kept too few candidates");
        if (request_.needed) find_needed(row, item);
    }

    /// A neighbour is found at every alpha from margin / radius on.
    void find_needed(int row, std::int32_t item) {
        const auto& cells = index_.cells_;
        const T last = request_.distances[(item + 1) * request_.k - 1];
        const float radius = static_cast<float>(search_radius(index_.metric_, last) * index_.frame_.scale);
        const std::size_t home = cells.cell_at(cells.position(original(item)));
        for (std::size_t j = item * request_.k; j < (item + 1) * request_.k; ++j) {
            const float margin = this->margin(home, cells.cell_at(cells.position(request_.indices[j])), row);
            request_.needed[j] = margin > 0 ? margin / radius : 0;
        }
    }

    const CellIndex& index_;
    const Request<T>& request_;
    bool self_;                     // a query is one of the points, and not its own neighbour
    std::size_t wanted_;            // neighbours to keep, the query itself included
    Buffer<T> copied_;              // new queries, padded
    std::vector<const T*> points_;  // the queries as they came, padded
    std::vector<Rank<T>> ranked_;
    std::vector<char> stays_;
};

}  // namespace lowfold
