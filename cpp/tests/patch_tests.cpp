// Eigenvectors of small matrices, and the local problem of one neighbourhood.
#include "patch_support.hpp"

namespace lowfold::tests {
namespace {

constexpr double EPSILON = std::numeric_limits<double>::epsilon();

using Matrix = Data<double>;

/// Symmetric, with eigenvalues of both signs.
Matrix random_symmetric(std::size_t size, Dice& dice) {
    Matrix A(size, size);
    for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j <= i; ++j) A.row(i)[j] = A.row(j)[i] = dice.normal();
    return A;
}

/// B B^T for a B of `rank` columns.
Matrix random_gram(std::size_t size, std::size_t rank, Dice& dice) {
    Matrix B(size, rank), A(size, size);
    for (auto& x : B.values) x = dice.normal();
    for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j < size; ++j)
            for (std::size_t r = 0; r < rank; ++r) A.row(i)[j] += B.row(i)[r] * B.row(j)[r];
    return A;
}

/// A v_j = values[j] v_j, v_i . v_j = (i == j) and values[0] >= values[1] >= ...
void expect_eigenvectors(const Matrix& A, const SmallEigen& eigen, const std::string& what,
                         Where where = Where::current()) {
    const std::size_t size = A.rows;
    double square = 0;
    for (const double x : A.values) square += x * x;
    // Some ten sweeps turn each entry 2 size times by an angle that rounds.
    const double relative = 20 * static_cast<double>(size) * EPSILON, tolerance = relative * std::sqrt(square);
    expect_equal(eigen.values.size(), size, "eigenvalues", where);
    for (std::size_t j = 0; j < size; ++j) {
        const double* v = eigen.vector(j);
        if (j > 0) expect(eigen.values[j - 1] >= eigen.values[j], text("sorted: ", what), where);
        for (std::size_t i = 0; i < size; ++i) {
            double product = 0, dot = 0;
            for (std::size_t l = 0; l < size; ++l) {
                product += A.row(i)[l] * v[l];
                dot += eigen.vector(i)[l] * v[l];
            }
            expect_close(product, eigen.values[j] * v[i], tolerance, text("A v of ", what), where);
            expect_close(dot, i == j ? 1.0 : 0.0, relative, text("v . v of ", what), where);
        }
    }
}

void expect_solved(const Matrix& A, SmallEigen& eigen, const std::string& what, Where where = Where::current()) {
    auto values = A.values;
    eigen.solve(values, A.rows);
    expect_eigenvectors(A, eigen, text(what, " of size ", A.rows), where);
}

void jacobi_gives_orthonormal_eigenvectors_in_order() {
    Dice dice(1);
    SmallEigen eigen(undisturbed());  // one for all: nothing of an earlier matrix is left in it
    for (const std::size_t size : {1, 2, 3, 4, 7, 12, 20, 40, 5}) {
        expect_solved(random_symmetric(size, dice), eigen, "a random matrix");
        expect_solved(random_gram(size, 1, dice), eigen, "a matrix of rank one");
        expect_solved(random_gram(size, size / 2 + 1, dice), eigen, "half the rank");
        expect_solved(random_gram(size, 2 * size, dice), eigen, "a Gram matrix");
        Matrix ones(size, size), swapped(size, size);
        std::fill(ones.values.begin(), ones.values.end(), 1.0);
        for (std::size_t i = 0; i < size; ++i) swapped.row(i)[size - 1 - i] = 1;  // eigenvalues 1 and -1
        expect_solved(ones, eigen, "ones");
        expect_solved(swapped, eigen, "a reversed identity");
        for (const double scale : {1e-140, 1e140}) {
            auto A = random_symmetric(size, dice);
            for (auto& x : A.values) x *= scale;
            expect_solved(A, eigen, text("a matrix of scale ", scale));
        }
    }
}

void jacobi_splits_equal_eigenvalues() {
    Dice dice(2);
    for (const std::size_t size : {2, 5, 12}) {
        // I - 2 u u^T: the eigenvalue 1 size - 1 times, and -1.
        std::vector<double> u(size);
        double square = 0;
        for (auto& x : u) square += (x = dice.normal(), x * x);
        Matrix A(size, size);
        for (std::size_t i = 0; i < size; ++i)
            for (std::size_t j = 0; j < size; ++j) A.row(i)[j] = (i == j) - 2 * u[i] * u[j] / square;
        SmallEigen eigen(undisturbed());
        expect_solved(A, eigen, "a reflection");
        for (std::size_t j = 0; j < size; ++j)
            expect_close(eigen.values[j], j + 1 < size ? 1 : -1, 20 * static_cast<double>(size) * EPSILON,
                         "eigenvalue");
    }
}

void jacobi_leaves_a_diagonal_matrix_alone_but_for_its_order() {
    for (const std::vector<double>& diagonal :
         {std::vector<double>{0, 0, 0, 0}, {2, 2, 2}, {-1, 5, 0, 1e-300, 3}, {7}, {}}) {
        const std::size_t size = diagonal.size();
        Matrix A(size, size);
        for (std::size_t i = 0; i < size; ++i) A.row(i)[i] = diagonal[i];
        SmallEigen eigen(undisturbed());
        eigen.solve(A.values, size);
        auto wanted = diagonal;
        std::sort(wanted.begin(), wanted.end(), std::greater<>());
        expect(eigen.values == wanted, "the diagonal in order");
        for (std::size_t j = 0; j < size; ++j)
            for (std::size_t i = 0; i < size; ++i)
                if (eigen.vector(j)[i] != 0)
                    expect(eigen.vector(j)[i] == 1 && diagonal[i] == wanted[j], "an eigenvector is a unit vector");
    }
}

void jacobi_finds_the_frequencies_of_a_string() {
    for (const std::size_t size : {1, 2, 9, 30}) {
        Matrix A(size, size);
        for (std::size_t i = 0; i < size; ++i) {
            A.row(i)[i] = 2;
            if (i > 0) A.row(i)[i - 1] = A.row(i - 1)[i] = -1;
        }
        SmallEigen eigen(undisturbed());
        expect_solved(A, eigen, "a string");
        for (std::size_t j = 0; j < size; ++j) {
            const double angle = std::numbers::pi * static_cast<double>(size - j) / static_cast<double>(size + 1);
            expect_close(eigen.values[j], 2 - 2 * std::cos(angle), 20 * static_cast<double>(size) * EPSILON,
                         "frequency");
        }
    }
}

template <class T>
void a_patch_holds_differences_and_their_inner_products() {
    constexpr std::size_t D = 6;
    const auto X = make_data<T>(Shape::lattice, 30, D);  // whole numbers: everything but the mean is exact
    const std::vector<std::int32_t> neighbors{3, 29, 0, 11};
    const std::size_t k = neighbors.size();
    Patch patch(undisturbed());
    std::vector<double> G, S;
    for (const bool centred : {false, true}) {
        if (centred)
            patch.centred(X.view(), neighbors.data(), k);
        else
            patch.around(X.row(5), X.view(), neighbors.data(), k);
        patch.gram(G);
        patch.scatter(S);
        std::vector<double> origin(X.row(5), X.row(5) + D);
        for (std::size_t p = 0; p < D && centred; ++p) {
            origin[p] = 0;
            for (const auto j : neighbors) origin[p] += X.row(j)[p] / 4.0;  // by a power of two: exact
        }
        const auto z = [&](std::size_t a, std::size_t p) { return X.row(neighbors[a])[p] - origin[p]; };
        for (std::size_t a = 0; a < k; ++a)
            for (std::size_t b = 0; b < k; ++b) {
                double wanted = 0;
                for (std::size_t p = 0; p < D; ++p) wanted += z(a, p) * z(b, p);
                expect_equal(G[a * k + b], wanted, text("inner product ", a, ", ", b));
            }
        for (std::size_t p = 0; p < D; ++p)
            for (std::size_t q = 0; q < D; ++q) {
                double wanted = 0;
                for (std::size_t a = 0; a < k; ++a) wanted += z(a, p) * z(a, q);
                expect_equal(S[p * D + q], wanted, text("scatter ", p, ", ", q));
            }
    }
}

/// Points, queries and neighbours among the points.
template <class T>
struct Rebuilding {
    Data<T> X, queries;
    Data<std::int32_t> neighbors;

    Rebuilding(Shape shape, std::size_t n, std::size_t dimensions, std::size_t k)
        : X(make_data<T>(shape, 60, dimensions, 1)), queries(make_data<T>(shape, n, dimensions, 2)), neighbors(n, k) {
        Dice dice(3);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t l = 0; l < k; ++l)
                neighbors.row(i)[l] = static_cast<std::int32_t>((7 * l + dice.below(7)) % 60);
    }

    std::vector<double> weights(double regularisation, int threads = 1) const {
        std::vector<double> found(neighbors.values.size());
        barycentric_weights(Context{threads, {}}, queries.view(), X.view(), neighbors.view(), regularisation,
                            found.data());
        return found;
    }
};

template <class T>
void weights_sum_to_1_and_are_the_best() {
    constexpr double REGULARISATION = 1e-3;
    for (const Shape shape : {Shape::random, Shape::lattice, Shape::duplicated, Shape::tiny, Shape::uncentred})
        for (const std::size_t k : {1, 2, 5, 8})
            for (const std::size_t dimensions : {1, 3, 20}) {
                const Rebuilding<T> data(shape, 70, dimensions, k);
                const auto weights = data.weights(REGULARISATION);
                Patch patch(undisturbed());
                std::vector<double> G;
                for (std::size_t i = 0; i < 70; ++i) {
                    const double* w = &weights[i * k];
                    patch.around(data.queries.row(i), data.X.view(), data.neighbors.row(i), k);
                    patch.gram(G);
                    double sum = 0, trace = 0, mean = 0, size = 0;
                    std::vector<double> slope(k);  // of |rebuilt - query|^2 / 2 + regularisation: the same for all
                    for (std::size_t a = 0; a < k; ++a) trace += G[a * k + a];
                    for (std::size_t a = 0; a < k; ++a) {
                        slope[a] = REGULARISATION * trace * w[a];
                        for (std::size_t b = 0; b < k; ++b) slope[a] += G[a * k + b] * w[b];
                        sum += w[a];
                        size += std::abs(w[a]);
                        mean += slope[a] / static_cast<double>(k);
                    }
                    const auto what = text(name(shape), " data, ", dimensions, " dimensions, ", k, " neighbours");
                    expect_close(sum, 1, 4 * static_cast<double>(k) * EPSILON * size, text("sum of weights: ", what));
                    // Cholesky's factorisation leaves a residual of some k epsilon, relative to the matrix and to w.
                    for (std::size_t a = 0; a < k; ++a)
                        expect_close(slope[a], mean, 10 * static_cast<double>(k) * EPSILON * trace * size,
                                     text("slope: ", what));
                }
            }
}

template <class T>
void weights_do_not_change_with_place_and_scale() {
    for (const std::size_t k : {1, 3, 9}) {
        const Rebuilding<T> data(Shape::lattice, 90, 4, k);  // small whole numbers: what follows is exact
        const auto first = data.weights(1e-3);
        for (const int threads : {2, 3, 8}) expect(data.weights(1e-3, threads) == first, text(threads, " threads"));
        for (const double scale : {0x1p-60, 2.0, 0x1p40}) {
            auto other = data;
            for (auto* part : {&other.X, &other.queries})
                for (auto& x : part->values) x = static_cast<T>(x * scale);
            expect(other.weights(1e-3) == first, text("scaled by ", scale));
        }
        auto other = data;
        for (auto* part : {&other.X, &other.queries})
            for (auto& x : part->values) x += T{4096};
        expect(other.weights(1e-3) == first, "shifted");
    }
}

template <class T>
void equal_points_have_equal_weights() {
    for (const std::size_t k : {1, 3, 7}) {
        Rebuilding<T> data(Shape::random, 5, 3, k);
        for (std::size_t j = 0; j < data.X.rows; ++j) std::copy_n(data.X.row(0), 3, data.X.row(j));
        for (const double weight : data.weights(1e-3))  // the condition is 1e3
            expect_close(weight, 1 / static_cast<double>(k), 1e3 * 10 * static_cast<double>(k) * EPSILON, "a weight");
        for (std::size_t i = 0; i < data.queries.rows; ++i) std::copy_n(data.X.row(0), 3, data.queries.row(i));
        for (const double regularisation : {1e-3, 0.0})
            for (const double weight : data.weights(regularisation))
                expect_equal(weight, 1 / static_cast<double>(k), "a weight where the query is there too");
    }
}

template <class T>
void weights_rebuild_a_point_among_its_neighbours() {
    // The corners of a simplex around each query: exact, but for the regularisation.
    constexpr std::size_t D = 4, K = D + 1;
    Dice dice(4);
    Data<T> X(K, D), queries(80, D);
    for (std::size_t p = 0; p < D; ++p) X.row(p)[p] = T{1};
    Data<std::int32_t> neighbors(80, K);
    for (std::size_t i = 0; i < 80; ++i)
        for (std::size_t l = 0; l < K; ++l) {
            neighbors.row(i)[l] = static_cast<std::int32_t>((l + i) % K);
            if (l < D) queries.row(i)[l] = static_cast<T>(dice.uniform() / D);
        }
    std::vector<double> weights(80 * K);
    barycentric_weights(Context{2, {}}, queries.view(), X.view(), neighbors.view(), 1e-10, weights.data());
    for (std::size_t i = 0; i < 80; ++i)
        for (std::size_t l = 0; l < K; ++l) {  // the weight of corner p is coordinate p
            const auto corner = static_cast<std::size_t>(neighbors.row(i)[l]);
            if (corner < D) expect_close(weights[i * K + l], queries.row(i)[corner], 1e-8, "a barycentric coordinate");
        }
}

template <class Work>
bool is_stopped(const Work& work) {
    std::atomic<bool> stop = true;
    Worker worker(0, stop, nullptr);
    try {
        work(worker);
    } catch (const Interrupted&) {
        return true;
    }
    return false;
}

void a_large_patch_is_left_in_each_of_its_steps() {
    // Of two patches one has many points, the other many dimensions; both have more products than go without a check.
    for (const auto& [k, dimensions] : {std::pair{100, 3000}, {3000, 100}}) {
        const auto X = make_data<float>(Shape::random, 10, static_cast<std::size_t>(dimensions));
        const std::vector<std::int32_t> neighbors(static_cast<std::size_t>(k), 1);
        const auto what = text(k, " points in ", dimensions, " dimensions");
        const auto taken = [&](Worker& worker) {
            Patch patch(worker);
            patch.around(X.row(0), X.view(), neighbors.data(), neighbors.size());
        };
        expect(is_stopped(taken), text("taken: ", what));
        const auto products = [&](bool gram) {
            return [&, gram](Worker& worker) {
                Patch patch(worker);
                patch.k = neighbors.size();
                patch.dimensions = X.columns;
                patch.Z.assign(patch.k * patch.dimensions, 1.0);
                std::vector<double> G;
                gram ? patch.gram(G) : patch.scatter(G);
            };
        };
        expect(is_stopped(products(true)) && is_stopped(products(false)), text("products: ", what));
    }
    constexpr std::size_t K = 200;
    std::vector<double> G(K * K, 0.0), w(K);
    for (std::size_t a = 0; a < K; ++a) G[a * K + a] = 1;
    expect(is_stopped([&](Worker& worker) { barycentric(G, K, 1e-3, w.data(), worker); }), "weights");
    Dice dice(9);
    auto A = random_symmetric(K, dice);
    expect(is_stopped([&](Worker& worker) { SmallEigen(worker).solve(A.values, K); }), "eigenvectors");
}

void a_small_patch_is_not_slowed_down_by_checks() {
    std::atomic<bool> stop = true;  // whoever checked would be stopped
    Worker worker(0, stop, nullptr);
    Dice dice(10);
    auto A = random_symmetric(12, dice);
    SmallEigen(worker).solve(A.values, 12);
}

constexpr Test TESTS[] = {
    {"jacobi: eigenvectors are orthonormal and in order", jacobi_gives_orthonormal_eigenvectors_in_order},
    {"jacobi: equal eigenvalues have eigenvectors of their own", jacobi_splits_equal_eigenvalues},
    {"jacobi: a diagonal matrix is left alone but for its order",
     jacobi_leaves_a_diagonal_matrix_alone_but_for_its_order},
    {"jacobi: the frequencies of a string are found", jacobi_finds_the_frequencies_of_a_string},
    {"patch: it holds differences and their inner products (float)",
     a_patch_holds_differences_and_their_inner_products<float>},
    {"patch: it holds differences and their inner products (double)",
     a_patch_holds_differences_and_their_inner_products<double>},
    {"patch: a large one is left in each of its steps", a_large_patch_is_left_in_each_of_its_steps},
    {"patch: a small one is not slowed down by checks", a_small_patch_is_not_slowed_down_by_checks},
    {"weights: they sum to 1 and are the best (float)", weights_sum_to_1_and_are_the_best<float>},
    {"weights: they sum to 1 and are the best (double)", weights_sum_to_1_and_are_the_best<double>},
    {"weights: they do not change with place and scale (float)", weights_do_not_change_with_place_and_scale<float>},
    {"weights: they do not change with place and scale (double)", weights_do_not_change_with_place_and_scale<double>},
    {"weights: equal points have equal weights (float)", equal_points_have_equal_weights<float>},
    {"weights: equal points have equal weights (double)", equal_points_have_equal_weights<double>},
    {"weights: they rebuild a point among its neighbours (float)", weights_rebuild_a_point_among_its_neighbours<float>},
    {"weights: they rebuild a point among its neighbours (double)",
     weights_rebuild_a_point_among_its_neighbours<double>},
};

}  // namespace

Tests patch_tests() { return TESTS; }

}  // namespace lowfold::tests
