// The kernels of the force family: affinities, laws, fields, the grid, transforms, steps and new points.
#include <complex>
#include <cstring>
#include <limits>

#include "attraction.hpp"
#include "convolution.hpp"
#include "grid.hpp"
#include "joint.hpp"
#include "motion.hpp"
#include "perplexity.hpp"
#include "placing.hpp"
#include "repulsion.hpp"
#include "sparse_support.hpp"

namespace lowfold::tests {
namespace {

constexpr int THREAD_COUNTS[] = {1, 2, 3, 8};

Data<float> scattered(std::size_t rows, std::size_t columns, double size, std::uint64_t seed) {
    Dice dice(seed);
    Data<float> data(rows, columns);
    for (auto& x : data.values) x = static_cast<float>(size * dice.normal());
    return data;
}

void exponentials_and_logarithms_are_those_of_the_library() {
    using Lanes = Wide<float>;
    for (double x = -86; x < 87; x += 0.37) {
        const float e = exponential(Lanes{} + static_cast<float>(x))[3];
        expect_close(e / std::exp(static_cast<double>(static_cast<float>(x))), 1, 4e-7, text("exp ", x));
    }
    expect(exponential(Lanes{} - 1e30f)[0] < 1e-37f, "exp of a large negative number is nearly 0");
    for (double x = 1e-30; x < 1e30; x *= 1.7) {
        const double wanted = std::log(static_cast<double>(static_cast<float>(x)));
        expect_close(logarithm(Lanes{} + static_cast<float>(x))[5], wanted, 2e-7 * (1 + std::abs(wanted)),
                     text("log ", x));
    }
}

template <class Law>
void expect_law(const Law& law) {
    for (double r = 0.01; r < 20; r += 0.31) {
        const double step = 1e-6, w = law.weight(r);
        const double slope = (law.weight(r + step) - law.weight(r - step)) / (2 * step);
        expect_close(-law.slope(r, w), slope, 2e-6, text("w' at ", r));
        expect_close(law.pull(r) * w, law.slope(r, w), 1e-12, text("-w' at ", r));
        expect_close(law.cost(r), -std::log(w), 1e-12, text("-log w at ", r));
    }
}

void slope_pull_and_cost_of_each_law_follow_from_its_weight() {
    expect_law(Cauchy{});
    expect_law(Student{0.5});
    expect_law(Student{4});
    expect_law(Gaussian{});
}

void rows_of_affinities_have_the_perplexity_asked_for() {
    constexpr std::size_t ROWS = 300, K = 37;
    Dice dice(1);
    Data<double> distances(ROWS, K);
    for (std::size_t i = 0; i < ROWS; ++i) {
        const double size = std::pow(10, static_cast<double>(i % 9) - 4);
        for (std::size_t j = 0; j < K; ++j) distances.row(i)[j] = size * dice.uniform();
        std::sort(distances.row(i), distances.row(i) + K);
    }
    const double perplexity = 11;
    std::vector<float> first(ROWS * K), other(ROWS * K);
    perplexity_rows(Context{1, {}}, distances.view(), &perplexity, 1, first.data());
    for (std::size_t i = 0; i < ROWS; ++i) {
        double entropy = 0, sum = 0;
        for (std::size_t j = 0; j < K; ++j) {
            const double p = first[i * K + j];
            sum += p;
            if (p > 0) entropy -= p * std::log(p);
        }
        expect_close(sum, 1, 1e-5, "a row's sum");
        expect_close(std::exp(entropy), perplexity, 1e-3, text("the perplexity of row ", i));
    }
    for (const int threads : THREAD_COUNTS) {
        perplexity_rows(Context{threads, {}}, distances.view(), &perplexity, 1, other.data());
        expect(other == first, "the same bits on any number of threads");
    }
}

void joint_affinities_are_symmetric_and_keep_the_sum() {
    constexpr std::size_t ROWS = 900, K = 7;
    Dice dice(2);
    Data<std::int32_t> neighbors(ROWS, K);
    Data<float> P(ROWS, K);
    for (std::size_t i = 0; i < ROWS; ++i)
        for (std::size_t j = 0; j < K; ++j) {
            neighbors.row(i)[j] = static_cast<std::int32_t>((i + 1 + j * 11 + dice.below(11)) % ROWS);
            P.row(i)[j] = static_cast<float>(1 + dice.below(8));
        }
    const Context context{3, {}};
    const auto joint = JointAffinity(context, neighbors.view(), P.values.data(), ScaledSum{0.5f}).build();
    double sum = 0, given = 0;
    for (const float p : P.values) given += static_cast<double>(p);
    for (const float p : joint.values) sum += static_cast<double>(p);
    expect_equal(sum, given, "the sum of all entries");
    for (std::size_t i = 0; i < ROWS; ++i)
        for (auto at = joint.begin[i]; at < joint.begin[i + 1]; ++at) {
            const auto j = static_cast<std::size_t>(joint.columns[at]);
            expect(at == joint.begin[i] || joint.columns[at - 1] < joint.columns[at], "columns ascend");
            const auto* begin = &joint.columns[joint.begin[j]];
            const auto* end = begin + (joint.begin[j + 1] - joint.begin[j]);
            const auto* mirror = std::lower_bound(begin, end, static_cast<std::int32_t>(i));
            expect(mirror != end && *mirror == static_cast<std::int32_t>(i), "an entry has its mirror image");
            expect_equal(joint.values[mirror - joint.columns.data()], joint.values[at], "the mirror image");
        }
}

void the_plane_has_the_forces_of_any_number_of_dimensions() {
    const auto P = make_sparse<float>(70, [] {
        std::vector<Entry<float>> entries;
        Dice dice(3);
        for (std::size_t i = 0; i < 70; ++i)
            for (std::size_t j = dice.below(5); j < 70 && i % 9; j += 1 + dice.below(5))
                entries.push_back({i, j, static_cast<float>(dice.uniform())});
        return entries;
    }());
    const auto plane = scattered(70, 2, 3, 4);
    Data<float> space(70, 5);  // the same points, in a plane of a larger space
    for (std::size_t i = 0; i < 70; ++i) {
        space.row(i)[1] = plane.row(i)[0];
        space.row(i)[4] = plane.row(i)[1];
    }
    for (const int threads : THREAD_COUNTS) {
        Data<float> flat(70, 2), wide(70, 5);
        attraction(Context{threads, {}}, view(P), plane.view(), Cauchy{}, flat.values.data());
        attraction(Context{threads, {}}, view(P), space.view(), Cauchy{}, wide.values.data());
        for (std::size_t i = 0; i < 70; ++i) {
            expect_close(flat.row(i)[0], wide.row(i)[1], 1e-5, text("force on ", i));
            expect_close(flat.row(i)[1], wide.row(i)[4], 1e-5, text("force on ", i));
            expect_equal(wide.row(i)[2], 0.0f, "a force out of the plane");
        }
        const double cost = attraction_cost(Context{threads, {}}, view(P), plane.view(), Cauchy{});
        expect_close(cost, attraction_cost(Context{1, {}}, view(P), space.view(), Cauchy{}), 1e-5 * cost, "the cost");
    }
}

void transforms_are_those_of_the_definition() {
    for (const std::size_t n : {1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 30, 50, 60, 81, 125, 128}) {
        Dice dice(n);
        Buffer<Waves> x(n), y(n);
        std::vector<std::complex<double>> lane(n);
        for (std::size_t j = 0; j < n; ++j) {
            x[j] = Waves{};
            for (int l = 0; l < 16; ++l) {
                x[j].re[l] = static_cast<float>(dice.normal());
                x[j].im[l] = static_cast<float>(dice.normal());
            }
            lane[j] = {x[j].re[11], x[j].im[11]};
        }
        const Fourier fourier(n);
        Waves* found = fourier.run(x.data(), y.data());
        for (std::size_t k = 0; k < n; ++k) {
            std::complex<double> wanted = 0;
            for (std::size_t j = 0; j < n; ++j)
                wanted +=
                    lane[j] * std::polar(1.0, -2 * M_PI * static_cast<double>(j * k % n) / static_cast<double>(n));
            expect_close(found[k].re[11], wanted.real(), 1e-5 * std::sqrt(n), text("wave ", k, " of ", n));
            expect_close(found[k].im[11], wanted.imag(), 1e-5 * std::sqrt(n), text("wave ", k, " of ", n));
        }
        Waves* back = fourier.run_inverse(found, found == x.data() ? y.data() : x.data());
        for (std::size_t j = 0; j < n; ++j)
            expect_close(back[j].re[11] / static_cast<float>(n), lane[j].real(), 1e-5, text("value ", j, " of ", n));
    }
}

void lengths_with_a_large_prime_factor_are_refused() {
    bool refused = false;
    try {
        const Fourier fourier(14);
    } catch (const std::invalid_argument&) {
        refused = true;
    }
    expect(refused, "14 = 2 * 7 is refused");
}

void convolution_with_one_is_the_identity_and_with_anything_the_sum() {
    const std::vector<std::vector<std::size_t>> sizes = {{5},      {90},      {4, 4},      {5, 16},    {18, 9},
                                                         {40, 48}, {4, 5, 6}, {9, 20, 16}, {30, 4, 25}};
    for (const auto& size : sizes) {
        std::size_t nodes = 1, waves = 1;
        for (const std::size_t side : size) nodes *= side;
        for (std::size_t axis = 0; axis + 1 < size.size(); ++axis) waves *= 2 * size[axis];
        std::vector<float> ones(waves * (size.back() + 1), 1.0f), constant(ones.size(), 0.0f);
        constant[0] = static_cast<float>(waves * 2 * size.back());  // a kernel that is 1 everywhere
        const auto values = scattered(nodes, 1, 1, nodes);
        double sum = 0;
        for (const float v : values.values) sum += static_cast<double>(v);
        for (const int threads : THREAD_COUNTS) {
            auto same = values.values, all = values.values;
            Convolution(Context{threads, {}}, size, ones.data()).run_inplace(Context{threads, {}}, same.data());
            Convolution(Context{threads, {}}, size, constant.data()).run_inplace(Context{threads, {}}, all.data());
            for (std::size_t at = 0; at < same.size(); ++at) {
                expect_close(same[at], values.values[at], 1e-5, text("value ", at));
                expect_close(all[at], sum, 1e-3, text("sum at ", at));
            }
        }
    }
}

template <int D>
GridShape<D> shape_of(std::size_t size, double low, double spacing) {
    GridShape<D> shape;
    shape.size.fill(size);
    shape.origin.fill(low);
    shape.spacing = spacing;
    shape.inverse = 1 / spacing;
    return shape;
}

template <int D>
void charges_on_a_grid_keep_their_sum_and_linear_functions_their_values() {
    const auto Y = scattered(3000, D, 1, 7);
    const auto shape = shape_of<D>(24, -6, 0.5);
    std::vector<float> first(shape.nodes()), other(shape.nodes());
    Spreading<D>(Context{1, {}}, Y.view(), shape).spread(nullptr, first.data());
    double sum = 0;
    for (const float v : first) sum += static_cast<double>(v);
    expect_close(sum, 3000, 0.01, "the sum of the charges");
    for (const int threads : THREAD_COUNTS) {
        const Context context{threads, {}};
        Spreading<D>(context, Y.view(), shape).spread(nullptr, other.data());
        expect(other == first, "the same bits on any number of threads");
    }
    // Cubic splines reproduce linear functions: here the first coordinate.
    const std::size_t row = shape.nodes() / shape.size[0];
    for (std::size_t at = 0; at < other.size(); ++at)
        other[at] = static_cast<float>(shape.origin[0] + shape.spacing * static_cast<double>(at / row));
    std::vector<float> potential(3000), gradient(3000 * D);
    gather<D>(Context{2, {}}, shape, other.data(), Y.view(), potential.data(), gradient.data());
    for (std::size_t i = 0; i < 3000; ++i) {
        if (std::abs(Y.row(i)[0]) > 4.5f) continue;
        expect_close(potential[i], Y.row(i)[0], 1e-5, "the coordinate");
        expect_close(gradient[i * D], 1, 1e-4, "its slope");
    }
}

void steps_keep_the_mean_at_zero_and_within_the_limit() {
    auto Y = scattered(9001, 3, 2, 8), velocity = scattered(9001, 3, 5, 9);
    const auto attraction = scattered(9001, 3, 1, 10), repulsion = scattered(9001, 3, 1, 11);
    const std::vector<float> weights(9001, 0.7f);
    std::vector<float> gains(9001 * 3, 1.0f);
    for (float* used : {static_cast<float*>(nullptr), gains.data()}) {
        advance_inplace(Context{2, {}}, {Y.writable(), velocity.values.data(), used}, attraction.values.data(),
                        repulsion.values.data(), weights.data(), {4, 0.1f, 0.3f, 0.9f, 0.25f});
        for (std::size_t p = 0; p < 3; ++p) {
            double sum = 0;
            for (std::size_t i = 0; i < 9001; ++i) sum += static_cast<double>(Y.row(i)[p]);
            expect_close(sum / 9001, 0, 1e-6, "the mean");
        }
        for (std::size_t i = 0; i < 9001; ++i) {
            double length = 0;
            for (std::size_t p = 0; p < 3; ++p) length += std::pow(velocity.row(i)[p], 2);
            expect(length <= 0.0625 * (1 + 1e-5), "no step is longer than the limit");
        }
    }
    for (const float gain : gains) expect(gain == 0.8f || gain == 1.2f, "a gain shrinks or grows");
}

void a_new_point_comes_to_rest_where_its_energy_is_least() {
    const auto frozen = scattered(400, 2, 3, 12);
    const ExactField field(frozen.view(), static_cast<const float*>(nullptr), Cauchy{});
    Data<std::int32_t> neighbors(5, 8);
    Data<float> P(5, 8), start(5, 2);
    for (std::size_t i = 0; i < 5; ++i)
        for (std::size_t l = 0; l < 8; ++l) {
            neighbors.row(i)[l] = static_cast<std::int32_t>(i * 31 + l);
            P.row(i)[l] = 0.125f;
        }
    auto Y = start;
    place_inplace(Context{2, {}}, field, frozen.view(), Cauchy{}, {neighbors.view(), P.values.data()}, Placing{},
                  Y.writable());
    const auto energy = [&](std::size_t i, const float* y) {
        double gradient[2], total = std::log(field.at(y, gradient));
        for (std::size_t l = 0; l < 8; ++l) {
            const float* other = frozen.row(static_cast<std::size_t>(neighbors.row(i)[l]));
            total += 0.125 * std::log(1 + std::pow(y[0] - other[0], 2) + std::pow(y[1] - other[1], 2));
        }
        return total;
    };
    for (std::size_t i = 0; i < 5; ++i) {
        const double rest = energy(i, Y.row(i));
        expect(rest <= energy(i, start.row(i)), "the energy fell");
        for (const float step : {-0.05f, 0.05f})
            for (std::size_t p = 0; p < 2; ++p) {
                float moved[2] = {Y.row(i)[0], Y.row(i)[1]};
                moved[p] += step;
                expect(energy(i, moved) >= rest - 1e-4, "and is no lower nearby");
            }
        Data<float> one(1, 2);
        place_inplace(Context{1, {}}, field, frozen.view(), Cauchy{}, {{neighbors.row(i), 1, 8}, P.row(i)}, Placing{},
                      one.writable());
        expect(std::memcmp(one.row(0), Y.row(i), sizeof(float) * 2) == 0, "each point by itself");
    }
}

constexpr Test TESTS[] = {
    {"elementary: exponentials and logarithms are those of the library",
     exponentials_and_logarithms_are_those_of_the_library},
    {"law: slope, pull and cost of each law follow from its weight",
     slope_pull_and_cost_of_each_law_follow_from_its_weight},
    {"perplexity: rows have the perplexity asked for", rows_of_affinities_have_the_perplexity_asked_for},
    {"joint: affinities are symmetric and keep the sum", joint_affinities_are_symmetric_and_keep_the_sum},
    {"attraction: the plane has the forces of any number of dimensions",
     the_plane_has_the_forces_of_any_number_of_dimensions},
    {"fourier: transforms are those of the definition", transforms_are_those_of_the_definition},
    {"fourier: lengths with a large prime factor are refused", lengths_with_a_large_prime_factor_are_refused},
    {"fourier: convolution with one is the identity, with a constant the sum",
     convolution_with_one_is_the_identity_and_with_anything_the_sum},
    {"grid: charges keep their sum, linear functions their values (1)",
     charges_on_a_grid_keep_their_sum_and_linear_functions_their_values<1>},
    {"grid: charges keep their sum, linear functions their values (2)",
     charges_on_a_grid_keep_their_sum_and_linear_functions_their_values<2>},
    {"grid: charges keep their sum, linear functions their values (3)",
     charges_on_a_grid_keep_their_sum_and_linear_functions_their_values<3>},
    {"motion: steps keep the mean at zero and within the limit", steps_keep_the_mean_at_zero_and_within_the_limit},
    {"placing: a new point comes to rest where its energy is least",
     a_new_point_comes_to_rest_where_its_energy_is_least},
};

}  // namespace

Tests force_tests() { return TESTS; }

}  // namespace lowfold::tests
