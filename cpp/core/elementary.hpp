// exp and log of whole vectors, in arithmetic alone: the same bits on every instruction set.
#pragma once

#include <cmath>
#include <cstdint>

#include "simd.hpp"

namespace lowfold {

/// Vectors of the same number of integers.
template <class V>
using IntegersOf = typename VectorOf<std::int32_t, sizeof(V)>::type;

template <class V>
inline constexpr bool IS_FLOATS = std::is_same_v<std::decay_t<decltype(V{}[0])>, float>;

template <class V, class Function>
inline V each(V x, Function function) {
    for (std::size_t i = 0; i < sizeof(V) / sizeof(x[0]); ++i) x[i] = function(x[i]);
    return x;
}

/// e^x for x in [-87, 88]; below that e^-87. Relative error 2e-7.
/// x = n log 2 + f with |f| <= log(2) / 2, and e^f by its Taylor polynomial.
template <class V>
inline V exponential(V x) {
    if constexpr (std::is_arithmetic_v<V>) {
        return std::exp(x);
    } else if constexpr (!IS_FLOATS<V>) {
        return each(x, [](auto lane) { return std::exp(lane); });
    } else {
        constexpr float ROUND = 12582912.0f;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
        x = x < -87.0f ? V{} - 87.0f : x;
        const V shifted = x * 1.44269504f + ROUND, n = shifted - ROUND;
        const V f = (x - n * 0.693359375f) + n * 2.12194440e-4f;
        V sum = f * (1 / 720.0f) + (1 / 120.0f);
        sum = sum * f + (1 / 24.0f);
        sum = sum * f + (1 / 6.0f);
        sum = sum * f + 0.5f;
        sum = sum * f + 1.0f;
        sum = sum * f + 1.0f;
        const auto power = ((IntegersOf<V>)shifted << 23) + 0x3f800000;
        return sum * (V)power;
    }
}

/// log x for normal x > 0. Error 1e-7 of 1 or of the result.
/// x = 2^n m with m in [sqrt(1/2), sqrt(2)), and log m = 2 artanh((m - 1) / (m + 1)) by its series.
template <class V>
inline V logarithm(V x) {
    if constexpr (std::is_arithmetic_v<V>) {
        return std::log(x);
    } else if constexpr (!IS_FLOATS<V>) {
        return each(x, [](auto lane) { return std::log(lane); });
    } else {
        using Integers = IntegersOf<V>;
        constexpr std::int32_t ROOT_HALF = 0x3f3504f3;
        const Integers n = ((Integers)x - ROOT_HALF) >> 23;
        const V m = (V)((Integers)x - (n << 23));
        const V t = (m - 1.0f) / (m + 1.0f), s = t * t;
        V sum = s * (2 / 9.0f) + (2 / 7.0f);
        sum = sum * s + (2 / 5.0f);
        sum = sum * s + (2 / 3.0f);
        sum = sum * s + 2.0f;
        return sum * t + __builtin_convertvector(n, V) * 0.69314718f;
    }
}

}  // namespace lowfold
