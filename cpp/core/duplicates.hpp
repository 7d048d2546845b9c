// Fingerprints of rows, to find equal ones without sorting whole rows.
#pragma once

#include <bit>
#include <cstdint>

#include "matrix.hpp"
#include "parallel.hpp"

namespace lowfold {

/// 64 bits of each row: equal rows (with 0 = -0, and NaN for a number that is missing equal to any other NaN) have
/// equal ones, different rows different ones but for accidents.
template <class T>
void fingerprints(const Context& context, MatrixView<const T> X, std::uint64_t* out) {
    constexpr std::uint64_t missing = 0x7FF8000000000000;  // one of many ways to write NaN
    parallel_ranges(context, X.rows, 4096, [&](std::size_t begin, std::size_t end, Worker& worker) {
        for (std::size_t i = begin; i < end; ++i) {
            std::uint64_t hash = 0x9E3779B97F4A7C15;
            for (std::size_t p = 0; p < X.columns; ++p) {
                const double number = static_cast<double>(X.row(i)[p]) + 0.0;
                const auto bits = number == number ? std::bit_cast<std::uint64_t>(number) : missing;
                hash = (std::rotl(hash, 23) ^ bits) * 0xD6E8FEB86659FD93;  // an odd constant with well mixed bits
            }
            out[i] = hash ^ hash >> 32;
            worker.check_after(X.columns);
        }
    });
}

}  // namespace lowfold
