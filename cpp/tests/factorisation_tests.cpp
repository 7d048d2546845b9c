// Elimination of sparse systems: the order, the tree, the factors and the solutions.
#include "factorisation.hpp"
#include "sparse_support.hpp"

namespace lowfold::tests {
namespace {

constexpr int THREAD_COUNTS[] = {1, 2, 3, 8};

/// Points on a grid of `side` x `side`, each tied to its four neighbours, with a diagonal a little stronger than that.
/// Where it is not symmetric, ties to the right and downwards are weaker.
SparseMatrix<double> sheet(std::size_t side, bool symmetric) {
    std::vector<Entry<double>> entries;
    for (std::size_t i = 0; i < side * side; ++i) {
        entries.push_back({i, i, 4.5});
        const double back = symmetric ? -1 : -0.5;
        if (i % side > 0) entries.push_back({i, i - 1, -1});
        if (i % side + 1 < side) entries.push_back({i, i + 1, back});
        if (i >= side) entries.push_back({i, i - side, -1});
        if (i + side < side * side) entries.push_back({i, i + side, back});
    }
    return make_sparse(side * side, entries);
}

/// The largest entry of A x - b, or of A^T x - b.
double residual(SparseView<double> A, const Data<double>& x, const Data<double>& b, bool transposed) {
    Data<double> left = b;
    for (std::size_t i = 0; i < A.rows; ++i)
        for (auto at = A.begin[i]; at < A.begin[i + 1]; ++at) {
            const auto j = static_cast<std::size_t>(A.columns[at]);
            for (std::size_t c = 0; c < b.columns; ++c)
                left.row(transposed ? j : i)[c] -= A.values[at] * x.row(transposed ? i : j)[c];
        }
    double largest = 0;
    for (const double value : left.values) largest = std::max(largest, std::abs(value));
    return largest;
}

void solutions_leave_nothing_and_have_the_same_bits_on_any_number_of_threads() {
    for (const std::size_t side : {1, 2, 9, 40, 70})
        for (const bool symmetric : {true, false})
            for (const std::size_t columns : {1, 8, 11}) {
                const auto A = sheet(side, symmetric);
                const auto b = whole_numbers<double>(side * side, columns, 3);
                std::vector<double> first;
                for (const int threads : THREAD_COUNTS)
                    for (const bool transposed : {false, true}) {
                        const Context context{threads, {}};
                        Factorisation factors(context, view(A), symmetric);
                        factors.factorise(context, view(A));
                        Data<double> x(side * side, columns);
                        factors.solve(context, b.view(), transposed, x.values.data());
                        expect(residual(view(A), x, b, transposed) < 1e-12, text("side ", side));
                        if (transposed) continue;
                        if (first.empty()) first = {x.values.begin(), x.values.end()};
                        expect(std::equal(first.begin(), first.end(), x.values.begin()), text(threads, " threads"));
                    }
            }
}

/// Fronts cover the unknowns in order, children come before parents, and what a child leaves its parent has.
void expect_a_tree(const AssemblyTree& tree, std::size_t n) {
    std::size_t next = 0;
    const auto& fronts = tree.fronts();
    for (std::size_t f = 0; f < fronts.size(); ++f) {
        const Front& front = fronts[f];
        expect_equal(static_cast<std::size_t>(front.first), next, "the first pivot");
        next += static_cast<std::size_t>(front.pivots);
        expect(std::is_sorted(front.below.begin(), front.below.end()), "ascending");
        expect_equal(front.parent < 0, front.below.empty(), "who leaves something has a parent");
        if (front.parent < 0) continue;
        const Front& parent = fronts[static_cast<std::size_t>(front.parent)];
        expect(front.parent > static_cast<std::int32_t>(f), "children before parents");
        for (const std::int32_t i : front.below)
            expect(i < parent.first + parent.pivots ? i >= parent.first
                                                    : std::binary_search(parent.below.begin(), parent.below.end(), i),
                   text("unknown ", i));
    }
    expect_equal(next, n, "all unknowns");
}

void an_order_of_elimination_names_each_unknown_once() {
    Dice dice(5);
    for (const std::size_t n : {1, 2, 3, 50, 400})
        for (const std::size_t edges : {std::size_t{0}, n, 5 * n}) {
            std::vector<Entry<double>> entries;
            for (std::size_t i = 0; i < n; ++i) entries.push_back({i, i, 1});
            std::vector<std::vector<char>> there(n, std::vector<char>(n, 0));
            for (std::size_t e = 0; e < edges; ++e) {
                const std::size_t i = dice.below(n), j = dice.below(n);
                if (i == j || there[i][j]) continue;
                there[i][j] = 1;
                entries.push_back({i, j, 1});
            }
            const auto A = make_sparse(n, entries);
            const AssemblyTree tree(Context{}, view(A), false);
            std::vector<std::int32_t> order(tree.order().begin(), tree.order().end());
            std::sort(order.begin(), order.end());
            for (std::size_t i = 0; i < n; ++i) expect_equal(order[i], static_cast<std::int32_t>(i), "an unknown");
            expect_a_tree(tree, n);
        }
}

void a_child_leaves_only_what_its_parent_has() {
    const auto A = sheet(30, true);
    const AssemblyTree tree(Context{}, view(A), true);
    expect_a_tree(tree, 900);
    std::size_t covered = 0, last = 0;
    for (const auto& [begin, end] : tree.subtrees()) {
        expect(begin >= last && begin < end, "subtrees do not overlap");
        last = end;
        covered += end - begin;
        for (std::size_t f = begin; f + 1 < end; ++f)
            expect(tree.fronts()[f].parent < static_cast<std::int32_t>(end), "a subtree is closed");
    }
    expect(covered > tree.fronts().size() / 2, "most fronts are in subtrees");
}

void a_singular_matrix_is_refused() {
    auto A = sheet(5, true);
    Factorisation factors(Context{}, view(A), true);
    std::fill(A.values.begin(), A.values.end(), 0.0);
    bool refused = false;
    try {
        factors.factorise(Context{}, view(A));
    } catch (const std::domain_error&) {
        refused = true;
    }
    expect(refused, "no pivot");
}

void an_interrupted_factorisation_ends() {
    constexpr std::size_t n = 2000;  // one front
    std::vector<Entry<double>> entries;
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) entries.push_back({i, j, i == j ? 2.0 * n : 1.0});
    const auto A = make_sparse(n, entries);
    Factorisation factors(Context{}, view(A), false);
    bool stopped = false;
    try {
        factors.factorise(Context{1, [] { return true; }}, view(A));
    } catch (const Interrupted&) {
        stopped = true;
    }
    expect(stopped, "Interrupted is thrown");
}

constexpr Test TESTS[] = {
    {"factorisation: solutions leave nothing, with the same bits on any number of threads",
     solutions_leave_nothing_and_have_the_same_bits_on_any_number_of_threads},
    {"factorisation: an order of elimination names each unknown once", an_order_of_elimination_names_each_unknown_once},
    {"factorisation: a child leaves only what its parent has", a_child_leaves_only_what_its_parent_has},
    {"factorisation: a singular matrix is refused", a_singular_matrix_is_refused},
    {"factorisation: an interrupted one ends", an_interrupted_factorisation_ends},
};

}  // namespace

Tests factorisation_tests() { return TESTS; }

}  // namespace lowfold::tests
