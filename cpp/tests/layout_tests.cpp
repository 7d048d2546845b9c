// UMAP's fuzzy neighbourhoods and the epochs of its layout.
#include "fuzzy.hpp"
#include "joint.hpp"
#include "layout.hpp"
#include "sparse_support.hpp"

namespace lowfold::tests {
namespace {

constexpr int THREAD_COUNTS[] = {1, 2, 3, 8};

/// Ascending distances of each of n points to k others; of every fifth point the first two are 0.
Data<float> ascending(std::size_t n, std::size_t k) {
    auto D = make_data<float>(Shape::random, n, k, 3);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < k; ++j) D.row(i)[j] = std::abs(D.row(i)[j]) + 0.1f;
        if (i % 5 == 0) D.row(i)[0] = D.row(i)[1] = 0;
        std::sort(D.row(i), D.row(i) + k);
    }
    return D;
}

void degrees_add_up_and_never_rise_with_distance() {
    constexpr std::size_t N = 301, K = 14;
    const auto D = ascending(N, K);
    Data<float> first(N, K);
    fuzzy_rows(Context{1, {}}, D.view(), 1.0, 1.0, first.values.data());
    for (std::size_t i = 0; i < N; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < K; ++j) {
            sum += static_cast<double>(first.row(i)[j]);
            expect(first.row(i)[j] >= 0 && first.row(i)[j] <= 1, text("a degree of row ", i));
            if (j > 0) expect(first.row(i)[j] <= first.row(i)[j - 1], text("degrees of row ", i, " fall"));
        }
        expect(first.row(i)[0] == 1, text("the nearest belongs wholly to ", i));
        // More only where so many are as near as the first that the width is at its least.
        expect_close(sum, std::log2(K + 1.0), i % 5 == 0 ? 0.1 : 1e-4, text("the sum of row ", i));
    }
    for (const int threads : THREAD_COUNTS) {
        Data<float> other(N, K);
        fuzzy_rows(Context{threads, {}}, D.view(), 1.0, 1.0, other.values.data());
        expect(other.values == first.values, text(threads, " threads"));
    }
}

/// A ring of n points, each with edges to the next three on either side, all of the same weight.
SparseMatrix<float> ring(std::size_t n) {
    std::vector<Entry<float>> entries;
    for (std::size_t i = 0; i < n; ++i)
        for (const std::size_t step : {std::size_t{1}, std::size_t{2}, std::size_t{3}, n - 3, n - 2, n - 1})
            entries.push_back({i, (i + step) % n, 0.5f});
    return make_sparse(n, entries);
}

void edges_fire_as_often_as_they_weigh_and_rare_ones_are_left_out() {
    constexpr std::size_t N = 2500;
    constexpr std::uint32_t EPOCHS = 60;
    auto graph = ring(N);
    for (std::size_t e = 0; e < graph.values.size(); ++e) graph.values[e] = static_cast<float>(e % 7) / 6;
    graph.values[3] = 0.01f;  // less than once in so many epochs
    const auto first = firing_edges(Context{1, {}}, view(graph), 1.0f, EPOCHS, 5u);
    for (const int threads : THREAD_COUNTS) {
        const auto other = firing_edges(Context{threads, {}}, view(graph), 1.0f, EPOCHS, 5u);
        expect(other.columns == first.columns && other.values == first.values, text(threads, " threads"));
    }
    expect(first.begin[1] == 4, "two of the first row's six never fire");
    std::vector<std::size_t> fired(first.columns.size());
    Fired some;
    for (std::uint32_t epoch = 1; epoch <= EPOCHS; ++epoch)
        for (std::size_t from = 0; from < N; from += 100) {
            some.collect(view(first), from, from + 100, epoch);
            for (std::size_t i = from; i < from + 100; ++i) {
                std::uint32_t at = some.begin(i);
                for (auto e = first.begin[i]; e < first.begin[i + 1]; ++e)
                    if (epoch * first.values[e] < first.values[e]) {
                        expect(some.points()[at++] == first.columns[e], text("an edge of row ", i));
                        ++fired[static_cast<std::size_t>(e)];
                    }
                expect(at == some.begin(i + 1), text("the edges of row ", i));
            }
        }
    for (std::size_t e = 0; e < fired.size(); ++e)
        expect(fired[e] == std::uint64_t{first.values[e]} * EPOCHS >> 32, text("how often edge ", e, " fires"));
}

void powers_are_near_the_true_ones() {
    using Floats = Wide<float>;
    for (const float b : {0.3f, 0.895f, 1.0f, 1.9f})
        for (float x = 1e-12f; x < 1e12f; x *= 1.37f) {
            const auto found = power(std::array<Floats, 1>{Floats{} + x}, b)[0][3];
            const double wanted = std::pow(static_cast<double>(x), static_cast<double>(b));
            expect(std::abs(static_cast<double>(found) / wanted - 1) < 2e-5, text(x, " to the ", b));
        }
}

template <int D>
void an_epoch_has_the_same_bits_on_any_number_of_threads_and_stays_finite() {
    constexpr std::size_t N = 1003;
    const std::size_t d = D ? D : 5;
    const auto edges = firing_edges(Context{1, {}}, view(ring(N)), 0.5f, 1, 1u);
    const auto Y = make_data<float>(Shape::random, N, d, 4), fixed = make_data<float>(Shape::random, N, d, 5);
    std::vector<std::int32_t> order(N);
    for (std::size_t i = 0; i < N; ++i) order[i] = static_cast<std::int32_t>((7 * i) % N);
    const Epoch how{2, 0.5f, 7, 99};
    const Curve curve(1.6f, 0.9f, 1.0f);
    const auto epoch = [&](int threads, bool among_fixed) {
        const Context context{threads, {}};
        Data<float> to(N, d);
        if (among_fixed)
            Layout<D, false>(view(edges), Y.view(), fixed.view(), Fixed(fixed.view()), curve, how)
                .run(context, to.values.data());
        else
            Layout<D, true>(view(edges), Y.view(), Y.view(), Crowd(context, Y.view(), order.data()), curve, how)
                .run(context, to.values.data());
        return to;
    };
    for (const bool among_fixed : {false, true}) {
        const auto first = epoch(1, among_fixed);
        for (const float y : first.values) expect(std::isfinite(y), "a coordinate");
        expect(first.values != Y.values, "points move");
        for (const int threads : THREAD_COUNTS)
            expect(epoch(threads, among_fixed).values == first.values, text(threads, " threads"));
    }
}

constexpr Test TESTS[] = {
    {"fuzzy: degrees add up and never rise with distance", degrees_add_up_and_never_rise_with_distance},
    {"layout: edges fire as often as they weigh", edges_fire_as_often_as_they_weigh_and_rare_ones_are_left_out},
    {"layout: powers are near the true ones", powers_are_near_the_true_ones},
    {"layout: the same bits on any number of threads (1)",
     an_epoch_has_the_same_bits_on_any_number_of_threads_and_stays_finite<1>},
    {"layout: the same bits on any number of threads (2)",
     an_epoch_has_the_same_bits_on_any_number_of_threads_and_stays_finite<2>},
    {"layout: the same bits on any number of threads (3)",
     an_epoch_has_the_same_bits_on_any_number_of_threads_and_stays_finite<3>},
    {"layout: the same bits on any number of threads (5)",
     an_epoch_has_the_same_bits_on_any_number_of_threads_and_stays_finite<0>},
};

}  // namespace

Tests layout_tests() { return TESTS; }

}  // namespace lowfold::tests
