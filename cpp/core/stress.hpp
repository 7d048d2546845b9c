// The stress of an embedding and its gradient, in one pass over half of all pairs.
#pragma once

#include <vector>

#include "pair_distances.hpp"

namespace lowfold {

/// w = 1; w = 1 / delta (Sammon), for delta = 0 a weight of its own; w given for each pair.
enum class Weighting { unit, inverse, given };

/// What a pair adds: g = w (1 - delta / d) pulls along y_i - y_j, cost = w (d - delta)^2, size = w d^2. A pair whose
/// delta is NaN adds nothing. No pair is divided by zero: where d = 0, g is multiplied by y_i - y_j = 0.
template <class T, Weighting W>
struct StressLaw {
    using Lanes = Wide<T>;
    T inverse_at_zero;  // 1 / w of delta = 0, for Weighting::inverse; infinite for none

    struct Pair {
        Lanes g, cost, size;
    };

    Pair operator()(Lanes r, Lanes delta, Lanes w) const {
        const Lanes none = {}, d = root<T>(r), safe = d > 0 ? d : none + 1;
        const auto known = delta >= 0;
        const Lanes e = known ? d - delta : none;
        if constexpr (W == Weighting::unit) return {e / safe, e * e, known ? r : none};
        if constexpr (W == Weighting::given) {
            w = known ? w : none;
            const Lanes h = w * e;
            return {h / safe, h * e, w * r};
        }
        const auto positive = delta > 0;
        const Lanes g = e / ((positive ? delta : none + inverse_at_zero) * safe);
        const Lanes cost = g * safe * e;
        return {g, cost, positive ? cost + (d + d - delta) : cost};  // w d^2 = w (d - delta)^2 + 2 d - delta
    }
};

/// For each point G_i = sum_j w_ij (1 - delta_ij / d_ij)(y_i - y_j), half of the stress' gradient, and its own part of
/// the stress sum_j w_ij (d_ij - delta_ij)^2; over all pairs sum w d^2.
///
/// Strips of SIDE rows go together in GROUPS of about the same number of pairs. Each group sums by itself what it adds
/// to every point: in T over a tile (columns) or BLOCK columns (rows), above that in float64. The groups are added one
/// after another, so that the result does not depend on who computed which. D: dimensions, 0 if only known at run time.
template <class T, int D, class Law>
class StressPass {
   public:
    StressPass(MatrixView<const T> Y, const Law& law)
        : n_(Y.rows),
          d_(Y.columns),
          padded_((Y.rows + SIDE - 1) / SIDE * SIDE),
          law_(law),
          Y_(Y),
          columns_(padded_ * Y.columns) {
        std::fill(columns_.begin(), columns_.end(), T{});
        for (std::size_t j = 0; j < n_; ++j)
            for (std::size_t p = 0; p < d_; ++p) columns_[p * padded_ + j] = Y.row(j)[p];
    }

    /// gradient (n, d) and residuals (n); returns sum w d^2. Weights are read if the law has any.
    double run(const Context& context, const Pairs<T>& deltas, const Pairs<T>& weights, double* gradient,
               double* residuals) {
        const std::vector<std::size_t> begin = groups();
        const std::size_t count = begin.size() - 1, width = (dimensions() + 1) * padded_;
        Buffer<double> sums(count * width);
        std::vector<double> sizes(count, 0.0);
        parallel_for(context, count, [&](std::size_t group, Worker& worker) {
            Scratch scratch(deltas.scratch() + weights.scratch(), dimensions());
            double* to = &sums[group * width];
            for (std::size_t c = 0; c <= dimensions(); ++c)
                std::fill(to + c * padded_ + begin[group], to + (c + 1) * padded_, 0.0);
            for (std::size_t first = begin[group]; first < begin[group + 1]; first += SIDE)
                sizes[group] += strip(deltas, weights, first, scratch, to, worker);
        });
        // Short: GROUPS numbers are added for each of 256 points and each dimension of the map.
        parallel_ranges(context, n_, 256, [&](std::size_t from, std::size_t to, Worker&) {
            for (std::size_t j = from; j < to; ++j)
                for (std::size_t c = 0; c <= dimensions(); ++c) {
                    double total = 0;
                    for (std::size_t group = 0; group < count && begin[group] <= j; ++group)
                        total += sums[group * width + c * padded_ + j];
                    (c < dimensions() ? gradient[j * dimensions() + c] : residuals[j]) = total;
                }
        });
        double size = 0;
        for (const double part : sizes) size += part;
        return size;
    }

   private:
    using Lanes = Wide<T>;
    static constexpr std::size_t LANE = WIDTH<T>, GROUPS = 64, BLOCK = 2048;
    static constexpr bool HAS_WEIGHTS = std::is_same_v<Law, StressLaw<T, Weighting::given>>;

    struct Scratch {
        Buffer<T> tiles, rows, column;
        Scratch(std::size_t room, std::size_t d) : tiles(room), rows(SIDE * (d + 1) * LANE), column((d + 1) * LANE) {}
    };

    std::size_t dimensions() const { return D ? D : d_; }

    /// The first point of each group, multiples of SIDE, and n.
    std::vector<std::size_t> groups() const {
        const std::size_t strips = padded_ / SIDE;
        std::vector<std::size_t> begin = {0};
        for (std::size_t group = 1; group < GROUPS; ++group) {
            const double share = static_cast<double>(group) / static_cast<double>(GROUPS);
            const auto strip = static_cast<std::size_t>(static_cast<double>(strips) * (1 - std::sqrt(1 - share)));
            if (strip * SIDE > begin.back()) begin.push_back(strip * SIDE);
        }
        begin.push_back(n_);
        return begin;
    }

    /// Adds the pairs of SIDE rows with all points behind them; returns their sum w d^2.
    double strip(const Pairs<T>& deltas, const Pairs<T>& weights, std::size_t first, Scratch& scratch, double* to,
                 Worker& worker) const {
        const std::size_t rows = std::min(SIDE, n_ - first);
        double size = 0;
        for (std::size_t begin = first; begin < n_; begin += BLOCK) {
            std::fill_n(scratch.rows.data(), rows * (dimensions() + 1) * LANE, T{});
            for (std::size_t column = begin; column < std::min(begin + BLOCK, n_); column += SIDE) {
                const auto delta = deltas.tile(first, column, scratch.tiles.data());
                PairTile<T> weight = delta;
                if constexpr (HAS_WEIGHTS)
                    weight = weights.tile(first, column, scratch.tiles.data() + deltas.scratch());
                size += meet(delta, weight, {first, rows, column}, scratch, to);
                worker.check_after(scratch.tiles.size());  // more where a tile is measured, from many numbers
            }
            for (std::size_t r = 0; r < rows; ++r)
                for (std::size_t c = 0; c <= dimensions(); ++c)
                    to[c * padded_ + first + r] +=
                        sum_of_lanes(load<Lanes>(&scratch.rows[(r * (dimensions() + 1) + c) * LANE]));
        }
        return size;
    }

    struct Place {
        std::size_t first, rows, column;
    };

    /// One tile: LANE columns at once, whose sums stay in registers while the rows go by.
    double meet(const PairTile<T>& delta, const PairTile<T>& weight, const Place& at, Scratch& scratch,
                double* to) const {
        const std::size_t d = dimensions();
        Lanes size{};
        for (std::size_t v = 0; v < SIDE; v += LANE) {
            Lanes local[D ? D + 1 : 1] = {}, other[D ? D : 1];
            T* kept = scratch.column.data();
            if constexpr (D == 0) std::fill_n(kept, (d + 1) * LANE, T{});
            if constexpr (D != 0)
                for (int p = 0; p < D; ++p)
                    other[p] = load<Lanes>(&columns_[static_cast<std::size_t>(p) * padded_ + at.column + v]);
            for (std::size_t r = 0; r < at.rows; ++r) {
                const T* y = Y_.row(at.first + r);
                T* own = &scratch.rows[r * (d + 1) * LANE];
                const T* from = delta.data + r * delta.stride + v;
                // The next tile: rows are far apart, and a piece of each is too short for the processor to foresee.
                __builtin_prefetch(from + SIDE);
                const auto target = load<Lanes>(from);
                Lanes w{}, square{};
                if constexpr (HAS_WEIGHTS) w = load<Lanes>(weight.data + r * weight.stride + v);
                if constexpr (D != 0) {
                    Lanes apart[D];
#pragma GCC unroll 8
                    for (int p = 0; p < D; ++p) {
                        apart[p] = y[p] - other[p];
                        square += apart[p] * apart[p];
                    }
                    const auto pair = law_(square, target, w);
#pragma GCC unroll 8
                    for (int p = 0; p < D; ++p) {
                        const Lanes pull = pair.g * apart[p];
                        local[p] -= pull;
                        add(own + static_cast<std::size_t>(p) * LANE, pull);
                    }
                    local[D] += pair.cost;
                    add(own + D * LANE, pair.cost);
                    size += pair.size;
                } else {
                    for (std::size_t p = 0; p < d; ++p) {
                        const Lanes apart = y[p] - load<Lanes>(&columns_[p * padded_ + at.column + v]);
                        square += apart * apart;
                    }
                    const auto pair = law_(square, target, w);
                    for (std::size_t p = 0; p < d; ++p) {
                        const Lanes pull = pair.g * (y[p] - load<Lanes>(&columns_[p * padded_ + at.column + v]));
                        add(kept + p * LANE, -pull);
                        add(own + p * LANE, pull);
                    }
                    add(kept + d * LANE, pair.cost);
                    add(own + d * LANE, pair.cost);
                    size += pair.size;
                }
            }
            if constexpr (D != 0)
                for (int c = 0; c <= D; ++c) store(kept + static_cast<std::size_t>(c) * LANE, local[c]);
            for (std::size_t c = 0; c <= d; ++c) {
                double* sums = to + c * padded_ + at.column + v;
                for (std::size_t l = 0; l < LANE; ++l) sums[l] += static_cast<double>(kept[c * LANE + l]);
            }
        }
        return sum_of_lanes(size);
    }

    static void add(T* to, Lanes v) { store(to, load<Lanes>(to) + v); }

    std::size_t n_, d_, padded_;
    Law law_;
    MatrixView<const T> Y_;
    Buffer<T> columns_;
};

/// Calls use with the dimensions as a constant where there are at most three.
template <class Use>
auto with_dimensions(std::size_t d, const Use& use) {
    switch (d) {
        case 1:
            return use.template operator()<1>();
        case 2:
            return use.template operator()<2>();
        case 3:
            return use.template operator()<3>();
        default:
            return use.template operator()<0>();
    }
}

}  // namespace lowfold
