// Tangent coordinates of a neighbourhood.
#include "patch_support.hpp"

namespace lowfold::tests {
namespace {

template <class T>
void tangent_coordinates_are_orthonormal_and_span_a_flat_patch() {
    constexpr std::size_t K = 9;
    for (const std::size_t d : {1, 2, 3})
        for (const std::size_t dimensions : {std::size_t{3}, K - 1, K, K + 1, std::size_t{20}}) {
            const FlatData<T> data(40, d, dimensions, K);
            Tangent tangent(undisturbed());
            for (std::size_t i = 0; i < 40; ++i) {
                tangent.fit(data.X.view(), data.neighbors.row(i), K, d);
                const auto what = text(d, " of ", dimensions, " dimensions");
                expect_equal(tangent.found, d, text("coordinates: ", what));
                const std::vector<double> ones(K, 1.0);
                for (std::size_t j = 0; j < d; ++j) {
                    const double* q = &tangent.columns[j * K];
                    expect_close(dot(q, ones.data(), K), 0, TOLERANCE, text("q . 1: ", what));
                    for (std::size_t l = 0; l < d; ++l)
                        expect_close(dot(q, &tangent.columns[l * K], K), j == l, TOLERANCE, text("q . q: ", what));
                    auto rest = data.coordinate(i, j);
                    const double mean = dot(rest.data(), ones.data(), K) / K;
                    for (auto& x : rest) x -= mean;
                    for (std::size_t l = 0; l < d; ++l) {
                        const double share = dot(rest.data(), &tangent.columns[l * K], K);
                        for (std::size_t a = 0; a < K; ++a) rest[a] -= share * tangent.columns[l * K + a];
                    }
                    for (const double x : rest)
                        expect_close(x, 0, 100 * TOLERANCE, text("left of a coordinate: ", what));
                }
            }
        }
}

template <class T>
void tangent_coordinates_are_the_directions_of_largest_variance() {
    constexpr std::size_t K = 12, D = 6, WIDER = 15;
    const auto X = make_data<T>(Shape::random, 50, D);
    Data<T> padded(50, WIDER);  // the same points; their inner products are used instead of their scatter
    for (std::size_t i = 0; i < 50; ++i) std::copy_n(X.row(i), D, padded.row(i));
    Dice dice(6);
    const auto neighbors = random_neighbors(50, K, dice);
    Tangent narrow(undisturbed()), wide(undisturbed());
    Patch patch(undisturbed());
    SmallEigen eigen(undisturbed());
    std::vector<double> S;
    for (std::size_t i = 0; i < 50; ++i)
        for (const std::size_t d : {1, 2, 5}) {
            narrow.fit(X.view(), neighbors.row(i), K, d);
            wide.fit(padded.view(), neighbors.row(i), K, d);
            expect(narrow.found == d && wide.found == d, "all coordinates are found");
            patch.centred(X.view(), neighbors.row(i), K);
            patch.scatter(S);
            eigen.solve(S, D);
            for (std::size_t j = 0; j < d; ++j) {
                double variance = 0;
                for (std::size_t p = 0; p < D; ++p) {
                    double sum = 0;
                    for (std::size_t a = 0; a < K; ++a) sum += patch.Z[a * D + p] * narrow.columns[j * K + a];
                    variance += sum * sum;
                }
                expect_close(variance, eigen.values[j], TOLERANCE * eigen.values[0], "variance along a coordinate");
                expect_close(std::abs(dot(&narrow.columns[j * K], &wide.columns[j * K], K)), 1, TOLERANCE,
                             "the same direction either way");
            }
        }
}

template <class T>
void points_with_fewer_dimensions_have_fewer_tangent_coordinates() {
    constexpr std::size_t K = 7;
    for (const std::size_t dimensions : {2, 5, 30}) {
        Tangent tangent(undisturbed());
        Data<std::int32_t> all(1, K);
        for (std::size_t a = 0; a < K; ++a) all.row(0)[a] = static_cast<std::int32_t>(a);
        for (const std::size_t rank : {0, 1, 2}) {
            Data<T> X(K, dimensions);
            Dice dice(rank);
            for (std::size_t a = 0; a < K; ++a) {
                const double along = dice.normal(), across = dice.normal();
                for (std::size_t p = 0; p < dimensions; ++p) {
                    const double x = (rank > 0 ? along : 0) + (rank > 1 && p % 2 ? across : 0);
                    X.row(a)[p] = static_cast<T>(0.1 + x);
                }
            }
            tangent.fit(X.view(), all.row(0), K, 4);
            expect_equal(tangent.found, rank, text("coordinates in ", dimensions, " dimensions"));
            std::vector<double> blocks(K * K);
            tangent_blocks(Context{1, {}}, X.view(), all.view(), 4, blocks.data());
            expect_projector(blocks.data(), K, K - 1 - rank, "tangent block");
            expect_annihilated(blocks.data(), std::vector<double>(K, 1.0), TOLERANCE, "a constant");
            hessian_blocks(Context{1, {}}, X.view(), all.view(), 4, blocks.data());
            expect_projector(blocks.data(), K, rank * (rank + 1) / 2, "hessian block");
        }
    }
}

void tangent_coordinates_are_orthogonal_to_1_however_far_away_the_patch_is() {
    constexpr std::size_t K = 9;
    constexpr double FAR = 1e8, SPREAD = 1e-3;
    for (const std::size_t dimensions : {4, 12}) {
        auto X = make_data<double>(Shape::random, 40, dimensions);
        for (auto& x : X.values) x = FAR + SPREAD * x;
        Dice dice(dimensions);
        const auto neighbors = random_neighbors(40, K, dice);
        std::vector<double> blocks(40 * K * K);
        tangent_blocks(Context{1, {}}, X.view(), neighbors.view(), 2, blocks.data());
        for (std::size_t i = 0; i < 40; ++i) {
            expect_projector(&blocks[i * K * K], K, K - 3, text(dimensions, " dimensions"));
            expect_annihilated(&blocks[i * K * K], std::vector<double>(K, 1.0), TOLERANCE, "a constant");
        }
    }
}

void tangent_blocks_are_projectors_however_thin_the_patch_is() {
    constexpr std::size_t K = 12;
    for (const std::size_t dimensions : {3, 20})
        for (const double thickness : {1e-2, 1e-4, 1e-5}) {
            FlatData<double> data(60, 2, dimensions, K);
            for (std::size_t i = 0; i < 60; ++i)
                for (std::size_t p = 0; p < dimensions; ++p)
                    data.X.row(i)[p] = data.plane.row(i)[0] * std::cos(1.0 + static_cast<double>(p)) +
                                       data.plane.row(i)[1] * std::sin(2.0 * static_cast<double>(p)) * thickness;
            const auto blocks = make_blocks<double>(tangent_blocks<double>, data, 2);
            for (std::size_t i = 0; i < 60; ++i) {
                const auto what = text("thickness ", thickness, " in ", dimensions, " dimensions");
                expect_projector(&blocks[i * K * K], K, K - 3, what);
                expect_annihilated(&blocks[i * K * K], std::vector<double>(K, 1.0), TOLERANCE, what);
            }
        }
}

constexpr Test TESTS[] = {
    {"tangent: coordinates are orthonormal and span a flat patch (float)",
     tangent_coordinates_are_orthonormal_and_span_a_flat_patch<float>},
    {"tangent: coordinates are orthonormal and span a flat patch (double)",
     tangent_coordinates_are_orthonormal_and_span_a_flat_patch<double>},
    {"tangent: coordinates are the directions of largest variance (float)",
     tangent_coordinates_are_the_directions_of_largest_variance<float>},
    {"tangent: coordinates are the directions of largest variance (double)",
     tangent_coordinates_are_the_directions_of_largest_variance<double>},
    {"tangent: points with fewer dimensions have fewer coordinates (float)",
     points_with_fewer_dimensions_have_fewer_tangent_coordinates<float>},
    {"tangent: points with fewer dimensions have fewer coordinates (double)",
     points_with_fewer_dimensions_have_fewer_tangent_coordinates<double>},
    {"tangent: coordinates are orthogonal to 1 however far away the patch is",
     tangent_coordinates_are_orthogonal_to_1_however_far_away_the_patch_is},
    {"tangent: blocks are projectors however thin the patch is",
     tangent_blocks_are_projectors_however_thin_the_patch_is},
};

}  // namespace

Tests tangent_tests() { return TESTS; }

}  // namespace lowfold::tests
