// Gaussian affinities of each point to its neighbours with a given effective number of neighbours.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "elementary.hpp"
#include "parallel.hpp"

namespace lowfold {

/// p_j = exp(-b d_j^2) / sum_l exp(-b d_l^2) with b such that the entropy -sum p log p is log(perplexity): one row.
///
/// With S = sum exp(-b s), s = d^2 - d_1^2: H = log S + b E[s], and dH / d log b = -b^2 Var[s]. Newton's steps in log
/// b, kept inside the interval that holds the solution. Sums in float32 lanes: the entropy is right to about 1e-6.
class PerplexityRow {
   public:
    explicit PerplexityRow(std::size_t k)
        : k_(k), squares_((k + WIDTH - 1) / WIDTH * WIDTH), weights_(squares_.size()) {}

    /// Distances ascend. Squares are taken relative to the nearest one, which leaves p as it is, and in units of their
    /// mean.
    template <class T>
    void load(const T* distances) {
        const double nearest = square(distances[0]);
        double sum = 0;
        for (std::size_t j = 0; j < k_; ++j) sum += square(distances[j]) - nearest;
        const double scale = sum > 0 ? static_cast<double>(k_) / sum : 0;
        for (std::size_t j = 0; j < k_; ++j)
            squares_[j] = static_cast<float>(std::max(0.0, square(distances[j]) - nearest) * scale);
        std::fill(squares_.begin() + k_, squares_.end(), 0.0f);
        flat_ = scale == 0;
        log_precision_ = 0;
    }

    /// Adds share * p to a row. Where all distances are equal, or the row has no more neighbours than the perplexity
    /// asks for, p is uniform over the nearest ones there are.
    void add(double perplexity, float share, float* to) {
        const double target = std::log(std::min(perplexity, static_cast<double>(k_)));
        if (!flat_) solve(target);
        const float total = flat_ ? static_cast<float>(k_) : static_cast<float>(sums_.weight);
        for (std::size_t j = 0; j < k_; ++j) to[j] += share * (flat_ ? 1.0f : weights_[j]) / total;
    }

   private:
    static constexpr std::size_t WIDTH = 16;
    static constexpr int MOST_STEPS = 60;
    static constexpr double TOLERANCE = 1e-5, MOST_LOG = 80, LARGEST_STEP = 3;
    using Lanes = Wide<float>;

    struct Sums {
        double weight, first, second;  // of w, w s, w s^2
    };

    template <class T>
    static double square(T x) {
        return static_cast<double>(x) * static_cast<double>(x);
    }

    void solve(double target) {
        double low = -MOST_LOG, high = MOST_LOG;
        for (int step = 0; step < MOST_STEPS; ++step) {
            const double b = std::exp(log_precision_);
            measure(b);
            const double mean = sums_.first / sums_.weight;
            const double error = std::log(sums_.weight) + b * mean - target;
            if (std::abs(error) < TOLERANCE || high - low < 1e-9) return;
            (error > 0 ? low : high) = log_precision_;
            const double slope = b * b * (sums_.second / sums_.weight - mean * mean);
            double next = log_precision_ + std::clamp(error / std::max(slope, 1e-12), -LARGEST_STEP, LARGEST_STEP);
            if (!(next > low && next < high)) next = (low + high) / 2;
            log_precision_ = next;
        }
    }

    void measure(double b) {
        Lanes weight{}, first{}, second{};
        const auto minus_b = static_cast<float>(-b);
        for (std::size_t j = 0; j < squares_.size(); j += WIDTH) {
            const auto s = load_lanes(&squares_[j]);
            const Lanes exponent = s * minus_b;
            Lanes w = exponential(exponent);
            store(&weights_[j], w);
            // What is too small to be told from 0 would weigh b^2 s^2 times as much in the variance as it should.
            w = exponent > -LARGEST_EXPONENT ? w : Lanes{};
            if (j + WIDTH > k_)
                for (std::size_t lane = k_ - j; lane < WIDTH; ++lane) w[lane] = 0;
            weight += w;
            first += w * s;
            second += w * s * s;
        }
        sums_ = {sum(weight), sum(first), sum(second)};
    }

    static Lanes load_lanes(const float* from) { return lowfold::load<Lanes>(from); }
    static double sum(Lanes v) {
        double total = 0;
        for (std::size_t i = 0; i < WIDTH; ++i) total += static_cast<double>(v[i]);
        return total;
    }

    std::size_t k_;
    Buffer<float> squares_, weights_;
    double log_precision_ = 0;
    bool flat_ = false;
    Sums sums_{};
};

/// Row i of P: the mean, over the perplexities, of the affinities of point i. Each row has one owner. Cost n k per step
/// of the search, of which there are about six.
template <class T>
void perplexity_rows(const Context& context, MatrixView<const T> distances, const double* perplexities,
                     std::size_t count, float* P) {
    constexpr std::size_t ROWS_AT_ONCE = 128, STEPS = 6;
    const std::size_t k = distances.columns;
    parallel_ranges(context, distances.rows, ROWS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
        PerplexityRow row(k);
        for (std::size_t i = first; i < last; ++i) {
            std::fill_n(P + i * k, k, 0.0f);
            row.load(distances.row(i));
            for (std::size_t p = 0; p < count; ++p) row.add(perplexities[p], 1 / static_cast<float>(count), P + i * k);
            worker.check_after(STEPS * count * k);
        }
    });
}

}  // namespace lowfold
