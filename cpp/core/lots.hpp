// Lots for layouts: cheap random words, where millions are drawn in each epoch.
#pragma once

#include <cstdint>

namespace lowfold {

/// A permutation of 32-bit words whose output looks random (Wellons' lowbias32).
constexpr std::uint32_t scrambled(std::uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    x ^= x >> 16;
    return x;
}

/// A row of lots: a pure function of seed, epoch and the number of the row.
class Lots {
   public:
    Lots(std::uint32_t seed, std::uint32_t epoch, std::uint32_t number)
        : state_(scrambled(seed ^ scrambled(epoch ^ scrambled(number)))) {}

    /// The next one, in [0, end).
    std::uint32_t below(std::size_t end) {
        state_ += 0x9E3779B9u;
        return static_cast<std::uint32_t>(std::uint64_t{scrambled(state_)} * end >> 32);
    }

   private:
    std::uint32_t state_;
};

}  // namespace lowfold
