// A batch of queries that share a home cell goes from cell to cell and collects candidates. Nothing here hangs on the
// type of the points but which candidates are the nearest by their exact distances.
#pragma once

#include "cells.hpp"
#include "wide_sums.hpp"

namespace lowfold {

template <class Engine, class Operation>
class Visits {
   public:
    /// wanted: candidates to keep for each row. error: of the scores. everywhere: each row visits each cell. alpha: a
    /// row visits the cells with margins (cells.hpp) up to so many times the distance to its last candidate.
    struct Plan {
        std::size_t capacity, wanted;
        float error, alpha;
        bool everywhere;
    };

    Visits(const Cells<Engine, Operation>& cells, const Plan& plan)
        : cells_(cells),
          rows_(cells.dimensions(), plan.capacity),
          candidates_(plan.capacity, plan.wanted),
          plan_(plan),
          stride_((plan.capacity + PANEL<float> - 1) / PANEL<float> * PANEL<float>),
          scores_(cells.count() * stride_),
          reach_(stride_),
          own_(stride_),
          from_home_(stride_),
          visitors_(stride_ + LANES<float>) {
        std::fill(scores_.begin(), scores_.end(), 0.0f);
        if (WIDE && WideSums<Operation>::worthwhile(cells.dimensions()))
            wide_ = std::make_unique<WideSums<Operation>>(plan.capacity);
    }

    virtual ~Visits() = default;

   protected:
    static constexpr bool WIDE = std::is_same_v<Engine, FloatEngine<Operation>>;  // bytes take a quarter of the room
    static constexpr float MOVED = Engine::INNER ? 0.9 * FAR * FAR : 0.9 * FAR;   // the size of queries out of range

    /// Which of `count` candidates at these positions are among the `wanted` nearest of a row.
    virtual const std::vector<char>& nearest(int row, const std::int32_t* positions, int count) = 0;

    /// Collects the candidates of rows read(0), ..., read(count - 1), all of one home cell.
    void collect(std::size_t count, std::size_t home, const ReadPoint& read, Worker& worker) {
        worker_ = &worker;
        rows_.assign(count, read);
        for (std::size_t i = 0; i < count; ++i)
            if (rows_.sizes[i] > MOVED) rows_.sizes[i] = INFINITE;  // every point is a candidate
        candidates_.reset(count, rows_.sizes.data(), plan_.error, Engine::relative(cells_.dimensions()));
        if (cells_.count() > 1) score_centroids(count, read);
        find_home(count, home);
        const std::int32_t* near = cells_.nearest_to(home);
        for (std::size_t c = 0; c < cells_.count(); ++c) {
            if (const int visiting = find_visitors(home, near[c])) visit(near[c], visiting);
            worker.check();
        }
        for (std::size_t i = 0; i < count; ++i) tighten(static_cast<int>(i));
    }

    /// How near to a row of this batch the points of a cell can be at best, or less.
    float margin(std::size_t home, std::size_t cell, int row) const {
        const float score = scores_[home * stride_ + row], size = rows_.sizes[row];
        return cells_.margin_bound(home, cell)(scores_[cell * stride_ + row], cells_.rounded_up(score, size),
                                               cells_.distance_home(score, size, home));
    }

    const Cells<Engine, Operation>& cells_;
    QueryRows<Engine> rows_;
    Candidates<Engine> candidates_;
    Worker* worker_ = nullptr;  // whose batch this is now

   private:
    /// d^2/2 or d to each centroid, into `scores_`.
    void score_centroids(std::size_t count, const ReadPoint& read) {
        const typename Centroids<Operation>::PointPanels panels(Context{}, cells_.dimensions(), {0, count}, read);
        for (std::size_t first = 0; first < cells_.count(); first += TILE_ROWS)
            cells_.centroids().score(first, panels, &scores_[first * stride_], stride_, *worker_);
    }

    /// What a row's margins are measured from. Places beyond the batch visit nothing, whatever the last one left there.
    void find_home(std::size_t count, std::size_t home) {
        std::fill(reach_.begin(), reach_.end(), -INFINITE);
        std::fill_n(reach_.begin(), count, INFINITE);
        std::fill(own_.begin(), own_.end(), 0.0f);
        std::fill(from_home_.begin(), from_home_.end(), 0.0f);
        for (std::size_t i = 0; i < count && !plan_.everywhere; ++i) {
            const float score = scores_[home * stride_ + i];
            own_[i] = cells_.rounded_up(score, rows_.sizes[i]);
            from_home_[i] = cells_.distance_home(score, rows_.sizes[i], home);
        }
    }

    /// The rows for which a cell is worth a visit, into `visitors_`; returns how many.
    int find_visitors(std::size_t home, std::size_t cell) {
        const auto bound = cells_.margin_bound(home, cell);
        int found = 0;
        for (std::size_t i = 0; i < stride_; i += LANES<float>) {
            const auto limit = load<Vec<float>>(&reach_[i]);
            const auto margin = plan_.everywhere ? broadcast<Vec<float>>(0.0f)
                                                 : bound(load<Vec<float>>(&scores_[cell * stride_ + i]),
                                                         load<Vec<float>>(&own_[i]), load<Vec<float>>(&from_home_[i]));
            const auto bits = at_most(margin, limit);
            store_chosen(&visitors_[found], lane_numbers() + static_cast<std::int32_t>(i), bits);
            found += __builtin_popcount(bits);
        }
        return found;
    }

    void visit(std::size_t cell, int visiting) {
        if (wide_)
            visit_wide(cell, visiting);
        else
            for (int first = 0; first < visiting; first += TILE_ROWS)
                with_rows(std::min(visiting - first, TILE_ROWS),
                          [&]<int ROWS>() { visit_tile<ROWS>(cell, &visitors_[first]); });
        for (int i = 0; i < visiting; ++i)
            if (candidates_.worth_tightening(visitors_[i])) tighten(visitors_[i]);
    }

    template <int ROWS>
    void visit_tile(std::size_t cell, const std::int32_t* which) {
        const auto& panels = cells_.panels();
        const std::size_t begin = panels.panel_begin[cell], end = panels.panel_begin[cell + 1];
        float scales[ROWS], cuts[ROWS];
        const auto* interleaved = rows_.template interleave<ROWS>(which, scales);
        for (int i = 0; i < ROWS; ++i) cuts[i] = candidates_.cut(which[i]);
        score_tile<ROWS>(interleaved, scales, panels, begin, end, plan_.error, [&](std::size_t panel, auto& scores) {
            take(which, cuts, scores, panels.group_begin[cell] + (panel - begin) * PANEL<float>);
        });
        worker_->check_after(ROWS * (end - begin) * panels.depth);
    }

    /// The same of all visitors at once, for points of many columns.
    void visit_wide(std::size_t cell, int visiting) {
        if constexpr (WIDE) {
            const auto& panels = cells_.panels();
            const auto row = [&](std::size_t i) { return rows_.prepared.data() + visitors_[i] * rows_.units; };
            const std::size_t begin = panels.panel_begin[cell], end = panels.panel_begin[cell + 1];
            for (std::size_t at = begin; at < end; at += WideSums<Operation>::MOST_PANELS) {
                const std::size_t count = std::min(end - at, WideSums<Operation>::MOST_PANELS);
                wide_->make(visiting, row, panels.panel(at), count, panels.depth, *worker_);
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
        wide_->read(first, j, scores);
        Engine::finish(sizes, plan_.error, scores);
        float cuts[ROWS];
        for (int i = 0; i < ROWS; ++i) cuts[i] = candidates_.cut(visitors_[first + i]);
        take(&visitors_[first], cuts, scores, position);
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
        candidates_.add(row, scores[0], low, position);
        candidates_.add(row, scores[1], high, position + LANES<float>);
        if (candidates_.full(row)) tighten(row);
        return candidates_.cut(row);
    }

    [[gnu::noinline]] void tighten(int row) {
        candidates_.tighten(row, [&](const std::int32_t* positions, int count) -> const std::vector<char>& {
            return nearest(row, positions, count);
        });
        if (plan_.everywhere) return;
        reach_[row] = rows_.sizes[row] == INFINITE ? INFINITE  // alpha may be 0
                      : plan_.alpha < 1            ? plan_.alpha * candidates_.likely_radius(row)
                                                   : plan_.alpha * candidates_.largest_radius(row);
    }

    Plan plan_;
    std::size_t stride_;       // of `scores_`: the capacity, in whole panels
    Buffer<float> scores_;     // cells x rows: d^2/2 or d to the cell's centroid
    Buffer<float> reach_;      // of a row: it visits the cells with margins (cells.hpp) up to here
    Buffer<float> own_;        // of a row: its score at the home centroid, rounded up
    Buffer<float> from_home_;  // and the distance to that
    Buffer<std::int32_t> visitors_;
    std::unique_ptr<WideSums<Operation>> wide_;  // of points of many columns
};

}  // namespace lowfold
