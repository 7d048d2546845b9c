// Flat neighbourhoods, and what holds for the blocks made of them.
#pragma once

#include "alignment.hpp"
#include "sparse_support.hpp"

namespace lowfold::tests {

// Eigenvectors of matrices of size up to 20 whose smallest eigenvalue is some 1e-3 of the largest.
inline constexpr double TOLERANCE = 1e-11;

/// For work that nobody stops.
inline Worker& undisturbed() {
    static std::atomic<bool> stop = false;
    static Worker worker(0, stop, nullptr);
    return worker;
}

/// Points of a d-dimensional plane in D dimensions: whole numbers, so that the plane is exact in float32 too.
template <class T>
struct FlatData {
    Data<double> plane;  // n x d
    Data<T> X;           // n x D
    Data<std::int32_t> neighbors;

    FlatData(std::size_t n, std::size_t d, std::size_t dimensions, std::size_t k)
        : plane(n, d), X(n, dimensions), neighbors(0, 0) {
        Dice dice(d + 10 * dimensions);
        for (auto& x : plane.values) x = static_cast<double>(dice.below(41)) - 20;
        Data<double> map(d, dimensions);
        for (std::size_t j = 0; j < d; ++j)
            for (std::size_t p = 0; p < dimensions; ++p)
                map.row(j)[p] = (p % d == j ? 3 : 0) + static_cast<double>(dice.below(3)) - 1;
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t p = 0; p < dimensions; ++p) {
                double x = 100;
                for (std::size_t j = 0; j < d; ++j) x += plane.row(i)[j] * map.row(j)[p];
                X.row(i)[p] = static_cast<T>(x);
            }
        neighbors = random_neighbors(n, k, dice);
    }

    /// Coordinate j of the plane at the neighbours of point i; those of the point itself first if asked for.
    std::vector<double> coordinate(std::size_t i, std::size_t j, bool with_point = false) const {
        std::vector<double> values;
        if (with_point) values.push_back(plane.row(i)[j]);
        for (std::size_t l = 0; l < neighbors.columns; ++l) values.push_back(plane.row(neighbors.row(i)[l])[j]);
        return values;
    }
};

inline double dot(const double* a, const double* b, std::size_t size) {
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += a[i] * b[i];
    return sum;
}

inline std::vector<double> times(const double* block, const std::vector<double>& x) {
    std::vector<double> out(x.size());
    for (std::size_t a = 0; a < x.size(); ++a) out[a] = dot(block + a * x.size(), x.data(), x.size());
    return out;
}

/// block x = 0, relative to x.
inline void expect_annihilated(const double* block, const std::vector<double>& x, double tolerance,
                               const std::string& what, Where where = Where::current()) {
    const double size = std::sqrt(dot(x.data(), x.data(), x.size()));
    for (const double found : times(block, x)) expect_close(found, 0, tolerance * size, what, where);
}

/// Symmetric in every bit, and B B = B.
inline void expect_projector(const double* block, std::size_t k, std::size_t rank, const std::string& what,
                             Where where = Where::current()) {
    double trace = 0;
    for (std::size_t a = 0; a < k; ++a) {
        trace += block[a * k + a];
        for (std::size_t b = 0; b < k; ++b) {
            expect_equal(block[a * k + b], block[b * k + a], text("an entry and its mirror: ", what), where);
            expect_close(dot(block + a * k, block + b * k, k), block[a * k + b], TOLERANCE, text("B B: ", what), where);
        }
    }
    expect_close(trace, static_cast<double>(rank), TOLERANCE, text("rank: ", what), where);
}

template <class T>
using MakeBlocks = void (*)(const Context&, MatrixView<const T>, MatrixView<const std::int32_t>, std::size_t, double*);

template <class T>
std::vector<double> make_blocks(MakeBlocks<T> make, const FlatData<T>& data, std::size_t d, int threads = 1) {
    std::vector<double> blocks(data.X.rows * data.neighbors.columns * data.neighbors.columns, -1.0);
    make(Context{threads, {}}, data.X.view(), data.neighbors.view(), d, blocks.data());
    return blocks;
}

}  // namespace lowfold::tests
