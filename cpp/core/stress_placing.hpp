// A new point among fixed ones, where its own stress is least.
#pragma once

#include "stress.hpp"

namespace lowfold {

/// How long a new point is moved: until its steps are shorter than a share of the root mean square of its deltas.
struct StressPlacing {
    int most_steps = 500;
    double tolerance = 1e-6;
};

/// Points that stay where they are.
template <class T, class Law>
class FixedPoints {
   public:
    FixedPoints(MatrixView<const T> Y, const Law& law)
        : n_(Y.rows),
          padded_((Y.rows + LANE - 1) / LANE * LANE),
          d_(Y.columns),
          law_(law),
          columns_(padded_ * Y.columns) {
        std::fill(columns_.begin(), columns_.end(), T{});
        for (std::size_t j = 0; j < n_; ++j)
            for (std::size_t p = 0; p < d_; ++p) columns_[p * padded_ + j] = Y.row(j)[p];
    }

    std::size_t points() const { return n_; }
    std::size_t padded() const { return padded_; }
    std::size_t dimensions() const { return d_; }

    /// The stress sum_j w_j (|y - y_j| - delta_j)^2 of a point; G = sum_j w_j (1 - delta_j / d_j)(y - y_j). delta and
    /// weight are padded, with NaN. Sums over BLOCK points in T, over the blocks in float64.
    double at(const double* y, const T* delta, const T* weight, double* G) const {
        double cost = 0;
        std::fill_n(G, d_, 0.0);
        for (std::size_t begin = 0; begin < padded_; begin += BLOCK)
            for (std::size_t p = 0; p < d_; p += DIMENSIONS)
                cost += block(y, delta, weight, {begin, std::min(begin + BLOCK, padded_), p}, G);
        return cost;
    }

   private:
    using Lanes = Wide<T>;
    static constexpr std::size_t LANE = WIDTH<T>, BLOCK = 64 * LANE, DIMENSIONS = 4;

    struct Part {
        std::size_t begin, end, first;
    };

    double block(const double* y, const T* delta, const T* weight, const Part& part, double* G) const {
        const auto& [begin, end, first] = part;
        const std::size_t count = std::min(DIMENSIONS, d_ - first);
        Lanes cost{}, pull[DIMENSIONS] = {};
        for (std::size_t j = begin; j < end; j += LANE) {
            Lanes r{};
            for (std::size_t p = 0; p < d_; ++p) {
                const Lanes apart = static_cast<T>(y[p]) - load<Lanes>(&columns_[p * padded_ + j]);
                r += apart * apart;
            }
            const auto pair = law_(r, load<Lanes>(delta + j), load<Lanes>((weight ? weight : delta) + j));
            cost += pair.cost;
            for (std::size_t p = 0; p < count; ++p)
                pull[p] += pair.g * (static_cast<T>(y[first + p]) - load<Lanes>(&columns_[(first + p) * padded_ + j]));
        }
        for (std::size_t p = 0; p < count; ++p) G[first + p] += sum_of_lanes(pull[p]);
        return first == 0 ? sum_of_lanes(cost) : 0;
    }

    std::size_t n_, padded_, d_;
    Law law_;
    Buffer<T> columns_;
};

/// Majorisation of one point's stress: y <- z - G(z) / sum w, from z = y + momentum (y - y before). Where the stress at
/// z is above that before, z is given up for the plain step, which never raises it. The stress of the place that is
/// written to `y` was seen, and is the lowest seen; it is returned.
template <class T, class Law>
double move_to_least_stress(const FixedPoints<T, Law>& fixed, const T* delta, const T* weight, double stiffness,
                            double length, const StressPlacing& how, double* y) {
    const std::size_t d = fixed.dimensions();
    std::vector<double> z(y, y + d), G(d), plain(d), before(d);
    double lowest = std::numeric_limits<double>::infinity(), t = 1;
    bool is_plain = true, first = true;
    for (int step = 0; step < how.most_steps; ++step) {
        const double cost = fixed.at(z.data(), delta, weight, G.data());
        if (!(cost <= lowest)) {
            if (is_plain) return lowest;  // no more than rounding is left
            z = before = plain;
            t = 1;
            is_plain = true;
            continue;
        }
        lowest = cost;
        std::copy(z.begin(), z.end(), y);
        double moved = 0;
        for (std::size_t p = 0; p < d; ++p) {
            before[p] = first ? z[p] - G[p] / stiffness : plain[p];
            plain[p] = z[p] - G[p] / stiffness;
            moved += (plain[p] - z[p]) * (plain[p] - z[p]);
        }
        if (!(moved > how.tolerance * how.tolerance * length * length)) return lowest;
        const double next = (1 + std::sqrt(1 + 4 * t * t)) / 2, momentum = (t - 1) / next;
        for (std::size_t p = 0; p < d; ++p) z[p] = plain[p] + momentum * (plain[p] - before[p]);
        is_plain = first || momentum == 0;
        first = false;
        t = next;
    }
    return lowest;
}

/// Y (rows, d): each row from where it starts to the least stress against the fixed points, by its row of deltas (and
/// of weights, or null for those of the law). residuals: the root of the mean of w (d - delta)^2 of each. A row has one
/// owner and depends on nothing but its own entries.
template <class T, Weighting W>
void place_by_stress(const Context& context, const FixedPoints<T, StressLaw<T, W>>& fixed, MatrixView<const T> deltas,
                     const T* weights, T inverse_at_zero, MatrixView<double> Y, double* residuals) {
    constexpr T NOTHING = std::numeric_limits<T>::quiet_NaN();
    const std::size_t n = fixed.points();
    parallel_ranges(context, deltas.rows, 16, [&](std::size_t first, std::size_t last, Worker& worker) {
        Buffer<T> delta(fixed.padded()), weight(fixed.padded());
        std::fill(delta.begin(), delta.end(), NOTHING);
        std::fill(weight.begin(), weight.end(), T{});
        for (std::size_t i = first; i < last; ++i) {
            std::copy_n(deltas.row(i), n, delta.begin());
            if (weights) std::copy_n(weights + i * n, n, weight.begin());
            double stiffness = 0, square = 0;
            for (std::size_t j = 0; j < n; ++j) {
                if (!(delta[j] >= 0)) continue;
                double w = 1;
                if constexpr (W == Weighting::inverse)
                    w = 1 / static_cast<double>(delta[j] > 0 ? delta[j] : inverse_at_zero);
                if constexpr (W == Weighting::given) w = weight[j];
                stiffness += w;
                square += w * static_cast<double>(delta[j]) * static_cast<double>(delta[j]);
            }
            residuals[i] = 0;
            if (stiffness > 0)
                residuals[i] = std::sqrt(move_to_least_stress(fixed, delta.data(), weights ? weight.data() : nullptr,
                                                              stiffness, std::sqrt(square / stiffness), {}, Y.row(i)) /
                                         stiffness);
            worker.check();
        }
    });
}

}  // namespace lowfold
