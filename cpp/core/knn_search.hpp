// CellIndex::search, in batches of queries that share a home cell.
#pragma once

#include <stdexcept>

#include "knn.hpp"
#include "ranking.hpp"
#include "wide_sums.hpp"

namespace lowfold {

/// One thread's work space for a batch.
template <class T, class Engine, class Operation>
struct CellIndex<T, Engine, Operation>::Batch {
    static constexpr bool WIDE = std::is_same_v<Engine, FloatEngine<Operation>>;  // bytes take a quarter of the room
    static constexpr float MOVED = Engine::INNER ? 0.9 * FAR * FAR : 0.9 * FAR;   // the size of queries out of range

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
    Buffer<T> copied;              // new queries, padded
    std::vector<const T*> points;  // the queries as they came, padded
    std::vector<Rank<T>> ranked;
    std::vector<char> stays;
    std::unique_ptr<WideSums<Operation>> wide;  // of points of many columns
    Worker* worker = nullptr;                   // whose batch this is now

    Batch(const CellIndex& index, const Request<T>& request, std::size_t capacity)
        : index(index),
          request(request),
          everywhere(request.alpha == INFINITE || index.cells() == 1),
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
          copied(self ? 0 : capacity * index.padded_),
          points(capacity) {
        std::fill(copied.begin(), copied.end(), T{});
        std::fill(scores.begin(), scores.end(), 0.0f);
        std::fill(own.begin(), own.end(), 0.0f);
        std::fill(from_home.begin(), from_home.end(), 0.0f);
        if (WIDE && WideSums<Operation>::worthwhile(index.dimensions_))
            wide = std::make_unique<WideSums<Operation>>(capacity);
    }

    std::int32_t original(std::int32_t item) const { return request.subset ? request.subset[item] : item; }

    /// Answers rows items[0..count) of the request, all of home cell `home`.
    void run(const std::int32_t* items, std::size_t count, std::size_t home, Worker& its_worker) {
        worker = &its_worker;
        for (std::size_t i = 0; i < count; ++i) points[i] = self ? own_row(items[i]) : copy(i, items[i]);
        const auto read = [&](std::size_t i, float* to) {
            index.frame_.read(points[i], to);
            worker->check_after(index.dimensions_);
        };
        rows.assign(count, read);
        for (std::size_t i = 0; i < count; ++i)
            if (rows.sizes[i] > MOVED) rows.sizes[i] = INFINITE;  // every point is a candidate
        candidates.reset(count, rows.sizes.data(), error, Engine::relative(index.dimensions_));
        if (index.cells() > 1) score_centroids(count, read);
        if (!everywhere) find_home(count, home);
        std::fill(reach.begin(), reach.end(), -INFINITE);  // beyond the batch: visits nothing
        std::fill_n(reach.begin(), count, INFINITE);
        const std::int32_t* cells = &index.nearest_cells_[home * index.cells()];
        for (std::size_t c = 0; c < index.cells(); ++c) {
            if (const int visiting = find_visitors(home, cells[c])) visit(cells[c], visiting);
            worker->check();
        }
        for (std::size_t i = 0; i < count; ++i) finish(static_cast<int>(i), items[i]);
    }

    const T* own_row(std::int32_t item) const { return index.row(index.position_[original(item)]); }

    const T* copy(std::size_t i, std::int32_t item) {
        std::copy_n(request.queries.row(item), index.dimensions_, &copied[i * index.padded_]);
        return &copied[i * index.padded_];
    }

    /// d^2/2 or d to each centroid, into `scores`.
    template <class Read>
    void score_centroids(std::size_t count, const Read& read) {
        const typename Centroids<Operation>::PointPanels panels(Context{}, index.dimensions_, {0, count}, read);
        index.centroids_->score(panels, *worker, [&](std::size_t c, std::size_t column, Vec<float> found) {
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
        if (wide)
            visit_wide(cell, visiting);
        else
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
            take(which, cuts, scores, panels.group_begin[cell] + (panel - begin) * PANEL<float>);
        });
        worker->check_after(ROWS * (end - begin) * panels.depth);
    }

    /// The same of all visitors at once, for points of many columns.
    void visit_wide(std::size_t cell, int visiting) {
        if constexpr (WIDE) {
            const auto& panels = *index.panels_;
            const auto row = [&](std::size_t i) { return rows.prepared.data() + visitors[i] * rows.units; };
            const std::size_t begin = panels.panel_begin[cell], end = panels.panel_begin[cell + 1];
            for (std::size_t at = begin; at < end; at += WideSums<Operation>::MOST_PANELS) {
                const std::size_t count = std::min(end - at, WideSums<Operation>::MOST_PANELS);
                wide->make(visiting, row, panels.panel(at), count, panels.depth, *worker);
                for (std::size_t j = 0; j < count; ++j)
                    for (int first = 0; first < visiting; first += TILE_ROWS)
                        with_rows(std::min(visiting - first, TILE_ROWS), [&]<int ROWS>() {
                            take_wide<ROWS>(first, j, panels.sizes.data() + (at + j) * PANEL<float>,
                                            panels.group_begin[cell] + (at + j - begin) * PANEL<float>);
                        });
            }
        }
    }

    /// Takes in panel j of the sums, the first point of which is at a position, for the visitors from `first` on.
    template <int ROWS>
    void take_wide(int first, std::size_t j, const float* sizes, std::size_t position) {
        Vec<float> scores[ROWS][TILE_VECTORS];
        wide->read(first, j, scores);
        Engine::finish(sizes, error, scores);
        float cuts[ROWS];
        for (int i = 0; i < ROWS; ++i) cuts[i] = candidates.cut(visitors[first + i]);
        take(&visitors[first], cuts, scores, position);
    }

    /// Takes in a panel's points that are near enough.
    template <int ROWS>
    [[gnu::always_inline]] void take(const std::int32_t* which, float (&cuts)[ROWS],
                                     const Vec<float> (&scores)[ROWS][TILE_VECTORS], std::size_t position) {
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; ++i) {
            const auto cut = broadcast<Vec<float>>(cuts[i]);
            const auto low = at_most(scores[i][0], cut), high = at_most(scores[i][1], cut);
            if (low | high) [[unlikely]]
                cuts[i] = add(which[i], scores[i], low, high, static_cast<std::int32_t>(position));
        }
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
        reach[row] = rows.sizes[row] == INFINITE ? INFINITE  // alpha may be 0
                     : request.alpha < 1         ? request.alpha * candidates.likely_radius(row)
                                                 : request.alpha * candidates.largest_radius(row);
    }

    /// The exact distances of the positions, with the points' indices, into `ranked`.
    void measure(int row, const std::int32_t* positions, int count) {
        ranked.resize(count);
        for (int i = 0; i < count; ++i) {
            ranked[i] = Rank<T>(distance(index.metric_, points[row], index.row(positions[i]), index.padded_),
                                index.order_[positions[i]]);
            worker->check_after(index.padded_);
        }
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
        const std::size_t capacity =
            std::clamp<std::size_t>((std::size_t{1} << 19) / (request.k + 8), 8, rows_at_once(dimensions_));
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
