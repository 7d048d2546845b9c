// Layouts by sampled forces: edges fire as often as they weigh, and each time some other points, drawn by lot, repel.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "elementary.hpp"
#include "graph.hpp"

namespace lowfold {

/// w(r) = 1 / (1 + a r^b), r a squared distance, and the forces of the cross-entropy sum w_ij log w + (1 - w_ij) log(1
/// - w).
struct Curve {
    float a, b, strength;

    /// Of an edge: -dlog w / dr twice, times (y_i - y_j).
    template <class V>
    V pull(V r) const {
        const V power = to_the_b(r);
        return (2 * a * b) * power / (r * (1 + a * power));
    }

    /// Of a pair without one.
    template <class V>
    V push(V r) const {
        return (2 * strength * b) / ((r + SOFT) * (1 + a * to_the_b(r)));
    }

   private:
    static constexpr float SOFT = 1e-3f;

    template <class V>
    V to_the_b(V r) const {
        return exponential(b * logarithm(r));
    }
};

/// What one epoch does: how far steps go, which epoch of how many it is, the negatives to an edge, the seed.
struct Epoch {
    std::uint32_t number;
    float step;
    int negatives;
    std::uint32_t seed;
    bool both;  // whether both ends of an edge move: a layout, not new points among fixed ones
};

/// One epoch for the rows of `from`, which move to `to` among the points of `others` (the same as `from`, or fixed).
///
/// Edge e with the share p / 2^32 of the largest weight fires in the epochs t >= 1 in which floor(t p / 2^32) grows.
/// A point goes through its edges one after another and moves each time, while all others stay where they were before
/// the epoch; of an edge whose both ends move, the other end is taken to make the mirror image of its step. Sixteen
/// points go at once, one in each lane. Each point has one owner, and its lots depend on nothing but the seed, the
/// epoch and its number, or on the seed and the epoch alone among fixed points.
template <int D>
class Layout {
   public:
    Layout(SparseView<std::uint32_t> edges, MatrixView<const float> from, MatrixView<const float> others,
           const Curve& curve, const Epoch& epoch)
        : edges_(edges), from_(from), others_(others), curve_(curve), epoch_(epoch) {}

    void run(const Context& context, float* to) const {
        parallel_ranges(context, from_.rows, ROWS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
            Group group(dimensions());
            for (std::size_t i = first; i < last; i += LANES) move(i, std::min(i + LANES, last), group, to);
            worker.check();
        });
    }

   private:
    static constexpr std::size_t LANES = 16, ROWS_AT_ONCE = 128;
    static constexpr float LONGEST = 4;  // of a force in one direction
    using Floats = Wide<float>;
    using Words = typename VectorOf<std::uint32_t, 64>::type;

    /// The points in the lanes, the edges of each that fire, and room for the points they meet.
    struct Group {
        explicit Group(std::size_t d) : y(d), other(d) {}
        std::vector<Floats, AlignedAllocator<Floats>> y, other;
        std::vector<std::int32_t> fired[LANES];
    };

    std::size_t dimensions() const { return D ? D : from_.columns; }

    void move(std::size_t first, std::size_t last, Group& group, float* to) const {
        const std::size_t d = dimensions();
        std::size_t longest = 0;
        Words state{};
        for (std::size_t lane = 0; lane < LANES; ++lane) {
            const std::size_t i = std::min(first + lane, last - 1);
            group.fired[lane].clear();
            if (first + lane < last) collect(i, group.fired[lane]);
            longest = std::max(longest, group.fired[lane].size());
            for (std::size_t p = 0; p < d; ++p) group.y[p][lane] = from_.row(i)[p];
            state[lane] = scrambled(epoch_.seed ^ scrambled(epoch_.number ^ scrambled(own_lot(i))));
            shuffle(group.fired[lane], state[lane]);
        }
        for (std::size_t e = 0; e < longest; ++e) {
            Floats active{};
            std::int32_t met[LANES];
            for (std::size_t lane = 0; lane < LANES; ++lane) {
                const bool fires = e < group.fired[lane].size();
                active[lane] = fires ? epoch_.step : 0.0f;
                met[lane] = fires ? group.fired[lane][e] : 0;
            }
            attract(met, active, group);
            for (int negative = 0; negative < epoch_.negatives; ++negative) {
                state += 0x9E3779B9u;
                repel(scrambled(state), active, group);
            }
        }
        for (std::size_t lane = 0; first + lane < last; ++lane)
            for (std::size_t p = 0; p < d; ++p) to[(first + lane) * d + p] = group.y[p][lane];
    }

    std::uint32_t own_lot(std::size_t i) const { return epoch_.both ? static_cast<std::uint32_t>(i) : 0; }

    void collect(std::size_t i, std::vector<std::int32_t>& fired) const {
        fired.resize(static_cast<std::size_t>(edges_.begin[i + 1] - edges_.begin[i]));
        std::size_t count = 0;
        for (auto at = edges_.begin[i]; at < edges_.begin[i + 1]; ++at) {
            fired[count] = edges_.columns[at];
            count += epoch_.number * edges_.values[at] < edges_.values[at];  // modulo 2^32
        }
        fired.resize(count);
    }

    /// By lot: in the order of the columns, which is that of memory, points would drift towards the last ones.
    static void shuffle(std::vector<std::int32_t>& fired, std::uint32_t lot) {
        for (std::size_t left = fired.size(); left > 1; --left) {
            lot = scrambled(lot + 0x9E3779B9u);
            std::swap(fired[left - 1], fired[static_cast<std::uint64_t>(lot) * left >> 32]);
        }
    }

    void gather(const std::int32_t* met, Group& group) const {
        for (std::size_t lane = 0; lane < LANES; ++lane) {
            const float* y = others_.row(static_cast<std::size_t>(met[lane]));
            for (std::size_t p = 0; p < dimensions(); ++p) group.other[p][lane] = y[p];
        }
    }

    void attract(const std::int32_t* met, Floats active, Group& group) const {
        gather(met, group);
        Floats* way = group.other.data();
        for (std::size_t p = 0; p < dimensions(); ++p) way[p] = group.y[p] - way[p];
        step<true>(active, way, group);
        if (!epoch_.both) return;
        step<true>(active, way, group);  // the same edge from the other end, whose point has moved as well
    }

    void repel(Words lots, Floats active, Group& group) const {
        std::int32_t met[LANES];
        const auto n = static_cast<std::uint64_t>(others_.rows);
        for (std::size_t lane = 0; lane < LANES; ++lane) met[lane] = static_cast<std::int32_t>(lots[lane] * n >> 32);
        gather(met, group);
        Floats* way = group.other.data();
        for (std::size_t p = 0; p < dimensions(); ++p) way[p] = group.y[p] - way[p];
        step<false>(active, way, group);
    }

    /// Moves y along `way` = y - other, towards it or away. Of an attraction, `way` is then that between the points
    /// after both have moved.
    template <bool TOWARDS>
    void step(Floats active, Floats* way, Group& group) const {
        Floats r{};
        for (std::size_t p = 0; p < dimensions(); ++p) r += way[p] * way[p];
        const Floats apart = r > TINY ? r : Floats{} + TINY;
        const Floats force = TOWARDS ? -curve_.pull(apart) : curve_.push(apart);
        for (std::size_t p = 0; p < dimensions(); ++p) {
            Floats along = force * way[p];
            along = along > LONGEST ? Floats{} + LONGEST : along;
            along = along < -LONGEST ? Floats{} - LONGEST : along;
            const Floats moved = active * along;
            group.y[p] += moved;
            if (TOWARDS) way[p] += 2 * moved;
        }
    }

    static constexpr float TINY = 1e-12f;

    /// A permutation of 32-bit words whose output looks random (Wellons' lowbias32).
    template <class W>
    static W scrambled(W x) {
        x ^= x >> 16;
        x *= 0x7feb352du;
        x ^= x >> 15;
        x *= 0x846ca68bu;
        x ^= x >> 16;
        return x;
    }

    SparseView<std::uint32_t> edges_;
    MatrixView<const float> from_, others_;
    Curve curve_;
    Epoch epoch_;
};

}  // namespace lowfold
