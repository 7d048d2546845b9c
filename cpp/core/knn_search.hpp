// CellIndex::search, in batches of queries that share a home cell.
#pragma once

#include <stdexcept>

#include "knn.hpp"
#include "ranking.hpp"

namespace lowfold {

/// One thread's work space for a batch.
template <class T, class Engine, class Operation>
struct CellIndex<T, Engine, Operation>::Batch {
    const CellIndex& index;
    const Request<T>& request;
    bool everywhere;     // each row visits each cell
    bool self;           // a query is one of the points, and not its own neighbour
    std::size_t wanted;  // neighbours to keep, the query itself included
    float error;
    QueryRows<Engine> rows;
    Candidates<Engine> candidates;
    std::size_t stride;       // of `scores`: the capacity, in whole panels
    Buffer<float> scores;     // cells x rows: d^2/2 or d to the cell's centroid
    Buffer<float> reach;      // of a row: it visits the cells with margins (knn.hpp) up to here
    Buffer<float> own;        // of a row: its score at the home centroid, rounded up
    Buffer<float> from_home;  // and the distance to that
    Buffer<std::int32_t> visitors;
    Buffer<T> points;  // the queries as they came, padded
    std::vector<Rank<T>> ranked;
    std::vector<char> stays;

    Batch(const CellIndex& index, const Request<T>& request, std::size_t capacity)
        : index(index),
          request(request),
          everywhere(request.alpha == INFINITE),
          self(!request.queries.data),
          wanted(request.k + self),
          error((self ? index.error_ : index.query_error_) * request.caution),
          rows(index.dimensions_, capacity),
          candidates(capacity, wanted),
          stride((capacity + PANEL<float> - 1) / PANEL<float> * PANEL<float>),
          scores(index.cells() * stride),
          reach(stride),
          own(stride),
          from_home(stride),
          visitors(stride + LANES<float>),
          points(capacity * index.padded_) {
        std::fill(points.begin(), points.end(), T{});
        std::fill(scores.begin(), scores.end(), 0.0f);
        std::fill(own.begin(), own.end(), 0.0f);
        std::fill(from_home.begin(), from_home.end(), 0.0f);
    }

    std::int32_t original(std::int32_t item) const { return request.subset ? request.subset[item] : item; }

    /// Answers rows items[0..count) of the request, all of home cell `home`.
    void run(const std::int32_t* items, std::size_t count, std::size_t home, Worker& worker) {
        for (std::size_t i = 0; i < count; ++i)
            std::copy_n(self ? index.row(index.position_[original(items[i])]) : request.queries.row(items[i]),
                        index.dimensions_, &points[i * index.padded_]);
        const auto read = [&](std::size_t i, float* to) { index.frame_.read(&points[i * index.padded_], to); };
        rows.assign(count, read);
        candidates.reset(count, rows.sizes.data(), error);
        score_centroids(count, read, worker);
        if (!everywhere) find_home(count, home);
        std::fill(reach.begin(), reach.end(), -INFINITE);  // beyond the batch: visits nothing
        std::fill_n(reach.begin(), count, INFINITE);
        const std::int32_t* cells = &index.nearest_cells_[home * index.cells()];
        for (std::size_t c = 0; c < index.cells(); ++c) {
            if (const int visiting = find_visitors(home, cells[c])) visit(cells[c], visiting);
            worker.check();
        }
        for (std::size_t i = 0; i < count; ++i) finish(static_cast<int>(i), items[i]);
    }

    /// d^2/2 or d to each centroid, into `scores`.
    template <class Read>
    void score_centroids(std::size_t count, const Read& read, Worker& worker) {
        const typename Centroids<Operation>::PointPanels panels(Context{}, index.dimensions_, {0, count}, read);
        index.centroids_->score(panels, worker, [&](std::size_t c, std::size_t column, Vec<float> found) {
            store(&scores[c * stride + column], found);
        });
    }

    /// What a row's margins are measured from, for a batch with one home cell.
    void find_home(std::size_t count, std::size_t home) {
        for (std::size_t i = 0; i < count; ++i) {
            const float score = scores[home * stride + i];
            own[i] = index.rounded_up(score, rows.sizes[i]);
            from_home[i] = index.distance_home(score, rows.sizes[i], home);
        }
    }

    /// The rows for which a cell is worth a visit, into `visitors`; returns how many.
    int find_visitors(std::size_t home, std::size_t cell) {
        const auto bound = index.margin_bound(home, cell);
        int found = 0;
        for (std::size_t i = 0; i < stride; i += LANES<float>) {
            const auto limit = load<Vec<float>>(&reach[i]);
            const auto margin = everywhere ? broadcast<Vec<float>>(0.0f)
                                           : bound(load<Vec<float>>(&scores[cell * stride + i]),
                                                   load<Vec<float>>(&own[i]), load<Vec<float>>(&from_home[i]));
            const auto bits = at_most(margin, limit);
            store_chosen(&visitors[found], lane_numbers() + static_cast<std::int32_t>(i), bits);
            found += __builtin_popcount(bits);
        }
        return found;
    }

    void visit(std::size_t cell, int visiting) {
        for (int first = 0; first < visiting; first += TILE_ROWS)
            with_rows(std::min(visiting - first, TILE_ROWS),
                      [&]<int ROWS>() { visit_tile<ROWS>(cell, &visitors[first]); });
        for (int i = 0; i < visiting; ++i)
            if (candidates.worth_tightening(visitors[i])) tighten(visitors[i]);
    }

    template <int ROWS>
    void visit_tile(std::size_t cell, const std::int32_t* which) {
        const auto& panels = *index.panels_;
        const std::size_t begin = panels.panel_begin[cell], end = panels.panel_begin[cell + 1];
        float scales[ROWS], cuts[ROWS];
        const auto* interleaved = rows.template interleave<ROWS>(which, scales);
        for (int i = 0; i < ROWS; ++i) cuts[i] = candidates.cut(which[i]);
        score_tile<ROWS>(interleaved, scales, panels, begin, end, error, [&](std::size_t panel, auto& scores) {
#pragma GCC unroll 16
            for (int i = 0; i < ROWS; ++i) {
                const auto cut = broadcast<Vec<float>>(cuts[i]);
                const auto low = at_most(scores[i][0], cut), high = at_most(scores[i][1], cut);
                if (low | high) [[unlikely]]
                    cuts[i] = add(which[i], scores[i], low, high,
                                  static_cast<std::int32_t>(panels.group_begin[cell] + (panel - begin) * PANEL<float>));
            }
        });
    }

    /// Takes candidates in; returns the row's cut from now on.
    [[gnu::noinline]] float add(int row, const Vec<float> (&scores)[TILE_VECTORS], std::uint32_t low,
                                std::uint32_t high, std::int32_t position) {
        candidates.add(row, scores[0], low, position);
        candidates.add(row, scores[1], high, position + LANES<float>);
        if (candidates.full(row)) tighten(row);
        return candidates.cut(row);
    }

    [[gnu::noinline]] void tighten(int row) {
        candidates.tighten(row, [&](const std::int32_t* positions, int count) -> const std::vector<char>& {
            measure(row, positions, count);
            auto last = ranked;
            std::nth_element(last.begin(), last.begin() + (wanted - 1), last.end());
            stays.resize(count);
            for (int i = 0; i < count; ++i) stays[i] = !(last[wanted - 1] < ranked[i]);
            return stays;
        });
        if (everywhere) return;
        reach[row] = request.alpha < 1 ? request.alpha * candidates.likely_radius(row)
                                       : request.alpha * candidates.largest_radius(row);
    }

    /// The exact distances of the positions, with the points' indices, into `ranked`.
    void measure(int row, const std::int32_t* positions, int count) {
        const T* query = &points[row * index.padded_];
        ranked.resize(count);
        for (int i = 0; i < count; ++i)
            ranked[i] = Rank<T>(distance(index.metric_, query, index.row(positions[i]), index.padded_),
                                index.order_[positions[i]]);
    }

    /// The nearest `wanted` candidates, nearest first, into `ranked`.
    void rank(int row) {
        measure(row, candidates.positions(row), candidates.count(row));
        if (ranked.size() > 2 * wanted) {
            std::nth_element(ranked.begin(), ranked.begin() + wanted, ranked.end());
            ranked.resize(wanted);
        }
        std::sort(ranked.begin(), ranked.end());
        if (ranked.size() > wanted) ranked.resize(wanted);
    }

    void finish(int row, std::int32_t item) {
        tighten(row);
        rank(row);
        const std::int32_t itself = self ? original(item) : -1;
        std::int32_t* indices = request.indices + item * request.k;
        T* distances = request.distances + item * request.k;
        std::size_t found = 0;
        for (const auto& rank : ranked) {
            if (rank.index() == itself || found == request.k) continue;
            indices[found] = rank.index();
            distances[found++] = rank.distance();
        }
        if (found < request.k) throw std::logic_error("the search kept too few candidates");
        if (request.needed) find_needed(row, item);
    }

    /// A neighbour is found at every alpha from margin / radius on.
    void find_needed(int row, std::int32_t item) {
        const T last = request.distances[(item + 1) * request.k - 1];
        const float radius = static_cast<float>(search_radius(index.metric_, last) * index.frame_.scale);
        const std::size_t home = index.cell_[index.position_[original(item)]];
        for (std::size_t j = item * request.k; j < (item + 1) * request.k; ++j) {
            const std::size_t cell = index.cell_[index.position_[request.indices[j]]];
            const float score = scores[home * stride + row], size = rows.sizes[row];
            const float margin = index.margin_bound(home, cell)(
                scores[cell * stride + row], index.rounded_up(score, size), index.distance_home(score, size, home));
            request.needed[j] = margin > 0 ? margin / radius : 0;
        }
    }
};

template <class T, class Engine, class Operation>
void CellIndex<T, Engine, Operation>::search(const Context& context, const Request<T>& request) const {
    const auto answer = [&](const std::vector<std::size_t>& begin, const std::vector<std::int32_t>& items) {
        // A batch's lists stay within a few megabytes for any k.
        const std::size_t capacity = std::clamp<std::size_t>((std::size_t{1} << 19) / (request.k + 8), 8, ROWS_AT_ONCE);
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
    if (!request.queries.data && !request.subset) return answer(panels_->group_begin, order_);
    std::vector<std::int32_t> home(request.count);
    if (request.alpha == INFINITE) {
        // Every row visits every cell, so rows of different homes share a batch.
    } else if (request.subset) {
        for (std::size_t i = 0; i < request.count; ++i) home[i] = cell_[position_[request.subset[i]]];
    } else {
        home = nearest_centroids(context, request.count, *centroids_,
                                 [&](std::size_t i, float* to) { frame_.read(request.queries.row(i), to); });
    }
    const Grouping groups(home, cells());
    answer(groups.begin, groups.order);
}

}  // namespace lowfold
