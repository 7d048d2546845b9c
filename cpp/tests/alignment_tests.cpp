// The blocks of neighbourhoods, and their sum.
#include "patch_support.hpp"

namespace lowfold::tests {
namespace {

constexpr int THREAD_COUNTS[] = {1, 2, 3, 8};

template <class T>
void blocks_of_flat_patches_annihilate_affine_functions() {
    constexpr std::size_t K = 14, N = 130;
    for (const std::size_t d : {1, 2, 3})
        for (const std::size_t dimensions : {3, 20}) {
            const FlatData<T> data(N, d, dimensions, K);
            const auto tangent = make_blocks<T>(tangent_blocks<T>, data, d);
            const auto hessian = make_blocks<T>(hessian_blocks<T>, data, d);
            for (std::size_t i = 0; i < N; ++i)
                for (const auto* blocks : {&tangent, &hessian}) {
                    const double* block = &(*blocks)[i * K * K];
                    const auto what = text(blocks == &tangent ? "tangent" : "hessian", ", ", d, " of ", dimensions);
                    expect_projector(block, K, blocks == &tangent ? K - 1 - d : d * (d + 1) / 2, what);
                    expect_annihilated(block, std::vector<double>(K, 1.0), TOLERANCE, what);
                    for (std::size_t j = 0; j < d; ++j)
                        expect_annihilated(block, data.coordinate(i, j), TOLERANCE, what);
                }
            for (const int threads : {2, 3, 8}) {
                expect(make_blocks<T>(tangent_blocks<T>, data, d, threads) == tangent, text(threads, " threads"));
                expect(make_blocks<T>(hessian_blocks<T>, data, d, threads) == hessian, text(threads, " threads"));
            }
        }
}

template <class T>
void hessian_blocks_keep_of_a_quadratic_all_that_is_not_affine() {
    constexpr std::size_t K = 14, N = 70;
    for (const std::size_t d : {1, 2, 3}) {
        const FlatData<T> data(N, d, 8, K);
        const auto tangent = make_blocks<T>(tangent_blocks<T>, data, d);
        const auto hessian = make_blocks<T>(hessian_blocks<T>, data, d);
        for (std::size_t i = 0; i < N; ++i)
            for (std::size_t j = 0; j < d; ++j)
                for (std::size_t l = j; l < d; ++l) {
                    auto product = data.coordinate(i, j);
                    const auto other = data.coordinate(i, l);
                    for (std::size_t a = 0; a < K; ++a) product[a] *= other[a];
                    const auto wanted = times(&tangent[i * K * K], product),
                               found = times(&hessian[i * K * K], product);
                    const double size = dot(product.data(), product.data(), K);
                    expect(dot(wanted.data(), wanted.data(), K) > 1e-4 * size, "a quadratic is not affine");
                    for (std::size_t a = 0; a < K; ++a)
                        expect_close(found[a], wanted[a], 10 * TOLERANCE * std::sqrt(size), text("dimension ", d));
                }
    }
}

template <class T>
void modified_blocks_annihilate_affine_functions_of_flat_patches() {
    constexpr std::size_t K = 8, SIDE = K + 1, N = 130;
    constexpr double REGULARISATION = 1e-12;
    for (const std::size_t d : {1, 2, 3})
        for (const std::size_t dimensions : {3, 20}) {
            const FlatData<T> data(N, d, dimensions, K);
            const ModifiedWeights<T> weights(Context{1, {}}, data.X.view(), data.neighbors.view(), d, REGULARISATION);
            std::vector<double> blocks(N * SIDE * SIDE, -1.0), other = blocks;
            weights.blocks(Context{1, {}}, blocks.data());
            for (std::size_t i = 0; i < N; ++i) {
                const double* block = &blocks[i * SIDE * SIDE];
                const auto what = text("point ", i, ", ", d, " of ", dimensions, " dimensions");
                expect_annihilated(block, std::vector<double>(SIDE, 1.0), 1e-9, text("a constant: ", what));
                // To the regularisation, which the smallest of the other eigenvalues is 1e4 to 1e6 times as large as.
                for (std::size_t j = 0; j < d; ++j)
                    expect_annihilated(block, data.coordinate(i, j, true), 1e-7, text("a coordinate: ", what));
                for (std::size_t a = 0; a < SIDE; ++a)
                    for (std::size_t b = 0; b < a; ++b)
                        expect_equal(block[a * SIDE + b], block[b * SIDE + a], "an entry and its mirror");
                expect(block[0] >= 1 && block[0] <= static_cast<double>(K - d), text("weights: ", what));
                expect_equal(block[0], std::round(block[0]), "number of weight vectors");
            }
            for (const int threads : {2, 3, 8}) {
                ModifiedWeights<T>(Context{threads, {}}, data.X.view(), data.neighbors.view(), d, REGULARISATION)
                    .blocks(Context{threads, {}}, other.data());
                expect(other == blocks, text("the same bits on ", threads, " threads"));
            }
        }
}

/// By the rule as it stands: the smallest eigenvalues, as many as together stay below the median share, but at least
/// one.
template <class T>
std::vector<std::size_t> plain_weight_counts(const Data<T>& X, const Data<std::int32_t>& neighbors, std::size_t d) {
    const std::size_t k = neighbors.columns;
    std::vector<std::vector<double>> shares(X.rows, std::vector<double>(k));  // of all values from the l-th on
    std::vector<double> ratios;
    for (std::size_t i = 0; i < X.rows; ++i) {
        Patch patch(undisturbed());
        SmallEigen eigen(undisturbed());
        std::vector<double> G;
        patch.around(X.row(i), X.view(), neighbors.row(i), k);
        patch.gram(G);
        eigen.solve(G, k);
        for (std::size_t l = 1; l < k; ++l) {
            double before = 0, after = 0;
            for (std::size_t j = 0; j < k; ++j) (j < l ? before : after) += std::max(eigen.values[j], 0.0);
            shares[i][l] = after / before;
        }
        ratios.push_back(shares[i][d]);
    }
    std::sort(ratios.begin(), ratios.end());
    const double eta = (ratios[(X.rows - 1) / 2] + ratios[X.rows / 2]) / 2;
    std::vector<std::size_t> counts(X.rows, 1);
    for (std::size_t i = 0; i < X.rows; ++i)
        for (std::size_t s = 2; s < k; ++s)
            if (shares[i][k - s] < eta) counts[i] = s;
    return counts;
}

template <class T>
void modified_blocks_have_as_many_weights_as_stay_below_the_median_share() {
    constexpr std::size_t K = 9, SIDE = K + 1;
    for (const std::size_t n : {80, 81})
        for (const std::size_t d : {1, 2, 4}) {
            const auto X = make_data<T>(Shape::random, n, 12);
            Dice dice(n + d);
            const auto neighbors = random_neighbors(n, K, dice);
            const auto wanted = plain_weight_counts(X, neighbors, d);
            expect(*std::min_element(wanted.begin(), wanted.end()) < *std::max_element(wanted.begin(), wanted.end()),
                   "the points differ");
            std::vector<double> blocks(n * SIDE * SIDE);
            ModifiedWeights<T>(Context{1, {}}, X.view(), neighbors.view(), d, 1e-3)
                .blocks(Context{1, {}}, blocks.data());
            for (std::size_t i = 0; i < n; ++i)  // each weight vector has -1 for the point itself
                expect_equal(blocks[i * SIDE * SIDE], static_cast<double>(wanted[i]), text("weights of point ", i));
        }
}

template <class T>
void modified_blocks_of_equal_points_are_finite_and_annihilate_constants() {
    constexpr std::size_t K = 5, SIDE = K + 1, N = 9;
    Dice dice(1);
    const auto neighbors = random_neighbors(N, K, dice);
    Data<T> X(N, 3);
    std::fill(X.values.begin(), X.values.end(), T{0.3});
    std::vector<double> blocks(N * SIDE * SIDE);
    ModifiedWeights<T>(Context{1, {}}, X.view(), neighbors.view(), 2, 1e-3).blocks(Context{1, {}}, blocks.data());
    for (std::size_t i = 0; i < N; ++i)
        expect_annihilated(&blocks[i * SIDE * SIDE], std::vector<double>(SIDE, 1.0), TOLERANCE, "a constant");
}

/// Each entry in the order of the patches, as the class promises; places that no patch has are not a number.
Data<double> plain_sum(const Data<std::int32_t>& patches, const Data<double>& blocks, std::size_t points) {
    const std::size_t p = patches.columns;
    Data<double> sum(points, points);
    std::fill(sum.values.begin(), sum.values.end(), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < patches.rows; ++i)
        for (std::size_t a = 0; a < p; ++a)
            for (std::size_t b = 0; b < p; ++b) {
                double& entry = sum.row(static_cast<std::size_t>(patches.row(i)[a]))[patches.row(i)[b]];
                entry = (std::isnan(entry) ? 0 : entry) + blocks.row(i)[a * p + b];
            }
    return sum;
}

void an_alignment_is_the_dense_sum_of_its_blocks_and_symmetric() {
    for (const auto& [points, rows, p] : {std::tuple{600, 600, 7}, {300, 900, 3}, {513, 20, 5}, {6, 1, 4}, {1, 3, 1}}) {
        Dice dice(static_cast<std::uint64_t>(points));
        Data<std::int32_t> patches(rows, p);
        if (points > 1) patches.values = random_neighbors(std::max(points, rows), p, dice).values;
        patches.values.resize(static_cast<std::size_t>(rows * p));
        for (std::size_t i = 0; i < patches.rows && rows > points; ++i)  // different points of a smaller set
            for (std::size_t a = 0; a < patches.columns; ++a)
                patches.row(i)[a] = static_cast<std::int32_t>((i * i + 3 * a) % static_cast<std::size_t>(points));
        Data<double> blocks(rows, p * p);
        for (std::size_t i = 0; i < blocks.rows; ++i)
            for (int a = 0; a < p; ++a)
                for (int b = 0; b <= a; ++b) blocks.row(i)[a * p + b] = blocks.row(i)[b * p + a] = dice.normal();
        const auto dense = plain_sum(patches, blocks, points);
        std::vector<Entry<double>> entries;
        for (std::size_t i = 0; i < dense.rows; ++i)
            for (std::size_t j = 0; j < dense.rows; ++j) {
                if (!std::isnan(dense.row(i)[j])) entries.push_back({i, j, dense.row(i)[j]});
                expect(std::isnan(dense.row(i)[j]) || dense.row(i)[j] == dense.row(j)[i], "symmetric in every bit");
            }
        const auto wanted = make_sparse(dense.rows, entries);
        for (const int threads : THREAD_COUNTS)
            expect_same_matrix(
                Alignment(Context{threads, {}}, patches.view(), blocks.values.data(), dense.rows).build(), wanted,
                text(rows, " patches of ", p, " of ", points, " points, ", threads, " threads"));
    }
}

/// Whether the work, which is one item, hears within it that it is to stop: who asks first is told to go on, and that
/// is before the item begins or later.
template <class Work>
bool is_heard_within_an_item(const Work& work) {
    int asked = 0;
    try {
        work(Context{1, [&] { return ++asked > 1; }});
    } catch (const Interrupted&) {
        return true;
    }
    return false;
}

void an_interruption_is_heard_within_an_item() {
    constexpr std::size_t K = 200;  // an item takes a second or far longer: one asks twenty times in a second
    const auto X = make_data<double>(Shape::random, 300, 1000);
    Dice dice(8);
    const auto rows = random_neighbors(X.rows, K, dice);
    const MatrixView<const std::int32_t> neighbors{rows.values.data(), PATCHES_AT_ONCE, K};
    std::vector<double> out(PATCHES_AT_ONCE * K * K);
    expect(is_heard_within_an_item([&](const Context& context) {
               barycentric_weights(context, X.view(), X.view(), neighbors, 1e-3, out.data());
           }),
           "weights");
    expect(is_heard_within_an_item(
               [&](const Context& context) { tangent_blocks(context, X.view(), neighbors, 2, out.data()); }),
           "tangent blocks");
    expect(is_heard_within_an_item(
               [&](const Context& context) { hessian_blocks(context, X.view(), neighbors, 2, out.data()); }),
           "hessian blocks");
    expect(is_heard_within_an_item(
               [&](const Context& context) { ModifiedWeights<double>(context, X.view(), neighbors, 2, 1e-3); }),
           "modified weights");
}

constexpr Test TESTS[] = {
    {"alignment: blocks of flat patches annihilate affine functions (float)",
     blocks_of_flat_patches_annihilate_affine_functions<float>},
    {"alignment: blocks of flat patches annihilate affine functions (double)",
     blocks_of_flat_patches_annihilate_affine_functions<double>},
    {"alignment: hessian blocks keep of a quadratic all that is not affine (float)",
     hessian_blocks_keep_of_a_quadratic_all_that_is_not_affine<float>},
    {"alignment: hessian blocks keep of a quadratic all that is not affine (double)",
     hessian_blocks_keep_of_a_quadratic_all_that_is_not_affine<double>},
    {"alignment: modified blocks annihilate affine functions of flat patches (float)",
     modified_blocks_annihilate_affine_functions_of_flat_patches<float>},
    {"alignment: modified blocks annihilate affine functions of flat patches (double)",
     modified_blocks_annihilate_affine_functions_of_flat_patches<double>},
    {"alignment: modified blocks have as many weights as stay below the median share (float)",
     modified_blocks_have_as_many_weights_as_stay_below_the_median_share<float>},
    {"alignment: modified blocks have as many weights as stay below the median share (double)",
     modified_blocks_have_as_many_weights_as_stay_below_the_median_share<double>},
    {"alignment: modified blocks of equal points are finite and annihilate constants (float)",
     modified_blocks_of_equal_points_are_finite_and_annihilate_constants<float>},
    {"alignment: modified blocks of equal points are finite and annihilate constants (double)",
     modified_blocks_of_equal_points_are_finite_and_annihilate_constants<double>},
    {"alignment: it is the dense sum of its blocks, and symmetric",
     an_alignment_is_the_dense_sum_of_its_blocks_and_symmetric},
    {"alignment: an interruption is heard within an item", an_interruption_is_heard_within_an_item},
};

}  // namespace

Tests alignment_tests() { return TESTS; }

}  // namespace lowfold::tests
