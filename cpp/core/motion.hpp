// One step of descent with momentum, for all points at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "matrix.hpp"
#include "parallel.hpp"

namespace lowfold {

/// v <- momentum v - rate weight_i (pull * attraction + push * repulsion), no longer than `limit`; y <- y + v.
struct Motion {
    float pull = 1, push = 1, rate = 1, momentum = 0, limit = 1;
};

/// Where the points are, and how they move. gains (n, d) are Jacobs': they grow by 0.2 where a coordinate keeps its
/// direction and shrink to 0.8 of themselves where it turns; null: none.
struct Moving {
    MatrixView<float> Y;
    float *velocity, *gains;
};

/// Moves every point, then all of them so that their mean is 0. Each row has one owner; the mean is summed over pieces
/// that do not depend on the threads.
inline void advance_inplace(const Context& context, const Moving& points, const float* attraction,
                            const float* repulsion, const float* weights, const Motion& how) {
    constexpr std::size_t ROWS_AT_ONCE = 4096;
    constexpr float MIN_GAIN = 0.01f;  // below this a coordinate never moves again (van der Maaten 2008)
    const std::size_t n = points.Y.rows, d = points.Y.columns, pieces = (n + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    std::vector<double> sums(pieces * d, 0.0);
    parallel_ranges(context, n, ROWS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
        double* sum = &sums[first / ROWS_AT_ONCE * d];
        for (std::size_t i = first; i < last; ++i) {
            float* v = points.velocity + i * d;
            float length = 0;
            for (std::size_t p = 0; p < d; ++p) {
                const float slope = how.pull * attraction[i * d + p] + how.push * repulsion[i * d + p];
                float step = how.rate * weights[i] * slope;
                if (points.gains) {
                    float& gain = points.gains[i * d + p];
                    gain = (slope > 0) == (v[p] > 0) ? std::max(gain * 0.8f, MIN_GAIN) : gain + 0.2f;
                    step *= gain;
                }
                v[p] = how.momentum * v[p] - step;
                length += v[p] * v[p];
            }
            const float shorter = length > how.limit * how.limit ? how.limit / std::sqrt(length) : 1.0f;
            for (std::size_t p = 0; p < d; ++p) {
                v[p] *= shorter;
                points.Y.row(i)[p] += v[p];
                sum[p] += static_cast<double>(points.Y.row(i)[p]);
            }
        }
        worker.check();
    });
    std::vector<float> mean(d);
    for (std::size_t p = 0; p < d; ++p) {
        double total = 0;
        for (std::size_t piece = 0; piece < pieces; ++piece) total += sums[piece * d + p];
        mean[p] = static_cast<float>(total / static_cast<double>(n));
    }
    // Short: one subtraction for each coordinate of ROWS_AT_ONCE points.
    parallel_ranges(context, n, ROWS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker&) {
        for (std::size_t i = first; i < last; ++i)
            for (std::size_t p = 0; p < d; ++p) points.Y.row(i)[p] -= mean[p];
    });
}

constexpr std::size_t ROWS_BETWEEN_CHECKS = 1 << 16;  // a fraction of a millisecond

/// The smallest and the largest value of each column: low[p], high[p]. NaN is passed over.
inline void column_bounds(MatrixView<const float> Y, float* low, float* high, Worker& worker) {
    std::copy_n(Y.row(0), Y.columns, low);
    std::copy_n(Y.row(0), Y.columns, high);
    for (std::size_t i = 1; i < Y.rows; ++i) {
        if (i % ROWS_BETWEEN_CHECKS == 0) worker.check();
        for (std::size_t p = 0; p < Y.columns; ++p) {
            low[p] = std::min(low[p], Y.row(i)[p]);
            high[p] = std::max(high[p], Y.row(i)[p]);
        }
    }
}

}  // namespace lowfold
