// Counter-based random numbers: a pure function of (seed, stream, item), the same on any thread and in any order.
#pragma once

#include <array>
#include <cstdint>

namespace lowfold {

/// Philox-4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011): 128 random bits for a
/// 128-bit counter and a 64-bit key.
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
    constexpr std::uint64_t MULTIPLY_0 = 0xD2511F53, MULTIPLY_1 = 0xCD9E8D57;
    constexpr std::uint32_t WEYL_0 = 0x9E3779B9, WEYL_1 = 0xBB67AE85;
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t a = MULTIPLY_0 * counter[0], b = MULTIPLY_1 * counter[2];
        counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
                   static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
        key = {key[0] + WEYL_0, key[1] + WEYL_1};
    }
    return counter;
}

/// 64 random bits of `item` in `stream` under `seed`.
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t item) {
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
    const auto out = philox({low(item), high(item), low(stream), high(stream)}, {low(seed), high(seed)});
    return std::uint64_t{out[1]} << 32 | out[0];
}

}  // namespace lowfold
