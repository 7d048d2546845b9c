// Where the data lie: column means, and the frame in which float32 is most exact.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "matrix.hpp"
#include "parallel.hpp"
#include "simd.hpp"

namespace lowfold {

inline constexpr std::size_t ROWS_PER_SUM = 2048;  // rows that one partial sum covers, whatever the thread count

/// Mean of each column: the first entry and the mean distance from it, so that a column that never changes has that
/// very entry. Partial sums of fixed ranges of rows, added up in order.
template <class T>
std::vector<double> column_means(const Context& context, MatrixView<const T> X) {
    const std::size_t parts = (X.rows + ROWS_PER_SUM - 1) / ROWS_PER_SUM;
    if (X.rows == 0) return std::vector<double>(X.columns, std::numeric_limits<double>::quiet_NaN());
    std::vector<double> sums(parts * X.columns), mean(X.columns);
    parallel_ranges(context, X.rows, ROWS_PER_SUM, [&](std::size_t begin, std::size_t end, Worker& worker) {
        double* sum = &sums[begin / ROWS_PER_SUM * X.columns];
        for (std::size_t i = begin; i < end; ++i) {
            for (std::size_t p = 0; p < X.columns; ++p)
                sum[p] += static_cast<double>(X.row(i)[p]) - static_cast<double>(X.row(0)[p]);
            worker.check_after(X.columns);
        }
    });
    for (std::size_t part = 0; part < parts; ++part)
        for (std::size_t p = 0; p < X.columns; ++p) mean[p] += sums[part * X.columns + p];
    for (std::size_t p = 0; p < X.columns; ++p) mean[p] = X.row(0)[p] + mean[p] / static_cast<double>(X.rows);
    return mean;
}

/// The largest |x_p - mean_p| of a row, or NaN if some x is not finite. In whole registers: compilers do not vectorise
/// a maximum that has to respect NaN.
template <class T>
T largest_of_row(const T* x, const T* mean, std::size_t columns) {
    Vec<T> most{}, zero{};  // the latter stays so unless something is not finite
    std::size_t p = 0;
    for (; p + LANES<T> <= columns; p += LANES<T>) {
        const auto v = load<Vec<T>>(x + p);
        most = maximum(absolute(v - load<Vec<T>>(mean + p)), most);
        zero += v - v;
    }
    T result = 0, spoilt = 0;
    for (int lane = 0; lane < LANES<T>; ++lane) {
        result = std::max(result, most[lane]);
        spoilt += zero[lane];
    }
    for (; p < columns; ++p) {
        result = std::max(result, std::abs(x[p] - mean[p]));
        spoilt += x[p] - x[p];
    }
    return result + spoilt;
}

/// The largest of all rows, or NaN. Maxima of fixed ranges of rows, then of those.
template <class T>
double largest_entry(const Context& context, MatrixView<const T> X, const double* mean) {
    const std::vector<T> centre(mean, mean + X.columns);
    std::vector<T> largest((X.rows + ROWS_PER_SUM - 1) / ROWS_PER_SUM);
    const auto larger = [](T a, T b) { return b > a || std::isnan(b) ? b : a; };
    parallel_ranges(context, X.rows, ROWS_PER_SUM, [&](std::size_t begin, std::size_t end, Worker& worker) {
        T& most = largest[begin / ROWS_PER_SUM];
        for (std::size_t i = begin; i < end && !std::isnan(most); ++i) {
            most = larger(most, largest_of_row(X.row(i), centre.data(), X.columns));
            worker.check_after(X.columns);
        }
    });
    return std::accumulate(largest.begin(), largest.end(), T{0},
                           [&](T a, T b) { return std::isnan(a) ? a : larger(a, b); });
}

/// A coordinate this far out, in units of the data's largest, is moved no further: the search allows for an error that
/// grows with the point's size, so that here every reference is a candidate and exact distances decide.
inline constexpr double FAR = 1e15;

/// Moves points to (x - mean) * scale. The scale is a power of two, so it rounds nothing.
struct Frame {
    std::vector<double> mean;
    double scale = 1;

    template <class T>
    void read(const T* x, float* to) const {
        for (std::size_t p = 0; p < mean.size(); ++p)
            to[p] = static_cast<float>(std::clamp((x[p] - mean[p]) * scale, -FAR, FAR));
    }
};

/// The frame in which the largest coordinate lies between 1 and 2, far from float32's limits.
template <class T>
Frame find_frame(const Context& context, MatrixView<const T> X) {
    Frame frame{column_means(context, X)};
    const double most = largest_entry(context, X, frame.mean.data());
    if (most > 0) frame.scale = std::ldexp(1.0, std::min(-std::ilogb(most), 1023));
    return frame;
}

}  // namespace lowfold
