// Random numbers, frames, distances and fingerprints.
#include <algorithm>
#include <array>
#include <utility>

#include "data.hpp"
#include "distance.hpp"
#include "duplicates.hpp"
#include "frame.hpp"
#include "harness.hpp"

namespace lowfold::tests {
namespace {

constexpr Metric METRICS[] = {Metric::euclidean, Metric::sqeuclidean, Metric::cosine, Metric::manhattan,
                              Metric::chebyshev};

void philox_gives_the_published_answers() {
    // From the known-answer file of the Random123 library.
    using Block = std::array<std::uint32_t, 4>;
    constexpr std::uint32_t ONES = 0xffffffff;
    static_assert(philox({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    static_assert(philox({ONES, ONES, ONES, ONES}, {ONES, ONES}) ==
                  Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    static_assert(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
                  Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
    volatile std::uint32_t zero = 0;  // and at run time
    expect(philox({zero, zero, zero, zero}, {zero, zero}) == philox({0, 0, 0, 0}, {0, 0}), "at run time");
}

void random_bits_depend_on_all_of_seed_stream_and_item() {
    constexpr std::uint64_t HIGH = std::uint64_t{1} << 40;
    static_assert(random_bits(0, 0, 0) == 0xe169c58d6627e8d5);
    std::vector<std::uint64_t> seen;
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, HIGH})
        for (const std::uint64_t stream : {std::uint64_t{0}, std::uint64_t{1}, HIGH})
            for (const std::uint64_t item : {std::uint64_t{0}, std::uint64_t{1}, HIGH})
                seen.push_back(random_bits(seed, stream, item));
    std::sort(seen.begin(), seen.end());
    expect(std::adjacent_find(seen.begin(), seen.end()) == seen.end(), "27 different numbers");
}

template <class T>
void means_are_those_of_a_plain_sum() {
    const std::size_t sizes[] = {1, 2, ROWS_PER_SUM - 1, ROWS_PER_SUM, ROWS_PER_SUM + 1, 3 * ROWS_PER_SUM + 5};
    for (const std::size_t n : sizes) {
        const auto X = make_data<T>(Shape::uncentred, n, 3);
        const auto mean = column_means(Context{1, {}}, X.view());
        for (std::size_t p = 0; p < X.columns; ++p) {
            long double sum = 0;
            for (std::size_t i = 0; i < n; ++i) sum += X.row(i)[p];
            const auto wanted = static_cast<double>(sum / static_cast<long double>(n));
            // One rounding for each addition, relative to sums of about n * 1e6.
            expect_close(mean[p], wanted, 1e6 * static_cast<double>(n) * 0x1p-53, text("mean of ", n, " rows"));
        }
        for (const int threads : {2, 3, 8})
            expect(column_means(Context{threads, {}}, X.view()) == mean, text("same bits on ", threads, " threads"));
    }
}

template <class T>
void frame_is_centred_with_its_largest_coordinate_between_1_and_2() {
    for (const Shape shape : SHAPES) {
        const auto X = make_data<T>(shape, 500, 7);
        const Frame frame = find_frame(Context{2, {}}, X.view());
        int exponent;
        expect_equal(std::frexp(frame.scale, &exponent), 0.5, text("mantissa of the scale of ", name(shape), " data"));
        std::vector<float> moved(X.columns);
        std::vector<double> sum(X.columns);
        double largest = 0;
        for (std::size_t i = 0; i < X.rows; ++i) {
            frame.read(X.row(i), moved.data());
            for (std::size_t p = 0; p < X.columns; ++p) {
                largest = std::max(largest, std::abs(double{moved[p]}));
                sum[p] += moved[p];
            }
        }
        expect(largest >= 1 && largest <= 2, text("largest coordinate of ", name(shape), " data: ", largest));
        const auto mean = column_means(Context{2, {}}, X.view());
        if (frame.mean == mean) {  // coordinates up to 2, each rounded to float32
            for (const double s : sum) expect_close(s / 500, 0, 0x1p-22, text("mean of ", name(shape), " data"));
        } else {
            const auto rows = typical_rows(X.view());
            expect(typical_size(rows, frame.mean) < 0.25 * typical_size(rows, mean),
                   text("most ", name(shape), " rows are nearer to the medians than to the mean"));
        }
        expect(find_frame(Context{1, {}}, X.view()).scale == frame.scale, "the same on one thread");
    }
}

template <class T>
void frame_is_around_most_points_whatever_the_others_are() {
    auto X = make_data<T>(Shape::random, 4000, 5);
    const Frame plain = find_frame(Context{2, {}}, X.view());
    expect(plain.mean == column_means(Context{2, {}}, X.view()), "the mean, where there are no outliers");
    for (std::size_t i = 0; i < X.rows; i += 100)
        for (std::size_t p = 0; p < X.columns; ++p) X.row(i)[p] = static_cast<T>(1e6);
    const Frame frame = find_frame(Context{2, {}}, X.view());
    for (const double c : frame.mean) expect(std::abs(c) < 1, text("centre at ", c, ", the mean is at 10,000"));
    expect(find_frame(Context{3, {}}, X.view()).mean == frame.mean, "the same on three threads");
    X.row(7)[0] = static_cast<T>(1e16);  // one squared would leave nothing of the others' squares
    const Frame beyond = find_frame(Context{2, {}}, X.view());
    expect(beyond.scale > plain.scale / 8 && beyond.scale < plain.scale * 8, text("most are ", beyond.scale, " times"));
}

template <class T>
void the_largest_entry_is_that_of_a_plain_loop() {
    for (const std::size_t columns : {1, 2, 7, 8, 9, 16, 31, 70})
        for (const std::size_t rows : {std::size_t{0}, std::size_t{1}, ROWS_PER_SUM, 2 * ROWS_PER_SUM + 3}) {
            const auto X = make_data<T>(Shape::random, rows, columns);
            std::vector<double> mean(columns);
            for (std::size_t p = 0; p < columns; ++p) mean[p] = 0.1 * static_cast<double>(p) - 1;
            T wanted = 0;
            for (std::size_t i = 0; i < rows; ++i)
                for (std::size_t p = 0; p < columns; ++p)
                    wanted = std::max(wanted, std::abs(X.row(i)[p] - static_cast<T>(mean[p])));
            for (const int threads : {1, 2, 3, 8})
                expect_equal(largest_entry(Context{threads, {}}, X.view(), mean.data()), double{wanted},
                             text("largest of ", rows, " x ", columns));
        }
}

template <class T>
void the_largest_entry_is_not_a_number_if_any_is_not_finite() {
    constexpr std::size_t COLUMNS = 37, ROWS = 2 * ROWS_PER_SUM + 5;
    const std::vector<double> mean(COLUMNS);
    auto X = make_data<T>(Shape::random, ROWS, COLUMNS);
    constexpr T INFINITE = std::numeric_limits<T>::infinity();
    for (const T bad : {std::numeric_limits<T>::quiet_NaN(), INFINITE, -INFINITE})
        for (const std::size_t row : {std::size_t{0}, std::size_t{1}, ROWS_PER_SUM - 1, ROWS_PER_SUM, ROWS - 1})
            for (const std::size_t column : {0, 1, 15, 16, 31, 32, 36}) {
                const T before = std::exchange(X.row(row)[column], bad);
                for (const int threads : {1, 3})
                    expect(std::isnan(largest_entry(Context{threads, {}}, X.view(), mean.data())),
                           text(bad, " at ", row, ", ", column));
                X.row(row)[column] = before;
            }
    expect(std::isfinite(largest_entry(Context{1, {}}, X.view(), mean.data())), "finite without it");
}

template <class T>
void frame_of_constant_data_moves_all_points_to_one_place() {
    for (const double value : {0.0, 1.0, 0.1, -3e7, 1e-30}) {
        Data<T> X(777, 3);
        std::fill(X.values.begin(), X.values.end(), static_cast<T>(value));
        const Frame frame = find_frame(Context{2, {}}, X.view());
        float first[3], moved[3];
        frame.read(X.row(0), first);
        for (std::size_t i = 0; i < X.rows; ++i) {
            frame.read(X.row(i), moved);
            expect(std::equal(first, first + 3, moved), "one place");
        }
        for (const float x : first) expect(std::abs(x) <= 2, text("near the origin: ", x));
    }
}

/// The formula as it stands, in long double.
template <class T>
double plain_distance(Metric metric, const T* x, const T* y, std::size_t dimensions) {
    long double squares = 0, sum = 0, largest = 0;
    for (std::size_t p = 0; p < dimensions; ++p) {
        const long double difference = std::abs(static_cast<long double>(x[p]) - y[p]);
        squares += difference * difference;
        sum += difference;
        largest = std::max(largest, difference);
    }
    if (metric == Metric::manhattan) return static_cast<double>(sum);
    if (metric == Metric::chebyshev) return static_cast<double>(largest);
    if (metric == Metric::euclidean) return static_cast<double>(std::sqrt(squares));
    return static_cast<double>(metric == Metric::cosine ? squares / 2 : squares);
}

/// In T, in the order that distance.hpp promises: lanes p mod WIDTH, then halves of the lanes.
template <class T>
T ordered_distance(Metric metric, const T* x, const T* y, std::size_t dimensions) {
    const auto join = [&](T a, T b) { return metric == Metric::chebyshev ? std::max(a, b) : a + b; };
    std::vector<T> lanes(WIDTH<T>);
    for (std::size_t p = 0; p < dimensions; ++p) {
        const T difference = std::abs(x[p] - y[p]);
        const bool linear = metric == Metric::manhattan || metric == Metric::chebyshev;
        lanes[p % WIDTH<T>] = join(lanes[p % WIDTH<T>], linear ? difference : difference * difference);
    }
    for (std::size_t half = WIDTH<T> / 2; half > 0; half /= 2)
        for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] = join(lanes[lane], lanes[lane + half]);
    if (metric == Metric::euclidean) return std::sqrt(lanes[0]);
    return metric == Metric::cosine ? lanes[0] / 2 : lanes[0];
}

template <class T>
void distances_are_those_of_a_plain_loop() {
    for (const Shape shape : {Shape::random, Shape::uncentred, Shape::outlier, Shape::tiny})
        for (const std::size_t dimensions : {1, 2, 7, 8, 9, 15, 16, 17, 33, 100}) {
            const auto data = make_data<T>(shape, 6, padded<T>(dimensions));
            auto X = data;
            for (std::size_t i = 0; i < X.rows; ++i) std::fill(X.row(i) + dimensions, X.row(i) + X.columns, T{});
            for (const Metric metric : METRICS)
                for (std::size_t i = 0; i < X.rows; ++i)
                    for (std::size_t j = 0; j < X.rows; ++j) {
                        const T found = distance(metric, X.row(i), X.row(j), X.columns);
                        const double wanted = plain_distance(metric, X.row(i), X.row(j), dimensions);
                        // A difference, a product and about dimensions / WIDTH + log2(WIDTH) sums of one rounding.
                        const double steps = static_cast<double>(dimensions) / WIDTH<T> + 8;
                        expect_close(found, wanted, steps * std::numeric_limits<T>::epsilon() * wanted,
                                     text("distance in ", dimensions, " dimensions of ", name(shape), " data"));
                        expect_equal(found, ordered_distance(metric, X.row(i), X.row(j), dimensions),
                                     "distance in the promised order");
                        expect(!std::signbit(found), "no distance is negative, not even zero");
                    }
        }
}

template <class T>
void distance_of_zeros_of_either_sign_is_plus_zero() {
    for (std::size_t p = 0; p < 2 * WIDTH<T>; ++p) {
        std::vector<T> x(2 * WIDTH<T>), y(2 * WIDTH<T>);
        x[p] = T{-0.0};
        for (const Metric metric : METRICS)
            for (const T found :
                 {distance(metric, x.data(), y.data(), x.size()), distance(metric, y.data(), x.data(), x.size())})
                expect(found == 0 && !std::signbit(found), text("metric ", static_cast<int>(metric), ", place ", p));
    }
}

void search_radius_is_the_euclidean_length_of_the_inner_product_metrics() {
    expect_equal(search_radius(Metric::euclidean, 3.0), 3.0f, "euclidean");
    expect_equal(search_radius(Metric::sqeuclidean, 9.0), 3.0f, "sqeuclidean");
    expect_equal(search_radius(Metric::cosine, 2.0), 2.0f, "cosine");
    expect_equal(search_radius(Metric::manhattan, 3.0), 3.0f, "manhattan");
    expect_equal(search_radius(Metric::chebyshev, 3.0), 3.0f, "chebyshev");
}

template <class T>
void fingerprints_are_equal_for_equal_rows_only() {
    auto X = make_data<T>(Shape::random, 5000, 6);
    std::copy_n(X.row(10), X.columns, X.row(4999));
    std::fill_n(X.row(20), X.columns, T{0});
    std::fill_n(X.row(21), X.columns, T{-0.0});
    std::vector<std::uint64_t> found(X.rows), again(X.rows);
    fingerprints(Context{3, {}}, X.view(), found.data());
    fingerprints(Context{1, {}}, X.view(), again.data());
    expect(found == again, "the same on any number of threads");
    expect(found[10] == found[4999] && found[20] == found[21], "equal rows, 0 and -0");
    std::sort(found.begin(), found.end());
    expect_equal(std::unique(found.begin(), found.end()) - found.begin(), 4998, "different fingerprints");
}

constexpr Test TESTS[] = {
    {"random: Philox gives the published answers", philox_gives_the_published_answers},
    {"random: bits depend on all of seed, stream and item", random_bits_depend_on_all_of_seed_stream_and_item},
    {"frame: means are those of a plain sum (float)", means_are_those_of_a_plain_sum<float>},
    {"frame: means are those of a plain sum (double)", means_are_those_of_a_plain_sum<double>},
    {"frame: it is centred, its largest coordinate between 1 and 2 (float)",
     frame_is_centred_with_its_largest_coordinate_between_1_and_2<float>},
    {"frame: it is centred, its largest coordinate between 1 and 2 (double)",
     frame_is_centred_with_its_largest_coordinate_between_1_and_2<double>},
    {"frame: constant data move to one place (float)", frame_of_constant_data_moves_all_points_to_one_place<float>},
    {"frame: constant data move to one place (double)", frame_of_constant_data_moves_all_points_to_one_place<double>},
    {"frame: around most points whatever the others are (float)",
     frame_is_around_most_points_whatever_the_others_are<float>},
    {"frame: around most points whatever the others are (double)",
     frame_is_around_most_points_whatever_the_others_are<double>},
    {"frame: the largest entry is that of a plain loop (float)", the_largest_entry_is_that_of_a_plain_loop<float>},
    {"frame: the largest entry is that of a plain loop (double)", the_largest_entry_is_that_of_a_plain_loop<double>},
    {"frame: the largest entry is not a number if any is not finite (float)",
     the_largest_entry_is_not_a_number_if_any_is_not_finite<float>},
    {"frame: the largest entry is not a number if any is not finite (double)",
     the_largest_entry_is_not_a_number_if_any_is_not_finite<double>},
    {"distance: all metrics are those of a plain loop (float)", distances_are_those_of_a_plain_loop<float>},
    {"distance: all metrics are those of a plain loop (double)", distances_are_those_of_a_plain_loop<double>},
    {"distance: zeros of either sign are +0 apart (float)", distance_of_zeros_of_either_sign_is_plus_zero<float>},
    {"distance: zeros of either sign are +0 apart (double)", distance_of_zeros_of_either_sign_is_plus_zero<double>},
    {"distance: the search radius is the Euclidean length of the inner-product metrics",
     search_radius_is_the_euclidean_length_of_the_inner_product_metrics},
    {"duplicates: fingerprints are equal for equal rows only (float)",
     fingerprints_are_equal_for_equal_rows_only<float>},
    {"duplicates: fingerprints are equal for equal rows only (double)",
     fingerprints_are_equal_for_equal_rows_only<double>},
};

}  // namespace

Tests number_tests() { return TESTS; }

}  // namespace lowfold::tests
