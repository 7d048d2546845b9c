// The vector register of the instruction set this file is compiled for, in the compiler's own vector types.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "matrix.hpp"

namespace lowfold {

#if defined(__AVX512F__)
inline constexpr int VECTOR_BYTES = 64, TILE_ROWS = 14;  // 28 accumulators of 32 registers
inline constexpr const char* SIMD_NAME = "avx512";
#elif defined(__AVX2__)
inline constexpr int VECTOR_BYTES = 32, TILE_ROWS = 6;  // 12 accumulators of 16 registers
inline constexpr const char* SIMD_NAME = "avx2";
#else
inline constexpr int VECTOR_BYTES = 16, TILE_ROWS = 6;
inline constexpr const char* SIMD_NAME = "baseline";
#endif

template <class T, int BYTES>
struct VectorOf {
    typedef T type __attribute__((vector_size(BYTES)));
};

/// The native register.
template <class T>
using Vec = typename VectorOf<T, VECTOR_BYTES>::type;

/// A vector of the same width on every instruction set, so that sums over it have the same bits everywhere.
template <class T>
using Wide = typename VectorOf<T, 64>::type;

template <class T>
inline constexpr int LANES = VECTOR_BYTES / sizeof(T);

template <class V, class T>
inline V load(const T* from) {
    V v;
    std::memcpy(&v, from, sizeof(V));
    return v;
}

template <class V, class T>
inline void store(T* to, V v) {
    std::memcpy(to, &v, sizeof(V));
}

template <class V, class T>
inline V broadcast(T x) {
    return x - V{};  // not +: that would turn -0 into 0, so it could not be left out
}

/// a * b + c; in one rounding where the instruction set has it.
template <class V>
inline V multiply_add(V a, V b, V c) {
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<V, Vec<float>>) return (V)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
    if constexpr (std::is_same_v<V, Vec<double>>) return (V)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__AVX2__)
    if constexpr (std::is_same_v<V, Vec<float>>) return (V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
    if constexpr (std::is_same_v<V, Vec<double>>) return (V)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#endif
    return a * b + c;
}

/// The lanes one after another, in double precision: the same bits on every instruction set.
template <class V>
inline double sum_of_lanes(V v) {
    double total = 0;
    for (std::size_t lane = 0; lane < sizeof(V) / sizeof(v[0]); ++lane) total += static_cast<double>(v[lane]);
    return total;
}

template <class V>
inline V absolute(V v) {
    return v < 0 ? -v : v;
}

/// The correctly rounded root of each lane.
inline Vec<float> root(Vec<float> v) {
#if defined(__AVX512F__)
    return (Vec<float>)_mm512_sqrt_ps((__m512)v);
#elif defined(__AVX2__)
    return (Vec<float>)_mm256_sqrt_ps((__m256)v);
#else
    for (int i = 0; i < LANES<float>; ++i) v[i] = std::sqrt(v[i]);
    return v;
#endif
}

template <class V>
inline V maximum(V a, V b) {
    return a > b ? a : b;
}

/// Bit i is set where lane i of `a` is at most `b`'s.
inline std::uint32_t at_most(Vec<float> a, Vec<float> b) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LE_OQ);
#elif defined(__AVX2__)
    return _mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_LE_OQ));
#else
    const auto below = a <= b;
    std::uint32_t bits = 0;
    for (int i = 0; i < LANES<float>; ++i) bits |= (below[i] & 1u) << i;
    return bits;
#endif
}

/// Bit i is set where lane i of `a` is below `b`'s.
inline std::uint32_t below(Vec<std::uint32_t> a, Vec<std::uint32_t> b) {
#if defined(__AVX512F__)
    return _mm512_cmplt_epu32_mask((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return _mm256_movemask_ps((__m256)(a < b));
#else
    const auto less = a < b;
    std::uint32_t bits = 0;
    for (int i = 0; i < LANES<std::uint32_t>; ++i) bits |= (less[i] & 1u) << i;
    return bits;
#endif
}

/// 0, 1, 2, ...
inline Vec<std::int32_t> lane_numbers() {
    Vec<std::int32_t> numbers{};
    for (int i = 0; i < LANES<std::int32_t>; ++i) numbers[i] = i;
    return numbers;
}

/// Writes the lanes of `v` chosen by `bits` one after another to `to`, which has room for a whole register.
template <class T>
inline void store_chosen(T* to, Vec<T> v, std::uint32_t bits) {
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<T, float>)
        _mm512_storeu_ps(to, _mm512_maskz_compress_ps(static_cast<__mmask16>(bits), (__m512)v));
    else
        _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(static_cast<__mmask16>(bits), (__m512i)v));
#else
    for (; bits; bits &= bits - 1) *to++ = v[__builtin_ctz(bits)];
#endif
}

}  // namespace lowfold
