// Distances between all pairs of points, a tile at a time: read from where they are kept, or computed from the rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "distance.hpp"
#include "parallel.hpp"
#include "symmetric_product.hpp"
#include "tile.hpp"

namespace lowfold {

inline constexpr std::size_t SIDE = 64;  // points on each side of a tile, as many as a packed strip has rows

/// The correctly rounded root of each lane: the same bits on every instruction set.
template <class T>
inline Wide<T> root(Wide<T> v) {
#if defined(__x86_64__)
    alignas(64) T lanes[WIDTH<T>];
    store(lanes, v);
    for (std::size_t i = 0; i < WIDTH<T>; i += LANES<T>) {
#if defined(__AVX512F__)
        if constexpr (sizeof(T) == 4) _mm512_store_ps(lanes, _mm512_sqrt_ps(_mm512_load_ps(lanes)));
        if constexpr (sizeof(T) == 8) _mm512_store_pd(lanes, _mm512_sqrt_pd(_mm512_load_pd(lanes)));
#elif defined(__AVX2__)
        if constexpr (sizeof(T) == 4) _mm256_store_ps(lanes + i, _mm256_sqrt_ps(_mm256_load_ps(lanes + i)));
        if constexpr (sizeof(T) == 8) _mm256_store_pd(lanes + i, _mm256_sqrt_pd(_mm256_load_pd(lanes + i)));
#else
        if constexpr (sizeof(T) == 4) _mm_store_ps(lanes + i, _mm_sqrt_ps(_mm_load_ps(lanes + i)));
        if constexpr (sizeof(T) == 8) _mm_store_pd(lanes + i, _mm_sqrt_pd(_mm_load_pd(lanes + i)));
#endif
    }
    return load<Wide<T>>(lanes);
#else
    for (std::size_t i = 0; i < WIDTH<T>; ++i) v[i] = std::sqrt(v[i]);
    return v;
#endif
}

/// Some of the pairs: entry (r, c) at data[r * stride + c].
template <class T>
struct PairTile {
    const T* data;
    std::size_t stride;
};

/// Rows of numbers in panels, ready to be measured from.
template <class T>
class RowPanels {
   public:
    explicit RowPanels(MatrixView<const T> X)
        : n_(X.rows),
          depth_(X.columns),
          panels_((X.rows + PANEL<T> - 1) / PANEL<T>),
          packed_(panels_ * PANEL<T> * depth_) {
        for (std::size_t panel = 0; panel < panels_; ++panel) {
            T* to = &packed_[panel * PANEL<T> * depth_];
            for (std::size_t lane = 0; lane < PANEL<T>; ++lane) {
                const std::size_t j = std::min(panel * PANEL<T> + lane, n_ - 1);
                for (std::size_t p = 0; p < depth_; ++p) to[p * PANEL<T> + lane] = X.row(j)[p];
            }
        }
    }

    std::size_t points() const { return n_; }
    std::size_t depth() const { return depth_; }

    /// out[r * stride + c] = |x_r - y_(first + c)| for `rows` rows of `depth` numbers one after another and `columns`
    /// points. An entry has the same bits in every tile. `mixed` has room for TILE_ROWS rows.
    void distances(const T* x, std::size_t rows, std::size_t first, std::size_t columns, T* out, std::size_t stride,
                   T* mixed) const {
        for (std::size_t r = 0; r < rows; r += TILE_ROWS) {
            const std::size_t height = std::min<std::size_t>(TILE_ROWS, rows - r);
            for (std::size_t i = 0; i < height; ++i) copy_strided(x + (r + i) * depth_, depth_, mixed + i, height);
            with_rows(static_cast<int>(height), [&]<int ROWS>() {
                for (std::size_t panel = first / PANEL<T>; panel * PANEL<T> < first + columns; ++panel)
                    measure<ROWS>(mixed, panel, {first, first + columns}, out + r * stride, stride);
            });
        }
    }

   private:
    struct Range {
        std::size_t begin, end;
    };

    template <int ROWS>
    void measure(const T* rows, std::size_t panel, Range wanted, T* out, std::size_t stride) const {
        Vec<T> sum[ROWS][TILE_VECTORS];
        accumulate<SumOfSquares>(rows, &packed_[panel * PANEL<T> * depth_], depth_, sum);
        const std::size_t begin = std::max(wanted.begin, panel * PANEL<T>);
        const std::size_t end = std::min(wanted.end, (panel + 1) * PANEL<T>);
        for (int r = 0; r < ROWS; ++r) {
            alignas(64) T squares[PANEL<T> < WIDTH<T> ? WIDTH<T> : PANEL<T>] = {};
            std::memcpy(squares, sum[r], sizeof(sum[r]));
            for (std::size_t l = 0; l < PANEL<T>; l += WIDTH<T>)
                store(squares + l, root<T>(load<Wide<T>>(squares + l)));
            std::copy(squares + begin - panel * PANEL<T>, squares + end - panel * PANEL<T>,
                      out + static_cast<std::size_t>(r) * stride + begin - wanted.begin);
        }
    }

    std::size_t n_, depth_, panels_;
    Buffer<T> packed_;
};

/// out (rows of A, points of B) = |a_i - b_j|. Each row has one owner and depends on nothing but itself and B.
template <class T>
void cross_distances(const Context& context, MatrixView<const T> A, MatrixView<const T> B, T* out) {
    const RowPanels<T> panels(B);
    parallel_ranges(context, A.rows, SIDE, [&](std::size_t first, std::size_t last, Worker& worker) {
        Buffer<T> mixed(TILE_ROWS * A.columns);
        constexpr std::size_t COLUMNS = 1024;
        for (std::size_t j = 0; j < B.rows; j += COLUMNS) {
            const std::size_t columns = std::min(COLUMNS, B.rows - j);
            panels.distances(A.row(first), last - first, j, columns, out + first * B.rows + j, B.rows, mixed.data());
            worker.check();
        }
    });
}

/// What is left of a tile in its first `rows` x `columns` entries of the pairs (i, j) with i < j; NaN elsewhere.
template <class T>
inline void blank_outside(T* tile, std::size_t columns, bool diagonal) {
    constexpr T NOTHING = std::numeric_limits<T>::quiet_NaN();
    for (std::size_t r = 0; r < SIDE; ++r) {
        if (diagonal) std::fill_n(tile + r * SIDE, std::min(r + 1, SIDE), NOTHING);
        std::fill(tile + r * SIDE + columns, tile + (r + 1) * SIDE, NOTHING);
    }
}

/// A number for each pair of points. Wherever they come from, what is done with a tile is compiled once.
template <class T>
class Pairs {
   public:
    virtual ~Pairs() = default;

    /// Room that `tile` needs.
    virtual std::size_t scratch() const = 0;

    /// The pairs of points `first` .. and `column` .., SIDE of each; NaN where there are none. Read in place if whole.
    virtual PairTile<T> tile(std::size_t first, std::size_t column, T* scratch) const = 0;
};

/// Pairs of a symmetric matrix, whole or packed, of which the entries above the diagonal are read.
template <class T, class Rows>
class KeptPairs final : public Pairs<T> {
   public:
    KeptPairs(Rows rows, std::size_t n) : rows_(rows), n_(n) {}

    std::size_t scratch() const override { return SIDE * SIDE; }

    PairTile<T> tile(std::size_t first, std::size_t column, T* scratch) const override {
        const std::size_t rows = std::min(SIDE, n_ - first), columns = std::min(SIDE, n_ - column);
        if (first != column && columns == SIDE)
            return {rows_.row(first) + column,
                    rows > 1 ? static_cast<std::size_t>(rows_.row(first + 1) - rows_.row(first)) : 0};
        for (std::size_t r = 0; r < rows; ++r) std::copy_n(rows_.row(first + r) + column, columns, scratch + r * SIDE);
        blank_outside(scratch, columns, first == column);
        return {scratch, SIDE};
    }

   private:
    Rows rows_;
    std::size_t n_;
};

/// Pairs of rows of numbers, measured again each time.
template <class T>
class MeasuredPairs final : public Pairs<T> {
   public:
    explicit MeasuredPairs(MatrixView<const T> X) : X_(X), panels_(X) {}

    std::size_t scratch() const override { return SIDE * SIDE + TILE_ROWS * X_.columns; }

    PairTile<T> tile(std::size_t first, std::size_t column, T* scratch) const override {
        const std::size_t rows = std::min(SIDE, X_.rows - first), columns = std::min(SIDE, X_.rows - column);
        panels_.distances(X_.row(first), rows, column, columns, scratch, SIDE, scratch + SIDE * SIDE);
        if (first == column || columns < SIDE) blank_outside(scratch, columns, first == column);
        return {scratch, SIDE};
    }

   private:
    MatrixView<const T> X_;
    RowPanels<T> panels_;
};

}  // namespace lowfold
