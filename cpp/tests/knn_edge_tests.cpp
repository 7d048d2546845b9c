// The neighbour search where something is extreme.
#include "knn_support.hpp"

namespace lowfold::tests {
namespace {

template <class T>
void expect_exact_search(const Data<T>& X, const Kind& kind, std::size_t cells, std::size_t k,
                         Where where = Where::current()) {
    const auto index = make_index(Context{2, {}}, X.view(), kind, cells);
    expect_exact(search(*index, X.rows, Question<T>{.k = k}), brute_force(kind.metric, X, k),
                 text(kind.name, ", ", X.rows, " points, ", cells, " cells"), nullptr, where);
}

template <class T>
void more_cells_than_points_are_no_problem() {
    for (const Kind& kind : KINDS)
        for (const Shape shape : {Shape::random, Shape::duplicated})
            for (const std::size_t n : {2, 3, 5, 12})
                for (const std::size_t cells : {4, 9, 50})
                    expect_exact_search(make_points<T>(kind, shape, n, 4), kind, cells, n - 1);
}

template <class T>
void equal_points_are_neighbors_by_index() {
    for (const Kind& kind : KINDS)
        for (const double value : {0.0, 1.0, 0.1}) {
            Data<T> X(300, 5);
            std::fill(X.values.begin(), X.values.end(), static_cast<T>(value));
            expect_exact_search(X, kind, 4, 6);
        }
}

template <class T>
void zeros_of_either_sign_are_the_same() {
    for (const Kind& kind : KINDS) {
        auto X = make_points<T>(kind, Shape::random, 200, 2 * WIDTH<T>);
        for (std::size_t i = 0; i < X.rows; ++i)
            for (std::size_t p = 0; p < X.columns; ++p)
                if (i % 10 < 5 || p > 3) X.row(i)[p] = (i + p) % 2 ? T{0} : T{-0.0};
        expect_exact_search(X, kind, 4, 8);
    }
}

template <class T>
void one_dimension_is_enough() {
    for (const Kind& kind : KINDS) expect_exact_search(make_data<T>(Shape::random, 500, 1), kind, 12, 20);
}

/// All points look alike from there, and the rounding of their distances decides.
template <class T>
void queries_far_away_get_what_exact_distances_say() {
    constexpr std::size_t N = 200;
    for (const Kind& kind : KINDS) {
        const auto X = make_points<T>(kind, Shape::random, N, 5);
        for (const double far : {1e3, 1e6, 1e12, 1e17}) {
            auto Q = make_data<T>(Shape::random, 10, 5, 2);
            for (auto& x : Q.values) x *= static_cast<T>(far);
            const auto index = make_index(Context{2, {}}, X.view(), kind, 5);
            expect_exact(search(*index, N, Question<T>{.k = 7, .queries = &Q}), brute_force(kind.metric, X, 7, &Q),
                         text(kind.name, ", ", far, " away"));
        }
    }
}

/// Some points so far out that their coordinates have no room in float32 beside those of the others.
template <class T>
void points_of_any_size_get_what_exact_distances_say() {
    constexpr std::size_t N = 240;
    const double largest = std::is_same_v<T, float> ? 1e17 : 1e60;
    for (const Kind& kind : KINDS)
        for (const double size : {1.0, 1e-9}) {
            if (kind.metric == Metric::cosine && size < 1) continue;
            auto X = make_points<T>(kind, Shape::clustered, N, 5);
            auto Q = make_points<T>(kind, Shape::clustered, 30, 5, 9);
            for (auto* data : {&X, &Q})
                for (std::size_t i = 0; kind.metric != Metric::cosine && i < data->rows; ++i)
                    for (std::size_t p = 0; p < 5; ++p)
                        data->row(i)[p] *=
                            static_cast<T>(i % 23 == 3 ? std::pow(largest, (1 + i % 4 * 0.5) / 2.5) : size);
            const auto index = make_index(Context{2, {}}, X.view(), kind, 6);
            for (const std::size_t k : {std::size_t{1}, std::size_t{8}, N - 1}) {
                const auto what = text(kind.name, ", others of size ", size, ", k = ", k);
                expect_exact(search(*index, N, Question<T>{.k = k}), brute_force(kind.metric, X, k), what);
                expect_exact(search(*index, N, Question<T>{.k = k, .queries = &Q}), brute_force(kind.metric, X, k, &Q),
                             what);
            }
        }
}

/// x close to its centroid, the cell's edge as far as the last neighbour, all far from the origin.
template <class T>
void long_cells_far_from_the_origin_lose_nothing() {
    constexpr std::size_t N = 1200;
    Data<T> X(N, 1);
    Dice dice(3);
    for (auto& x : X.values) x = static_cast<T>((dice.uniform() < 0.5 ? -1 : 1) * (1 + 0.9 * dice.uniform()));
    const auto truth = brute_force(Metric::euclidean, X, 200);
    const auto index = make_index(Context{2, {}}, X.view(), KINDS[0], 6);
    for (const std::size_t k : {100, 150, 200})
        expect_exact(search(*index, N, Question<T>{.k = k}), truth, text("k = ", k));
}

void what_was_needed_is_a_number_at_any_scale() {
    for (const double scale : {1e-150, 1e-100, 1e-42, 1e42, 1e100, 1e150}) {
        auto X = make_data<double>(Shape::random, 400, 3);
        for (auto& x : X.values) x *= scale;
        for (const Kind& kind : KINDS) {
            if (kind.metric == Metric::cosine) continue;
            const auto index = make_index(Context{2, {}}, X.view(), kind, 8);
            std::vector<std::int32_t> subset{0, 50, 100, 399};
            const auto found =
                search(*index, 400, Question<double>{.k = 9, .subset = subset, .alpha = INFINITE, .needed = true});
            expect_exact(found, brute_force(kind.metric, X, 9), text(kind.name, ", scale ", scale), &subset);
            for (const float alpha : found.needed)
                expect(alpha >= 0 && alpha <= 1.001f, text(kind.name, ", scale ", scale, ": needed ", alpha));
        }
    }
}

#if defined(__AVX512VNNI__)
constexpr Kind BYTES{"euclidean in bytes", Metric::euclidean, Scores::bytes};

/// One large coordinate leaves few bits to the others, and the more of them there are the more that matters.
template <class T>
void bytes_are_exact_for_points_on_the_axes() {
    for (const std::size_t dimensions : {100, 1000, 16000}) {
        Data<T> X(40, dimensions);
        Dice dice(4);
        for (std::size_t i = 0; i < X.rows; ++i) {
            for (std::size_t p = 0; p < dimensions; ++p) X.row(i)[p] = static_cast<T>(0.003 * dice.normal());
            X.row(i)[dice.below(dimensions)] = static_cast<T>(1 + dice.uniform());
        }
        expect_exact_search(X, BYTES, 3, 5);
    }
}

/// The query's own rounding counts as well as the points': here its small coordinates all become zero, and they decide
/// that the points on the positive side are nearer, although those on the negative side are nearer to the origin.
template <class T>
void bytes_are_exact_for_queries_rounded_more_coarsely_than_the_points() {
    constexpr std::size_t DIMENSIONS = 1024, POSITIVE = 26, NEGATIVE = 28;  // 26 * 5.6 = 28 * 5.2: the mean is 0
    Data<T> X(POSITIVE + NEGATIVE, DIMENSIONS), Q(1, DIMENSIONS);
    for (std::size_t i = 0; i < X.rows; ++i)
        std::fill_n(X.row(i) + 1, DIMENSIONS - 1, static_cast<T>(i < POSITIVE ? 5.6 : -5.2));
    std::fill(Q.values.begin(), Q.values.end(), static_cast<T>(0.49));
    Q.values[0] = 127;
    const auto index = make_index(Context{1, {}}, X.view(), BYTES, 1);
    const auto found = search(*index, X.rows, Question<T>{.k = 5, .queries = &Q});
    expect_exact(found, brute_force(BYTES.metric, X, 5, &Q), "the query");
}
#endif

/// Rows of about 1, and others down to the smallest numbers of the type, on both sides of zero.
template <class T>
Data<T> of_many_sizes() {
    constexpr int EXPONENTS = sizeof(T) == 4 ? 126 : 1022, SIZES = 9;
    auto X = make_data<T>(Shape::random, 90 * SIZES, 5);
    for (std::size_t i = 0; i < X.rows; ++i)
        for (std::size_t p = 0; p < X.columns; ++p)
            X.row(i)[p] = std::ldexp(X.row(i)[p], -static_cast<int>(i % SIZES) * EXPONENTS / (SIZES - 1));
    return X;
}

template <class T>
void rows_whose_squares_vanish_have_distances() {
    const auto X = of_many_sizes<T>();
    for (std::size_t i = 1; i < X.rows; ++i)
        for (std::size_t j = 0; j < 40; ++j) {
            long double squared = 0, difference;  // its exponents have room for the squares
            for (std::size_t p = 0; p < X.columns; ++p) {
                difference = static_cast<long double>(X.row(i)[p]) - X.row(j)[p];
                squared += difference * difference;
            }
            const double wanted = static_cast<double>(std::sqrt(squared));
            // Differences, squares, sum and root round once each; the smallest numbers of all by themselves.
            const double tolerance =
                8 * std::numeric_limits<T>::epsilon() * wanted + std::numeric_limits<T>::denorm_min();
            expect_close(distance(Metric::euclidean, X.row(i), X.row(j), X.columns), wanted, tolerance,
                         text("rows ", i, " and ", j));
        }
}

template <class T>
void rows_whose_squares_vanish_are_found_beside_others() {
    const auto X = of_many_sizes<T>();
    auto mirrored = X;  // small beside the mean of all too
    for (std::size_t i = 0; i < X.rows; ++i)
        for (std::size_t p = 0; p < X.columns; ++p) mirrored.row(i)[p] *= i / 9 % 2 ? 1 : -1;
    for (const Kind& kind : KINDS) {
        if (kind.metric == Metric::cosine) continue;  // rows of length 1 have none such
        for (const std::size_t cells : {1, 20}) {
            expect_exact_search(X, kind, cells, 7);
            expect_exact_search(mirrored, kind, cells, 7);
        }
    }
}

constexpr Test TESTS[] = {
    {"distance: rows whose squares vanish have distances (float)", rows_whose_squares_vanish_have_distances<float>},
    {"distance: rows whose squares vanish have distances (double)", rows_whose_squares_vanish_have_distances<double>},
    {"knn: rows whose squares vanish are found beside others (float)",
     rows_whose_squares_vanish_are_found_beside_others<float>},
    {"knn: rows whose squares vanish are found beside others (double)",
     rows_whose_squares_vanish_are_found_beside_others<double>},
    {"knn: more cells than points are no problem (float)", more_cells_than_points_are_no_problem<float>},
    {"knn: more cells than points are no problem (double)", more_cells_than_points_are_no_problem<double>},
    {"knn: equal points are neighbours by index (float)", equal_points_are_neighbors_by_index<float>},
    {"knn: equal points are neighbours by index (double)", equal_points_are_neighbors_by_index<double>},
    {"knn: zeros of either sign are the same (float)", zeros_of_either_sign_are_the_same<float>},
    {"knn: zeros of either sign are the same (double)", zeros_of_either_sign_are_the_same<double>},
    {"knn: one dimension is enough (float)", one_dimension_is_enough<float>},
    {"knn: one dimension is enough (double)", one_dimension_is_enough<double>},
    {"knn: queries far away get what exact distances say (float)",
     queries_far_away_get_what_exact_distances_say<float>},
    {"knn: queries far away get what exact distances say (double)",
     queries_far_away_get_what_exact_distances_say<double>},
    {"knn: points of any size get what exact distances say (float)",
     points_of_any_size_get_what_exact_distances_say<float>},
    {"knn: points of any size get what exact distances say (double)",
     points_of_any_size_get_what_exact_distances_say<double>},
    {"knn: long cells far from the origin lose nothing (float)", long_cells_far_from_the_origin_lose_nothing<float>},
    {"knn: long cells far from the origin lose nothing (double)", long_cells_far_from_the_origin_lose_nothing<double>},
    {"knn: what was needed is a number at any scale", what_was_needed_is_a_number_at_any_scale},
#if defined(__AVX512VNNI__)
    {"knn: bytes are exact for points on the axes (float)", bytes_are_exact_for_points_on_the_axes<float>},
    {"knn: bytes are exact for points on the axes (double)", bytes_are_exact_for_points_on_the_axes<double>},
    {"knn: bytes are exact for queries rounded more coarsely than the points (float)",
     bytes_are_exact_for_queries_rounded_more_coarsely_than_the_points<float>},
    {"knn: bytes are exact for queries rounded more coarsely than the points (double)",
     bytes_are_exact_for_queries_rounded_more_coarsely_than_the_points<double>},
#endif
};

}  // namespace

Tests knn_edge_tests() { return TESTS; }

}  // namespace lowfold::tests
