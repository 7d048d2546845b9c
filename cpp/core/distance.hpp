// Distances in difference form: exact up to the rounding of the sum, with the same bits on every instruction set.
#pragma once

#include <algorithm>
#include <cmath>

#include "simd.hpp"

namespace lowfold {

/// `cosine` is |x - y|^2 / 2 of rows of length 1, which the caller has made.
enum class Metric { euclidean, sqeuclidean, cosine, manhattan, chebyshev };

/// Numbers in 64 bytes. Rows that are read often are padded with zeros to a multiple of it.
template <class T>
inline constexpr std::size_t WIDTH = 64 / sizeof(T);

template <class T>
constexpr std::size_t padded(std::size_t dimensions) {
    return (dimensions + WIDTH<T> - 1) / WIDTH<T> * WIDTH<T>;
}

/// Joins the lanes of v in halves: 0 with 8, 1 with 9, ... then 0 with 4, ...
template <class T, int BYTES, class Step>
inline T fold_lanes(typename VectorOf<T, BYTES>::type v, const Step& step) {
    if constexpr (BYTES == 16) {
        if constexpr (sizeof(T) == 8)
            return step.join(v[0], v[1]);
        else
            return step.join(step.join(v[0], v[2]), step.join(v[1], v[3]));
    } else {
        using Half = typename VectorOf<T, BYTES / 2>::type;
        alignas(BYTES) T lanes[BYTES / sizeof(T)];
        store(lanes, v);
        return fold_lanes<T, BYTES / 2>(step.join(load<Half>(lanes), load<Half>(lanes + BYTES / 2 / sizeof(T))), step);
    }
}

/// Terms of a lane that are added up one after another: a sum of many columns is one of such sums, which rounds less.
inline constexpr std::size_t TERMS_OF_LANE = 64;

/// Folds step(sum, x_p - y_p) over two rows, each of the lanes p mod WIDTH by itself.
template <class T, class Step>
[[gnu::always_inline]] inline Wide<T> fold_columns(const T* x, const T* y, std::size_t dimensions, const Step& step) {
    Wide<T> sum{};
    std::size_t p = 0;
    for (; p + WIDTH<T> <= dimensions; p += WIDTH<T>) sum = step(sum, load<Wide<T>>(x + p) - load<Wide<T>>(y + p));
    if (p < dimensions) {
        T rest[2][WIDTH<T>] = {};
        std::copy_n(x + p, dimensions - p, rest[0]);
        std::copy_n(y + p, dimensions - p, rest[1]);
        sum = step(sum, load<Wide<T>>(rest[0]) - load<Wide<T>>(rest[1]));
    }
    return sum;
}

/// The same over the lanes too. Zeros behind both rows would change nothing: padded rows give the same bits.
template <class T, class Step>
inline T fold_differences(const T* x, const T* y, std::size_t dimensions, const Step& step) {
    constexpr std::size_t COLUMNS = TERMS_OF_LANE * WIDTH<T>;
    Wide<T> sum = fold_columns(x, y, std::min(dimensions, COLUMNS), step);
    for (std::size_t p = COLUMNS; p < dimensions; p += COLUMNS)
        sum = step.join(sum, fold_columns(x + p, y + p, std::min(dimensions - p, COLUMNS), step));
    return fold_lanes<T, 64>(sum, step);
}

struct SquareStep {
    template <class V>
    V operator()(V sum, V difference) const {
        return sum + difference * difference;
    }
    template <class V>
    V join(V a, V b) const {
        return a + b;
    }
};

/// Differences multiplied by a power of two, which rounds nothing, before they are squared.
template <class T>
struct EnlargedSquareStep : SquareStep {
    T factor;
    template <class V>
    V operator()(V sum, V difference) const {
        difference *= factor;
        return sum + difference * difference;
    }
};

struct AbsoluteStep {
    template <class V>
    V operator()(V sum, V difference) const {
        return sum + absolute(difference);
    }
    template <class V>
    V join(V a, V b) const {
        return a + b;
    }
};

struct LargestStep {
    template <class V>
    V operator()(V largest, V difference) const {
        return maximum(absolute(difference), largest);
    }
    template <class V>
    V join(V a, V b) const {
        return maximum(a, b);
    }
};

/// sqrt(sum_p (x_p - y_p)^2). Where squares may have left the range of T at its lower end, they are taken again of
/// enlarged differences: rows of 1e-30 beside rows of 1 have distances too.
template <class T>
inline T euclidean(const T* x, const T* y, std::size_t dimensions) {
    constexpr int SMALL = std::is_same_v<T, float> ? -100 : -900;  // below 2^this digits may be lost, 0 included
    constexpr int ENLARGED =
        std::is_same_v<T, float> ? 100 : 600;  // as a power of two: no square of T leaves its range
    const T squared = fold_differences(x, y, dimensions, SquareStep{});
    if (squared >= std::ldexp(T{1}, SMALL)) [[likely]]
        return std::sqrt(squared);
    const T factor = std::ldexp(T{1}, ENLARGED);
    return std::sqrt(fold_differences(x, y, dimensions, EnlargedSquareStep<T>{{}, factor})) / factor;
}

/// Between rows, padded or not.
template <class T>
inline T distance(Metric metric, const T* x, const T* y, std::size_t dimensions) {
    if (metric == Metric::manhattan) return fold_differences(x, y, dimensions, AbsoluteStep{});
    if (metric == Metric::chebyshev) return fold_differences(x, y, dimensions, LargestStep{});
    if (metric == Metric::euclidean) return euclidean(x, y, dimensions);
    const T squared = fold_differences(x, y, dimensions, SquareStep{});
    return metric == Metric::cosine ? squared / 2 : squared;
}

/// The length in the space that is searched: Euclidean for the three metrics that go through the inner product.
inline double search_radius(Metric metric, double distance) {
    if (metric == Metric::sqeuclidean) return std::sqrt(distance);
    if (metric == Metric::cosine) return std::sqrt(2 * distance);
    return distance;
}

}  // namespace lowfold
