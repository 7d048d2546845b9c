// Points in the order of their exact distance, ties by index.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "distance.hpp"
#include "matrix.hpp"
#include "parallel.hpp"

namespace lowfold {

/// A distance and an index, ordered by both.
template <class T>
class Rank {
   public:
    Rank() = default;
    Rank(T distance, std::int32_t index) : distance_(distance), index_(index) {}
    T distance() const { return distance_; }
    std::int32_t index() const { return index_; }
    bool operator<(const Rank& other) const {
        return distance_ != other.distance_ ? distance_ < other.distance_ : index_ < other.index_;
    }

   private:
    T distance_;
    std::int32_t index_;
};

/// In one integer, which sorts several times as fast: the bits of a float that is not negative are in its order.
template <>
class Rank<float> {
   public:
    Rank() = default;
    Rank(float distance, std::int32_t index)
        : key_(std::uint64_t{std::bit_cast<std::uint32_t>(distance)} << 32 | static_cast<std::uint32_t>(index)) {}
    float distance() const { return std::bit_cast<float>(static_cast<std::uint32_t>(key_ >> 32)); }
    std::int32_t index() const { return static_cast<std::int32_t>(key_); }
    bool operator<(const Rank& other) const { return key_ < other.key_; }

   private:
    std::uint64_t key_;
};

/// Rows of X that may be the nearest of each query. Queries near each other share candidates, which are still in the
/// cache if they follow each other. Queries may be of a wider type than X, in which distances are measured then.
template <class T, class P = T>
struct CandidateLists {
    MatrixView<const P> X;
    MatrixView<const T> queries;
    MatrixView<const std::int32_t> candidates;
};

/// Each query's candidates, nearest first, and their distances.
/// Each row has one owner and depends on nothing else. Cost queries * candidates * dimensions.
template <class T, class P>
void rank_candidates(const Context& context, Metric metric, const CandidateLists<T, P>& lists, std::int32_t* indices,
                     T* distances) {
    const auto& [X, queries, candidates] = lists;
    parallel_ranges(context, queries.rows, 64, [&](std::size_t begin, std::size_t end, Worker& worker) {
        std::vector<Rank<T>> ranked(candidates.columns);
        std::vector<T> widened(std::is_same_v<T, P> ? 0 : X.columns);
        const auto row = [&](std::int32_t point) -> const T* {
            if constexpr (std::is_same_v<T, P>) return X.row(point);
            std::copy_n(X.row(point), X.columns, widened.begin());
            return widened.data();
        };
        for (std::size_t i = begin; i < end; ++i) {
            for (std::size_t j = 0; j < ranked.size(); ++j) {
                const std::int32_t point = candidates.row(i)[j];
                ranked[j] = Rank<T>(distance(metric, queries.row(i), row(point), X.columns), point);
            }
            std::sort(ranked.begin(), ranked.end());
            for (std::size_t j = 0; j < ranked.size(); ++j) {
                indices[i * ranked.size() + j] = ranked[j].index();
                distances[i * ranked.size() + j] = ranked[j].distance();
            }
            worker.check_after(ranked.size() * X.columns);
        }
    });
}

}  // namespace lowfold
