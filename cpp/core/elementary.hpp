// exp and log of whole vectors, in arithmetic alone: the same bits on every instruction set.
#pragma once

#include <array>
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

/// Below minus this, `exponential` does not fall any more.
inline constexpr float LARGEST_EXPONENT = 87;

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
        x = x < -LARGEST_EXPONENT ? V{} - LARGEST_EXPONENT : x;
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

/// x^b for normal x > 0 where the result is normal too. Relative error 4e-6 (1 + b), at a third of the cost of
/// exponential(b logarithm(x)). x^b = 2^(b log2 x), with best polynomials for log2 m on [sqrt(1/2), sqrt(2)) and for
/// 2^f on [-1/2, 1/2]. Several vectors go step by step together: each is one long chain of operations.
template <class V, std::size_t N>
inline std::array<V, N> power(const std::array<V, N>& x, float b) {
    static_assert(IS_FLOATS<V>);
    using Integers = IntegersOf<V>;
    constexpr std::int32_t ROOT_HALF = 0x3f3504f3;
    constexpr float ROUND = 12582912.0f;  // as in `exponential`
    constexpr float LOG[] = {0.32214299f, -0.36748374f, 0.47934967f, -0.72113228f, 1.44271338f};
    constexpr float EXP[] = {0.05591786f, 0.24024744f, 0.69312179f, 0.99999928f};
    std::array<V, N> t, sum, shifted, out;
    std::array<Integers, N> n;
    for (std::size_t v = 0; v < N; ++v) {
        n[v] = ((Integers)x[v] - ROOT_HALF) >> 23;
        t[v] = (V)((Integers)x[v] - (n[v] << 23)) - 1.0f;
        sum[v] = V{} - 0.20660528f;
    }
    for (const float coefficient : LOG)
        for (std::size_t v = 0; v < N; ++v) sum[v] = sum[v] * t[v] + coefficient;
    for (std::size_t v = 0; v < N; ++v) {
        const V exponent = b * (sum[v] * t[v] + __builtin_convertvector(n[v], V));
        shifted[v] = exponent + ROUND;
        t[v] = exponent - (shifted[v] - ROUND);
        sum[v] = V{} + 0.00957010f;
    }
    for (const float coefficient : EXP)
        for (std::size_t v = 0; v < N; ++v) sum[v] = sum[v] * t[v] + coefficient;
    for (std::size_t v = 0; v < N; ++v) out[v] = (V)((Integers)sum[v] + ((Integers)shifted[v] << 23));
    return out;
}

}  // namespace lowfold
