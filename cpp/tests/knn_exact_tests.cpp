// The exact search is brute force, only faster: for every engine and metric, on data of every shape.
#include "knn_support.hpp"

namespace lowfold::tests {
namespace {

template <class T>
void expect_exact_on(Shape shape, std::size_t n, std::size_t dimensions, std::size_t cells) {
    for (const Kind& kind : KINDS) {
        const auto X = make_points<T>(kind, shape, n, dimensions);
        const auto truth = brute_force(kind.metric, X, n - 1);
        const auto index = make_index(Context{2, {}}, X.view(), kind, cells);
        expect(index->cells() >= cells, text("at least ", cells, " cells"));
        for (const std::size_t k : {std::size_t{1}, std::size_t{5}, n - 1})
            expect_exact(search(*index, n, Question<T>{.k = k}), truth,
                         text(kind.name, ", ", name(shape), ", k = ", k, ", ", dimensions, " dimensions"));
    }
}

template <class T, Shape SHAPE>
void exact() {
    expect_exact_on<T>(SHAPE, 200, 19, 6);
    expect_exact_on<T>(SHAPE, 150, 2, 9);
}

template <class T>
void exact_with_many_points() {
    constexpr std::size_t N = 600, CELLS = 2, K = 20;  // more points to a cell than a batch has rows
    for (const Kind& kind : KINDS) {
        const auto X = make_points<T>(kind, Shape::clustered, N, 8);
        const auto Q = make_points<T>(kind, Shape::clustered, 40, 8, 9);
        const auto index = make_index(Context{2, {}}, X.view(), kind, CELLS);
        expect_exact(search(*index, N, Question<T>{.k = K}), brute_force(kind.metric, X, K), kind.name);
        expect_exact(search(*index, N, Question<T>{.k = K, .queries = &Q}), brute_force(kind.metric, X, K, &Q),
                     kind.name);
    }
}

/// Sums of one segment and a little more, of a group and more, of many groups; more queries than a tile has rows.
template <class T>
void exact_with_many_columns() {
    constexpr std::size_t N = 50, K = 9;
    for (const std::size_t columns : {SEGMENT + 1, GROUP + 3, 5 * GROUP + 300})
        for (const Kind& kind : KINDS)
            for (const Shape shape : SHAPES) {
                const auto X = make_points<T>(kind, shape, N, columns);
                const auto Q = make_points<T>(kind, shape, 20, columns, 9);
                const auto index = make_index(Context{2, {}}, X.view(), kind, 3);
                const auto what = text(kind.name, ", ", name(shape), ", ", columns, " columns");
                expect_exact(search(*index, N, Question<T>{.k = K}), brute_force(kind.metric, X, K), what);
                expect_exact(search(*index, N, Question<T>{.k = K, .queries = &Q}), brute_force(kind.metric, X, K, &Q),
                             what);
            }
}

template <class T>
void exact_with_any_small_number_of_points() {
    for (const Kind& kind : KINDS)
        for (const Shape shape : {Shape::random, Shape::lattice})
            for (std::size_t n = 2; n <= 40; ++n) {
                const auto X = make_points<T>(kind, shape, n, 3, n);
                const auto truth = brute_force(kind.metric, X, n - 1);
                const std::size_t cells = std::min(n, 1 + n % 3);
                const auto index = make_index(Context{1, {}}, X.view(), kind, cells);
                for (const std::size_t k : {std::size_t{1}, (n + 1) / 2, n - 1})
                    expect_exact(search(*index, n, Question<T>{.k = k, .threads = 1}), truth,
                                 text(kind.name, ", ", n, " ", name(shape), " points, ", cells, " cells"));
            }
}

/// Near the points, on them, and far away.
template <class T>
Data<T> make_queries(const Kind& kind, const Data<T>& X, Shape shape) {
    auto Q = make_data<T>(shape, 60, X.columns, 2);
    for (std::size_t i = 0; i < 20; ++i) std::copy_n(X.row(7 * i), X.columns, Q.row(i));
    for (std::size_t i = 20; i < 30; ++i)
        for (std::size_t p = 0; p < X.columns; ++p) Q.row(i)[p] *= T{100};
    if (kind.metric == Metric::cosine) normalize(Q);
    return Q;
}

template <class T>
void exact_for_queries_apart_from_the_points() {
    constexpr std::size_t N = 150;
    for (const Kind& kind : KINDS)
        for (const Shape shape : SHAPES) {
            const auto X = make_points<T>(kind, shape, N, 17);
            const auto Q = make_queries(kind, X, shape);
            const auto truth = brute_force(kind.metric, X, N, &Q);
            const auto index = make_index(Context{2, {}}, X.view(), kind, 5);
            for (const float alpha : {1.0f, INFINITE})
                for (const std::size_t k : {std::size_t{1}, std::size_t{5}, N})
                    expect_exact(search(*index, N, Question<T>{.k = k, .queries = &Q, .alpha = alpha}), truth,
                                 text(kind.name, ", ", name(shape), ", k = ", k, ", alpha = ", alpha));
        }
}

template <class T>
void exact_for_a_subset_of_the_points() {
    constexpr std::size_t N = 150;
    const std::vector<std::int32_t> subset{149, 0, 17, 18, 19, 101, 17, 120, 3};  // in any order, even twice
    for (const Kind& kind : KINDS)
        for (const Shape shape : SHAPES) {
            const auto X = make_points<T>(kind, shape, N, 17);
            const auto truth = brute_force(kind.metric, X, N - 1);
            const auto index = make_index(Context{2, {}}, X.view(), kind, 5);
            for (const float alpha : {1.0f, INFINITE})
                for (const std::size_t k : {std::size_t{1}, std::size_t{5}, N - 1})
                    expect_exact(search(*index, N, Question<T>{.k = k, .subset = subset, .alpha = alpha}), truth,
                                 text(kind.name, ", ", name(shape), ", k = ", k, ", alpha = ", alpha), &subset);
        }
}

constexpr Test TESTS[] = {
    {"knn: exact on random data (float)", exact<float, Shape::random>},
    {"knn: exact on random data (double)", exact<double, Shape::random>},
    {"knn: exact on clusters (float)", exact<float, Shape::clustered>},
    {"knn: exact on clusters (double)", exact<double, Shape::clustered>},
    {"knn: exact on a lattice, ties by index (float)", exact<float, Shape::lattice>},
    {"knn: exact on a lattice, ties by index (double)", exact<double, Shape::lattice>},
    {"knn: exact on duplicates (float)", exact<float, Shape::duplicated>},
    {"knn: exact on duplicates (double)", exact<double, Shape::duplicated>},
    {"knn: exact with an outlier (float)", exact<float, Shape::outlier>},
    {"knn: exact with an outlier (double)", exact<double, Shape::outlier>},
    {"knn: exact far from the origin (float)", exact<float, Shape::uncentred>},
    {"knn: exact far from the origin (double)", exact<double, Shape::uncentred>},
    {"knn: exact on tiny numbers (float)", exact<float, Shape::tiny>},
    {"knn: exact on tiny numbers (double)", exact<double, Shape::tiny>},
    {"knn: exact with several batches to a cell (float)", exact_with_many_points<float>},
    {"knn: exact with several batches to a cell (double)", exact_with_many_points<double>},
    {"knn: exact with many columns (float)", exact_with_many_columns<float>},
    {"knn: exact with many columns (double)", exact_with_many_columns<double>},
    {"knn: exact with any small number of points (float)", exact_with_any_small_number_of_points<float>},
    {"knn: exact with any small number of points (double)", exact_with_any_small_number_of_points<double>},
    {"knn: exact for queries apart from the points (float)", exact_for_queries_apart_from_the_points<float>},
    {"knn: exact for queries apart from the points (double)", exact_for_queries_apart_from_the_points<double>},
    {"knn: exact for a subset of the points (float)", exact_for_a_subset_of_the_points<float>},
    {"knn: exact for a subset of the points (double)", exact_for_a_subset_of_the_points<double>},
};

}  // namespace

Tests knn_exact_tests() { return TESTS; }

}  // namespace lowfold::tests
