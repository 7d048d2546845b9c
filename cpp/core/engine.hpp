// How candidates are scored in the first pass of the neighbour search: quickly, with a known error.
//
// With x the query, y a reference (both centred, float32) and c the relative error of the engine, the score s(x, y)
// brackets a true score S that orders the references of one query as the distance D does:
//   inner product:  S = |y|^2/2 - x.y = (D^2 - |x|^2)/2,  s - c/2 |x|^2 <= S <= s + c/2 |x|^2 + c |y|^2
//   differences:    S = D,                                s - c/2 |x|   <= S <= s + c/2 |x|   + c |y|
// Of squared differences the rounding of the sum is a share of S itself, which is allowed for apart (`relative`): what
// is left of c is the rounding of coordinates. Where points are far nearer to each other than to the origin, products
// tell nothing about them, and differences still do.
// The `size` of a point is its |x|^2 or |x| there. Half of the error is folded into the reference's bias.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "tile.hpp"

namespace lowfold {

inline constexpr float INFINITE = std::numeric_limits<float>::infinity();

/// Beyond this relative error scores say nothing: every reference is a candidate.
inline constexpr float MOST_ERROR = 0.2f;

/// Relative error of a float32 score of `dimensions` terms, the rounding of the coordinates to float32 and of the exact
/// distance (distance.hpp) included.
inline float float_error(std::size_t dimensions) {
    const std::size_t roundings =
        dimensions <= SEGMENT ? dimensions : SEGMENT + GROUP / SEGMENT + dimensions / GROUP + 1;
    return 2 * (static_cast<float>(roundings) + 8) * std::numeric_limits<float>::epsilon();
}

/// How candidates are scored: by inner products in float32 or in 8 bits, or by differences in float32.
enum class Scores { products, bytes, differences };

/// By how much sums may be off besides, since products of tiny numbers are rounded to multiples of 2^-149.
inline constexpr float VANISHED = 0x1p-100f;

/// Points scored in float32 by one of the operations of tile.hpp.
template <class Operation>
struct FloatEngine {
    using Unit = float;  // what a panel and a prepared row consist of
    static constexpr bool INNER = std::is_same_v<Operation, InnerProduct>;
    static constexpr bool SQUARES = std::is_same_v<Operation, SumOfSquares>;
    static constexpr float PAD_SIZE = INNER ? INFINITE : -INFINITE;  // scores +infinity: never a candidate

    /// Units of a panel's column, and of a prepared row.
    static std::size_t depth(std::size_t dimensions) { return dimensions; }
    static std::size_t row_units(std::size_t dimensions) { return dimensions; }

    static constexpr float LOST = SQUARES ? 0x1p-50f : VANISHED;  // by which scores may be off besides

    /// c of the bracket above, and what S may be off by as a share of itself.
    static float error(std::size_t dimensions) {
        return SQUARES ? 8 * std::numeric_limits<float>::epsilon() : float_error(dimensions);
    }
    static float relative(std::size_t dimensions) { return SQUARES ? float_error(dimensions) : 0; }

    static float size(const float* x, std::size_t dimensions) {
        constexpr std::size_t CHAINS = 8;  // of additions, none of which waits for another
        double sums[CHAINS] = {};
        const auto take = [](double& sum, double value) {
            if constexpr (INNER || SQUARES)
                sum += value * value;
            else if constexpr (std::is_same_v<Operation, SumOfDifferences>)
                sum += std::abs(value);
            else
                sum = std::max(sum, std::abs(value));
        };
        std::size_t p = 0;
        for (; p + CHAINS <= dimensions; p += CHAINS)
            for (std::size_t c = 0; c < CHAINS; ++c) take(sums[c], x[p + c]);
        for (; p < dimensions; ++p) take(sums[0], x[p]);
        for (std::size_t c = 1; c < CHAINS; ++c) sums[0] = Operation::join(sums[0], sums[c]);
        return static_cast<float>(SQUARES ? std::sqrt(sums[0]) : sums[0]);
    }

    /// Packs `count` points, the rows of y, into the first columns of a panel, and their scales.
    static void pack_columns(Unit* panel, int count, const float* y, std::size_t dimensions, float* scales) {
        for (std::size_t p = 0; p < dimensions; p += GROUP)  // so many columns of a panel stay in the cache
            for (int lane = 0; lane < count; ++lane)
                copy_strided(y + lane * dimensions + p, std::min(dimensions - p, GROUP),
                             panel + p * PANEL<float> + lane, PANEL<float>);
        std::fill_n(scales, count, 1.0f);
    }

    /// Returns the point's scale.
    static float prepare_row(Unit* to, const float* x, std::size_t dimensions) {
        std::copy_n(x, dimensions, to);
        return 1;
    }

    template <int ROWS>
    static void score(const Unit* rows, const float*, const Unit* panel, const float* sizes, const float*,
                      std::size_t depth, float error, Vec<float> (&scores)[ROWS][TILE_VECTORS]) {
        accumulate_all<Operation>(rows, panel, depth, scores);
        finish(sizes, error, scores);
    }

    /// From the sums over all columns to scores.
    template <int ROWS>
    static void finish(const float* sizes, float error, Vec<float> (&scores)[ROWS][TILE_VECTORS]) {
#pragma GCC unroll 2
        for (int v = 0; v < TILE_VECTORS; ++v) {
            const auto bias = load<Vec<float>>(sizes + v * LANES<float>) * (INNER ? (1 - error) / 2 : -error / 2);
#pragma GCC unroll 16
            for (int i = 0; i < ROWS; ++i) {
                if constexpr (SQUARES) scores[i][v] = root(scores[i][v]);
                scores[i][v] = INNER ? bias - scores[i][v] : bias + scores[i][v];
            }
        }
    }
};

#if defined(__AVX512VNNI__)

/// Inner products of points rounded to 8 bits, each with a scale of its own (its largest coordinate is 127), so that
/// an outlier spoils nothing but itself. One instruction multiplies four times as many numbers as in float32.
struct ByteEngine {
    using Unit = std::int32_t;  // four coordinates
    static constexpr bool INNER = true, SQUARES = false;
    static constexpr float LOST = VANISHED;
    static constexpr float PAD_SIZE = INFINITE;
    static constexpr int LARGEST = 127, OFFSET = 128;
    static constexpr float VANISHING = 1e-30f;            // beside coordinates of size 1; its inverse is still finite
    static constexpr std::size_t MAX_DIMENSIONS = 60000;  // 255 * 127 * this stays below 2^31

    static std::size_t depth(std::size_t dimensions) { return (dimensions + 3) / 4; }
    /// The first unit of a row is what its sum starts from: it takes the references' OFFSET away again.
    static std::size_t row_units(std::size_t dimensions) { return 1 + depth(dimensions); }

    static float size(const float* x, std::size_t dimensions) { return FloatEngine<InnerProduct>::size(x, dimensions); }
    static float error(std::size_t dimensions) { return float_error(dimensions); }  // and that of the bytes (cells.hpp)
    static float relative(std::size_t) { return 0; }

    static float scale(const float* x, std::size_t dimensions) {
        float largest = 0;
        for (std::size_t p = 0; p < dimensions; ++p) largest = std::max(largest, std::abs(x[p]));
        return largest > VANISHING ? largest / LARGEST : 1;
    }

    static void pack_columns(Unit* panel, int count, const float* y, std::size_t dimensions, float* scales) {
        auto* bytes = reinterpret_cast<std::uint8_t*>(panel);
        for (int lane = 0; lane < count; ++lane, y += dimensions) {
            scales[lane] = scale(y, dimensions);
            const float inverse = 1 / scales[lane];
            for (std::size_t p = 0; p < 4 * depth(dimensions); ++p) {
                const float value = p < dimensions ? std::nearbyintf(y[p] * inverse) : 0;
                bytes[(p / 4 * PANEL<float> + lane) * 4 + p % 4] = static_cast<std::uint8_t>(value + OFFSET);
            }
        }
    }
    static float prepare_row(Unit* to, const float* x, std::size_t dimensions) {
        const float s = scale(x, dimensions), inverse = 1 / s;
        auto* bytes = reinterpret_cast<std::int8_t*>(to + 1);
        std::fill_n(to, row_units(dimensions), 0);
        for (std::size_t p = 0; p < dimensions; ++p) {
            bytes[p] = static_cast<std::int8_t>(std::nearbyintf(x[p] * inverse));
            to[0] -= OFFSET * bytes[p];
        }
        return s;
    }

    /// sum += the four products of each lane. In assembly, since GCC 12 copies and spills the accumulators of the
    /// intrinsic, which costs half of the speed.
    static void add_products(__m512i& sum, __m512i unsigned_bytes, __m512i signed_bytes) {
        asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(unsigned_bytes), "v"(signed_bytes));
    }

    template <int ROWS>
    static void score(const Unit* rows, const float* row_scales, const Unit* panel, const float* sizes,
                      const float* scales, std::size_t depth, float error, Vec<float> (&scores)[ROWS][TILE_VECTORS]) {
        __m512i sum[ROWS][TILE_VECTORS];
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; ++i) sum[i][0] = sum[i][1] = _mm512_set1_epi32(rows[i]);
        for (std::size_t p = 0; p < depth; ++p) {
            const __m512i y0 = _mm512_load_si512(panel + p * PANEL<float>);
            const __m512i y1 = _mm512_load_si512(panel + p * PANEL<float> + LANES<float>);
#pragma GCC unroll 16
            for (int i = 0; i < ROWS; ++i) {
                const __m512i x = _mm512_set1_epi32(rows[(p + 1) * ROWS + i]);
                add_products(sum[i][0], y0, x);
                add_products(sum[i][1], y1, x);
            }
        }
#pragma GCC unroll 2
        for (int v = 0; v < TILE_VECTORS; ++v) {
            const auto bias = load<Vec<float>>(sizes + v * LANES<float>) * ((1 - std::min(error, MOST_ERROR)) / 2);
            const auto scale = load<Vec<float>>(scales + v * LANES<float>);
#pragma GCC unroll 16
            for (int i = 0; i < ROWS; ++i) {
                const auto product = (Vec<float>)_mm512_cvtepi32_ps(sum[i][v]) * scale;
                scores[i][v] = multiply_add(product, broadcast<Vec<float>>(-row_scales[i]), bias);
            }
        }
    }
};

#endif

}  // namespace lowfold
