// What the tests of the neighbour search share: every kind of index, and answers to compare.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "data.hpp"
#include "harness.hpp"
#include "knn.hpp"

namespace lowfold::tests {

/// An engine for a metric.
struct Kind {
    const char* name;
    Metric metric;
    Scores scores = Scores::products;
};

inline constexpr Kind KINDS[] = {
    {"euclidean", Metric::euclidean},
    {"sqeuclidean", Metric::sqeuclidean},
    {"cosine", Metric::cosine},
    {"manhattan", Metric::manhattan},
    {"chebyshev", Metric::chebyshev},
    {"euclidean by differences", Metric::euclidean, Scores::differences},
    {"sqeuclidean by differences", Metric::sqeuclidean, Scores::differences},
    {"cosine by differences", Metric::cosine, Scores::differences},
#if defined(__AVX512VNNI__)
    {"euclidean in bytes", Metric::euclidean, Scores::bytes},
    {"sqeuclidean in bytes", Metric::sqeuclidean, Scores::bytes},
    {"cosine in bytes", Metric::cosine, Scores::bytes},
#endif
};

/// Compiled once for each T (knn_float.cpp, knn_double.cpp): the search takes long to compile.
template <class T>
std::unique_ptr<Index<T>> make_index(const Context& context, MatrixView<const T> X, const Kind& kind, std::size_t cells,
                                     std::uint64_t seed = 7);

/// Points that suit the metric: rows of length 1 for the cosine.
template <class T>
Data<T> make_points(const Kind& kind, Shape shape, std::size_t rows, std::size_t columns, std::uint64_t seed = 1) {
    auto data = make_data<T>(shape, rows, columns, seed);
    if (kind.metric == Metric::cosine) normalize(data);
    return data;
}

template <class T>
struct Answer {
    std::size_t rows, k;
    std::vector<std::int32_t> indices;
    std::vector<T> distances;
    std::vector<float> needed;

    Answer(std::size_t rows, std::size_t k)
        : rows(rows), k(k), indices(rows * k, -1), distances(rows * k, T{-1}), needed(rows * k, -1) {}

    bool same_bits(const Answer& other) const {
        return indices == other.indices &&
               std::memcmp(distances.data(), other.distances.data(), distances.size() * sizeof(T)) == 0;
    }
};

/// What to search for, without the pointers.
template <class T>
struct Question {
    std::size_t k = 1;
    const Data<T>* queries = nullptr;
    std::optional<std::vector<std::int32_t>> subset = {};
    float alpha = 1, caution = 1;
    int threads = 2;
    bool needed = false;
};

template <class T>
Answer<T> search(const Index<T>& index, std::size_t points, const Question<T>& question) {
    const std::size_t rows = question.queries  ? question.queries->rows
                             : question.subset ? question.subset->size()
                                               : points;
    Answer<T> answer(rows, question.k);
    Request<T> request;
    if (question.queries) request.queries = question.queries->view();
    if (question.subset) request.subset = question.subset->data();
    request.count = rows;
    request.k = question.k;
    request.alpha = question.alpha;
    request.caution = question.caution;
    request.indices = answer.indices.data();
    request.distances = answer.distances.data();
    if (question.needed) request.needed = answer.needed.data();
    index.search(Context{question.threads, {}}, request);
    return answer;
}

/// The first k of all by (distance, index), of the points themselves or of the queries.
template <class T>
Answer<T> brute_force(Metric metric, const Data<T>& points, std::size_t k, const Data<T>* queries = nullptr) {
    const auto pad = [](const Data<T>& data) {
        Data<T> out(data.rows, padded<T>(data.columns));
        for (std::size_t i = 0; i < data.rows; ++i) std::copy_n(data.row(i), data.columns, out.row(i));
        return out;
    };
    const auto X = pad(points), Q = queries ? pad(*queries) : X;
    Answer<T> answer(Q.rows, k);
    std::vector<std::pair<T, std::int32_t>> ranked;
    for (std::size_t i = 0; i < Q.rows; ++i) {
        ranked.clear();
        for (std::size_t j = 0; j < X.rows; ++j)
            if (queries || i != j)
                ranked.emplace_back(distance(metric, Q.row(i), X.row(j), X.columns), static_cast<std::int32_t>(j));
        std::partial_sort(ranked.begin(), ranked.begin() + k, ranked.end());
        for (std::size_t j = 0; j < k; ++j) {
            answer.distances[i * k + j] = ranked[j].first;
            answer.indices[i * k + j] = ranked[j].second;
        }
    }
    return answer;
}

/// The answer is the beginning of rows `of` (or all) of the truth.
template <class T>
void expect_exact(const Answer<T>& answer, const Answer<T>& truth, const std::string& what,
                  const std::vector<std::int32_t>* of = nullptr, Where where = Where::current()) {
    for (std::size_t i = 0; i < answer.rows; ++i)
        for (std::size_t j = 0; j < answer.k; ++j) {
            const std::size_t at = i * answer.k + j, wanted = (of ? (*of)[i] : i) * truth.k + j;
            if (answer.indices[at] == truth.indices[wanted] && answer.distances[at] == truth.distances[wanted] &&
                !std::signbit(answer.distances[at]))
                continue;
            fail(text(what, ": neighbour ", j, " of row ", i, " is ", answer.indices[at], " at ", answer.distances[at],
                      ", not ", truth.indices[wanted], " at ", truth.distances[wanted]),
                 where);
        }
}

/// The share of the truth's first k neighbours that the answer has.
template <class T>
double recall(const Answer<T>& answer, const Answer<T>& truth, const std::vector<std::int32_t>* of = nullptr) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < answer.rows; ++i) {
        const auto row = answer.indices.begin() + i * answer.k;
        const auto wanted = truth.indices.begin() + (of ? (*of)[i] : i) * truth.k;
        for (std::size_t j = 0; j < answer.k; ++j) found += std::find(row, row + answer.k, wanted[j]) != row + answer.k;
    }
    return static_cast<double>(found) / static_cast<double>(answer.indices.size());
}

}  // namespace lowfold::tests
