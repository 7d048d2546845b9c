// Fuzzy neighbourhoods (McInnes, Healy, Melville 2018): the degree to which each neighbour belongs to a point.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "matrix.hpp"
#include "parallel.hpp"

namespace lowfold {

/// exp(-max(0, d_j - rho) / sigma), one row: rho is the distance to the `connectivity`-th other point that is not in
/// the same place (between two of them for a broken number), sigma such that the sum is log2(k + 1).
class FuzzyRow {
   public:
    FuzzyRow(double connectivity, double mean_of_all) : connectivity_(connectivity), mean_of_all_(mean_of_all) {}

    /// Distances of the k other points ascend.
    template <class T>
    void run(const T* distances, std::size_t k, float* out) const {
        const double rho = nearest(distances, k);
        const double target = std::log2(static_cast<double>(k + 1));
        double low = 0, high = std::numeric_limits<double>::infinity(), sigma = 1;
        for (int step = 0; step < MOST_STEPS; ++step) {
            double sum = 0;
            for (std::size_t j = 0; j < k; ++j) sum += member(static_cast<double>(distances[j]) - rho, sigma);
            if (std::abs(sum - target) < TOLERANCE) break;
            (sum > target ? high : low) = sigma;
            sigma = std::isinf(high) ? 2 * sigma : (low + high) / 2;
        }
        double mean = 0;
        for (std::size_t j = 0; j < k; ++j) mean += static_cast<double>(distances[j]);
        mean /= static_cast<double>(k + 1);  // the point itself is counted
        sigma = std::max(sigma, LEAST_WIDTH * (rho > 0 ? mean : mean_of_all_));
        for (std::size_t j = 0; j < k; ++j)
            out[j] = static_cast<float>(member(static_cast<double>(distances[j]) - rho, sigma));
    }

    static constexpr int MOST_STEPS = 64;

   private:
    static constexpr double TOLERANCE = 1e-5, LEAST_WIDTH = 1e-3;

    static double member(double beyond, double sigma) {
        return beyond <= 0 || sigma == 0 ? 1.0 : std::exp(-beyond / sigma);
    }

    template <class T>
    double nearest(const T* distances, std::size_t k) const {
        const T* first = std::upper_bound(distances, distances + k, T{});
        const auto apart = static_cast<std::size_t>(distances + k - first);
        if (apart == 0) return 0;
        if (static_cast<double>(apart) < connectivity_) return static_cast<double>(first[apart - 1]);
        const auto whole = static_cast<std::size_t>(connectivity_);
        const double part = connectivity_ - static_cast<double>(whole);
        if (whole == 0) return part * static_cast<double>(first[0]);
        const double below = static_cast<double>(first[whole - 1]);
        return whole < apart ? below + part * (static_cast<double>(first[whole]) - below) : below;
    }

    double connectivity_, mean_of_all_;
};

/// All rows; mean_of_all is the mean of all distances, each point's own of 0 counted. Each row has one owner.
template <class T>
void fuzzy_rows(const Context& context, MatrixView<const T> distances, double connectivity, double mean_of_all,
                float* out) {
    constexpr std::size_t ROWS_AT_ONCE = 256;
    const FuzzyRow row(connectivity, mean_of_all);
    parallel_ranges(context, distances.rows, ROWS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
        for (std::size_t i = first; i < last; ++i) {
            row.run(distances.row(i), distances.columns, out + i * distances.columns);
            worker.check_after(FuzzyRow::MOST_STEPS * distances.columns);
        }
    });
}

/// mix (a + b - a b) + (1 - mix) a b: the union of both directions' memberships at 1, the intersection at 0.
struct FuzzyUnion {
    float mix;
    float operator()(float a, float b) const {
        const float both = a * b;  // the same bits from either end
        return mix * ((a + b) - both) + (1 - mix) * both;
    }
};

}  // namespace lowfold
