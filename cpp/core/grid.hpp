// Charges spread to a regular grid by cubic B-splines, and values on the grid read off between its nodes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "parallel.hpp"
#include "simd.hpp"

namespace lowfold {

/// A grid of D dimensions: node (0, ..., 0) at `origin`, nodes `spacing` apart. A point needs a node before its cell
/// and two behind it in each direction.
template <int D>
struct GridShape {
    std::array<std::size_t, D> size;
    std::array<double, D> origin;
    double spacing, inverse;  // 1 / spacing

    std::size_t nodes() const {
        std::size_t count = 1;
        for (const std::size_t s : size) count *= s;
        return count;
    }
};

/// The cubic B-spline at the four nodes around a point at t in [0, 1) of its cell, and its derivative.
struct Spline {
    std::array<float, 4> value, slope;

    explicit Spline(float t) {
        const float s = 1 - t;
        value = {s * s * s / 6, (4 - 6 * t * t + 3 * t * t * t) / 6, (4 - 6 * s * s + 3 * s * s * s) / 6,
                 t * t * t / 6};
        slope = {-s * s / 2, (3 * t * t - 4 * t) / 2, (4 * s - 3 * s * s) / 2, t * t / 2};
    }
};

/// Where a point lies: the first of its four nodes in each direction, and the splines there.
template <int D>
struct GridPlace {
    std::array<std::size_t, D> first;
    std::array<float, D> within;

    GridPlace(const GridShape<D>& shape, const float* y) {
        for (int p = 0; p < D; ++p) {
            const double u = (static_cast<double>(y[p]) - shape.origin[p]) * shape.inverse;
            const auto cell =
                std::clamp<std::int64_t>(static_cast<std::int64_t>(u), 1, static_cast<std::int64_t>(shape.size[p]) - 3);
            first[p] = static_cast<std::size_t>(cell - 1);
            within[p] = static_cast<float>(u - static_cast<double>(cell));
        }
    }
};

/// values[g] = sum_i c_i B(y_i - g): the charges of points, spread to the grid.
///
/// Points are sorted by their row of nodes (the first direction); each band of rows has one owner, which adds the
/// points that reach into it in their order: the same bits for any number of threads. Cost n 4^D and the nodes.
template <int D>
class Spreading {
   public:
    Spreading(const Context& context, MatrixView<const float> Y, const GridShape<D>& shape)
        : context_(context), Y_(Y), shape_(shape), begin_(shape.size[0] + 1), order_(Y.rows) {
        sort();
    }

    void spread(const float* charges, float* values) const {
        const std::size_t rows = shape_.size[0], row_size = shape_.nodes() / rows;
        parallel_ranges(context_, rows, BAND, [&](std::size_t first, std::size_t last, Worker& worker) {
            std::fill(values + first * row_size, values + last * row_size, 0.0f);
            const std::size_t reach = first < 3 ? 0 : first - 3;
            for (auto at = begin_[reach]; at < begin_[last]; ++at) {
                if (at % POINTS_AT_ONCE == 0) worker.check();  // all points may lie in one band
                const std::size_t i = order_[at];
                add(GridPlace<D>(shape_, Y_.row(i)), charges ? charges[i] : 1.0f, first, last, values);
            }
        });
    }

   private:
    static constexpr std::size_t BAND = 8, POINTS_AT_ONCE = 8192;

    std::size_t row_of(std::size_t i) const { return GridPlace<D>(shape_, Y_.row(i)).first[0]; }

    /// By counting, in pieces of points that do not depend on the threads.
    void sort() {
        const std::size_t pieces = (Y_.rows + POINTS_AT_ONCE - 1) / POINTS_AT_ONCE, rows = shape_.size[0];
        std::vector<std::uint32_t> counts(pieces * rows, 0);
        // Short: a point has at most three coordinates.
        parallel_ranges(context_, Y_.rows, POINTS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker&) {
            std::uint32_t* mine = &counts[first / POINTS_AT_ONCE * rows];
            for (std::size_t i = first; i < last; ++i) ++mine[row_of(i)];
        });
        std::uint32_t total = 0;
        for (std::size_t row = 0; row < rows; ++row) {
            begin_[row] = total;
            for (std::size_t piece = 0; piece < pieces; ++piece) {
                const std::uint32_t count = counts[piece * rows + row];
                counts[piece * rows + row] = total;
                total += count;
            }
        }
        begin_[rows] = total;
        // Short: a point has at most three coordinates.
        parallel_ranges(context_, Y_.rows, POINTS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker&) {
            std::uint32_t* next = &counts[first / POINTS_AT_ONCE * rows];
            for (std::size_t i = first; i < last; ++i) order_[next[row_of(i)]++] = static_cast<std::uint32_t>(i);
        });
    }

    /// Adds one charge to the rows in [first, last).
    void add(const GridPlace<D>& place, float charge, std::size_t first, std::size_t last, float* values) const {
        const Spline x(place.within[0]), y(place.within[D > 1 ? 1 : 0]), z(place.within[D - 1]);
        for (std::size_t a = 0; a < 4; ++a) {
            const std::size_t row = place.first[0] + a;
            if (row < first || row >= last) continue;
            const float weight = charge * x.value[a];
            if constexpr (D == 1) {
                values[row] += weight;
            } else {
                if constexpr (D == 2) {
                    add_four(weight, y, values + row * shape_.size[1] + place.first[1]);
                } else {
                    for (std::size_t b = 0; b < 4; ++b)
                        add_four(
                            weight * y.value[b], z,
                            values + (row * shape_.size[1] + place.first[1] + b) * shape_.size[2] + place.first[2]);
                }
            }
        }
    }

    static void add_four(float weight, const Spline& spline, float* to) {
        using Four = typename VectorOf<float, 16>::type;
        store(to, load<Four>(to) + weight * load<Four>(spline.value.data()));
    }

    const Context& context_;
    MatrixView<const float> Y_;
    GridShape<D> shape_;
    std::vector<std::uint32_t> begin_, order_;
};

/// The spline through values on a grid, at a point, and its gradient.
template <int D>
float read_grid(const GridShape<D>& shape, const float* values, const float* y, float* gradient) {
    const GridPlace<D> place(shape, y);
    std::array<float, D> slope{};
    float value = 0;
    const Spline last(place.within[D - 1]);
    const auto along = [&](const float* from, const std::array<float, 4>& weights) {
        return from[0] * weights[0] + from[1] * weights[1] + from[2] * weights[2] + from[3] * weights[3];
    };
    if constexpr (D == 1) {
        value = along(values + place.first[0], last.value);
        slope[0] = along(values + place.first[0], last.slope);
    } else {
        const Spline x(place.within[0]);
        for (std::size_t a = 0; a < 4; ++a) {
            const float* row = values + (place.first[0] + a) * (shape.nodes() / shape.size[0]);
            if constexpr (D == 2) {
                const float here = along(row + place.first[1], last.value);
                value += x.value[a] * here;
                slope[0] += x.slope[a] * here;
                slope[1] += x.value[a] * along(row + place.first[1], last.slope);
            } else {
                const Spline middle(place.within[1]);
                for (std::size_t b = 0; b < 4; ++b) {
                    const float* line = row + (place.first[1] + b) * shape.size[2] + place.first[2];
                    const float here = along(line, last.value);
                    value += x.value[a] * middle.value[b] * here;
                    slope[0] += x.slope[a] * middle.value[b] * here;
                    slope[1] += x.value[a] * middle.slope[b] * here;
                    slope[2] += x.value[a] * middle.value[b] * along(line, last.slope);
                }
            }
        }
    }
    for (int p = 0; p < D; ++p) gradient[p] = slope[p] * static_cast<float>(shape.inverse);
    return value;
}

/// The field of charges on a grid, for points inside it; outside it is infinite.
template <int D>
struct GridField {
    GridShape<D> shape;
    const float* values;

    double at(const float* y, double* gradient) const {
        std::array<float, D> slope{};
        double value = std::numeric_limits<double>::infinity();
        bool inside = true;
        for (int p = 0; p < D; ++p) {
            const double u = (static_cast<double>(y[p]) - shape.origin[p]) * shape.inverse;
            inside = inside && u >= 1 && u < static_cast<double>(shape.size[p] - 2);
        }
        if (inside) value = static_cast<double>(read_grid(shape, values, y, slope.data()));
        std::copy(slope.begin(), slope.end(), gradient);
        return value;
    }
};

/// potential and gradient at each row of Y. Each row has one owner. Cost n 4^D.
template <int D>
void gather(const Context& context, const GridShape<D>& shape, const float* values, MatrixView<const float> Y,
            float* potential, float* gradient) {
    constexpr std::size_t ROWS_AT_ONCE = 2048;
    parallel_ranges(context, Y.rows, ROWS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
        for (std::size_t i = first; i < last; ++i) potential[i] = read_grid(shape, values, Y.row(i), gradient + i * D);
        worker.check();
    });
}

}  // namespace lowfold
