// The tree of points: exact where it must be, near where it may be, the same for any number of threads.
#include <cstring>

#include "repulsion.hpp"
#include "sparse_support.hpp"
#include "tree.hpp"

namespace lowfold::tests {
namespace {

constexpr int THREAD_COUNTS[] = {1, 2, 3, 8};

template <class T>
Data<T> groups(std::size_t rows, std::size_t columns, double size, std::uint64_t seed) {
    Dice dice(seed);
    Data<T> data(rows, columns);
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t p = 0; p < columns; ++p)
            data.values[i * columns + p] =
                static_cast<T>(size * static_cast<double>((i * 7 + p * i) % 5) + dice.normal());
    return data;
}

template <class T>
struct Found {
    std::vector<T> potential, gradient;
};

template <class T, class Law>
Found<T> by_tree(const Data<T>& Y, const T* charges, const Law& law, double theta, int threads) {
    Found<T> out{std::vector<T>(Y.rows), std::vector<T>(Y.rows * Y.columns)};
    const Context context{threads, {}};
    const MatrixView<const T> view{Y.values.data(), Y.rows, Y.columns};
    Tree<T>(context, view, charges).field(context, law, theta, out.potential.data(), out.gradient.data());
    return out;
}

template <class T, class Law>
Found<T> one_by_one(const Data<T>& Y, const T* charges, const Law& law) {
    Found<T> out{std::vector<T>(Y.rows), std::vector<T>(Y.rows * Y.columns)};
    const MatrixView<const T> view{Y.values.data(), Y.rows, Y.columns};
    exact_field<T, Law>({1, {}}, ExactField(view, charges, law), view, nullptr, out.potential.data(),
                        out.gradient.data());
    return out;
}

template <class T>
double difference(const std::vector<T>& a, const std::vector<T>& b) {
    double off = 0, size = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        off += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
        size += std::pow(static_cast<double>(b[i]), 2);
    }
    return std::sqrt(off / std::max(size, 1e-300));
}

template <class T, class Law>
void expect_exact_without_groups(const Law& law, double rounding) {
    for (const std::size_t n : {1u, 2u, 15u, 16u, 17u, 33u, 500u})
        for (const std::size_t d : {1u, 2u, 5u}) {
            const auto Y = groups<T>(n, d, 6, n + d);
            std::vector<T> charges(n);
            for (std::size_t i = 0; i < n; ++i) charges[i] = static_cast<T>(i % 3);
            for (const T* c : {static_cast<const T*>(nullptr), static_cast<const T*>(charges.data())}) {
                const auto found = by_tree(Y, c, law, 0, 2), wanted = one_by_one(Y, c, law);
                expect(difference(found.potential, wanted.potential) < rounding, text("potential of ", n, " in ", d));
                if (n > 1) expect(difference(found.gradient, wanted.gradient) < rounding, text("gradient of ", n));
            }
        }
}

void without_groups_the_sums_are_exact() {
    expect_exact_without_groups<double>(Cauchy{}, 1e-12);
    expect_exact_without_groups<float>(Cauchy{}, 1e-5);
    expect_exact_without_groups<float>(Student{0.5}, 1e-5);
    expect_exact_without_groups<float>(Gaussian{}, 1e-5);
}

void the_error_shrinks_with_theta() {
    const auto Y = groups<float>(3000, 4, 12, 3);
    const auto wanted = one_by_one<float>(Y, nullptr, Cauchy{});
    double before = 1;
    for (const double theta : {0.6, 0.3, 0.1}) {
        const double error = difference(by_tree<float>(Y, nullptr, Cauchy{}, theta, 2).gradient, wanted.gradient);
        expect(error < before, text("error ", error, " at theta ", theta));
        before = error;
    }
    expect(before < 1e-3, text("error ", before));
}

void equal_points_are_one_group() {
    Data<float> Y(1000, 3);
    for (auto& x : Y.values) x = 0.25f;
    const auto found = by_tree<float>(Y, nullptr, Cauchy{}, 0.3, 2);
    for (const float phi : found.potential) expect_close(phi, 1000, 1e-3, "phi of a thousand points in one place");
    for (const float slope : found.gradient) expect_close(slope, 0, 1e-5, "slope there");
}

void the_number_of_threads_changes_no_bit() {
    const auto Y = groups<float>(5000, 5, 8, 4);
    const auto wanted = by_tree<float>(Y, nullptr, Gaussian{}, 0.5, 1);
    for (const int threads : THREAD_COUNTS) {
        const auto found = by_tree<float>(Y, nullptr, Gaussian{}, 0.5, threads);
        expect(std::memcmp(found.gradient.data(), wanted.gradient.data(), 4 * wanted.gradient.size()) == 0 &&
                   std::memcmp(found.potential.data(), wanted.potential.data(), 4 * wanted.potential.size()) == 0,
               text(threads, " threads"));
    }
}

void it_can_be_interrupted() {
    const auto Y = groups<float>(40000, 6, 3, 5);
    const MatrixView<const float> view{Y.values.data(), Y.rows, Y.columns};
    std::vector<float> potential(Y.rows), gradient(Y.rows * Y.columns);
    const Context context{2, [] { return true; }};
    bool stopped = false;
    try {
        Tree<float>(context, view, nullptr).field(context, Cauchy{}, 0.0, potential.data(), gradient.data());
    } catch (const Interrupted&) {
        stopped = true;
    }
    expect(stopped, "the sums go on");
}

constexpr Test TESTS[] = {
    {"tree: without groups the sums are exact", without_groups_the_sums_are_exact},
    {"tree: the error shrinks with theta", the_error_shrinks_with_theta},
    {"tree: equal points are one group", equal_points_are_one_group},
    {"tree: the number of threads changes no bit", the_number_of_threads_changes_no_bit},
    {"tree: it can be interrupted", it_can_be_interrupted},
};

}  // namespace

Tests tree_tests() { return TESTS; }

}  // namespace lowfold::tests
