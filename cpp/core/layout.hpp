// Layouts by sampled forces: edges fire as often as they weigh, and each time some other points, drawn by lot, repel.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "elementary.hpp"
#include "firing.hpp"

namespace lowfold {

/// v(r) = 1 / (1 + a r^b), r a squared distance, and the forces of the cross-entropy sum w log v + (1 - w) log(1 - v).
class Curve {
   public:
    /// A push is `strength` times as strong as the cross-entropy says.
    Curve(float a, float b, float strength)
        : a_(a),
          pull_(2 * a * b),
          push_(2 * strength * b),
          b_(b),
          least_(std::max(TINY, std::exp2(-MOST_BITS / b))),
          most_(std::exp2(std::min(MOST_BITS, MOST_BITS / b))) {}

    /// Of edges: -dlog v / dr twice, times (y_i - y_j).
    template <class V, std::size_t N>
    std::array<V, N> pull(std::array<V, N> r) const {
        for (V& each : r) each = within(each);
        const std::array<V, N> p = power(r, b_);
        for (std::size_t v = 0; v < N; ++v) r[v] = pull_ * p[v] / (r[v] * (1 + a_ * p[v]));
        return r;
    }

    /// Of pairs without one.
    template <class V, std::size_t N>
    std::array<V, N> push(std::array<V, N> r) const {
        for (V& each : r) each = within(each);
        const std::array<V, N> p = power(r, b_);
        for (std::size_t v = 0; v < N; ++v) r[v] = push_ / ((r[v] + SOFT) * (1 + a_ * p[v]));
        return r;
    }

   private:
    static constexpr float SOFT = 1e-3f, TINY = 1e-12f, MOST_BITS = 120;  // r^b stays a normal number

    template <class V>
    V within(V r) const {
        r = r > least_ ? r : V{} + least_;
        return r < most_ ? r : V{} + most_;
    }

    float a_, pull_, push_, b_, least_, most_;
};

/// What one epoch does: which one it is, how far steps go, the negatives to an edge, the seed.
struct Epoch {
    std::uint32_t number;
    float step;
    int negatives;
    std::uint32_t seed;
};

/// The points that push those of a layout: all of them in an order by lot, column by column.
///
/// The lanes meet points that follow each other from a random place on, so that one lot and plain loads serve them all.
/// Each lane meets every point equally often.
class Crowd {
   public:
    Crowd(const Context& context, MatrixView<const float> Y, const std::int32_t* order)
        : rows_(Y.rows), stride_(Y.rows + MOST_LANES), values_(stride_ * Y.columns) {
        constexpr std::size_t AT_ONCE = 4096;
        // Short: AT_ONCE points of the map are copied.
        parallel_ranges(context, stride_, AT_ONCE, [&](std::size_t first, std::size_t last, Worker&) {
            for (std::size_t q = first; q < last; ++q) {
                const float* y = Y.row(static_cast<std::size_t>(order[q % Y.rows]));  // the first ones once more
                for (std::size_t p = 0; p < Y.columns; ++p) values_[p * stride_ + q] = y[p];
            }
        });
    }

    std::size_t size() const { return rows_; }

    /// Coordinate p of the points that sixteen lanes meet from a place on.
    Wide<float> meet(std::size_t place, std::size_t lane, std::size_t p) const {
        return load<Wide<float>>(values_.data() + p * stride_ + place + lane);
    }

   private:
    static constexpr std::size_t MOST_LANES = 64;
    std::size_t rows_, stride_;
    Buffer<float> values_;
};

/// Fixed points that push new ones: all lanes meet the same one, so that a new point's lots do not depend on where it
/// stands.
class Fixed {
   public:
    explicit Fixed(MatrixView<const float> Y) : Y_(Y) {}
    std::size_t size() const { return Y_.rows; }
    Wide<float> meet(std::size_t place, std::size_t, std::size_t p) const { return Wide<float>{} + Y_.row(place)[p]; }

   private:
    MatrixView<const float> Y_;
};

/// One epoch for the rows of `from`, which move to `to`.
///
/// A point goes through its edges that fire one after another, from a place by lot on, and moves each time, while all
/// others stay where they were before the epoch. In a layout (BOTH) the other end of an edge is taken to make the
/// mirror image of the step, and the edge pulls once from either end. Then the negatives push, up to BATCH of them at
/// once. Points with about as many edges go together, one in each lane of a few vectors. Each point has one owner.
template <int D, bool BOTH>
class Layout {
   public:
    using Others = std::conditional_t<BOTH, Crowd, Fixed>;

    /// near: the points at the other ends of the edges.
    Layout(SparseView<std::uint32_t> edges, MatrixView<const float> from, MatrixView<const float> near, Others others,
           const Curve& curve, const Epoch& epoch)
        : edges_(edges), from_(from), near_(near), others_(std::move(others)), curve_(curve), epoch_(epoch) {}

    void run(const Context& context, float* to) const {
        parallel_ranges(context, from_.rows, ROWS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
            Scratch scratch(dimensions());
            scratch.fired.collect(edges_, first, last, epoch_.number);
            by_count(first, last, scratch);
            for (std::size_t rank = 0; rank < last - first; rank += LANES) {
                move(first, last - first, rank, scratch, to);
                worker.check();
            }
        });
    }

   private:
    // Two vectors side by side: each force is one long chain of operations, and two of them take hardly longer than
    // one.
    static constexpr std::size_t WIDTH = 16, VECTORS = 2, LANES = VECTORS * WIDTH, ROWS_AT_ONCE = 256;
    static constexpr int BATCH = 5;
    static constexpr float LONGEST = 4;  // of a force in one direction
    using Floats = Wide<float>;
    using Integers = typename VectorOf<std::int32_t, 64>::type;

    template <class V>
    using Each = std::array<V, VECTORS>;
    using Points = std::conditional_t<D != 0, std::array<Each<Floats>, D ? D : 1>, Buffer<Each<Floats>>>;

    struct Scratch {
        explicit Scratch(std::size_t d) : y(), way(), sum() {
            if constexpr (D == 0)
                for (auto* each : {&y, &way, &sum}) each->resize(d);
        }
        Fired fired;
        std::array<std::uint32_t, ROWS_AT_ONCE + 1> begin;
        std::array<std::uint16_t, ROWS_AT_ONCE> sorted;  // rows with more edges first
        std::vector<std::uint16_t> tally;
        Points y, way, sum;
    };

    std::size_t dimensions() const { return D ? D : from_.columns; }

    /// Rows with about as many edges next to each other, so that few lanes idle: counted into buckets, stable.
    static void by_count(std::size_t first, std::size_t last, Scratch& scratch) {
        const std::size_t rows = last - first;
        auto& [fired, begin, sorted, tally, y, way, sum] = scratch;
        for (std::size_t i = 0; i <= rows; ++i) begin[i] = fired.begin(first + i);
        std::uint32_t most = 0;
        for (std::size_t i = 0; i < rows; ++i) most = std::max(most, begin[i + 1] - begin[i]);
        tally.assign(most + 2, 0);
        for (std::size_t i = 0; i < rows; ++i) ++tally[most - (begin[i + 1] - begin[i]) + 1];
        for (std::size_t bucket = 0; bucket <= most; ++bucket) tally[bucket + 1] += tally[bucket];
        for (std::size_t i = 0; i < rows; ++i)
            sorted[tally[most - (begin[i + 1] - begin[i])]++] = static_cast<std::uint16_t>(i);
    }

    /// The points from `rank` on, one in each lane.
    void move(std::size_t first, std::size_t rows, std::size_t rank, Scratch& scratch, float* to) const {
        const std::size_t d = dimensions(), used = std::min(LANES, rows - rank);
        Each<Integers> begin{}, count{}, start{};
        for (std::size_t lane = 0; lane < used; ++lane) {
            const std::size_t i = scratch.sorted[rank + lane], v = lane / WIDTH, l = lane % WIDTH;
            begin[v][l] = static_cast<std::int32_t>(scratch.begin[i]);
            count[v][l] = static_cast<std::int32_t>(scratch.begin[i + 1] - scratch.begin[i]);
            Lots own(epoch_.seed, epoch_.number, BOTH ? static_cast<std::uint32_t>(first + i) : 0);
            start[v][l] = static_cast<std::int32_t>(own.below(static_cast<std::size_t>(count[v][l])));
            for (std::size_t p = 0; p < d; ++p) scratch.y[p][v][l] = from_.row(first + i)[p];
        }
        Lots lots(~epoch_.seed, epoch_.number, BOTH ? static_cast<std::uint32_t>((first + rank) / WIDTH) : 0);
        for (std::int32_t e = 0; e < count[0][0]; ++e) {
            Each<Floats> active;
            for (std::size_t v = 0; v < VECTORS; ++v) {
                const Integers next = start[v] + e, at = next >= count[v] ? next - count[v] : next;
                active[v] = e < count[v] ? Floats{} + epoch_.step : Floats{};
                gather(v, e < count[v] ? begin[v] + at : Integers{} + begin[0][0], scratch);
            }
            attract(active, scratch);
            if constexpr (BOTH) attract(active, scratch);  // from the other end, whose point has moved as well
            for (int left = epoch_.negatives; left > 0; left -= BATCH)
                repel(std::min(left, BATCH), active, lots, scratch);
        }
        for (std::size_t lane = 0; lane < used; ++lane)
            for (std::size_t p = 0; p < d; ++p)
                to[(first + scratch.sorted[rank + lane]) * d + p] = scratch.y[p][lane / WIDTH][lane % WIDTH];
    }

    /// The ways to the points met.
    void gather(std::size_t v, Integers at, Scratch& scratch) const {
        const std::int32_t* points = scratch.fired.points();
        const std::size_t d = dimensions();
        for (std::size_t lane = 0; lane < WIDTH; ++lane) {
            const float* y = near_.data + static_cast<std::size_t>(points[at[lane]]) * d;
            for (std::size_t p = 0; p < d; ++p) scratch.way[p][v][lane] = y[p];
        }
        for (std::size_t p = 0; p < d; ++p) scratch.way[p][v] = scratch.y[p][v] - scratch.way[p][v];
    }

    /// Moves y along `way` = y - other towards it; `way` is then that between the points after both have moved.
    void attract(const Each<Floats>& active, Scratch& scratch) const {
        Each<Floats> force;
        for (std::size_t v = 0; v < VECTORS; ++v) {
            Floats r{};
            for (std::size_t p = 0; p < dimensions(); ++p) r += scratch.way[p][v] * scratch.way[p][v];
            force[v] = r;
        }
        force = curve_.pull(force);
        for (std::size_t p = 0; p < dimensions(); ++p)
            for (std::size_t v = 0; v < VECTORS; ++v) {
                const Floats moved = active[v] * bounded(force[v] * scratch.way[p][v]);
                scratch.y[p][v] -= moved;
                scratch.way[p][v] -= 2 * moved;
            }
    }

    /// Negatives drawn by lot, all from where the points are before.
    void repel(int count, const Each<Floats>& active, Lots& lots, Scratch& scratch) const {
        for (std::size_t p = 0; p < dimensions(); ++p) scratch.sum[p] = {};
        for (int negative = 0; negative < count; ++negative) {
            const std::size_t place = lots.below(others_.size());
            Each<Floats> r{};
            for (std::size_t p = 0; p < dimensions(); ++p)
                for (std::size_t v = 0; v < VECTORS; ++v) {
                    scratch.way[p][v] = scratch.y[p][v] - others_.meet(place, v * WIDTH, p);
                    r[v] += scratch.way[p][v] * scratch.way[p][v];
                }
            const Each<Floats> force = curve_.push(r);
            for (std::size_t p = 0; p < dimensions(); ++p)
                for (std::size_t v = 0; v < VECTORS; ++v) scratch.sum[p][v] += bounded(force[v] * scratch.way[p][v]);
        }
        for (std::size_t p = 0; p < dimensions(); ++p)
            for (std::size_t v = 0; v < VECTORS; ++v) scratch.y[p][v] += active[v] * scratch.sum[p][v];
    }

    static Floats bounded(Floats force) {
        force = force > LONGEST ? Floats{} + LONGEST : force;
        return force < -LONGEST ? Floats{} - LONGEST : force;
    }

    SparseView<std::uint32_t> edges_;
    MatrixView<const float> from_, near_;
    Others others_;
    Curve curve_;
    Epoch epoch_;
};

}  // namespace lowfold
