// Sums of a kernel over all points in any dimension: groups over which it hardly changes count as one point (Barnes and
// Hut 1986), in a binary tree that halves the points along the widest direction.
#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "law.hpp"
#include "parallel.hpp"

namespace lowfold {

/// Points with charges in a tree. A leaf holds as many as a register has lanes, so that its points are summed for
/// together, one in each lane. Nodes stand in preorder: the first child of i is i + 1, what follows its last
/// descendant is end(i). The tree depends on the points alone, not on the number of threads.
template <class T>
class Tree {
   public:
    static constexpr std::size_t LEAF = 64 / sizeof(T);

    /// Cost n log(n) for the order along the splits.
    Tree(const Context& context, MatrixView<const T> Y, const T* charges)
        : n_(Y.rows),
          d_(Y.columns),
          leaves_((n_ + LEAF - 1) / LEAF),
          order_(n_),
          end_(nodes()),
          first_(nodes()),
          node_(leaves_),
          mass_(nodes()),
          second_(nodes()),
          reach_(nodes()),
          centre_(nodes() * d_),
          low_(nodes() * d_),
          high_(nodes() * d_),
          places_(leaves_ * LEAF * d_),
          charges_(leaves_ * LEAF) {
        if (n_ == 0) return;
        for (std::size_t i = 0; i < n_; ++i) order_[i] = static_cast<std::uint32_t>(i);
        std::vector<Part> parts;
        std::vector<std::size_t> above;
        divide(Y, {0, 0, leaves_}, std::max<std::size_t>(8, leaves_ / 32), parts, above);
        parallel_for(context, parts.size(), [&](std::size_t item, Worker& worker) {
            build(Y, charges, parts[item]);
            worker.check();
        });
        for (auto node = above.rbegin(); node != above.rend(); ++node) join(*node);
        for (std::size_t i = 0; i < charges_.size(); ++i) mean_ += static_cast<double>(charges_[i]);
        mean_ /= static_cast<double>(n_);
    }

    /// potential[i] = sum_j c_j w(|y_i - y_j|^2) and its gradient (n, d) at every point. A group of points with the
    /// mean squared distance s from their centre counts as one at the centre if s p (1 + r p) <= theta^2, r being its
    /// squared distance from the box around the leaf, or from the leaf's own centre, and p = -w'/w there: the share by
    /// which w changes over the group, squared. For s stands at least a SKEW-th of its farthest point's squared
    /// distance, or a few points would be lost beside many in one place. theta = 0 sums exactly. Points of one leaf go
    /// together and have one owner; sums over FLUSH terms in T, the rest in float64.
    template <class Law>
    void field(const Context& context, const Law& law, double theta, T* potential, T* gradient) const {
        parallel_ranges(context, leaves_, 4, [&](std::size_t begin, std::size_t last, Worker& worker) {
            Sums sums(d_);
            for (std::size_t leaf = begin; leaf < last; ++leaf) {
                sums.clear();
                visit(law, static_cast<T>(theta * theta), leaf, sums);
                sums.flush();
                const std::size_t count = std::min(LEAF, n_ - leaf * LEAF);
                for (std::size_t lane = 0; lane < count; ++lane) {
                    const std::size_t i = order_[leaf * LEAF + lane];
                    potential[i] = static_cast<T>(sums.total[lane]);
                    for (std::size_t p = 0; p < d_; ++p)
                        gradient[i * d_ + p] = static_cast<T>(-2 * sums.total[(p + 1) * LEAF + lane]);
                }
                worker.check();
            }
        });
    }

   private:
    using Lanes = Wide<T>;
    static constexpr std::size_t FLUSH = 128;
    static constexpr double SKEW = 4;  // in a uniform interval the farthest is 3 times the mean, elsewhere less
    static constexpr double NEGLIGIBLE = 1e-7;  // of an average charge: what a group adds at most to be passed over

    struct Part {
        std::size_t node, first, leaves;
    };

    /// phi and the d parts of the force on the points of a leaf, one in each lane.
    struct Sums {
        explicit Sums(std::size_t d) : part((d + 1) * LEAF), total((d + 1) * LEAF) {}

        void clear() {
            std::fill(part.begin(), part.end(), T{});
            std::fill(total.begin(), total.end(), 0.0);
            terms = 0;
        }
        void flush() {
            for (std::size_t i = 0; i < part.size(); ++i) total[i] += static_cast<double>(part[i]);
            std::fill(part.begin(), part.end(), T{});
            terms = 0;
        }

        Buffer<T> part;
        Buffer<double> total;
        std::size_t terms = 0;
    };

    std::size_t nodes() const { return leaves_ ? 2 * leaves_ - 1 : 0; }
    std::size_t leaves_below(std::size_t node) const { return (end_[node] - node + 1) / 2; }

    /// Splits down to parts of at most `grain` leaves, one after another.
    void divide(MatrixView<const T> Y, const Part& part, std::size_t grain, std::vector<Part>& parts,
                std::vector<std::size_t>& above) {
        if (part.leaves <= grain) {
            parts.push_back(part);
            return;
        }
        above.push_back(part.node);
        const auto [left, right] = split(Y, part);
        divide(Y, left, grain, parts, above);
        divide(Y, right, grain, parts, above);
    }

    void build(MatrixView<const T> Y, const T* charges, const Part& part) {
        if (part.leaves == 1) return fill(Y, charges, part);
        const auto [left, right] = split(Y, part);
        build(Y, charges, left);
        build(Y, charges, right);
        join(part.node);
    }

    /// Halves the points of a node by whole leaves along the direction in which they reach farthest; of equal
    /// coordinates the lower index is first.
    std::pair<Part, Part> split(MatrixView<const T> Y, const Part& part) {
        const auto& [node, first, leaves] = part;
        end_[node] = node + 2 * leaves - 1;
        first_[node] = first;
        const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(first * LEAF);
        const auto last = order_.begin() + static_cast<std::ptrdiff_t>(std::min((first + leaves) * LEAF, n_));
        std::size_t along = 0;
        T widest = -1;
        for (std::size_t p = 0; p < d_; ++p) {
            T low = std::numeric_limits<T>::max(), high = std::numeric_limits<T>::lowest();
            for (auto at = begin; at != last; ++at) {
                low = std::min(low, Y.row(*at)[p]);
                high = std::max(high, Y.row(*at)[p]);
            }
            if (high - low > widest) {
                widest = high - low;
                along = p;
            }
        }
        const std::size_t half = leaves / 2;
        std::nth_element(begin, begin + static_cast<std::ptrdiff_t>(half * LEAF), last,
                         [&](std::uint32_t a, std::uint32_t b) {
                             const T x = Y.row(a)[along], y = Y.row(b)[along];
                             return x < y || (x == y && a < b);
                         });
        return {{node + 1, first, half}, {node + 2 * half, first + half, leaves - half}};
    }

    /// A leaf: its points by coordinate; lanes that are left over hold its first point, without charge.
    void fill(MatrixView<const T> Y, const T* charges, const Part& part) {
        const auto& [node, leaf, leaves] = part;
        const std::size_t count = std::min(LEAF, n_ - leaf * LEAF);
        std::sort(order_.begin() + static_cast<std::ptrdiff_t>(leaf * LEAF),
                  order_.begin() + static_cast<std::ptrdiff_t>(leaf * LEAF + count));
        end_[node] = node + 1;
        first_[node] = leaf;
        node_[leaf] = node;
        T* c = &charges_[leaf * LEAF];
        for (std::size_t lane = 0; lane < LEAF; ++lane) {
            const std::size_t i = order_[leaf * LEAF + (lane < count ? lane : 0)];
            c[lane] = lane < count ? (charges ? charges[i] : T{1}) : T{};
            for (std::size_t p = 0; p < d_; ++p) places_[(leaf * d_ + p) * LEAF + lane] = Y.row(i)[p];
        }
        double mass = 0, second = 0, reach = 0;
        for (std::size_t lane = 0; lane < count; ++lane) mass += static_cast<double>(c[lane]);
        for (std::size_t p = 0; p < d_; ++p) {
            double sum = 0;
            for (std::size_t lane = 0; lane < count; ++lane) sum += static_cast<double>(c[lane]) * at(leaf, lane, p);
            centre_[node * d_ + p] = static_cast<T>(mass > 0 ? sum / mass : at(leaf, 0, p));
            const T* mine = &places_[(leaf * d_ + p) * LEAF];
            low_[node * d_ + p] = *std::min_element(mine, mine + LEAF);
            high_[node * d_ + p] = *std::max_element(mine, mine + LEAF);
        }
        for (std::size_t lane = 0; lane < count; ++lane) {
            double r = 0;
            for (std::size_t p = 0; p < d_; ++p) {
                const double difference = at(leaf, lane, p) - static_cast<double>(centre_[node * d_ + p]);
                r += difference * difference;
            }
            second += static_cast<double>(c[lane]) * r;
            reach = std::max(reach, std::sqrt(r));
        }
        keep(node, mass, second, reach);
    }

    void keep(std::size_t node, double mass, double second, double reach) {
        mass_[node] = static_cast<T>(mass);
        second_[node] = static_cast<T>(mass > 0 ? std::max(second / mass, reach * reach / SKEW) : 0);
        reach_[node] = static_cast<T>(reach);
    }

    double at(std::size_t leaf, std::size_t lane, std::size_t p) const {
        return static_cast<double>(places_[(leaf * d_ + p) * LEAF + lane]);
    }

    /// Mass, centre, mean squared distance from it, reach and box of a node, from its two children.
    void join(std::size_t node) {
        const std::size_t children[] = {node + 1, end_[node + 1]};
        double mass = 0, second = 0, reach = 0, corner = 0;
        for (const std::size_t child : children) mass += static_cast<double>(mass_[child]);
        for (std::size_t p = 0; p < d_; ++p) {
            double sum = 0;
            for (const std::size_t child : children)
                sum += (mass > 0 ? static_cast<double>(mass_[child]) / mass : 0.5) *
                       static_cast<double>(centre_[child * d_ + p]);
            centre_[node * d_ + p] = static_cast<T>(sum);
            low_[node * d_ + p] = std::min(low_[children[0] * d_ + p], low_[children[1] * d_ + p]);
            high_[node * d_ + p] = std::max(high_[children[0] * d_ + p], high_[children[1] * d_ + p]);
            const double side = std::max(static_cast<double>(high_[node * d_ + p]) - sum,
                                         sum - static_cast<double>(low_[node * d_ + p]));
            corner += side * side;
        }
        for (const std::size_t child : children) {
            double r = 0;
            for (std::size_t p = 0; p < d_; ++p) {
                const double difference =
                    static_cast<double>(centre_[child * d_ + p]) - static_cast<double>(centre_[node * d_ + p]);
                r += difference * difference;
            }
            second += static_cast<double>(mass_[child]) * (static_cast<double>(second_[child]) + r);
            reach = std::max(reach, static_cast<double>(reach_[child]) + std::sqrt(r));
        }
        keep(node, mass, second, std::min(reach, std::sqrt(corner)));
    }

    /// Goes through the tree for the points of one leaf.
    template <class Law>
    void visit(const Law& law, T allowed, std::size_t leaf, Sums& sums) const {
        const T* mine = &places_[leaf * d_ * LEAF];
        const T *low = &low_[node_[leaf] * d_], *high = &high_[node_[leaf] * d_], *middle = &centre_[node_[leaf] * d_];
        const T least = static_cast<T>(NEGLIGIBLE * mean_);
        for (std::size_t node = 0; node < nodes();) {
            const bool is_leaf = end_[node] == node + 1;
            const bool own = leaf - first_[node] < leaves_below(node);
            if (!own) {
                T r{}, between{};
                for (std::size_t p = 0; p < d_; ++p) {
                    const T c = centre_[node * d_ + p], off = c - middle[p];
                    const T outside = std::max(std::max(low[p] - c, c - high[p]), T{});
                    r += outside * outside;
                    between += off * off;
                }
                if constexpr (std::is_same_v<Law, Gaussian>) {
                    const T gap = std::max(std::sqrt(r) - reach_[node], T{});
                    if (mass_[node] * std::exp(-gap * gap) < least) {
                        node = end_[node];
                        continue;
                    }
                }
                const T p = law.pull(r), q = law.pull(between);
                if (second_[node] * std::max(p * (1 + r * p), q * (1 + between * q)) <= allowed) {
                    add(law, mine, &centre_[node * d_], 1, mass_[node], sums);
                    node = end_[node];
                    continue;
                }
            }
            if (is_leaf) {
                const std::size_t other = first_[node];
                for (std::size_t lane = 0; lane < LEAF; ++lane)
                    add(law, mine, &places_[other * d_ * LEAF + lane], LEAF, charges_[other * LEAF + lane], sums);
            }
            ++node;
        }
    }

    /// What a charge at y, with coordinates `step` apart, adds for each point of a leaf.
    template <class Law>
    void add(const Law& law, const T* mine, const T* y, std::size_t step, T charge, Sums& sums) const {
        if (charge == 0) return;
        Lanes r{};
        for (std::size_t p = 0; p < d_; ++p) {
            const Lanes difference = load<Lanes>(mine + p * LEAF) - y[p * step];
            r += difference * difference;
        }
        const Lanes w = law.weight(r), slope = charge * law.slope(r, w);
        T* part = sums.part.data();
        store(part, load<Lanes>(part) + charge * w);
        for (std::size_t p = 0; p < d_; ++p) {
            T* force = part + (p + 1) * LEAF;
            store(force, load<Lanes>(force) + slope * (load<Lanes>(mine + p * LEAF) - y[p * step]));
        }
        if (++sums.terms == FLUSH) sums.flush();
    }

    std::size_t n_, d_, leaves_;
    std::vector<std::uint32_t> order_;
    std::vector<std::size_t> end_, first_, node_;
    Buffer<T> mass_, second_, reach_, centre_, low_, high_;
    Buffer<T> places_;   // coordinate p of lane l of leaf i at (i * d + p) * LEAF + l
    Buffer<T> charges_;  // by leaf and lane
    double mean_ = 0;
};

}  // namespace lowfold
