// Rows of length 1 in the directions of given ones, for cosine and correlation distances.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "matrix.hpp"
#include "parallel.hpp"

namespace lowfold {

/// Lanes of a sum: each runs over its own columns, so that the result is the same for every instruction set.
inline constexpr std::size_t SUM_LANES = 16;

/// The sum of value(p) over p in [0, count), lane by lane.
template <class Value>
double sum_by_lanes(std::size_t count, const Value& value) {
    std::array<double, SUM_LANES> sum{};
    std::size_t p = 0;
    for (; p + SUM_LANES <= count; p += SUM_LANES)
        for (std::size_t l = 0; l < SUM_LANES; ++l) sum[l] += value(p + l);
    for (std::size_t l = 0; p + l < count; ++l) sum[l] += value(p + l);
    double total = 0;
    for (const double part : sum) total += part;
    return total;
}

inline double largest_size(const std::vector<double>& row) {
    std::array<double, SUM_LANES> largest{};
    std::size_t p = 0;
    for (; p + SUM_LANES <= row.size(); p += SUM_LANES)
        for (std::size_t l = 0; l < SUM_LANES; ++l) largest[l] = std::max(largest[l], std::abs(row[p + l]));
    for (std::size_t l = 0; p + l < row.size(); ++l) largest[l] = std::max(largest[l], std::abs(row[p + l]));
    return *std::max_element(largest.begin(), largest.end());
}

/// out[i] = x_i / |x_i|, of x_i less its mean if `centred`; has_direction[i] = 0 and no change of length where nothing
/// of it is left but the rounding of the mean. Each row has one owner. Cost rows * columns.
template <class T>
void directions(const Context& context, MatrixView<const T> X, bool centred, MatrixView<T> out, bool* has_direction) {
    parallel_ranges(context, X.rows, 512, [&](std::size_t begin, std::size_t end, Worker& worker) {
        std::vector<double> row(X.columns);
        for (std::size_t i = begin; i < end; ++i) {
            for (std::size_t p = 0; p < X.columns; ++p) row[p] = X.row(i)[p];
            double smallest = 0;
            if (centred) {
                // The mean of many equal numbers is off by more than a bound for all rows could allow for.
                if (std::all_of(row.begin(), row.end(), [&](double value) { return value == row[0]; }))
                    std::fill(row.begin(), row.end(), 0.0);
                smallest = 8 * std::numeric_limits<double>::epsilon() * largest_size(row);
                const double mean =
                    sum_by_lanes(X.columns, [&](std::size_t p) { return row[p]; }) / static_cast<double>(X.columns);
                for (double& value : row) value -= mean;
            }
            const double largest = largest_size(row);
            has_direction[i] = largest > smallest;
            double factor = 1;
            if (has_direction[i]) {  // first scaled by a power of two, so that squares neither overflow nor vanish
                const double scale = std::ldexp(1.0, std::min(1023, -std::ilogb(largest)));
                for (double& value : row) value *= scale;
                factor = 1 / std::sqrt(sum_by_lanes(X.columns, [&](std::size_t p) { return row[p] * row[p]; }));
            }
            for (std::size_t p = 0; p < X.columns; ++p) out.row(i)[p] = static_cast<T>(row[p] * factor);
            worker.check_after(X.columns);
        }
    });
}

}  // namespace lowfold
