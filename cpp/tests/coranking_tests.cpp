// The co-ranking of two spaces, against its definition by full sorts, ties and all.
#include "coranking.hpp"
#include "data.hpp"
#include "harness.hpp"

namespace lowfold::tests {
namespace {

constexpr std::size_t N = 83;
constexpr int THREAD_COUNTS[] = {1, 2, 3, 8};

/// Small whole coordinates have many equal distances; others none.
template <class T>
Data<T> points(std::size_t d, std::uint64_t seed, bool ties) {
    auto X = make_data<T>(Shape::random, N, d, seed);
    if (ties)
        for (T& x : X.values) x = std::round(x);
    return X;
}

struct Result {
    std::vector<Agreement> at;
    std::vector<double> areas;
};

template <class T>
Result ranked(const Data<T>& X, const Data<T>& Y, const std::vector<std::int64_t>& ks, bool area, int threads) {
    std::vector<std::int32_t> rows(N);
    std::iota(rows.begin(), rows.end(), 0);
    Result out{std::vector<Agreement>(N * ks.size()), std::vector<double>(N)};
    coranking<T>(Context{threads, {}}, X.view(), false, Y.view(), rows.data(), N, ks.data(), ks.size(), area,
                 out.at.data(), out.areas.data());
    return out;
}

template <class T>
Place place_of(const Data<T>& X, std::size_t i, std::size_t j) {
    const auto distance = [&](std::size_t other) {
        T sum = 0;
        for (std::size_t p = 0; p < X.view().columns; ++p) {
            const T difference = X.view().row(other)[p] - X.view().row(i)[p];
            sum += difference * difference;
        }
        return sum;
    };
    Place place{0, 0};
    for (std::size_t l = 0; l < N; ++l) {
        if (l == i) continue;
        place.below += distance(l) < distance(j);
        place.equal += distance(l) == distance(j);
    }
    return place;
}

template <class T>
void agreement_is_what_its_definition_says() {
    for (const bool ties : {false, true})
        for (const std::vector<std::int64_t>& ks : {std::vector<std::int64_t>{1, 5, 9}, {1, 7, 60, 82}}) {
            const auto X = points<T>(4, 1, ties), Y = points<T>(2, 2, ties);
            const auto found = ranked(X, Y, ks, false, 2);
            for (std::size_t i = 0; i < N; i += 9)
                for (std::size_t m = 0; m < ks.size(); ++m) {
                    Agreement wanted;
                    const auto k = static_cast<double>(ks[m]);
                    for (std::size_t j = 0; j < N; ++j) {
                        if (j == i) continue;
                        const Place x = place_of(X, i, j), y = place_of(Y, i, j);
                        wanted.common += x.among(k) * y.among(k);
                        wanted.intruders += y.among(k) * x.beyond(k);
                        wanted.lost += x.among(k) * y.beyond(k);
                    }
                    const Agreement& got = found.at[i * ks.size() + m];
                    expect_close(got.common, wanted.common, 1e-9, text("common neighbours of ", i, " at ", k));
                    expect_close(got.intruders, wanted.intruders, 1e-9, text("intruders of ", i, " at ", k));
                    expect_close(got.lost, wanted.lost, 1e-9, text("lost neighbours of ", i, " at ", k));
                }
        }
}

template <class T>
void the_area_is_the_weighted_sum_over_every_k() {
    std::vector<std::int64_t> ks(N - 2);
    std::iota(ks.begin(), ks.end(), 1);
    for (const bool ties : {false, true}) {
        const auto X = points<T>(3, 3, ties), Y = points<T>(2, 4, ties);
        const auto found = ranked(X, Y, ks, true, 1);
        for (std::size_t i = 0; i < N; ++i) {
            double total = 0, weights = 0;
            for (std::size_t m = 0; m < ks.size(); ++m) {
                const auto k = static_cast<double>(ks[m]);
                const double Q = found.at[i * ks.size() + m].common / k;
                total += ((N - 1) * Q - k) / (N - 1 - k) / k;
                weights += 1 / k;
            }
            expect_close(found.areas[i], total / weights, 1e-9, text("the area of ", i));
        }
    }
}

void a_place_among_ties_is_shared_fairly() {
    const Place tied{3, 4};  // ranks 4 .. 7
    expect_close(tied.among(3), 0, 0, "the chance at 3");
    expect_close(tied.among(5), 0.5, 0, "the chance at 5");
    expect_close(tied.among(7), 1, 0, "the chance at 7");
    expect_close(tied.beyond(3), (1 + 2 + 3 + 4) / 4.0, 0, "beyond 3");
    expect_close(tied.beyond(1), (3 + 4 + 5 + 6) / 4.0, 0, "beyond 1");
    expect_close(tied.beyond(5), (1 + 2) / 4.0, 0, "beyond 5");
    expect_close(tied.beyond(9), 0, 0, "beyond 9");
}

template <class T>
void the_same_bits_on_any_number_of_threads() {
    const auto X = points<T>(5, 5, true), Y = points<T>(2, 6, false);
    const auto first = ranked(X, Y, {2, 70}, true, 1);
    for (const int threads : THREAD_COUNTS) {
        const auto other = ranked(X, Y, {2, 70}, true, threads);
        expect(other.areas == first.areas, text("areas on ", threads, " threads"));
        for (std::size_t m = 0; m < first.at.size(); ++m)
            expect(other.at[m].intruders == first.at[m].intruders, text("intruders on ", threads, " threads"));
    }
}

constexpr Test TESTS[] = {
    {"coranking: agreement is what its definition says (float)", agreement_is_what_its_definition_says<float>},
    {"coranking: agreement is what its definition says (double)", agreement_is_what_its_definition_says<double>},
    {"coranking: the area is the weighted sum over every k (float)", the_area_is_the_weighted_sum_over_every_k<float>},
    {"coranking: the area is the weighted sum over every k (double)",
     the_area_is_the_weighted_sum_over_every_k<double>},
    {"coranking: a place among ties is shared fairly", a_place_among_ties_is_shared_fairly},
    {"coranking: the same bits on any number of threads (float)", the_same_bits_on_any_number_of_threads<float>},
    {"coranking: the same bits on any number of threads (double)", the_same_bits_on_any_number_of_threads<double>},
};

}  // namespace

Tests coranking_tests() { return TESTS; }

}  // namespace lowfold::tests
