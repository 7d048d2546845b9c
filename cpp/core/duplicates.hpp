// Fingerprints of rows, to find equal ones without sorting whole rows.
#pragma once

#include <bit>
#include <cstdint>

#include "matrix.hpp"
#include "parallel.hpp"

namespace lowfold {

/// 64 bits of each row: equal rows (with 0 = -0) have equal ones, different rows different ones but for accidents.
template <class T>
void fingerprints(const Context& context, MatrixView<const T> X, std::uint64_t* out) {
    parallel_ranges(context, X.rows, 4096, [&](std::size_t begin, std::size_t end, Worker& worker) {
        for (std::size_t i = begin; i < end; ++i) {
            std::uint64_t hash = 0x9E3779B97F4A7C15;
            for (std::size_t p = 0; p < X.columns; ++p) {
                const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(X.row(i)[p]) + 0.0);
                hash = (std::rotl(hash, 23) ^ bits) * 0xD6E8FEB86659FD93;  // an odd constant with well mixed bits
            }
            out[i] = hash ^ hash >> 32;
            worker.check_after(X.columns);
        }
    });
}

}  // namespace lowfold
