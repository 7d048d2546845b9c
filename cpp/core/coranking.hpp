// How well the neighbours of points in one space are their neighbours in another: ranks, and what follows from them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "matrix.hpp"
#include "parallel.hpp"
#include "simd.hpp"

namespace lowfold {

/// Which ranks a distance can have among those of a row when ties are broken by lot: below + 1 .. below + equal.
struct Place {
    std::uint32_t below = 0, equal = 1;

    std::uint32_t end() const { return below + equal; }
    bool certain() const { return equal == 1; }

    /// The chance to be among the first k.
    double among(double k) const { return std::clamp((k - below) / equal, 0.0, 1.0); }

    /// The mean of max(rank - k, 0).
    double beyond(double k) const {
        if (k >= end()) return 0;
        if (k <= below) return below + (equal + 1.0) / 2 - k;
        const double rest = end() - k;
        return rest * (rest + 1) / 2 / equal;
    }
};

/// The squared distances from one point at a time to all, in the order of their coordinates: the same bits everywhere.
/// Points lie in blocks, one coordinate of all points of a block after another, so that sums stay in registers.
template <class T>
class SquaredDistances {
   public:
    explicit SquaredDistances(MatrixView<const T> X)
        : X_(X), blocks_((X.rows + POINTS - 1) / POINTS * POINTS * X.columns) {
        std::fill(blocks_.begin(), blocks_.end(), T{0});
        for (std::size_t j = 0; j < X.rows; ++j)
            for (std::size_t p = 0; p < X.columns; ++p)
                blocks_[(j / POINTS * X.columns + p) * POINTS + j % POINTS] = X.row(j)[p];
    }

    void from(std::size_t i, T* out) const {
        const T* own = X_.row(i);
        const T* block = blocks_.data();
        for (std::size_t first = 0; first < X_.rows; first += POINTS) {
            Wide<T> sums[AT_ONCE]{};
            for (std::size_t p = 0; p < X_.columns; ++p, block += POINTS)
                for (std::size_t v = 0; v < AT_ONCE; ++v) {
                    const Wide<T> difference = load<Wide<T>>(block + v * LANES_WIDE) - own[p];
                    sums[v] += difference * difference;
                }
            if (first + POINTS <= X_.rows)
                for (std::size_t v = 0; v < AT_ONCE; ++v) store(out + first + v * LANES_WIDE, sums[v]);
            else
                std::memcpy(out + first, sums, (X_.rows - first) * sizeof(T));
        }
    }

   private:
    static constexpr std::size_t LANES_WIDE = 64 / sizeof(T), AT_ONCE = 4, POINTS = AT_ONCE * LANES_WIDE;
    MatrixView<const T> X_;
    Buffer<T> blocks_;
};

/// Squared distances from some points to all, out (rows, n). Each row has one owner.
template <class T>
void squared_distances(const Context& context, MatrixView<const T> X, const std::int32_t* rows, std::size_t count,
                       T* out) {
    const SquaredDistances<T> distances(X);
    parallel_for(context, count, [&](std::size_t r, Worker& worker) {
        distances.from(static_cast<std::size_t>(rows[r]), out + r * X.rows);
        worker.check();
    });
}

/// Places of all distances of a row, by a radix sort of their bits, which ascend with them as none is negative.
template <class T>
class Ranking {
   public:
    explicit Ranking(std::size_t n) : keys_(n), order_(n), other_keys_(n), other_order_(n) {}

    void run(const T* distances, Place* places) {
        const std::size_t n = keys_.size();
        for (std::size_t j = 0; j < n; ++j) keys_[j] = std::bit_cast<Key>(distances[j] + T{0});
        std::iota(order_.begin(), order_.end(), 0u);
        for (int shift = 0; shift < static_cast<int>(8 * sizeof(T)); shift += DIGIT) pass(shift);
        for (std::size_t begin = 0, end = 0; begin < n; begin = end) {
            while (end < n && keys_[end] == keys_[begin]) ++end;
            const Place place{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end - begin)};
            for (std::size_t j = begin; j < end; ++j) places[order_[j]] = place;
        }
    }

   private:
    using Key = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    static constexpr int DIGIT = 11;  // bits: the counts of a pass stay in the nearest cache
    static constexpr std::size_t BINS = std::size_t{1} << DIGIT;

    void pass(int shift) {
        std::array<std::uint32_t, BINS> begin{};
        for (const Key key : keys_) ++begin[(key >> shift) & (BINS - 1)];
        if (begin[(keys_[0] >> shift) & (BINS - 1)] == keys_.size()) return;
        std::uint32_t sum = 0;
        for (auto& count : begin) sum += std::exchange(count, sum);
        for (std::size_t j = 0; j < keys_.size(); ++j) {
            const std::uint32_t to = begin[(keys_[j] >> shift) & (BINS - 1)]++;
            other_keys_[to] = keys_[j];
            other_order_[to] = order_[j];
        }
        std::swap(keys_, other_keys_);
        std::swap(order_, other_order_);
    }

    Buffer<Key> keys_;
    Buffer<std::uint32_t> order_;
    Buffer<Key> other_keys_;
    Buffer<std::uint32_t> other_order_;
};

/// What the co-ranking of one point says: at each k the mean number of common neighbours, and the sums by which the
/// ranks of its k neighbours in the second space lie beyond k in the first, and the other way round.
struct Agreement {
    double common = 0, intruders = 0, lost = 0;
};

/// Co-ranking of rows of distances, one row at a time. The expected values over ties broken by lot.
template <class T>
class Coranking {
   public:
    Coranking(std::size_t n, const std::int64_t* ks, std::size_t count, bool area)
        : n_(n), ks_(ks), count_(count), area_(area), first_(n), second_(n) {
        std::int64_t largest = 0;
        for (std::size_t m = 0; m < count; ++m) largest = std::max(largest, ks[m]);
        largest_ = static_cast<std::size_t>(largest);
        all_ = area || largest_ > FEW;
        if (area)
            for (auto* sums : {&constant_, &slope_, &curve_}) sums->resize(n + 2);
        if (all_) {
            ranking_.emplace_back(n);
            first_places_.resize(n);
            second_places_.resize(n);
        }
    }

    T* first() { return first_.data(); }
    T* second() { return second_.data(); }

    /// The distances are in first() and second(); returns the area under R(k) over log k.
    double run(std::size_t self, Agreement* out) {
        std::fill_n(out, count_, Agreement{});
        first_[self] = second_[self] = std::numeric_limits<T>::infinity();
        if (!all_) {
            some(second_.data(), first_.data(), out, false);
            some(first_.data(), second_.data(), out, true);
            return 0;
        }
        ranking_[0].run(first_.data(), first_places_.data());
        ranking_[0].run(second_.data(), second_places_.data());
        for (std::size_t j = 0; j < n_; ++j) {
            if (j == self) continue;
            add(second_places_[j], first_places_[j], out, false);
            add(first_places_[j], second_places_[j], out, true);
        }
        return area_ ? area(self) : 0;
    }

   private:
    static constexpr std::size_t FEW = 48;    // up to here, counting for each neighbour is quicker than sorting
    static constexpr std::size_t MANY = 256;  // points whose ranks are counted for one by one

    /// Adds what the neighbours in `near` say, by their places in both.
    void some(const T* near, const T* far, Agreement* out, bool swapped) {
        nearest_.assign(largest_, std::numeric_limits<T>::infinity());
        T worst = nearest_.back();
        for (std::size_t j = 0; j < n_; ++j)
            if (near[j] < worst) {
                nearest_.insert(std::upper_bound(nearest_.begin(), nearest_.end(), near[j]), near[j]);
                nearest_.pop_back();
                worst = nearest_.back();
            }
        // All that are as near as the last of them are here, so that their places are found among themselves.
        candidates_.clear();
        for (std::size_t j = 0; j < n_; ++j)
            if (near[j] <= worst && near[j] < std::numeric_limits<T>::infinity()) candidates_.push_back(j);
        std::stable_sort(candidates_.begin(), candidates_.end(),
                         [&](std::size_t a, std::size_t b) { return near[a] < near[b]; });
        const bool sorted = candidates_.size() > MANY;  // so many are equally near
        if (sorted) {
            if (ranking_.empty()) ranking_.emplace_back(n_);
            first_places_.resize(n_);
            ranking_[0].run(far, first_places_.data());
        }
        for (std::size_t begin = 0, end = 0; begin < candidates_.size(); begin = end) {
            while (end < candidates_.size() && near[candidates_[end]] == near[candidates_[begin]]) ++end;
            const Place own{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end - begin)};
            for (std::size_t c = begin; c < end; ++c) {
                const std::size_t j = candidates_[c];
                add(own, sorted ? first_places_[j] : place(far, far[j]), out, swapped);
            }
        }
    }

    Place place(const T* distances, T value) const {
        std::uint32_t below = 0, equal = 0;
        for (std::size_t j = 0; j < n_; ++j) {
            below += distances[j] < value;
            equal += distances[j] == value;
        }
        return {below, equal};
    }

    /// near: in the space whose neighbour it is; far: in the other one.
    void add(Place near, Place far, Agreement* out, bool swapped) const {
        for (std::size_t m = 0; m < count_; ++m) {
            const auto k = static_cast<double>(ks_[m]);
            const double chance = near.among(k);
            if (chance == 0) continue;
            (swapped ? out[m].lost : out[m].intruders) += chance * far.beyond(k);
            if (!swapped) out[m].common += chance * far.among(k);
        }
    }

    /// sum_k R(k) / k over sum_k 1 / k, k = 1 .. n - 2, R(k) = ((n - 1) c(k) / k - k) / (n - 1 - k) with c(k) common
    /// neighbours: c(k) = constant + slope k + curve k^2, each the sum of what begins at or below k.
    double area(std::size_t self) {
        for (auto* sums : {&constant_, &slope_, &curve_}) std::fill(sums->begin(), sums->end(), 0.0);
        for (std::size_t j = 0; j < n_; ++j)
            if (j != self) begin(first_places_[j], second_places_[j]);
        const double others = static_cast<double>(n_) - 1;
        double constant = 0, slope = 0, curve = 0, total = 0, weights = 0;
        for (std::size_t k = 1; k + 2 <= n_; ++k) {
            constant += constant_[k];
            slope += slope_[k];
            curve += curve_[k];
            const auto at = static_cast<double>(k);
            const double common = constant + (slope + curve * at) * at;
            total += (others * common / at - at) / (others - at) / at;
            weights += 1 / at;
        }
        return weights > 0 ? total / weights : 0;
    }

    /// Adds the chance of one point to be a common neighbour, as pieces of polynomials in k.
    void begin(Place a, Place b) {
        const std::size_t start = std::max(a.below, b.below);
        if (a.certain() && b.certain()) {
            constant_[start + 1] += 1;
            return;
        }
        if (a.end() > b.end()) std::swap(a, b);
        const double x = a.below, y = b.below, t = a.equal, s = b.equal;
        const std::size_t middle = std::max<std::size_t>(start, a.end());
        if (middle > start) piece(start + 1, x * y / (t * s), -(x + y) / (t * s), 1 / (t * s), 1);
        if (middle > start) piece(middle + 1, x * y / (t * s), -(x + y) / (t * s), 1 / (t * s), -1);
        piece(middle + 1, -y / s, 1 / s, 0, 1);
        piece(b.end() + 1, -y / s, 1 / s, 0, -1);
        piece(b.end() + 1, 1, 0, 0, 1);
    }

    void piece(std::size_t at, double constant, double slope, double curve, double sign) {
        constant_[at] += sign * constant;
        slope_[at] += sign * slope;
        curve_[at] += sign * curve;
    }

    std::size_t n_;
    const std::int64_t* ks_;
    std::size_t count_, largest_ = 0;
    bool area_, all_ = false;
    Buffer<T> first_, second_;
    std::vector<T> nearest_;
    std::vector<std::size_t> candidates_;
    std::vector<Ranking<T>> ranking_;
    std::vector<Place> first_places_, second_places_;
    std::vector<double> constant_, slope_, curve_;
};

/// Co-ranking of some points: out (rows, count), areas (rows). X holds the points, or if `given` the distances of the
/// chosen rows. Each row has one owner. Cost n (D + k) for each row with few neighbours, else a sort.
template <class T>
void coranking(const Context& context, MatrixView<const T> X, bool given, MatrixView<const T> Y,
               const std::int32_t* rows, std::size_t row_count, const std::int64_t* ks, std::size_t count, bool area,
               Agreement* out, double* areas) {
    const SquaredDistances<T> second(Y);
    const SquaredDistances<T> first(given ? MatrixView<const T>{} : X);
    parallel_ranges(context, row_count, 8, [&](std::size_t begin, std::size_t end, Worker& worker) {
        Coranking<T> work(Y.rows, ks, count, area);
        for (std::size_t r = begin; r < end; ++r) {
            const auto i = static_cast<std::size_t>(rows[r]);
            if (given)
                std::copy_n(X.row(r), Y.rows, work.first());
            else
                first.from(i, work.first());
            second.from(i, work.second());
            areas[r] = work.run(i, out + r * count);
            worker.check();
        }
    });
}

}  // namespace lowfold
