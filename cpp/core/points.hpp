// Points made ready for an engine: references packed into panels, queries prepared row by row.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "engine.hpp"
#include "frame.hpp"

namespace lowfold {

/// Writes point i. One type, wherever points come from, so that what is done with them is compiled once.
using ReadPoint = std::function<void(std::size_t i, float* to)>;

/// Reference points in panels. Groups (cells) begin at a panel of their own, so a group is a range of panels.
template <class Engine>
struct Panels {
    using Unit = typename Engine::Unit;
    std::size_t dimensions = 0, depth = 0;
    std::vector<std::size_t> group_begin;  // in points, one more than there are groups
    std::vector<std::size_t> panel_begin;  // in panels, likewise
    Buffer<Unit> units;
    Buffer<float> sizes, scales;

    const Unit* panel(std::size_t i) const { return units.data() + i * depth * PANEL<float>; }

    /// Packs points i in [0, group_begin.back()). Each group is written by one thread.
    Panels(const Context& context, std::size_t dimensions, std::vector<std::size_t> groups, const ReadPoint& read)
        : dimensions(dimensions), depth(Engine::depth(dimensions)), group_begin(std::move(groups)) {
        panel_begin.assign(1, 0);
        for (std::size_t g = 1; g < group_begin.size(); ++g) {
            const std::size_t points = group_begin[g] - group_begin[g - 1];
            panel_begin.push_back(panel_begin.back() + (points + PANEL<float> - 1) / PANEL<float>);
        }
        const std::size_t columns = panel_begin.back() * PANEL<float>;
        units.resize(columns * depth);
        sizes.resize(columns);
        scales.resize(columns);
        parallel_for(context, group_begin.size() - 1,
                     [&](std::size_t g, Worker& worker) { pack_group(g, read, worker); });
    }

   private:
    void pack_group(std::size_t g, const ReadPoint& read, Worker& worker) {
        Buffer<float> points(PANEL<float> * dimensions);
        std::size_t first = group_begin[g];
        for (std::size_t panel = panel_begin[g]; panel < panel_begin[g + 1]; ++panel, first += PANEL<float>) {
            const int count = static_cast<int>(std::min<std::size_t>(group_begin[g + 1] - first, PANEL<float>));
            Unit* to = units.data() + panel * depth * PANEL<float>;
            float *its_sizes = &sizes[panel * PANEL<float>], *its_scales = &scales[panel * PANEL<float>];
            if (count < PANEL<float>) std::fill_n(to, depth * PANEL<float>, Unit{});
            std::fill_n(its_sizes, PANEL<float>, Engine::PAD_SIZE);
            std::fill_n(its_scales, PANEL<float>, 1.0f);
            for (int lane = 0; lane < count; ++lane) {
                float* point = &points[lane * dimensions];
                read(first + lane, point);
                its_sizes[lane] = Engine::size(point, dimensions);
                worker.check_after(dimensions);
            }
            Engine::pack_columns(to, count, points.data(), dimensions, its_scales);
        }
    }
};

/// One tile of interleaved rows against panels [begin, end): body(panel, scores) with scores[i] those of row i.
template <int ROWS, class Engine, class Body>
inline void score_tile(const typename Engine::Unit* interleaved, const float* row_scales, const Panels<Engine>& panels,
                       std::size_t begin, std::size_t end, float error, const Body& body) {
    Vec<float> scores[ROWS][TILE_VECTORS];
    for (std::size_t panel = begin; panel < end; ++panel) {
        const std::size_t column = panel * PANEL<float>;
        Engine::template score<ROWS>(interleaved, row_scales, panels.panel(panel), panels.sizes.data() + column,
                                     panels.scales.data() + column, panels.depth, error, scores);
        body(panel, scores);
    }
}

/// A batch of queries; reused from batch to batch.
template <class Engine>
struct QueryRows {
    using Unit = typename Engine::Unit;
    std::size_t dimensions, units;
    Buffer<float> point, sizes, scales;
    Buffer<Unit> prepared, interleaved;

    QueryRows(std::size_t dimensions, std::size_t capacity)
        : dimensions(dimensions),
          units(Engine::row_units(dimensions)),
          point(dimensions),
          sizes(capacity),
          scales(capacity),
          prepared(capacity * units),
          interleaved(TILE_ROWS * units) {}

    template <class Read>
    void assign(std::size_t count, const Read& read) {
        for (std::size_t i = 0; i < count; ++i) {
            read(i, point.data());
            sizes[i] = Engine::size(point.data(), dimensions);
            scales[i] = Engine::prepare_row(prepared.data() + i * units, point.data(), dimensions);
        }
    }

    /// Interleaves the ROWS rows which[0], which[1], ... for score_tile.
    template <int ROWS>
    const Unit* interleave(const std::int32_t* which, float (&tile_scales)[ROWS]) {
        for (int i = 0; i < ROWS; ++i) {
            const Unit* row = prepared.data() + which[i] * units;
            tile_scales[i] = scales[which[i]];
            copy_strided(row, units, &interleaved[i], ROWS);
        }
        return interleaved.data();
    }
};

}  // namespace lowfold
