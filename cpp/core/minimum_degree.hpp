// The order in which the unknowns of a sparse system are eliminated.
#pragma once

#include <algorithm>
#include <span>
#include <stdexcept>
#include <vector>

#include "graph.hpp"
#include "parallel.hpp"

namespace lowfold {

/// For each node of a graph a list of others, the lists one behind another.
struct Adjacency {
    std::vector<std::int64_t> begin{0};
    std::vector<std::int32_t> items;

    std::size_t size() const { return begin.size() - 1; }
    std::span<const std::int32_t> of(std::size_t i) const {
        return {items.data() + begin[i], static_cast<std::size_t>(begin[i + 1] - begin[i])};
    }

    /// Ends the list of the next node; what was added to `items` since the last one is in it.
    void close() { begin.push_back(static_cast<std::int64_t>(items.size())); }
};

/// An order of elimination that fills in little: next comes a node with the fewest neighbours left (Amestoy, Davis and
/// Duff 1996).
///
/// Eliminating a node makes its neighbours neighbours of each other. Such a clique is kept as one `element`, a list of
/// its nodes, and not as edges, so that what is kept never grows: the list of a node begins with the elements it is in,
/// goes on with the neighbours that no element covers, and has room in its old place. A node's number of neighbours is
/// bounded from above: where two of its elements overlap outside the newest one, the overlap counts twice. Nodes with
/// the same neighbours are eliminated together, as one node of more `weight`. One thread; ties go to the node entered
/// last.
class MinimumDegree {
   public:
    /// neighbors: of each node of an undirected graph, without itself.
    explicit MinimumDegree(Adjacency neighbors)
        : n_(neighbors.size()),
          lists_(std::move(neighbors)),
          elements_(n_, 0),
          nodes_(n_),
          members_(n_),
          weight_(n_, 1),
          degree_(n_),
          size_(n_, 0),
          outside_(n_, 0),
          seen_(n_, 0),
          first_(n_, NONE),
          next_(n_, NONE),
          before_(n_, NONE),
          follower_(n_, NONE),
          last_(n_) {
        for (std::size_t i = 0; i < n_; ++i) {
            last_[i] = static_cast<Node>(i);
            degree_[i] = nodes_[i] = static_cast<Node>(lists_.of(i).size());
            enter(static_cast<Node>(i));
        }
    }

    Buffer<std::int32_t> run(Worker& worker) {
        Buffer<std::int32_t> order;
        order.reserve(n_);
        left_ = n_;
        while (left_ > 0) {
            const Node pivot = cheapest();
            eliminate(pivot);
            for (Node i = pivot; i != NONE; i = follower_[at(i)]) order.push_back(i);
            worker.check();
        }
        return order;
    }

   private:
    using Node = std::int32_t;
    static constexpr Node NONE = -1;

    static std::size_t at(Node i) { return static_cast<std::size_t>(i); }

    // Nodes by their degree, in doubly linked lists.

    void enter(Node i) {
        Node& head = first_[at(degree_[at(i)])];
        next_[at(i)] = head;
        before_[at(i)] = NONE;
        if (head != NONE) before_[at(head)] = i;
        head = i;
        lowest_ = std::min(lowest_, at(degree_[at(i)]));
    }

    void leave(Node i) {
        const Node before = before_[at(i)], next = next_[at(i)];
        if (next != NONE) before_[at(next)] = before;
        (before != NONE ? next_[at(before)] : first_[at(degree_[at(i)])]) = next;
    }

    Node cheapest() {
        while (first_[lowest_] == NONE) ++lowest_;
        const Node i = first_[lowest_];
        leave(i);
        return i;
    }

    bool alive(Node i) const { return weight_[at(i)] > 0; }

    // The list of a node.

    Node* list(Node i) { return lists_.items.data() + lists_.begin[at(i)]; }
    std::span<const Node> elements(Node i) { return {list(i), at(elements_[at(i)])}; }
    std::span<const Node> nodes(Node i) { return {list(i) + elements_[at(i)], at(nodes_[at(i)])}; }

    std::span<const Node> list_of(Node i) { return {list(i), at(elements_[at(i)] + nodes_[at(i)])}; }

    void empty(Node i) { elements_[at(i)] = nodes_[at(i)] = 0; }

    /// Makes the pivot an element: its neighbours, a clique from now on.
    void eliminate(Node pivot) {
        std::vector<Node>& clique = members_[at(pivot)];
        gather(pivot, clique);
        left_ -= at(weight_[at(pivot)]);
        weight_[at(pivot)] = 0;
        std::int64_t weight = 0;
        for (const Node i : clique) weight += weight_[at(i)];
        measure_overlaps(clique);
        for (const Node i : clique) update(i, pivot, weight);
        std::erase_if(clique, [&](Node i) { return !alive(i); });
        merge_equal(clique);
        std::erase_if(clique, [&](Node i) { return !alive(i); });
        size_[at(pivot)] = 0;
        for (const Node i : clique) {
            size_[at(pivot)] += weight_[at(i)];
            degree_[at(i)] = static_cast<Node>(
                std::min<std::int64_t>(degree_[at(i)], static_cast<std::int64_t>(left_) - weight_[at(i)]));
            enter(i);
        }
    }

    /// clique = the pivot's neighbours, direct ones and those in its elements, which are used up by that.
    void gather(Node pivot, std::vector<Node>& clique) {
        ++stamp_;
        seen_[at(pivot)] = stamp_;
        const auto add = [&](Node i) {
            if (!alive(i) || seen_[at(i)] == stamp_) return;
            seen_[at(i)] = stamp_;
            clique.push_back(i);
        };
        clique.reserve(at(degree_[at(pivot)]));
        for (const Node i : nodes(pivot)) add(i);
        for (const Node e : elements(pivot)) {
            for (const Node i : members_[at(e)]) add(i);
            size_[at(e)] = 0;
            std::vector<Node>().swap(members_[at(e)]);
        }
        empty(pivot);
        for (const Node i : clique) leave(i);
    }

    /// outside_[e] = the weight of the nodes of e that are not in the clique, for each element that touches it.
    void measure_overlaps(const std::vector<Node>& clique) {
        for (const Node i : clique)
            for (const Node e : elements(i)) outside_[at(e)] = size_[at(e)];
        for (const Node i : clique)
            for (const Node e : elements(i)) outside_[at(e)] -= weight_[at(i)];
    }

    /// The neighbours of i, now that the clique stands for all edges inside it. An element that lies within the clique
    /// is dropped. A node without any other neighbours goes with the pivot.
    void update(Node i, Node pivot, std::int64_t clique_weight) {
        std::int64_t degree = 0;
        Node* const own = list(i);
        Node* to = own;
        for (const Node e : elements(i)) {
            if (outside_[at(e)] <= 0) continue;  // used up, or within the clique
            degree += outside_[at(e)];
            *to++ = e;
        }
        Node* const first_node = to;
        for (const Node j : nodes(i)) {
            if (!alive(j) || seen_[at(j)] == stamp_) continue;
            degree += weight_[at(j)];
            *to++ = j;
        }
        if (degree == 0) {
            left_ -= at(weight_[at(i)]);
            follow(pivot, i);
            return;
        }
        const std::int64_t others = clique_weight - weight_[at(i)];
        degree_[at(i)] = static_cast<Node>(std::min<std::int64_t>(degree_[at(i)] + others, degree + others));
        // What led to the clique, the pivot or an element of it, has left the list: there is room.
        if (to == list(i) + lists_.of(at(i)).size())
            throw std::invalid_argument("a node is not among the neighbours of its neighbour");
        elements_[at(i)] = static_cast<Node>(first_node - own) + 1;
        nodes_[at(i)] = static_cast<Node>(to - first_node);
        *to = *first_node;
        *first_node = pivot;
    }

    /// j is eliminated right after i.
    void follow(Node i, Node j) {
        follower_[at(last_[at(i)])] = j;
        last_[at(i)] = last_[at(j)];
        weight_[at(j)] = 0;
        empty(j);
    }

    /// Nodes of the clique with the same neighbours become one. Candidates are those with equal sums of their lists.
    void merge_equal(const std::vector<Node>& clique) {
        sums_.clear();
        for (const Node i : clique) {
            std::uint64_t sum = 0;
            for (const Node other : list_of(i)) sum += at(other);
            sums_.emplace_back(sum, i);
        }
        std::sort(sums_.begin(), sums_.end());
        for (std::size_t a = 0; a < sums_.size(); ++a) {
            const Node i = sums_[a].second;
            if (!alive(i)) continue;
            bool marked = false;
            for (std::size_t b = a + 1; b < sums_.size() && sums_[b].first == sums_[a].first; ++b) {
                const Node j = sums_[b].second;
                if (!alive(j) || nodes_[at(j)] != nodes_[at(i)] || elements_[at(j)] != elements_[at(i)]) continue;
                if (!marked) mark(i);
                marked = true;
                if (!equal_to_marked(j)) continue;
                degree_[at(i)] -= weight_[at(j)];
                const auto together = static_cast<Node>(weight_[at(i)] + weight_[at(j)]);
                follow(i, j);
                weight_[at(i)] = together;
            }
        }
    }

    // Elements and live nodes are never the same: one mark is enough for both.

    void mark(Node i) {
        ++stamp_;
        for (const Node other : list_of(i)) seen_[at(other)] = stamp_;
    }

    bool equal_to_marked(Node j) {
        return std::ranges::all_of(list_of(j), [this](Node other) { return seen_[at(other)] == stamp_; });
    }

    std::size_t n_;
    Adjacency lists_;
    std::vector<Node> elements_, nodes_;      // how many of them are at the beginning of a node's list, and behind them
    std::vector<std::vector<Node>> members_;  // of an element
    std::vector<Node> weight_, degree_;
    std::vector<std::int64_t> size_, outside_;  // of elements
    std::vector<std::uint64_t> seen_;
    std::vector<Node> first_, next_, before_;
    std::vector<Node> follower_, last_;  // who is eliminated right after, and the last of that chain
    std::vector<std::pair<std::uint64_t, Node>> sums_;
    std::uint64_t stamp_ = 0;
    std::size_t lowest_ = 0, left_ = 0;
};

}  // namespace lowfold
