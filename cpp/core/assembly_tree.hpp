// Which unknowns of a sparse system are eliminated together, and what that touches: known before any number is.
#pragma once

#include "minimum_degree.hpp"

namespace lowfold {

/// Some unknowns, eliminated together: consecutive ones, beginning with `first`.
struct Front {
    std::int32_t first = 0, pivots = 0;
    std::int32_t parent = -1;         // the front that its remainder is added to; -1: none
    std::vector<std::int32_t> below;  // the later unknowns it touches, ascending; the first of them is in the parent

    std::size_t size() const { return static_cast<std::size_t>(pivots) + below.size(); }

    /// Multiplications to eliminate the pivots, about.
    double work() const {
        const double k = pivots, r = static_cast<double>(below.size());
        return k * (k * k / 3 + k * r + r * r);
    }

    /// Numbers in the rows of the pivots, from the diagonal on.
    double entries() const {
        const double k = pivots;
        return k * (k + 1) / 2 + k * static_cast<double>(below.size());
    }
};

/// The fronts of a square matrix, children before their parents, and the order of its rows and columns in which they
/// are eliminated (rows become order[0], order[1], ...). The pattern counts that is symmetric: A's, or that of A + A^T.
/// Cost: the entries of the factors, to count them.
class AssemblyTree {
   public:
    template <class T>
    AssemblyTree(const Context& context, SparseView<T> A, bool symmetric) {
        parallel_for(context, 1, [&](std::size_t, Worker& worker) {
            build(symmetric ? neighbors_in(A) : neighbors_in_sum(A), worker);
        });
    }

    const Buffer<std::int32_t>& order() const { return order_; }
    const std::vector<Front>& fronts() const { return fronts_; }

    /// The subtrees, as (begin, end) of their fronts, that can be gone through side by side: each has at most a
    /// PARTS-th of the work. What lies above them has to wait. The cut does not depend on the number of threads.
    std::vector<std::pair<std::size_t, std::size_t>> subtrees() const {
        constexpr double PARTS = 24;
        std::vector<double> work(fronts_.size());
        std::vector<std::size_t> begin(fronts_.size());
        double total = 0;
        for (std::size_t f = 0; f < fronts_.size(); ++f) begin[f] = f;
        for (std::size_t f = 0; f < fronts_.size(); ++f) {
            total += fronts_[f].work();
            work[f] += fronts_[f].work();
            if (fronts_[f].parent < 0) continue;
            const auto parent = static_cast<std::size_t>(fronts_[f].parent);
            work[parent] += work[f];
            begin[parent] = std::min(begin[parent], begin[f]);
        }
        std::vector<std::pair<std::size_t, std::size_t>> found;
        for (std::size_t f = 0; f < fronts_.size(); ++f) {
            const auto parent = fronts_[f].parent;
            const bool last = parent < 0 || work[static_cast<std::size_t>(parent)] > total / PARTS;
            if (last && work[f] <= total / PARTS) found.emplace_back(begin[f], f + 1);
        }
        return found;
    }

   private:
    using Node = std::int32_t;
    static std::size_t at(Node i) { return static_cast<std::size_t>(i); }

    template <class T>
    static Adjacency neighbors_in(SparseView<T> A) {
        Adjacency neighbors;
        neighbors.begin.reserve(A.rows + 1);
        neighbors.items.reserve(static_cast<std::size_t>(A.begin[A.rows]));
        for (std::size_t i = 0; i < A.rows; ++i) {
            for (auto e = A.begin[i]; e < A.begin[i + 1]; ++e)
                if (at(A.columns[e]) != i) neighbors.items.push_back(A.columns[e]);
            neighbors.close();
        }
        return neighbors;
    }

    template <class T>
    static Adjacency neighbors_in_sum(SparseView<T> A) {
        const Adjacency columns = transposed(neighbors_in(A)), rows = transposed(columns);  // in ascending order, both
        Adjacency neighbors;
        neighbors.begin.reserve(A.rows + 1);
        neighbors.items.reserve(rows.items.size() + columns.items.size());
        for (std::size_t i = 0; i < A.rows; ++i) {
            std::ranges::set_union(rows.of(i), columns.of(i), std::back_inserter(neighbors.items));
            neighbors.close();
        }
        return neighbors;
    }

    /// For each node the nodes, ascending, in whose lists it is.
    static Adjacency transposed(const Adjacency& lists) {
        Adjacency result;
        result.begin.resize(lists.begin.size());
        result.items.resize(lists.items.size());
        for (const Node j : lists.items) ++result.begin[at(j) + 1];
        for (std::size_t i = 0; i < lists.size(); ++i) result.begin[i + 1] += result.begin[i];
        std::vector<std::int64_t> next(result.begin.begin(), result.begin.end() - 1);
        for (std::size_t i = 0; i < lists.size(); ++i)
            for (const Node j : lists.of(i))
                result.items[static_cast<std::size_t>(next[at(j)]++)] = static_cast<Node>(i);
        return result;
    }

    void build(const Adjacency& neighbors, Worker& worker) {
        order_ = MinimumDegree(neighbors).run(worker);
        Adjacency earlier = earlier_neighbors(neighbors);
        std::vector<Node> parent = elimination_tree(earlier);
        const std::vector<Node> post = children_first(parent);
        Buffer<Node> order(order_.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = order_[at(post[i])];
        order_.swap(order);
        const std::vector<Node> rank = inverse(post);
        parent = renumbered(parent, post, rank);
        earlier = renumbered(earlier, post, rank);  // an earlier neighbour is a descendant: it stays earlier
        find_fronts(parent, counts(earlier, parent, worker));
        find_below(transposed(earlier), worker);
    }

    template <class Order>
    static std::vector<Node> inverse(const Order& order) {
        std::vector<Node> rank(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) rank[at(order[i])] = static_cast<Node>(i);
        return rank;
    }

    /// For each node, in the order of elimination, its neighbours that come before it.
    Adjacency earlier_neighbors(const Adjacency& neighbors) const {
        const std::vector<Node> rank = inverse(order_);
        Adjacency earlier;
        earlier.begin.reserve(neighbors.begin.size());
        earlier.items.reserve(neighbors.items.size() / 2);
        for (std::size_t i = 0; i < order_.size(); ++i) {
            for (const Node j : neighbors.of(at(order_[i])))
                if (at(rank[at(j)]) < i) earlier.items.push_back(rank[at(j)]);
            earlier.close();
        }
        return earlier;
    }

    /// The same lists with the nodes in another order.
    static Adjacency renumbered(const Adjacency& lists, const std::vector<Node>& order, const std::vector<Node>& rank) {
        Adjacency result;
        result.begin.reserve(lists.begin.size());
        result.items.reserve(lists.items.size());
        for (const Node i : order) {
            for (const Node j : lists.of(at(i))) result.items.push_back(rank[at(j)]);
            result.close();
        }
        return result;
    }

    /// The same forest with its nodes in another order.
    static std::vector<Node> renumbered(const std::vector<Node>& parent, const std::vector<Node>& order,
                                        const std::vector<Node>& rank) {
        std::vector<Node> result(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            const Node above = parent[at(order[i])];
            result[i] = above < 0 ? -1 : rank[at(above)];
        }
        return result;
    }

    /// For each node the first later one that its elimination touches (Liu 1990); -1: none.
    static std::vector<Node> elimination_tree(const Adjacency& earlier) {
        std::vector<Node> parent(earlier.size(), -1), top(earlier.size(), -1);
        for (std::size_t i = 0; i < earlier.size(); ++i)
            for (Node j : earlier.of(i))
                while (j != -1 && at(j) < i) {
                    const Node above = top[at(j)];
                    top[at(j)] = static_cast<Node>(i);
                    if (above == -1) parent[at(j)] = static_cast<Node>(i);
                    j = above;
                }
        return parent;
    }

    /// The nodes of a forest, each right after the last of its descendants.
    static std::vector<Node> children_first(const std::vector<Node>& parent) {
        const std::size_t n = parent.size();
        std::vector<Node> child(n + 1, -1), sibling(n, -1), order, stack;
        for (std::size_t i = n; i-- > 0;) {
            const std::size_t above = parent[i] < 0 ? n : at(parent[i]);
            sibling[i] = child[above];
            child[above] = static_cast<Node>(i);
        }
        order.reserve(n);
        for (Node root = child[n]; root != -1; root = sibling[at(root)]) {
            stack.push_back(root);
            while (!stack.empty()) {
                const Node i = stack.back(), next = child[at(i)];
                if (next == -1) {
                    order.push_back(i);
                    stack.pop_back();
                } else {
                    child[at(i)] = sibling[at(next)];
                    stack.push_back(next);
                }
            }
        }
        return order;
    }

    /// How many entries below the diagonal each column of the factor has.
    static std::vector<Node> counts(const Adjacency& earlier, const std::vector<Node>& parent, Worker& worker) {
        std::vector<Node> count(earlier.size(), 0), seen(earlier.size(), -1);
        for (std::size_t i = 0; i < earlier.size(); ++i) {
            const auto self = static_cast<Node>(i);
            seen[i] = self;
            for (Node j : earlier.of(i))
                for (; seen[at(j)] != self; j = parent[at(j)]) {
                    seen[at(j)] = self;
                    ++count[at(j)];
                }
            worker.check();
        }
        return count;
    }

    /// Fronts of columns with the same entries, and of such with nearly the same, where more numbers in fewer and
    /// larger pieces are the quicker way.
    void find_fronts(const std::vector<Node>& parent, const std::vector<Node>& count) {
        struct Group {
            std::int64_t first, pivots, below, zeros;
        };
        std::vector<Group> groups;
        const auto n = static_cast<std::int64_t>(parent.size());
        for (std::int64_t i = 0; i < n; ++i) {
            const auto entries = std::int64_t{count[static_cast<std::size_t>(i)]};
            Group group{i, 1, entries, 0};
            // The group that ends right before this one, as long as it is a child of it.
            while (!groups.empty()) {
                const Group& child = groups.back();
                const std::int64_t last = child.first + child.pivots - 1;
                const Node above = parent[static_cast<std::size_t>(last)];
                if (above < 0 || above > i) break;
                const std::int64_t zeros = child.pivots * (group.pivots + group.below - child.below);
                const Group joined{child.first, child.pivots + group.pivots, group.below,
                                   child.zeros + group.zeros + zeros};
                if (!few(joined.pivots, joined.below, joined.zeros) &&
                    !cheap(zeros, joined.pivots + joined.below, child.below))
                    break;
                group = joined;
                groups.pop_back();
            }
            groups.push_back(group);
        }
        std::vector<Node> front_of(parent.size());
        for (std::size_t f = 0; f < groups.size(); ++f)
            for (std::int64_t i = 0; i < groups[f].pivots; ++i)
                front_of[static_cast<std::size_t>(groups[f].first + i)] = static_cast<Node>(f);
        fronts_.resize(groups.size());
        for (std::size_t f = 0; f < groups.size(); ++f) {
            fronts_[f].first = static_cast<Node>(groups[f].first);
            fronts_[f].pivots = static_cast<Node>(groups[f].pivots);
            const Node above = parent[static_cast<std::size_t>(groups[f].first + groups[f].pivots - 1)];
            fronts_[f].parent = above < 0 ? -1 : front_of[at(above)];
        }
    }

    /// Whether so many zeros among the entries of a front are few.
    static bool few(std::int64_t pivots, std::int64_t below, std::int64_t zeros) {
        const auto k = static_cast<double>(pivots);
        const double share = static_cast<double>(zeros) / (k * (k + 1) / 2 + k * static_cast<double>(below));
        return share <= (pivots <= 4 ? 1.0 : pivots <= 16 ? 0.4 : pivots <= 48 ? 0.1 : 0.03);
    }

    /// Whether computing with new zeros takes less than passing on what a child leaves: each zero costs a product for
    /// each column of the front, each number passed on is written, read and added.
    static bool cheap(std::int64_t zeros, std::int64_t size, std::int64_t left) {
        constexpr double PRODUCTS = 16;  // in the time of passing on one number
        return static_cast<double>(zeros) * static_cast<double>(size) <=
               PRODUCTS * static_cast<double>(left) * static_cast<double>(left) / 2;
    }

    void find_below(const Adjacency& later, Worker& worker) {
        std::vector<std::size_t> seen(later.size(), fronts_.size());
        std::vector<std::vector<std::size_t>> children(fronts_.size());
        for (std::size_t f = 0; f < fronts_.size(); ++f) {
            Front& front = fronts_[f];
            const Node end = front.first + front.pivots;
            const auto add = [&](Node i) {
                if (i < end || seen[at(i)] == f) return;
                seen[at(i)] = f;
                front.below.push_back(i);
            };
            for (Node j = front.first; j < end; ++j)
                for (const Node i : later.of(at(j))) add(i);
            for (const std::size_t child : children[f])
                for (const Node i : fronts_[child].below) add(i);
            std::sort(front.below.begin(), front.below.end());
            if (front.parent >= 0) children[at(front.parent)].push_back(f);
            worker.check();
        }
    }

    Buffer<std::int32_t> order_;
    std::vector<Front> fronts_;
};

}  // namespace lowfold
