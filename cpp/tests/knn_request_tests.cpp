// What a request can ask for beyond an exact answer: threads, a smaller reach, and the reach that would have done.
#include "knn_support.hpp"

namespace lowfold::tests {
namespace {

std::vector<std::int32_t> every(std::size_t step, std::size_t n) {
    std::vector<std::int32_t> subset;
    for (std::size_t i = 0; i < n; i += step) subset.push_back(static_cast<std::int32_t>(i));
    return subset;
}

template <class T>
void same_bits_on_any_number_of_threads() {
    constexpr std::size_t N = 400;
    for (const Kind& kind : KINDS) {
        const auto X = make_points<T>(kind, Shape::clustered, N, 9);
        const auto Q = make_points<T>(kind, Shape::clustered, 50, 9, 2);
        const std::vector<Question<T>> questions{{.k = 7},
                                                 {.k = 7, .alpha = 0.4f, .caution = 0.1f},
                                                 {.k = 7, .queries = &Q, .alpha = 0.4f},
                                                 {.k = 7, .subset = every(5, N), .alpha = INFINITE, .needed = true}};
        const auto first = make_index(Context{1, {}}, X.view(), kind, 10);
        std::vector<Answer<T>> wanted;
        for (auto question : questions) {
            question.threads = 1;
            wanted.push_back(search(*first, N, question));
        }
        for (const int threads : {2, 3, 8}) {
            const auto index = make_index(Context{threads, {}}, X.view(), kind, 10);
            for (std::size_t q = 0; q < questions.size(); ++q) {
                auto question = questions[q];
                question.threads = threads;
                const auto answer = search(*index, N, question);
                expect(answer.same_bits(wanted[q]) && answer.needed == wanted[q].needed,
                       text(kind.name, ", question ", q, ", ", threads, " threads"));
            }
        }
    }
}

template <class T>
void a_row_does_not_depend_on_the_others() {
    constexpr std::size_t N = 500;
    for (const Kind& kind : KINDS) {
        const auto X = make_points<T>(kind, Shape::random, N, 9);
        const auto Q = make_points<T>(kind, Shape::random, 30, 9, 2);
        const auto index = make_index(Context{2, {}}, X.view(), kind, 10);
        for (const float alpha : {0.3f, 1.0f}) {
            const auto all = search(*index, N, Question<T>{.k = 4, .queries = &Q, .alpha = alpha, .caution = 0.5f});
            const auto points = search(*index, N, Question<T>{.k = 4, .alpha = alpha, .caution = 0.5f});
            const auto subset = every(7, N);
            expect_exact(search(*index, N, Question<T>{.k = 4, .subset = subset, .alpha = alpha, .caution = 0.5f}),
                         points, text(kind.name, ", a subset, alpha = ", alpha), &subset);
            for (std::int32_t i = 0; i < 30; i += 7) {
                Data<T> alone(1, 9);
                std::copy_n(Q.row(i), 9, alone.row(0));
                const std::vector<std::int32_t> row{i};
                expect_exact(search(*index, N, Question<T>{.k = 4, .queries = &alone, .alpha = alpha, .caution = 0.5f}),
                             all, text(kind.name, ", one query, alpha = ", alpha), &row);
            }
        }
    }
}

template <class T>
void recall_grows_with_alpha() {
    constexpr std::size_t N = 700, K = 10;
    for (const Kind& kind : KINDS) {
        const auto X = make_points<T>(kind, Shape::random, N, 6);
        const auto truth = brute_force(kind.metric, X, K);
        const auto index = make_index(Context{2, {}}, X.view(), kind, 20);
        std::vector<double> found;
        for (const float alpha : {0.0f, 0.15f, 0.4f, 1.0f}) {
            const auto answer = search(*index, N, Question<T>{.k = K, .alpha = alpha});
            for (std::size_t i = 0; i < N; ++i)
                for (std::size_t j = 0; j < K; ++j) {
                    const std::int32_t neighbor = answer.indices[i * K + j];
                    expect(neighbor >= 0 && neighbor < static_cast<std::int32_t>(N) &&
                               neighbor != static_cast<std::int32_t>(i),
                           "k neighbours, not itself");
                }
            found.push_back(recall(answer, truth));
        }
        const std::string what = text(kind.name, ": ", found[0], " ", found[1], " ", found[2], " ", found[3]);
        expect(found[0] < found[1] && found[1] < found[2] && found[2] <= found[3], what);
        expect(found[0] > 0.2 && found[0] < 0.98, text("the own cell has some of the neighbours. ", what));
        expect(found[3] == 1, what);
    }
}

template <class T>
void alpha_above_what_was_needed_finds_all() {
    constexpr std::size_t N = 500, K = 8;
    const auto subset = every(2, N);
    for (const Kind& kind : KINDS)
        for (const Shape shape : {Shape::random, Shape::clustered, Shape::tiny}) {
            const auto X = make_points<T>(kind, shape, N, 6);
            const auto truth = brute_force(kind.metric, X, K);
            const auto index = make_index(Context{2, {}}, X.view(), kind, 12);
            const auto measured =
                search(*index, N, Question<T>{.k = K, .subset = subset, .alpha = INFINITE, .needed = true});
            const std::string what = text(kind.name, ", ", name(shape));
            expect_exact(measured, truth, what, &subset);
            for (const float alpha : measured.needed)
                expect(alpha >= 0 && alpha <= 1.001f, text(what, ": an alpha of ", alpha, " was needed, 1 is exact"));
            const float most = *std::max_element(measured.needed.begin(), measured.needed.end());
            // Scores of 8 bits know the distance to the k-th neighbour so far only roughly.
            const float above = kind.scores == Scores::bytes ? 1.2f : 1.005f;
            const auto found = search(*index, N, Question<T>{.k = K, .subset = subset, .alpha = most * above});
            expect_equal(recall(found, truth, &subset), 1.0, text(what, ": recall with alpha = ", most * above));
            if (shape == Shape::clustered) continue;  // where the own cell may have them all
            const auto fewer = search(*index, N, Question<T>{.k = K, .subset = subset, .alpha = most * 0.2f});
            expect(recall(fewer, truth, &subset) < 1, text(what, ": recall with far less"));
        }
}

#if defined(__AVX512VNNI__)
template <class T>
void less_caution_costs_little_recall() {
    constexpr std::size_t N = 800, K = 10;
    constexpr Kind BYTES{"euclidean in bytes", Metric::euclidean, Scores::bytes};
    const auto X = make_points<T>(BYTES, Shape::random, N, 64);
    const auto truth = brute_force(BYTES.metric, X, K);
    const auto index = make_index(Context{2, {}}, X.view(), BYTES, 10);
    for (const float caution : {0.02f, 0.1f, 1.0f}) {
        const auto found = search(*index, N, Question<T>{.k = K, .alpha = INFINITE, .caution = caution});
        const double share = recall(found, truth);
        expect(share >= (caution < 0.05f ? 0.8 : 0.999), text("recall ", share, " with caution = ", caution));
    }
}
#endif

constexpr Test TESTS[] = {
    {"knn: same bits on any number of threads (float)", same_bits_on_any_number_of_threads<float>},
    {"knn: same bits on any number of threads (double)", same_bits_on_any_number_of_threads<double>},
    {"knn: a row does not depend on the others (float)", a_row_does_not_depend_on_the_others<float>},
    {"knn: a row does not depend on the others (double)", a_row_does_not_depend_on_the_others<double>},
    {"knn: recall grows with alpha (float)", recall_grows_with_alpha<float>},
    {"knn: recall grows with alpha (double)", recall_grows_with_alpha<double>},
    {"knn: an alpha above what was needed finds all (float)", alpha_above_what_was_needed_finds_all<float>},
    {"knn: an alpha above what was needed finds all (double)", alpha_above_what_was_needed_finds_all<double>},
#if defined(__AVX512VNNI__)
    {"knn: less caution costs little recall (float)", less_caution_costs_little_recall<float>},
    {"knn: less caution costs little recall (double)", less_caution_costs_little_recall<double>},
#endif
};

}  // namespace

Tests knn_request_tests() { return TESTS; }

}  // namespace lowfold::tests
