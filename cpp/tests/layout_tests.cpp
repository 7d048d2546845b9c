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

/// A ring of n points, each with edges to the next three on either side, all firing.
SparseMatrix<std::uint32_t> ring(std::size_t n) {
    std::vector<Entry<std::uint32_t>> entries;
    for (std::size_t i = 0; i < n; ++i)
        for (const std::size_t step : {std::size_t{1}, std::size_t{2}, std::size_t{3}, n - 3, n - 2, n - 1})
            entries.push_back({i, (i + step) % n, 0xFFFFFFFFu});
    return make_sparse(n, entries);
}

template <int D>
void an_epoch_has_the_same_bits_on_any_number_of_threads_and_stays_finite() {
    constexpr std::size_t N = 1003;
    const std::size_t d = D ? D : 5;
    const auto edges = ring(N);
    const auto Y = make_data<float>(Shape::random, N, d, 4);
    const auto epoch = [&](int threads, const Data<float>* others) {
        Data<float> to(N, d);
        const Epoch how{2, 0.5f, 5, 99, others == nullptr};
        Layout<D>(view(edges), Y.view(), others ? others->view() : Y.view(), Curve{1.6f, 0.9f, 1.0f}, how)
            .run(Context{threads, {}}, to.values.data());
        return to;
    };
    const auto fixed = make_data<float>(Shape::random, N, d, 5);
    for (const Data<float>* others : {static_cast<const Data<float>*>(nullptr), &fixed}) {
        const auto first = epoch(1, others);
        for (const float y : first.values) expect(std::isfinite(y), "a coordinate");
        expect(first.values != Y.values, "points move");
        for (const int threads : THREAD_COUNTS)
            expect(epoch(threads, others).values == first.values, text(threads, " threads"));
    }
}

constexpr Test TESTS[] = {
    {"fuzzy: degrees add up and never rise with distance", degrees_add_up_and_never_rise_with_distance},
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
