// Where the data lie: column means, and the frame in which float32 is most exact.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "matrix.hpp"
#include "parallel.hpp"
#include "random.hpp"
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

/// A coordinate this far out is moved no further, so that squares stay finite. Distances only shrink by that: what is
/// not near such a point or query by its scores is not near it. What is near is decided by exact distances
/// (Candidates::tighten).
inline constexpr double FAR = 1e15;

/// Moves points to (x - mean) * scale. The scale is a power of two, so it rounds nothing.
struct Frame {
    std::vector<double> mean;  // or where most points are
    double scale = 1;

    template <class T>
    void read(const T* x, float* to) const {
        for (std::size_t p = 0; p < mean.size(); ++p)
            to[p] = static_cast<float>(std::clamp((x[p] - mean[p]) * scale, -FAR, FAR));
    }
};

/// Rows that stand for all of them, one by lot from each of as many parts: enough for a median, and few where they are
/// long. By lot, since every second row may be of another kind.
template <class T>
std::vector<const T*> typical_rows(MatrixView<const T> X) {
    constexpr std::size_t MOST_ROWS = 512, LEAST_ROWS = 64, NUMBERS = std::size_t{1} << 20;
    const std::size_t count = std::min(X.rows, std::clamp(NUMBERS / X.columns, LEAST_ROWS, MOST_ROWS));
    std::vector<const T*> rows(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t begin = i * X.rows / count, end = (i + 1) * X.rows / count;
        rows[i] = X.row(begin + random_bits(0, 0, i) % (end - begin));
    }
    return rows;
}

template <class Value>
Value median(std::vector<Value>& values) {
    const auto middle = values.begin() + static_cast<long>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// The median over some rows of |x - centre|^2.
template <class T>
double typical_size(const std::vector<const T*>& rows, const std::vector<double>& centre) {
    std::vector<double> sizes;
    for (const T* x : rows) {
        double size = 0;
        for (std::size_t p = 0; p < centre.size(); ++p) size += (x[p] - centre[p]) * (x[p] - centre[p]);
        sizes.push_back(size);
    }
    return median(sizes);
}

/// Where most rows lie, and how far from there: the root of the median of |x - centre|^2.
struct Middle {
    std::vector<double> centre;
    double size;
};

/// The medians of the columns where other rows have drawn the mean away from most, which lie around those; else the
/// mean. `largest`: of |x_p - mean_p|.
template <class T>
Middle middle_of_most(const Context& context, MatrixView<const T> X, std::vector<double> mean, double largest) {
    constexpr double NEARER = 0.25;  // of squared distances
    if (X.rows == 0 || X.columns == 0) return {std::move(mean), largest};
    const auto rows = typical_rows(X);
    const double size = typical_size(rows, mean);
    std::vector<double> medians(X.columns);
    parallel_for(context, X.columns, [&](std::size_t p, Worker& worker) {
        std::vector<double> column;
        for (const T* x : rows) column.push_back(x[p]);
        medians[p] = median(column);
        worker.check_after(rows.size());
    });
    const double around = typical_size(rows, medians);
    if (around < NEARER * size) return {std::move(medians), std::sqrt(around)};
    return {std::move(mean), std::sqrt(size)};
}

/// The frame around most points in which the largest coordinate lies between 1 and 2, far from float32's limits; or, if
/// that would leave nothing of most points' squares, the size of most.
template <class T>
Frame find_frame(const Context& context, MatrixView<const T> X) {
    constexpr double ALL_IN_RANGE = 1e12;  // times the size of most
    // With a larger scale, scores would know more digits of small squares than distances in T do, whose ties they
    // break.
    constexpr double LEAST = std::is_same_v<T, float> ? 0x1p-16 : 0x1p-400;
    std::vector<double> mean = column_means(context, X);
    double most = largest_entry(context, X, mean.data());
    auto [centre, size] = middle_of_most(context, X, mean, most);
    if (centre != mean) most = largest_entry(context, X, centre.data());
    const double unit = most > ALL_IN_RANGE * size ? std::max(size, std::min(most, LEAST)) : most;
    return {std::move(centre), unit > 0 ? std::ldexp(1.0, std::min(-std::ilogb(unit), 1023)) : 1};
}

}  // namespace lowfold
