// The stress, its gradient and new points, against sums over pairs written out.
#include "data.hpp"
#include "harness.hpp"
#include "stress_placing.hpp"

namespace lowfold::tests {
namespace {

constexpr int THREAD_COUNTS[] = {1, 2, 3, 8};

template <class T>
Data<T> distances_of(const Data<T>& X) {
    Data<T> D(X.rows, X.rows);
    cross_distances(Context{2, {}}, X.view(), X.view(), D.values.data());
    return D;
}

template <class T>
struct Found {
    std::vector<double> gradient, residuals;
    double size;
    bool operator==(const Found&) const = default;
};

template <class T, int D, class Law, class Deltas, class Weights>
Found<T> pass(const Data<T>& Y, const Law& law, const Deltas& deltas, const Weights& weights, int threads) {
    Found<T> out{std::vector<double>(Y.values.size()), std::vector<double>(Y.rows), 0};
    StressPass<T, D, Law> stress(Y.view(), law);
    out.size = stress.run(Context{threads, {}}, deltas, weights, out.gradient.data(), out.residuals.data());
    return out;
}

/// Over all pairs, in double.
template <class T, Weighting W>
Found<double> by_definition(const Data<T>& D, const Data<T>& given, const Data<T>& Y, double inverse_at_zero) {
    Found<double> out{std::vector<double>(Y.values.size()), std::vector<double>(Y.rows), 0};
    for (std::size_t i = 0; i < Y.rows; ++i)
        for (std::size_t j = 0; j < Y.rows; ++j) {
            const double delta = D.row(i)[j];
            if (i == j || !(delta >= 0)) continue;
            double square = 0, w = 1;
            for (std::size_t p = 0; p < Y.columns; ++p)
                square += std::pow(double(Y.row(i)[p]) - double(Y.row(j)[p]), 2);
            if (W == Weighting::inverse) w = 1 / (delta > 0 ? delta : inverse_at_zero);
            if (W == Weighting::given) w = given.row(i)[j];
            const double d = std::sqrt(square);
            out.residuals[i] += w * (d - delta) * (d - delta);
            out.size += w * square / 2;
            for (std::size_t p = 0; p < Y.columns && d > 0; ++p)
                out.gradient[i * Y.columns + p] += w * (1 - delta / d) * (double(Y.row(i)[p]) - double(Y.row(j)[p]));
        }
    return out;
}

template <class T, int D, Weighting W>
void a_pass_is_the_sum_over_pairs() {
    const double tolerance = sizeof(T) == 4 ? 2e-5 : 1e-12;
    for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{63}, std::size_t{65}, std::size_t{300}}) {
        const auto X = make_data<T>(Shape::duplicated, n, 5, 1), Y = make_data<T>(Shape::random, n, D ? D : 5, 2);
        auto distances = distances_of(X), weights = make_data<T>(Shape::random, n, n, 3);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j <= i; ++j) {
                weights.row(i)[j] = weights.row(j)[i] = std::abs(weights.row(i)[j]);
                if ((i + j) % 7 == 3) distances.row(i)[j] = distances.row(j)[i] = std::numeric_limits<T>::quiet_NaN();
            }
        const StressLaw<T, W> law{T(0.5)};
        const KeptPairs<T, MatrixView<const T>> deltas(distances.view(), n), given(weights.view(), n);
        const auto wanted = by_definition<T, W>(distances, weights, Y, 0.5);
        const auto first = pass<T, D>(Y, law, deltas, given, 1);
        double scale = 1e-30;
        for (const double value : wanted.residuals) scale = std::max(scale, value);
        for (std::size_t i = 0; i < n; ++i)
            expect_close(first.residuals[i], wanted.residuals[i], tolerance * scale, text("residual ", i));
        for (std::size_t i = 0; i < wanted.gradient.size(); ++i)
            expect_close(first.gradient[i], wanted.gradient[i], tolerance * scale, text("gradient ", i, " of ", n));
        expect_close(first.size, wanted.size, tolerance * std::max(wanted.size, 1.0), "size");
        for (const int threads : THREAD_COUNTS)
            expect(pass<T, D>(Y, law, deltas, given, threads) == first, text(threads, " threads"));
    }
}

template <class T>
void measured_and_kept_pairs_have_the_same_bits() {
    constexpr std::size_t N = 2200;  // more columns than are summed at once
    const auto X = make_data<T>(Shape::clustered, N, 9, 1), Y = make_data<T>(Shape::random, N, 2, 2);
    const auto D = distances_of(X);
    std::vector<T> strips;
    for (std::size_t first = 0; first < N; first += SIDE)
        for (std::size_t i = first; i < std::min(first + SIDE, N); ++i)
            strips.insert(strips.end(), D.row(i) + first, D.row(i) + N);
    expect_equal(strips.size(), PackedRows<T>::size(N), "packed entries");
    const StressLaw<T, Weighting::unit> law{T(1)};
    const KeptPairs<T, MatrixView<const T>> whole(D.view(), N);
    const KeptPairs<T, PackedRows<T>> packed({strips.data(), N}, N);
    const MeasuredPairs<T> measured(X.view());
    const auto first = pass<T, 2>(Y, law, whole, whole, 1);
    expect(pass<T, 2>(Y, law, packed, packed, 3) == first, "packed");
    expect(pass<T, 2>(Y, law, measured, measured, 2) == first, "measured");
}

template <class T>
void equal_rows_have_distance_zero_and_rows_stand_for_themselves() {
    const auto A = make_data<T>(Shape::uncentred, 70, 13, 1);
    auto B = make_data<T>(Shape::uncentred, 1100, 13, 2);
    std::copy_n(A.row(3), 13, B.row(1050));
    Data<T> together(70, 1100), alone(1, 1100);
    cross_distances(Context{3, {}}, A.view(), B.view(), together.values.data());
    expect(together.row(3)[1050] == 0, "equal rows");
    for (std::size_t i = 0; i < 70; ++i) {
        cross_distances(Context{1, {}}, MatrixView<const T>{A.row(i), 1, 13}, B.view(), alone.values.data());
        expect(std::equal(alone.row(0), alone.row(0) + 1100, together.row(i)), text("row ", i, " by itself"));
    }
}

template <class T>
void a_new_point_with_true_distances_finds_its_place() {
    const auto Y = make_data<T>(Shape::random, 90, 3, 1);
    const auto places = make_data<T>(Shape::random, 20, 3, 2);
    Data<T> deltas(20, 90);
    cross_distances(Context{1, {}}, places.view(), Y.view(), deltas.values.data());
    for (std::size_t i = 0; i < 20; ++i) deltas.row(i)[i] = std::numeric_limits<T>::quiet_NaN();
    const StressLaw<T, Weighting::inverse> law{T(0.1)};
    const FixedPoints<T, StressLaw<T, Weighting::inverse>> fixed(Y.view(), law);
    std::vector<double> first;
    for (const int threads : THREAD_COUNTS) {
        std::vector<double> found(60, 0.1), left(20);
        place_by_stress(Context{threads, {}}, fixed, deltas.view(), static_cast<const T*>(nullptr), T(0.1),
                        {found.data(), 20, 3}, left.data());
        if (first.empty()) first = found;
        expect(found == first, text(threads, " threads"));
    }
    for (std::size_t i = 0; i < 60; ++i)
        expect_close(first[i], places.values[i], sizeof(T) == 4 ? 1e-3 : 1e-4, text("coordinate ", i));
}

void a_pass_hears_that_it_is_to_stop() {
    const auto X = make_data<float>(Shape::random, 3000, 2000, 1), Y = make_data<float>(Shape::random, 3000, 2, 2);
    const MeasuredPairs<float> pairs(X.view());
    StressPass<float, 2, StressLaw<float, Weighting::unit>> stress(Y.view(), {1.0f});
    std::vector<double> gradient(6000), residuals(3000);
    try {
        stress.run(Context{2, [] { return true; }}, pairs, pairs, gradient.data(), residuals.data());
    } catch (const Interrupted&) {
        return;
    }
    fail("the pass went on to its end");
}

constexpr Test TESTS[] = {
    {"a pass is the sum over pairs: unit weights, float, plane",
     a_pass_is_the_sum_over_pairs<float, 2, Weighting::unit>},
    {"a pass is the sum over pairs: unit weights, double, line",
     a_pass_is_the_sum_over_pairs<double, 1, Weighting::unit>},
    {"a pass is the sum over pairs: inverse weights, float, space",
     a_pass_is_the_sum_over_pairs<float, 3, Weighting::inverse>},
    {"a pass is the sum over pairs: inverse weights, double, many dimensions",
     a_pass_is_the_sum_over_pairs<double, 0, Weighting::inverse>},
    {"a pass is the sum over pairs: given weights, float, many dimensions",
     a_pass_is_the_sum_over_pairs<float, 0, Weighting::given>},
    {"a pass is the sum over pairs: given weights, double, plane",
     a_pass_is_the_sum_over_pairs<double, 2, Weighting::given>},
    {"measured and kept pairs have the same bits, float", measured_and_kept_pairs_have_the_same_bits<float>},
    {"measured and kept pairs have the same bits, double", measured_and_kept_pairs_have_the_same_bits<double>},
    {"equal rows have distance 0, float", equal_rows_have_distance_zero_and_rows_stand_for_themselves<float>},
    {"equal rows have distance 0, double", equal_rows_have_distance_zero_and_rows_stand_for_themselves<double>},
    {"a new point finds its place, float", a_new_point_with_true_distances_finds_its_place<float>},
    {"a new point finds its place, double", a_new_point_with_true_distances_finds_its_place<double>},
    {"a pass hears that it is to stop", a_pass_hears_that_it_is_to_stop},
};

}  // namespace

Tests stress_tests() { return TESTS; }

}  // namespace lowfold::tests
