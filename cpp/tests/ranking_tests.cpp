// Distances of rows that are padded or not, and candidates ranked by them.
#include <cstring>
#include <numeric>

#include "data.hpp"
#include "harness.hpp"
#include "ranking.hpp"

namespace lowfold::tests {
namespace {

constexpr Metric METRICS[] = {Metric::euclidean, Metric::sqeuclidean, Metric::cosine, Metric::manhattan,
                              Metric::chebyshev};

template <class T>
void zeros_behind_rows_change_no_bit() {
    for (const std::size_t columns : {1, 7, 8, 15, 16, 17, 33, 100})
        for (const Metric metric : METRICS) {
            const auto data = make_data<T>(Shape::random, 2, columns);
            Data<T> wide(2, padded<T>(columns));
            for (std::size_t i = 0; i < 2; ++i) std::copy_n(data.row(i), columns, wide.row(i));
            expect_equal(distance(metric, data.row(0), data.row(1), columns),
                         distance(metric, wide.row(0), wide.row(1), wide.columns), text(columns, " columns"));
        }
}

/// Candidates of each row: all points, from a different one on.
std::vector<std::int32_t> turned_lists(std::size_t queries, std::size_t points) {
    std::vector<std::int32_t> lists(queries * points);
    for (std::size_t i = 0; i < queries; ++i)
        for (std::size_t j = 0; j < points; ++j) lists[i * points + j] = static_cast<std::int32_t>((i + j) % points);
    return lists;
}

template <class T>
void candidates_come_by_distance_and_index() {
    for (const Shape shape : {Shape::random, Shape::lattice, Shape::duplicated}) {
        const auto X = make_data<T>(shape, 60, 5);
        const auto lists = turned_lists(60, 60);
        std::vector<std::int32_t> indices(60 * 60);
        std::vector<T> distances(60 * 60);
        const CandidateLists<T> all{X.view(), X.view(), {lists.data(), 60, 60}};
        rank_candidates(Context{2}, Metric::euclidean, all, indices.data(), distances.data());
        for (std::size_t i = 0; i < 60; ++i) {
            std::vector<std::int32_t> wanted(60);
            std::iota(wanted.begin(), wanted.end(), 0);
            const auto far = [&](std::int32_t j) { return distance(Metric::euclidean, X.row(i), X.row(j), X.columns); };
            std::stable_sort(wanted.begin(), wanted.end(), [&](auto a, auto b) { return far(a) < far(b); });
            expect(std::equal(wanted.begin(), wanted.end(), &indices[i * 60]), text(name(shape), ", row ", i));
            for (std::size_t j = 0; j < 60; ++j) expect_equal(distances[i * 60 + j], far(wanted[j]), "a distance");
        }
    }
}

void queries_of_a_wider_type_are_measured_in_it() {
    const auto X = make_data<float>(Shape::lattice, 60, 5);
    const auto queries = make_data<double>(Shape::random, 20, 5, 2);
    Data<double> wide(60, 5);
    std::copy(X.values.begin(), X.values.end(), wide.values.begin());
    const auto lists = turned_lists(20, 60);
    std::vector<std::int32_t> indices(20 * 60), wanted(20 * 60);
    std::vector<double> distances(20 * 60), lengths(20 * 60);
    const CandidateLists<double, float> mixed{X.view(), queries.view(), {lists.data(), 20, 60}};
    rank_candidates(Context{2}, Metric::euclidean, mixed, indices.data(), distances.data());
    const CandidateLists<double> same{wide.view(), queries.view(), {lists.data(), 20, 60}};
    rank_candidates(Context{2}, Metric::euclidean, same, wanted.data(), lengths.data());
    expect(indices == wanted && distances == lengths, "as among points of the wider type");
}

template <class T>
void threads_change_no_bit() {
    const auto X = make_data<T>(Shape::clustered, 300, 9);
    const auto queries = make_data<T>(Shape::clustered, 200, 9, 2);
    const auto lists = turned_lists(200, 300);
    std::vector<std::int32_t> indices(200 * 300), again(200 * 300);
    std::vector<T> distances(200 * 300), others(200 * 300);
    const CandidateLists<T> all{X.view(), queries.view(), {lists.data(), 200, 300}};
    rank_candidates(Context{1}, Metric::manhattan, all, indices.data(), distances.data());
    rank_candidates(Context{3}, Metric::manhattan, all, again.data(), others.data());
    expect(indices == again, "indices");
    expect(std::memcmp(distances.data(), others.data(), distances.size() * sizeof(T)) == 0, "distances");
}

constexpr Test TESTS[] = {
    {"ranking: zeros behind rows change no bit (float)", zeros_behind_rows_change_no_bit<float>},
    {"ranking: zeros behind rows change no bit (double)", zeros_behind_rows_change_no_bit<double>},
    {"ranking: candidates come by distance and index (float)", candidates_come_by_distance_and_index<float>},
    {"ranking: candidates come by distance and index (double)", candidates_come_by_distance_and_index<double>},
    {"ranking: queries of a wider type are measured in it", queries_of_a_wider_type_are_measured_in_it},
    {"ranking: threads change no bit (float)", threads_change_no_bit<float>},
    {"ranking: threads change no bit (double)", threads_change_no_bit<double>},
};

}  // namespace

Tests ranking_tests() { return TESTS; }

}  // namespace lowfold::tests
