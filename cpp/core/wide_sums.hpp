// Points of many columns against each other: a group of columns at a time, so that they stay in the cache.
#pragma once

#include <cstdint>

#include "parallel.hpp"
#include "tile.hpp"

namespace lowfold {

/// Operation over all columns of some rows and panels. Sums have the bits of accumulate_all, whatever rows they are
/// made with.
template <class Operation>
class WideSums {
   public:
    static constexpr std::size_t MOST_PANELS = 32;  // at once

    /// Whether a tile of rows and a panel are too large for the cache.
    static bool worthwhile(std::size_t columns) { return columns > GROUP; }

    /// For up to `rows` rows at once.
    explicit WideSums(std::size_t rows)
        : rows_(rows), interleaved_(rows * GROUP), sums_(MOST_PANELS * rows * PANEL<float>) {}

    /// Of `count` rows row(i) and `panels` panels that lie behind each other, each of PANEL columns and a given depth.
    /// Cost count * panels * PANEL * depth.
    template <class Row>
    void make(std::size_t count, const Row& row, const float* panel, std::size_t panels, std::size_t depth,
              Worker& worker) {
        for (std::size_t begin = 0; begin < depth; begin += GROUP) {
            const std::size_t columns = std::min(depth - begin, GROUP);
            interleave(count, row, begin, columns);
            for (std::size_t j = 0; j < panels; ++j) {
                add_group(count, j, panel + (j * depth + begin) * PANEL<float>, columns, begin > 0);
                worker.check_after(count * columns);
            }
        }
    }

    /// The sums of the ROWS rows from `first` on with panel j.
    template <int ROWS>
    void read(std::size_t first, std::size_t j, Vec<float> (&to)[ROWS][TILE_VECTORS]) const {
        const float* from = &sums_[(j * rows_ + first) * PANEL<float>];
        for (int i = 0; i < ROWS; ++i)
            for (int v = 0; v < TILE_VECTORS; ++v, from += LANES<float>) to[i][v] = load<Vec<float>>(from);
    }

   private:
    /// Some columns of all rows, tile by tile.
    template <class Row>
    void interleave(std::size_t count, const Row& row, std::size_t begin, std::size_t columns) {
        for (std::size_t first = 0; first < count; first += TILE_ROWS) {
            const std::size_t tile = std::min<std::size_t>(count - first, TILE_ROWS);
            const float* from[TILE_ROWS];
            for (std::size_t i = 0; i < tile; ++i) from[i] = row(first + i) + begin;
            float* to = &interleaved_[first * columns];
            for (std::size_t p = 0; p < columns; ++p)
                for (std::size_t i = 0; i < tile; ++i) *to++ = from[i][p];
        }
    }

    void add_group(std::size_t count, std::size_t j, const float* panel, std::size_t columns, bool going_on) {
        for (std::size_t first = 0; first < count; first += TILE_ROWS)
            with_rows(static_cast<int>(std::min<std::size_t>(count - first, TILE_ROWS)), [&]<int ROWS>() {
                Vec<float> sums[ROWS][TILE_VECTORS], before[ROWS][TILE_VECTORS];
                accumulate_all<Operation>(&interleaved_[first * columns], panel, columns, sums);
                if (going_on) read(first, j, before);
                float* to = &sums_[(j * rows_ + first) * PANEL<float>];
                for (int i = 0; i < ROWS; ++i)
                    for (int v = 0; v < TILE_VECTORS; ++v, to += LANES<float>)
                        store(to, going_on ? Operation::join(before[i][v], sums[i][v]) : sums[i][v]);
            });
    }

    std::size_t rows_;
    Buffer<float> interleaved_, sums_;
};

}  // namespace lowfold
