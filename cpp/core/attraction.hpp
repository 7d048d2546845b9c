// Forces and cost along the edges of a sparse affinity.
#pragma once

#include <algorithm>
#include <vector>

#include "graph.hpp"
#include "law.hpp"

namespace lowfold {

/// The edges of one row in an embedding of D dimensions (0: as many as the embedding has), eight at a time in the
/// plane.
template <int D, class T, class Law>
class Edges {
   public:
    Edges(SparseView<T> P, MatrixView<const T> Y, const Law& law) : P_(P), Y_(Y), law_(law) {}

    /// force = sum_j p_ij pull(r_ij) (y_i - y_j)
    void force(std::size_t i, T* force) const {
        if constexpr (PLANE) {
            Pairs sum{};
            each_eight(i, [&](Eight p, Pairs difference, Eight r) { sum += in_pairs(p * law_.pull(r)) * difference; });
            T x{}, y{};
            for (std::size_t l = 0; l < EIGHT; ++l) {
                x += sum[2 * l];
                y += sum[2 * l + 1];
            }
            force[0] = x;
            force[1] = y;
        } else {
            std::fill_n(force, dimensions(), T{});
            each(i, [&](T p, const T* y, T r) {
                const T pull = p * law_.pull(r);
                for (std::size_t d = 0; d < dimensions(); ++d) force[d] += pull * (Y_.row(i)[d] - y[d]);
            });
        }
    }

    /// sum_j p_ij (-log w(r_ij))
    double cost(std::size_t i) const {
        double total = 0;
        if constexpr (PLANE) {
            Eight sum{};
            each_eight(i, [&](Eight p, Pairs, Eight r) { sum += p * law_.cost(r); });
            for (std::size_t l = 0; l < EIGHT; ++l) total += static_cast<double>(sum[l]);
        } else {
            each(i, [&](T p, const T*, T r) { total += static_cast<double>(p * law_.cost(r)); });
        }
        return total;
    }

   private:
    static constexpr std::size_t EIGHT = 8;
    static constexpr bool PLANE = D == 2 && std::is_same_v<T, float>;
    using Pairs = Wide<float>;                           // x and y of eight points
    using Points = typename VectorOf<double, 64>::type;  // the same bits, a point to each lane
    using Eight = typename VectorOf<float, 32>::type;

    std::size_t dimensions() const { return D ? D : Y_.columns; }

    template <class Use>
    void each(std::size_t i, const Use& use) const {
        for (auto at = P_.begin[i]; at < P_.begin[i + 1]; ++at) {
            const T* y = Y_.row(P_.columns[at]);
            T r{};
            for (std::size_t d = 0; d < dimensions(); ++d) r += (Y_.row(i)[d] - y[d]) * (Y_.row(i)[d] - y[d]);
            use(P_.values[at], y, r);
        }
    }

    double point(std::size_t j) const {
        double bits;
        std::memcpy(&bits, Y_.row(j), sizeof(bits));
        return bits;
    }

    /// Each of eight values twice, for x and y.
    static Pairs in_pairs(Eight v) {
        return __builtin_shufflevector(v, v, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    }

    /// use(p, y_i - y_j, r) for eight edges at a time. A row is filled up with edges from the point to itself of weight
    /// 0.
    template <class Use>
    void each_eight(std::size_t i, const Use& use) const {
        const double own = point(i);
        const auto here = (Pairs)(Points{own, own, own, own, own, own, own, own});
        const auto eight = [&](const std::int32_t* c, Eight p) {
            const auto there = (Pairs)(Points{point(c[0]), point(c[1]), point(c[2]), point(c[3]), point(c[4]),
                                              point(c[5]), point(c[6]), point(c[7])});
            const Pairs difference = here - there, squares = difference * difference;
            const auto x = __builtin_shufflevector(squares, squares, 0, 2, 4, 6, 8, 10, 12, 14);
            const auto y = __builtin_shufflevector(squares, squares, 1, 3, 5, 7, 9, 11, 13, 15);
            use(p, difference, x + y);
        };
        auto at = P_.begin[i];
        const auto end = P_.begin[i + 1];
        for (; at + static_cast<std::int64_t>(EIGHT) <= end; at += EIGHT)
            eight(P_.columns + at, load<Eight>(P_.values + at));
        if (at == end) return;
        std::int32_t columns[EIGHT];
        float values[EIGHT] = {};
        std::fill_n(columns, EIGHT, static_cast<std::int32_t>(i));
        std::copy(P_.columns + at, P_.columns + end, columns);
        std::copy(P_.values + at, P_.values + end, values);
        eight(columns, load<Eight>(values));
    }

    SparseView<T> P_;
    MatrixView<const T> Y_;
    const Law& law_;
};

/// Calls use.operator()<D>() with the number of dimensions as a constant where it is at most 3, else 0.
template <class Use>
void with_dimensions(std::size_t dimensions, const Use& use) {
    if (dimensions == 1) return use.template operator()<1>();
    if (dimensions == 2) return use.template operator()<2>();
    if (dimensions == 3) return use.template operator()<3>();
    use.template operator()<0>();
}

/// Row i of `force`: sum_j p_ij pull(r_ij) (y_i - y_j). Each row has one owner. Cost: the entries of P.
template <class T, class Law>
void attraction(const Context& context, SparseView<T> P, MatrixView<const T> Y, const Law& law, T* force) {
    constexpr std::size_t ROWS_AT_ONCE = 512;
    with_dimensions(Y.columns, [&]<int D>() {
        const Edges<D, T, Law> edges(P, Y, law);
        parallel_ranges(context, P.rows, ROWS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
            for (std::size_t i = first; i < last; ++i) edges.force(i, force + i * Y.columns);
            worker.check();
        });
    });
}

/// sum_ij p_ij (-log w(r_ij)), summed over pieces of rows that do not depend on the threads, then over the pieces.
template <class T, class Law>
double attraction_cost(const Context& context, SparseView<T> P, MatrixView<const T> Y, const Law& law) {
    constexpr std::size_t ROWS_AT_ONCE = 512;
    std::vector<double> sums((P.rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE);
    with_dimensions(Y.columns, [&]<int D>() {
        const Edges<D, T, Law> edges(P, Y, law);
        parallel_ranges(context, P.rows, ROWS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
            double sum = 0;
            for (std::size_t i = first; i < last; ++i) sum += edges.cost(i);
            sums[first / ROWS_AT_ONCE] = sum;
            worker.check();
        });
    });
    double total = 0;
    for (const double sum : sums) total += sum;
    return total;
}

/// A law that repels along edges: pull is -w', cost is w.
template <class Law>
struct Repelling {
    const Law& law;

    template <class V>
    V pull(V r) const {
        return law.slope(r, law.weight(r));
    }
    template <class V>
    V cost(V r) const {
        return law.weight(r);
    }
};

/// potential[i] = sum_j w_ij w(r_ij) over the entries of row i of W, and its gradient in y_i, 2 sum_j w_ij w'(r_ij)
/// (y_i - y_j). Each row has one owner. Cost: the entries of W.
template <class T, class Law>
void pair_field(const Context& context, SparseView<T> W, MatrixView<const T> Y, const Law& law, T* potential,
                T* gradient) {
    constexpr std::size_t ROWS_AT_ONCE = 64;
    const Repelling<Law> repelling{law};
    with_dimensions(Y.columns, [&]<int D>() {
        const Edges<D, T, Repelling<Law>> edges(W, Y, repelling);
        parallel_ranges(context, W.rows, ROWS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
            for (std::size_t i = first; i < last; ++i) {
                T* slope = gradient + i * Y.columns;
                potential[i] = static_cast<T>(edges.cost(i));
                edges.force(i, slope);
                for (std::size_t p = 0; p < Y.columns; ++p) slope[p] *= -2;
                worker.check();
            }
        });
    });
}

}  // namespace lowfold
