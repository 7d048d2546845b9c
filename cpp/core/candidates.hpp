// The references that may still be among the nearest of each query, by their scores.
#pragma once

#include <cstdint>
#include <vector>

#include "engine.hpp"
#include "frame.hpp"

namespace lowfold {

/// Lists of (score, position), one for each query of a batch. A list keeps everything at most its `cut`, which is
/// lowered so that no true neighbour is lost as long as the engine's error holds (engine.hpp).
template <class Engine>
class Candidates {
   public:
    Candidates(std::size_t rows, std::size_t wanted)
        : wanted_(wanted),
          capacity_(std::max<std::size_t>(4 * wanted, wanted + 96)),
          stride_(capacity_ + PANEL<float> + LANES<float>),
          scores_(rows * stride_),
          positions_(rows * stride_),
          count_(rows),
          tightened_(rows),
          cut_(rows),
          bound_(rows),
          size_(rows) {}

    /// error, relative: of the engine (engine.hpp).
    void reset(std::size_t rows, const float* sizes, float error, float relative) {
        error_ = error;
        relative_ = relative;
        for (std::size_t i = 0; i < rows; ++i) {
            count_[i] = tightened_[i] = 0;
            cut_[i] = bound_[i] = EVERYTHING;
            size_[i] = sizes[i];
        }
    }

    int count(int row) const { return count_[row]; }
    const std::int32_t* positions(int row) const { return positions_.data() + row * stride_; }
    float cut(int row) const { return cut_[row]; }

    /// An upper bound of the distance to the last wanted neighbour, in the space that is searched.
    float largest_radius(int row) const { return length(row, cut_[row]); }

    /// The same without allowing for the error: right on average, where only that matters.
    float likely_radius(int row) const { return length(row, bound_[row] + error_ / 2 * size_[row]); }

    /// Adds the chosen lanes of one register; `first` is the position of lane 0.
    void add(int row, Vec<float> scores, std::uint32_t chosen, std::int32_t first) {
        const std::size_t at = row * stride_ + count_[row];
        store_chosen(&scores_[at], scores, chosen);
        store_chosen(&positions_[at], lane_numbers() + first, chosen);
        count_[row] += __builtin_popcount(chosen);
    }

    bool full(int row) const { return static_cast<std::size_t>(count_[row]) > capacity_; }

    /// Whether lowering the cut could change it by much: enough has come in since the last time.
    bool worth_tightening(int row) const {
        return static_cast<std::size_t>(count_[row]) >= wanted_ + (tightened_[row] ? wanted_ / 2 + 4 : 0);
    }

    /// Lowers the cut to the wanted-th score plus the error, and drops what is above it. Where too many remain
    /// (ties, or errors larger than the differences), nearest(positions, count) says which are the `wanted` nearest by
    /// their exact distance, and only these stay.
    template <class Nearest>
    void tighten(int row, const Nearest& nearest) {
        if (static_cast<std::size_t>(count_[row]) < wanted_) return;
        tightened_[row] = 1;
        const float bound = bound_[row] = bound_of_wanted(row);
        const float reach = Engine::INNER ? std::max(2 * bound + size_[row], 0.0f) : bound;
        // With |y| <= |x| + D in engine.hpp's bracket, where D itself is only known up to the error; the last digits
        // are for the rounding of this. A larger error leaves no cut at all; nor do points that may have been moved
        // nearer (frame.hpp), since their true distances may be in another order.
        if (error_ < MOST_ERROR && reach + size_[row] < WHERE_IT_IS) {
            const float farthest = (reach + 5 * error_ * size_[row]) / (1 - 4 * error_);
            const float off = error_ * (3.1f * size_[row] + 2.1f * farthest) + relative_ * 2.1f * farthest;
            cut_[row] = std::min(cut_[row], bound + off + Engine::LOST);
        }
        drop_above_cut(row);
        if (static_cast<std::size_t>(count_[row]) > capacity_ / 2) {
            float* scores = &scores_[row * stride_];
            std::int32_t* positions = &positions_[row * stride_];
            const std::vector<char>& stays = nearest(positions, count_[row]);
            int kept = 0;
            for (int i = 0; i < count_[row]; ++i) {
                scores[kept] = scores[i];
                positions[kept] = positions[i];
                kept += stays[i];
            }
            count_[row] = kept;
        }
    }

   private:
    // |x|^2 + D^2 or |x| + D up to which a point at the distance D from x lies within FAR/2.
    static constexpr float WHERE_IT_IS = Engine::INNER ? FAR * FAR / 16 : FAR / 4;
    // Below the infinite score of a panel's empty columns.
    static constexpr float EVERYTHING = std::numeric_limits<float>::max();

    float length(int row, float score) const {
        return Engine::INNER ? std::sqrt(std::max(2 * score + size_[row], 0.0f)) : score;
    }

    /// A value that at least `wanted` scores, and few more, do not exceed: bisection, counting whole registers.
    float bound_of_wanted(int row) {
        float* scores = &scores_[row * stride_];
        const int count = pad(row);
        float low = INFINITE, high = -INFINITE;
        for (int i = 0; i < count_[row]; ++i) {
            low = std::min(low, scores[i]);
            high = std::max(high, scores[i]);
        }
        for (int step = 0; step < 20; ++step) {
            const float middle = low + (high - low) / 2;
            if (!(middle > low && middle < high)) break;
            std::size_t below = 0;
            for (int i = 0; i < count; i += LANES<float>)
                below += __builtin_popcount(at_most(load<Vec<float>>(scores + i), broadcast<Vec<float>>(middle)));
            if (below < wanted_) {
                low = middle;
                continue;
            }
            high = middle;
            if (below <= wanted_ + wanted_ / 16) break;
        }
        return high;
    }

    /// Fills the last register with infinity; returns the count rounded up to whole registers.
    int pad(int row) {
        store(&scores_[row * stride_ + count_[row]], broadcast<Vec<float>>(INFINITE));
        return (count_[row] + LANES<float> - 1) / LANES<float> * LANES<float>;
    }

    void drop_above_cut(int row) {
        float* scores = &scores_[row * stride_];
        std::int32_t* positions = &positions_[row * stride_];
        const int end = pad(row);
        int kept = 0;
        for (int i = 0; i < end; i += LANES<float>) {
            const auto s = load<Vec<float>>(scores + i);
            const auto p = load<Vec<std::int32_t>>(positions + i);
            const auto bits = at_most(s, broadcast<Vec<float>>(cut_[row]));
            store_chosen(scores + kept, s, bits);
            store_chosen(positions + kept, p, bits);
            kept += __builtin_popcount(bits);
        }
        count_[row] = kept;
    }

    std::size_t wanted_, capacity_, stride_;
    Buffer<float> scores_;
    Buffer<std::int32_t> positions_;
    std::vector<int> count_;
    std::vector<char> tightened_;
    std::vector<float> cut_, bound_, size_;
    float error_ = 0, relative_ = 0;
};

}  // namespace lowfold
