// The dense part of a sparse elimination: some unknowns are eliminated, and what that changes in the others is left.
#pragma once

#include <cmath>
#include <stdexcept>

#include "symmetric_product.hpp"
#include "tile.hpp"

namespace lowfold {

/// A square matrix F of size m of which the first k unknowns are eliminated, F = L U, without exchanging rows.
///
/// Of U the rows are kept, and of L, whose diagonal is 1, the columns: both then have the same shape, and go the same
/// way. A symmetric F needs only U, since L = U^T D^-1. What is below the diagonal is never read.
/// Pivots come in panels of HEIGHT; the rest of F is changed by one product for each panel. Each tile of it has one
/// owner. Cost k m^2, half of it for a symmetric F.
class FrontMatrix {
   public:
    using Rows = PackedRows<double>;
    static constexpr std::size_t HEIGHT = Rows::HEIGHT;

    /// One of the two factors: rows of the pivots, and the remainder that the elimination leaves, a square matrix of
    /// the other m - k unknowns.
    struct Half {
        Rows pivots, remainder;

        double* row(std::size_t i, std::size_t k) const { return i < k ? pivots.row(i) : remainder.row(i - k) - k; }
    };

    FrontMatrix(std::size_t pivots, std::size_t size, Half upper, Half lower)
        : k_(pivots), m_(size), halves_{upper, lower}, symmetric_(lower.pivots.data == nullptr) {}

    void eliminate(const Context& context) {
        Buffer<double> right[2], left[2];
        for (std::size_t p = 0; p < k_; p += HEIGHT) {
            const std::size_t height = std::min(HEIGHT, k_ - p), from = p + height, width = m_ - from;
            factor_corner(p, height);
            if (width == 0) return;
            const std::size_t halves = symmetric_ ? 1 : 2;
            for (std::size_t half = 0; half < 2; ++half) {
                if (half < halves) right[half].resize(padded(width, CHUNK) * height);
                left[half].resize(padded(width, TILE_ROWS) * height);
            }
            parallel_for(context, (width + CHUNK - 1) / CHUNK * halves, [&](std::size_t item, Worker& worker) {
                finish_rows(p, height, item % halves, item / halves * CHUNK, right[item % halves].data());
                worker.check();
            });
            // Short: at most HEIGHT rows are copied.
            parallel_for(context, halves,
                         [&](std::size_t half, Worker&) { pack_left(p, height, half, left[half].data()); });
            const std::size_t row_blocks = (width + BLOCK_ROWS - 1) / BLOCK_ROWS;
            const std::size_t column_blocks = (width + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS;
            parallel_for(context, row_blocks * column_blocks * halves, [&](std::size_t item, Worker& worker) {
                const std::size_t half = item % halves, block = item / halves;
                subtract(from, height, half, block / column_blocks * BLOCK_ROWS, block % column_blocks * BLOCK_COLUMNS,
                         left[symmetric_ ? 0 : 1 - half].data(), right[half].data());
                worker.check();
            });
        }
    }

   private:
    static constexpr std::size_t CHUNK = 64;  // columns of a panel that stay in the nearest cache
    static constexpr std::size_t BLOCK_ROWS = 8 * TILE_ROWS, BLOCK_COLUMNS = 256;
    static_assert(CHUNK % PANEL<double> == 0 && BLOCK_COLUMNS % CHUNK == 0);

    static std::size_t padded(std::size_t size, std::size_t multiple) {
        return (size + multiple - 1) / multiple * multiple;
    }

    /// The square of a panel's own pivots. corner_[half][q][i]: what row q of the other half has in column i, by which
    /// row i of this half is changed.
    void factor_corner(std::size_t p, std::size_t height) {
        for (std::size_t i = 0; i < height; ++i) {
            double* upper = halves_[0].pivots.row(p + i) + p;
            for (std::size_t q = 0; q < i; ++q) {
                const double factor = corner_[0][q][i];
                const double* row = halves_[0].pivots.row(p + q) + p;
                for (std::size_t j = i; j < height; ++j) upper[j] -= factor * row[j];
            }
            const double pivot = upper[i];
            if (pivot == 0 || !std::isfinite(pivot)) throw std::domain_error("the matrix is singular");
            inverse_[i] = 1 / pivot;
            for (std::size_t j = i + 1; j < height; ++j) corner_[1][i][j] = upper[j];
            if (symmetric_) {
                for (std::size_t j = i + 1; j < height; ++j) corner_[0][i][j] = upper[j] * inverse_[i];
                continue;
            }
            double* lower = halves_[1].pivots.row(p + i) + p;
            for (std::size_t q = 0; q < i; ++q) {
                const double factor = corner_[1][q][i];
                const double* row = halves_[1].pivots.row(p + q) + p;
                for (std::size_t j = i + 1; j < height; ++j) lower[j] -= factor * row[j];
            }
            for (std::size_t j = i + 1; j < height; ++j) corner_[0][i][j] = lower[j] *= inverse_[i];
        }
    }

    /// The rest of a panel's rows, in the CHUNK columns from `first` on after the corner: in place, and packed.
    void finish_rows(std::size_t p, std::size_t height, std::size_t half, std::size_t first, double* right) const {
        using Lanes = Wide<double>;
        constexpr std::size_t WIDE = 8, VECTORS = CHUNK / WIDE;
        const std::size_t begin = p + height + first, count = std::min(CHUNK, m_ - begin);
        double rows[HEIGHT][CHUNK];
        for (std::size_t i = 0; i < height; ++i) {
            double* row = halves_[half].pivots.row(p + i) + begin;
            std::fill(std::copy_n(row, count, rows[i]), rows[i] + CHUNK, 0.0);
            Lanes sum[VECTORS];
            for (std::size_t v = 0; v < VECTORS; ++v) sum[v] = load<Lanes>(rows[i] + v * WIDE);
            for (std::size_t q = 0; q < i; ++q) {
                const auto factor = broadcast<Lanes>(-corner_[half][q][i]);
#pragma GCC unroll 8
                for (std::size_t v = 0; v < VECTORS; ++v)
                    sum[v] = multiply_add(factor, load<Lanes>(rows[q] + v * WIDE), sum[v]);
            }
            for (std::size_t v = 0; v < VECTORS; ++v)
                store(rows[i] + v * WIDE, half == 0 ? sum[v] : sum[v] * inverse_[i]);
            std::copy_n(rows[i], count, row);
            for (std::size_t c = 0; c < CHUNK; c += PANEL<double>)
                std::copy_n(rows[i] + c, PANEL<double>, right + (first + c) * height + i * PANEL<double>);
        }
    }

    /// The rows of a half after the corner, TILE_ROWS columns side by side; for a symmetric matrix those of L.
    void pack_left(std::size_t p, std::size_t height, std::size_t half, double* left) const {
        const std::size_t from = p + height;
        for (std::size_t q = 0; q < height; ++q) {
            const double* row = halves_[half].pivots.row(p + q);
            const double factor = symmetric_ ? inverse_[q] : 1.0;
            for (std::size_t first = from; first < m_; first += TILE_ROWS) {
                double* to = left + (first - from) * height + q * TILE_ROWS;
                const std::size_t count = std::min<std::size_t>(TILE_ROWS, m_ - first);
                for (std::size_t i = 0; i < count; ++i) to[i] = row[first + i] * factor;
                std::fill(to + count, to + TILE_ROWS, 0.0);
            }
        }
    }

    /// What a panel takes from a block of the rest, which begins at `row` and `column` after it.
    void subtract(std::size_t from, std::size_t height, std::size_t half, std::size_t row, std::size_t column,
                  const double* left, const double* right) const {
        constexpr std::size_t WIDTH = PANEL<double>;
        const std::size_t width = m_ - from;
        const std::size_t row_end = std::min(row + BLOCK_ROWS, width), end = std::min(column + BLOCK_COLUMNS, width);
        for (std::size_t i = row; i < row_end && i < end; i += TILE_ROWS) {
            const std::size_t count = std::min<std::size_t>(TILE_ROWS, width - i);
            double* to[TILE_ROWS] = {};
            std::size_t begin[TILE_ROWS] = {};  // the first column that a row has in memory
            for (std::size_t lane = 0; lane < count; ++lane) {
                const std::size_t index = from + i + lane;
                to[lane] = halves_[half].row(index, k_) + from;
                const std::size_t origin = index < k_ ? 0 : k_;
                begin[lane] = (index - origin) / HEIGHT * HEIGHT + origin;
                begin[lane] = begin[lane] > from ? begin[lane] - from : 0;
            }
            for (std::size_t j = std::max(column, i / WIDTH * WIDTH); j < end; j += WIDTH) {
                Vec<double> product[TILE_ROWS][TILE_VECTORS];
                accumulate<InnerProduct>(left + i * height, right + j * height, height, product);
                for (std::size_t lane = 0; lane < count; ++lane) {
                    if (j >= begin[lane] && j + WIDTH <= width) {
                        for (std::size_t v = 0; v < TILE_VECTORS; ++v) {
                            double* at = to[lane] + j + v * LANES<double>;
                            store(at, load<Vec<double>>(at) - product[lane][v]);
                        }
                        continue;
                    }
                    double values[WIDTH];
                    std::memcpy(values, product[lane], sizeof(values));
                    for (std::size_t c = std::max(j, begin[lane]); c < std::min(j + WIDTH, width); ++c)
                        to[lane][c] -= values[c - j];
                }
            }
        }
    }

    std::size_t k_, m_;
    Half halves_[2];  // U, L
    bool symmetric_;
    double corner_[2][HEIGHT][HEIGHT], inverse_[HEIGHT];  // of the panel at hand
};

}  // namespace lowfold
