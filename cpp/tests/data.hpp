// Data for the tests: small, and the same wherever they run.
#pragma once

#include <cmath>
#include <numbers>
#include <vector>

#include "matrix.hpp"
#include "random.hpp"

namespace lowfold::tests {

/// Random numbers one after another.
class Dice {
   public:
    explicit Dice(std::uint64_t seed) : seed_(seed) {}

    /// In (0, 1).
    double uniform() { return (static_cast<double>(random_bits(seed_, 0, item_++) >> 11) + 0.5) * 0x1p-53; }
    double normal() {
        const double radius = std::sqrt(-2 * std::log(uniform()));
        return radius * std::cos(2 * std::numbers::pi * uniform());
    }
    /// In [0, n).
    std::size_t below(std::size_t n) { return static_cast<std::size_t>(uniform() * static_cast<double>(n)); }

   private:
    std::uint64_t seed_, item_ = 0;
};

template <class T>
struct Data {
    std::size_t rows, columns;
    std::vector<T> values;

    Data(std::size_t rows, std::size_t columns) : rows(rows), columns(columns), values(rows * columns) {}
    T* row(std::size_t i) { return values.data() + i * columns; }
    const T* row(std::size_t i) const { return values.data() + i * columns; }
    MatrixView<const T> view() const { return {values.data(), rows, columns}; }
    MatrixView<T> writable() { return {values.data(), rows, columns}; }
};

enum class Shape { random, clustered, lattice, duplicated, outlier, uncentred, tiny };

inline constexpr Shape SHAPES[] = {Shape::random,  Shape::clustered, Shape::lattice, Shape::duplicated,
                                   Shape::outlier, Shape::uncentred, Shape::tiny};

inline const char* name(Shape shape) {
    constexpr const char* NAMES[] = {"random", "clustered", "lattice", "duplicated", "outlier", "uncentred", "tiny"};
    return NAMES[static_cast<int>(shape)];
}

/// Points of one of the shapes that a neighbour search finds hard.
template <class T>
Data<T> make_data(Shape shape, std::size_t rows, std::size_t columns, std::uint64_t seed = 1) {
    constexpr std::size_t CLUSTERS = 6;
    constexpr double FAR = 1e6;
    constexpr double TINY = sizeof(T) == 4 ? 1e-15 : 1e-100;  // its square is still a normal number
    Dice dice(seed);
    Data<T> centres(CLUSTERS, columns), data(rows, columns);
    for (auto& x : centres.values) x = static_cast<T>(5 * dice.normal());
    for (std::size_t i = 0; i < rows; ++i) {
        const T* centre = centres.row(dice.below(CLUSTERS));
        const T* original = data.row(i > 0 ? dice.below(i) : 0);
        for (std::size_t p = 0; p < columns; ++p) {
            double x = dice.normal();
            if (shape == Shape::clustered) x = centre[p] + 0.01 * x;
            if (shape == Shape::lattice) x = std::round(x);
            if (shape == Shape::duplicated && i > rows / 4) x = original[p];
            if (shape == Shape::outlier && i == rows / 2) x = FAR;
            if (shape == Shape::uncentred) x += FAR;
            if (shape == Shape::tiny) x *= TINY;
            data.row(i)[p] = static_cast<T>(x);
        }
    }
    return data;
}

/// Rows of length 1; a row of zeros stays.
template <class T>
void normalize(Data<T>& data) {
    for (std::size_t i = 0; i < data.rows; ++i) {
        double square = 0;
        for (std::size_t p = 0; p < data.columns; ++p) square += double{data.row(i)[p]} * double{data.row(i)[p]};
        if (square == 0) continue;
        for (std::size_t p = 0; p < data.columns; ++p)
            data.row(i)[p] = static_cast<T>(data.row(i)[p] / std::sqrt(square));
    }
}

}  // namespace lowfold::tests
