// Disparities, against their definition: what is nearest, by the formula of means over all stretches.
#include <numeric>

#include "data.hpp"
#include "disparities.hpp"
#include "harness.hpp"

namespace lowfold::tests {
namespace {

constexpr int THREAD_COUNTS[] = {1, 2, 3, 8};

/// All pairs of n points in an order by lot, in groups of up to `longest` equal dissimilarities.
struct Order {
    std::vector<std::int32_t> first, second;
    std::vector<std::int64_t> begin;
    std::vector<double> weights;

    Order(std::size_t n, std::size_t longest, std::uint64_t seed) {
        Dice dice(seed);
        for (std::int32_t i = 0; i < static_cast<std::int32_t>(n); ++i)
            for (std::int32_t j = i + 1; j < static_cast<std::int32_t>(n); ++j) {
                first.push_back(i);
                second.push_back(j);
                weights.push_back(0.1 + dice.uniform());
            }
        for (std::size_t k = first.size(); k > 1; --k) {
            const std::size_t other = dice.below(k);
            std::swap(first[k - 1], first[other]);
            std::swap(second[k - 1], second[other]);
        }
        for (std::size_t at = 0; at < first.size(); at += 1 + dice.below(longest))
            begin.push_back(static_cast<std::int64_t>(at));
    }

    OrderedPairs view(bool weighted) const {
        return {first.data(), second.data(), begin.data(),
                begin.size(), first.size(),  weighted ? weights.data() : nullptr};
    }
};

template <class T>
struct Found {
    std::vector<double> fitted;
    std::vector<T> targets;
    DisparitySums sums;

    Found(const Data<T>& Y, const OrderedPairs& pairs, Ties ties, int threads)
        : fitted(pairs.count), targets(PackedRows<T>::size(Y.rows), T{-1}) {
        const Disparities<T> disparities(Y.view(), pairs, ties);
        sums = disparities.run(Context{threads, {}}, fitted.data(), {targets.data(), Y.rows});
    }
};

template <class T>
std::vector<double> lengths(const Data<T>& Y, const OrderedPairs& pairs) {
    std::vector<double> out(pairs.count);
    for (std::size_t k = 0; k < pairs.count; ++k) {
        double square = 0;
        for (std::size_t p = 0; p < Y.columns; ++p)
            square +=
                std::pow(double(Y.row(std::size_t(pairs.first[k]))[p]) - Y.row(std::size_t(pairs.second[k]))[p], 2);
        out[k] = std::sqrt(square);
    }
    return out;
}

/// f_k = max over a <= k of the least over b >= k of the mean of values a .. b (Barlow and others 1972).
std::vector<double> nearest_rising(const std::vector<double>& values, const std::vector<double>& weights) {
    const std::size_t n = values.size();
    std::vector<double> out(n, -std::numeric_limits<double>::infinity()), least(n);
    for (std::size_t a = 0; a < n; ++a) {
        double sum = 0, mass = 0, low = std::numeric_limits<double>::infinity();
        for (std::size_t b = a; b < n; ++b) {
            sum += weights[b] * values[b];
            mass += weights[b];
            least[b] = sum / mass;
        }
        for (std::size_t k = n; k-- > a;) {
            low = std::min(low, least[k]);
            out[k] = std::max(out[k], low);
        }
    }
    return out;
}

/// By the formula, with ties sorted by distance, or as their means.
template <class T>
std::vector<double> by_definition(const Data<T>& Y, const OrderedPairs& pairs, Ties ties) {
    const std::vector<double> d = lengths(Y, pairs);
    std::vector<std::size_t> order(pairs.count), group(pairs.count);
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t g = 0; g < pairs.groups; ++g)
        std::fill(group.begin() + long(pairs.start(g)), group.begin() + long(pairs.start(g + 1)), g);
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return std::pair(group[a], d[a]) < std::pair(group[b], d[b]); });
    std::vector<double> values, weights, out(pairs.count);
    if (ties == Ties::primary) {
        for (const std::size_t k : order) values.push_back(d[k]), weights.push_back(pairs.weight(k));
        const auto fitted = nearest_rising(values, weights);
        for (std::size_t k = 0; k < pairs.count; ++k) out[order[k]] = fitted[k];
        return out;
    }
    values.resize(pairs.groups), weights.resize(pairs.groups);
    for (std::size_t k = 0; k < pairs.count; ++k) {
        weights[group[k]] += pairs.weight(k);
        values[group[k]] += pairs.weight(k) * d[k];
    }
    for (std::size_t g = 0; g < pairs.groups; ++g) values[g] /= weights[g];
    const auto fitted = nearest_rising(values, weights);
    for (std::size_t k = 0; k < pairs.count; ++k) out[k] = fitted[group[k]];
    return out;
}

template <class T>
void disparities_are_the_nearest_numbers_that_rise() {
    const double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-12;
    for (const std::size_t n : {std::size_t{2}, std::size_t{3}, std::size_t{40}})
        for (const std::size_t longest : {std::size_t{1}, std::size_t{7}, std::size_t{2000}})
            for (const Ties ties : {Ties::primary, Ties::secondary})
                for (const bool weighted : {false, true}) {
                    const auto Y = make_data<T>(Shape::random, n, 3, n);
                    const Order order(n, longest, longest);
                    const auto pairs = order.view(weighted);
                    const auto wanted = by_definition(Y, pairs, ties), d = lengths(Y, pairs);
                    const Found<T> found(Y, pairs, ties, 1);
                    DisparitySums sums;
                    for (std::size_t k = 0; k < pairs.count; ++k) {
                        sums.square += pairs.weight(k) * d[k] * d[k];
                        sums.length += pairs.weight(k) * wanted[k] * wanted[k];
                        sums.misfit += pairs.weight(k) * std::pow(d[k] - wanted[k], 2);
                    }
                    expect_close(found.sums.square, sums.square, tolerance * sums.square, "sum of squares");
                    expect_close(found.sums.length, sums.length, tolerance * sums.square, "squares of disparities");
                    expect_close(found.sums.misfit, sums.misfit, tolerance * sums.square, "misfit");
                    const PackedRows<const T> targets{found.targets.data(), n};
                    for (std::size_t k = 0; k < pairs.count; ++k) {
                        expect_close(found.fitted[k], wanted[k] * sums.square / sums.length, 20 * tolerance,
                                     text("disparity ", k, " of ", pairs.count, ", ties up to ", longest));
                        expect(targets.row(std::size_t(order.first[k]))[order.second[k]] == T(found.fitted[k]),
                               "target");
                    }
                    expect(found.targets[0] == T{-1}, "what is no pair stays as it is");
                }
}

template <class T>
void threads_and_chunks_change_no_bit_of_the_disparities() {
    const auto Y = make_data<T>(Shape::random, 300, 2, 5);  // 44,850 pairs, several chunks
    for (const std::size_t longest : {std::size_t{1}, std::size_t{5}, std::size_t{30000}})
        for (const Ties ties : {Ties::primary, Ties::secondary}) {
            const Order order(300, longest, 2);
            const auto pairs = order.view(true);
            const Found<T> first(Y, pairs, ties, 1);
            const auto& f = first.fitted;
            for (std::size_t g = 1; g < pairs.groups; ++g) {
                const double before = *std::max_element(&f[pairs.start(g - 1)], &f[pairs.start(g)]);
                const double after = *std::min_element(&f[pairs.start(g)], f.data() + pairs.start(g + 1));
                expect(before <= after, text("group ", g, " begins below the one before"));
            }
            // What is nearest keeps the mean, and is square to what is left.
            const auto d = lengths(Y, pairs);
            double left = 0;
            for (std::size_t k = 0; k < pairs.count; ++k)
                left += pairs.weight(k) * (d[k] - f[k] * first.sums.length / first.sums.square);
            expect_close(left, 0, 1e-4 * static_cast<double>(pairs.count), "the mean");
            expect_close(first.sums.length + first.sums.misfit, first.sums.square, 1e-5 * first.sums.square,
                         "Pythagoras");
            for (const int threads : THREAD_COUNTS) {
                const Found<T> again(Y, pairs, ties, threads);
                expect(again.fitted == f && again.targets == first.targets, text(threads, " threads"));
                expect(again.sums.misfit == first.sums.misfit, "misfit");
            }
        }
}

void points_in_one_place_have_no_disparities() {
    const Data<double> Y(5, 2);
    const Order order(5, 3, 1);
    const Found<double> found(Y, order.view(false), Ties::primary, 2);
    expect(found.sums.square == 0 && found.sums.length == 0, "sums");
}

void long_ties_hear_that_they_are_to_stop() {
    const auto Y = make_data<float>(Shape::random, 3000, 2, 2);
    Order order(3000, 1, 1);
    order.begin = {0};
    std::vector<double> fitted(order.first.size());
    std::vector<float> targets(PackedRows<float>::size(3000));
    const Disparities<float> disparities(Y.view(), order.view(false), Ties::primary);
    try {
        disparities.run(Context{2, [] { return true; }}, fitted.data(), {targets.data(), 3000});
    } catch (const Interrupted&) {
        return;
    }
    fail("the regression went on to its end");
}

constexpr Test TESTS[] = {
    {"disparities are the nearest numbers that rise, float", disparities_are_the_nearest_numbers_that_rise<float>},
    {"disparities are the nearest numbers that rise, double", disparities_are_the_nearest_numbers_that_rise<double>},
    {"threads change no bit of the disparities, float", threads_and_chunks_change_no_bit_of_the_disparities<float>},
    {"threads change no bit of the disparities, double", threads_and_chunks_change_no_bit_of_the_disparities<double>},
    {"points in one place have no disparities", points_in_one_place_have_no_disparities},
    {"long ties hear that they are to stop", long_ties_hear_that_they_are_to_stop},
};

}  // namespace

Tests disparity_tests() { return TESTS; }

}  // namespace lowfold::tests
