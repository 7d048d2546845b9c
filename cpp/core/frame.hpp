// Where the data lie: column means, and the frame in which float32 is most exact.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "matrix.hpp"
#include "parallel.hpp"

namespace lowfold {

inline constexpr std::size_t ROWS_PER_SUM = 2048;  // rows that one partial sum covers, whatever the thread count

/// Mean of each column. Partial sums of fixed ranges of rows, added up in order.
template <class T>
std::vector<double> column_means(const Context& context, MatrixView<const T> X) {
    const std::size_t parts = (X.rows + ROWS_PER_SUM - 1) / ROWS_PER_SUM;
    std::vector<double> sums(parts * X.columns), mean(X.columns);
    parallel_ranges(context, X.rows, ROWS_PER_SUM, [&](std::size_t begin, std::size_t end, Worker&) {
        double* sum = &sums[begin / ROWS_PER_SUM * X.columns];
        for (std::size_t i = begin; i < end; ++i)
            for (std::size_t p = 0; p < X.columns; ++p) sum[p] += X.row(i)[p];
    });
    for (std::size_t part = 0; part < parts; ++part)
        for (std::size_t p = 0; p < X.columns; ++p) mean[p] += sums[part * X.columns + p];
    for (auto& m : mean) m /= static_cast<double>(X.rows);
    return mean;
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
    std::vector<double> largest((X.rows + ROWS_PER_SUM - 1) / ROWS_PER_SUM);
    parallel_ranges(context, X.rows, ROWS_PER_SUM, [&](std::size_t begin, std::size_t end, Worker&) {
        double most = 0;
        for (std::size_t i = begin; i < end; ++i)
            for (std::size_t p = 0; p < X.columns; ++p) most = std::max(most, std::abs(X.row(i)[p] - frame.mean[p]));
        largest[begin / ROWS_PER_SUM] = most;
    });
    const double most = *std::max_element(largest.begin(), largest.end());
    if (most > 0) frame.scale = std::ldexp(1.0, std::min(-std::ilogb(most), 1023));
    return frame;
}

}  // namespace lowfold
