// Products of a matrix with a few vectors: sparse ones, polynomials of them, and dense ones.
#include "narrow_product.hpp"
#include "sparse_product.hpp"
#include "sparse_support.hpp"

namespace lowfold::tests {
namespace {

constexpr int THREAD_COUNTS[] = {1, 2, 3, 8};

/// scale A V + keep V + back B, by the formula, in float64.
template <class T, class Value>
Data<double> plain_combination(const SparseMatrix<Value>& A, const Data<T>& V, const Data<T>* B, double scale,
                               double keep, double back) {
    Data<double> out(V.rows, V.columns);
    for (std::size_t i = 0; i < V.rows; ++i)
        for (std::size_t c = 0; c < V.columns; ++c) {
            double sum = 0;
            for (auto at = A.begin[i]; at < A.begin[i + 1]; ++at)
                sum += double{A.values[at]} * double{V.row(static_cast<std::size_t>(A.columns[at]))[c]};
            out.row(i)[c] = scale * sum + keep * double{V.row(i)[c]} + (B ? back * double{B->row(i)[c]} : 0.0);
        }
    return out;
}

template <int COLUMNS, class T, class Value>
void expect_combination() {
    constexpr T SCALE = 3, KEEP = -2, BACK = 5;
    for (const std::size_t rows : {1, 2, 40, 511, 513, 1100}) {
        const auto A = sparse_whole_numbers<Value>(rows, 12, rows);
        const auto V = whole_numbers<T>(rows, COLUMNS, 2), B = whole_numbers<T>(rows, COLUMNS, 3);
        for (const bool with_back : {false, true}) {
            const auto wanted = plain_combination(A, V, with_back ? &B : nullptr, SCALE, KEEP, BACK);
            for (const int threads : THREAD_COUNTS) {
                Data<T> out(rows, COLUMNS);
                combine<COLUMNS, T>(Context{threads, {}}, view(A), V.values.data(),
                                    with_back ? B.values.data() : nullptr, SCALE, KEEP, BACK, out.values.data());
                for (std::size_t at = 0; at < out.values.size(); ++at)
                    expect_equal(double{out.values[at]}, wanted.values[at],
                                 text("entry ", at, " of ", rows, " x ", COLUMNS, " on ", threads, " threads"));
            }
        }
    }
}

template <class T, class Value>
void a_sparse_combination_is_that_of_plain_loops() {
    expect_combination<2, T, Value>();
    expect_combination<4, T, Value>();
    expect_combination<8, T, Value>();
    expect_combination<16, T, Value>();
}

void sums_over_narrow_entries_are_as_exact_as_the_vectors() {
    // 1 + 2^-40 is no float32: it is lost unless the sum is in float64.
    const auto A = make_sparse<float>(3, {{0, 0, 1.0f}, {0, 1, 0x1p-40f}, {2, 0, 3.0f}});
    const std::vector<double> V{1, 1, 1, 1, 7, 7};
    std::vector<double> out(6);
    combine<2, double>(Context{1, {}}, view(A), V.data(), nullptr, 1, 0, 0, out.data());
    expect_equal(out[0], 1 + 0x1p-40, "a sum of a large and a small term");
    expect_equal(out[2], 0.0, "a row without entries");
    expect_equal(out[5], 3.0, "the last row");
}

/// T_degree(x) for any real x.
double chebyshev_polynomial(double x, int degree) {
    if (std::abs(x) <= 1) return std::cos(degree * std::acos(x));
    return std::cosh(degree * std::acosh(std::abs(x))) * (x < 0 && degree % 2 ? -1 : 1);
}

/// The walk on a cycle of n nodes: its eigenvectors are cosines, its eigenvalues cos(2 pi j / n).
template <class T>
SparseMatrix<T> cycle_walk(std::size_t n) {
    std::vector<Entry<T>> entries;
    for (std::size_t i = 0; i < n; ++i) {
        entries.push_back({i, (i + 1) % n, T{0.5}});
        entries.push_back({i, (i + n - 1) % n, T{0.5}});
    }
    return make_sparse(n, entries);
}

template <int COLUMNS, class T>
void expect_polynomial_of_eigenvalues(int degree) {
    constexpr std::size_t N = 600;
    constexpr double LOW = -1, HIGH = 0.9, TOP = 1, TURN = 2 * std::numbers::pi / N;
    const auto A = cycle_walk<T>(N);
    const std::size_t frequencies[] = {0, 1, 2, 3, 10, 30, 50, 75, 90, 110, 150, 200, 250, 298, 299, 300};
    Data<T> V(N, COLUMNS);
    for (std::size_t i = 0; i < N; ++i)
        for (std::size_t c = 0; c < COLUMNS; ++c)
            V.row(i)[c] = static_cast<T>(std::cos(TURN * static_cast<double>(frequencies[c] * i % N)));
    auto found = V;
    chebyshev_inplace<COLUMNS>(Context{2, {}}, view(A), found.values.data(), LOW, HIGH, TOP, degree);
    const auto p = [&](double x) { return chebyshev_polynomial((x - (HIGH + LOW) / 2) / ((HIGH - LOW) / 2), degree); };
    for (std::size_t c = 0; c < COLUMNS; ++c) {
        const double factor = p(std::cos(TURN * static_cast<double>(frequencies[c]))) / p(TOP);
        // Each step rounds a few times, and an error of an early step is carried on by a polynomial that is at most 1
        // at `top`, as are the polynomials themselves.
        const double tolerance = 8 * (degree + 2) * double{std::numeric_limits<T>::epsilon()};
        for (std::size_t i = 0; i < N; ++i)
            expect_close(found.row(i)[c], factor * double{V.row(i)[c]}, tolerance,
                         text("degree ", degree, ", frequency ", frequencies[c], ", row ", i));
    }
}

template <class T>
void the_filter_multiplies_eigenvectors_by_chebyshevs_polynomial() {
    for (const int degree : {1, 2, 3, 4, 5, 9, 20}) {
        expect_polynomial_of_eigenvalues<2, T>(degree);
        expect_polynomial_of_eigenvalues<4, T>(degree);
        expect_polynomial_of_eigenvalues<8, T>(degree);
        expect_polynomial_of_eigenvalues<16, T>(degree);
    }
}

/// T_{j+1} = 2 x T_j - T_{j-1} with x = (A - c) / e, then divided by the same at `top`; all in long double.
std::vector<long double> plain_filter(const Data<double>& A, const Data<double>& V, double low, double high, double top,
                                      int degree) {
    using Vector = std::vector<long double>;
    const long double c = (high + low) / 2.0L, e = (high - low) / 2.0L, at_top = (top - c) / e;
    const auto apply = [&](const Vector& from) {
        Vector to(from.size());
        for (std::size_t i = 0; i < A.rows; ++i)
            for (std::size_t v = 0; v < V.columns; ++v) {
                long double sum = -c * from[i * V.columns + v];
                for (std::size_t j = 0; j < A.columns; ++j) sum += A.row(i)[j] * from[j * V.columns + v];
                to[i * V.columns + v] = sum / e;
            }
        return to;
    };
    Vector before(V.values.begin(), V.values.end()), current = apply(before);
    long double value_before = 1, value = at_top;
    for (int j = 2; j <= degree; ++j) {
        Vector next = apply(current);
        for (std::size_t at = 0; at < next.size(); ++at) next[at] = 2 * next[at] - before[at];
        before = std::exchange(current, std::move(next));
        value_before = std::exchange(value, 2 * at_top * value - value_before);
    }
    for (auto& x : current) x /= value;
    return current;
}

template <class T>
void the_filter_of_a_random_matrix_is_that_of_the_dense_recurrence() {
    constexpr std::size_t N = 70;
    constexpr int COLUMNS = 4;
    constexpr double LOW = -0.4, HIGH = 0.1, TOP = 0.4;  // the spectrum ends near LOW and TOP
    Dice dice(5);
    Data<double> A(N, N);
    for (std::size_t i = 0; i < N; ++i)
        for (std::size_t j = 0; j <= i; ++j)
            if (dice.uniform() < 0.2) A.row(i)[j] = A.row(j)[i] = static_cast<float>(dice.uniform() - 0.3) / 8;
    std::vector<Entry<T>> entries;
    for (std::size_t i = 0; i < N; ++i)
        for (std::size_t j = 0; j < N; ++j)
            if (A.row(i)[j] != 0) entries.push_back({i, j, static_cast<T>(A.row(i)[j])});
    const auto sparse = make_sparse(N, entries);
    const auto V = whole_numbers<double>(N, COLUMNS, 6);
    for (const int degree : {1, 2, 3, 8, 15}) {
        const auto wanted = plain_filter(A, V, LOW, HIGH, TOP, degree);
        std::vector<T> first(V.values.begin(), V.values.end());
        chebyshev_inplace<COLUMNS>(Context{1, {}}, view(sparse), first.data(), LOW, HIGH, TOP, degree);
        // As above, for vectors of size up to 8.
        const double tolerance = 8 * 8 * (degree + 2) * double{std::numeric_limits<T>::epsilon()};
        expect(std::abs(wanted[0]) > 100 * tolerance, "the filter keeps some of a random vector");
        for (std::size_t at = 0; at < first.size(); ++at)
            expect_close(first[at], static_cast<double>(wanted[at]), tolerance, text("degree ", degree, ", at ", at));
    }
}

template <class T>
void the_filter_has_the_same_bits_on_any_number_of_threads() {
    const auto A = cycle_walk<T>(1700);
    const auto V = make_data<T>(Shape::random, 1700, 8);
    auto first = V;
    chebyshev_inplace<8>(Context{1, {}}, view(A), first.values.data(), -1, 0.5, 1, 7);
    expect(first.values != V.values, "the filter changes random vectors");
    for (const int threads : {2, 3, 8}) {
        auto other = V;
        chebyshev_inplace<8>(Context{threads, {}}, view(A), other.values.data(), -1, 0.5, 1, 7);
        expect(other.values == first.values, text(threads, " threads"));
    }
}

/// A V with guards on both sides of the output, which nothing may write to.
template <class T>
Data<double> narrow_product(const Data<T>& A, const Data<T>& V, int threads) {
    constexpr std::size_t GUARD = 40;
    Data<double> out(A.rows, V.columns);
    std::vector<double> guarded(out.values.size() + 2 * GUARD, -1234.5);
    NarrowProduct<T>(V.view()).run(Context{threads, {}}, A.view(), guarded.data() + GUARD);
    for (std::size_t at = 0; at < GUARD; ++at)
        expect(guarded[at] == -1234.5 && guarded[guarded.size() - 1 - at] == -1234.5, "only the output is written to");
    std::copy_n(guarded.begin() + GUARD, out.values.size(), out.values.begin());
    return out;
}

template <class T>
void expect_exact_product(std::size_t rows, std::size_t depth, std::size_t columns) {
    const auto A = whole_numbers<T>(rows, depth, 1), V = whole_numbers<T>(depth, columns, 2);
    const auto found = narrow_product(A, V, 2);
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t c = 0; c < columns; ++c) {
            double wanted = 0;
            for (std::size_t j = 0; j < depth; ++j) wanted += double{A.row(i)[j]} * double{V.row(j)[c]};
            expect_equal(found.row(i)[c], wanted,
                         text("entry ", i, ", ", c, " of ", rows, " x ", depth, " x ", columns));
        }
}

template <class T>
void a_narrow_product_of_whole_numbers_is_exact() {
    for (std::size_t columns = 1; columns <= 40; ++columns)
        for (const std::size_t rows : {1, 3, 7, 8, 9, 65, 131}) expect_exact_product<T>(rows, 13, columns);
    for (const std::size_t columns : {1, 7, 16, 17})
        for (const std::size_t depth : {0, 1, 511, 512, 513, 1100}) expect_exact_product<T>(11, depth, columns);
}

template <class T>
void a_narrow_product_rounds_like_sums_of_512_terms() {
    const auto A = make_data<T>(Shape::random, 21, 3000, 1), V = make_data<T>(Shape::random, 3000, 5, 2);
    const auto found = narrow_product(A, V, 1);
    for (std::size_t i = 0; i < A.rows; ++i)
        for (std::size_t c = 0; c < V.columns; ++c) {
            double wanted = 0, size = 0;
            for (std::size_t j = 0; j < V.rows; ++j) {
                wanted += double{A.row(i)[j]} * double{V.row(j)[c]};
                size += std::abs(double{A.row(i)[j]} * double{V.row(j)[c]});
            }
            // Half an ulp for each addition and each product.
            const double tolerance = (513 + (sizeof(T) == 8 ? 3000 : 0)) * std::numeric_limits<T>::epsilon() / 2 * size;
            expect_close(found.row(i)[c], wanted, tolerance, text("entry ", i, ", ", c));
        }
}

template <class T>
void a_long_narrow_product_is_summed_in_double() {
    // 512 times 181^2 is just below 2^24: exact in float32, but no longer twice that and one term more.
    Data<T> A(9, 3001), V(3001, 3);
    for (auto* data : {&A, &V}) std::fill(data->values.begin(), data->values.end(), T{181});
    for (const double found : narrow_product(A, V, 1).values) expect_equal(found, 3001.0 * 181 * 181, "a long sum");
}

template <class T>
void a_row_of_a_narrow_product_depends_on_that_row_alone() {
    const auto A = make_data<T>(Shape::random, 205, 600, 1), V = make_data<T>(Shape::random, 600, 19, 2);
    const auto all = narrow_product(A, V, 1);
    for (const int threads : THREAD_COUNTS) {
        expect(narrow_product(A, V, threads).values == all.values, text("on ", threads, " threads"));
        for (const std::size_t begin : {0, 1, 3, 64, 100, 204})
            for (const std::size_t rows : {1, 2, 5, 9}) {
                Data<T> part(std::min(rows, A.rows - begin), A.columns);
                std::copy_n(A.row(begin), part.values.size(), part.values.begin());
                const auto found = narrow_product(part, V, threads);
                expect(std::equal(found.values.begin(), found.values.end(), all.row(begin)),
                       text(rows, " rows from ", begin, " on"));
            }
    }
}

template <class T>
void a_few_rows_times_a_matrix_have_the_bits_of_the_whole_product() {
    constexpr int ROWS = NarrowProduct<T>::ROWS;
    const auto A = make_data<T>(Shape::random, ROWS, 600, 1), V = make_data<T>(Shape::random, 600, 19, 2);
    const auto whole = narrow_product(A, V, 1);
    const NarrowProduct<T> product(V.view());
    Data<T> together(ROWS, V.columns), alone(ROWS, V.columns);
    product.template multiply<ROWS>(A.row(0), together.row(0));
    for (int i = 0; i < ROWS; ++i) product.template multiply<1>(A.row(i), alone.row(i));
    for (std::size_t at = 0; at < whole.values.size(); ++at) {
        expect_equal(together.values[at], static_cast<T>(whole.values[at]), text("entry ", at, " of rows together"));
        expect_equal(alone.values[at], static_cast<T>(whole.values[at]), text("entry ", at, " of rows alone"));
    }
}

template <class T>
void what_is_not_finite_stays_in_its_row_and_column() {
    auto A = make_data<T>(Shape::random, 19, 30, 1), V = make_data<T>(Shape::random, 30, 21, 2);
    A.row(4)[29] = std::numeric_limits<T>::quiet_NaN();
    V.row(17)[18] = std::numeric_limits<T>::infinity();
    const auto found = narrow_product(A, V, 1);
    for (std::size_t i = 0; i < A.rows; ++i)
        for (std::size_t c = 0; c < V.columns; ++c)
            expect_equal(std::isfinite(found.row(i)[c]), i != 4 && c != 18, text("finite at ", i, ", ", c));
}

constexpr Test TESTS[] = {
    {"sparse product: a combination is that of plain loops (float)",
     a_sparse_combination_is_that_of_plain_loops<float, float>},
    {"sparse product: a combination is that of plain loops (double)",
     a_sparse_combination_is_that_of_plain_loops<double, double>},
    {"sparse product: a combination is that of plain loops (float entries, double vectors)",
     a_sparse_combination_is_that_of_plain_loops<double, float>},
    {"sparse product: sums over narrow entries are as exact as the vectors",
     sums_over_narrow_entries_are_as_exact_as_the_vectors},
    {"sparse product: the filter multiplies eigenvectors by Chebyshev's polynomial (float)",
     the_filter_multiplies_eigenvectors_by_chebyshevs_polynomial<float>},
    {"sparse product: the filter multiplies eigenvectors by Chebyshev's polynomial (double)",
     the_filter_multiplies_eigenvectors_by_chebyshevs_polynomial<double>},
    {"sparse product: the filter of a random matrix is that of the dense recurrence (float)",
     the_filter_of_a_random_matrix_is_that_of_the_dense_recurrence<float>},
    {"sparse product: the filter of a random matrix is that of the dense recurrence (double)",
     the_filter_of_a_random_matrix_is_that_of_the_dense_recurrence<double>},
    {"sparse product: the filter has the same bits on any number of threads (float)",
     the_filter_has_the_same_bits_on_any_number_of_threads<float>},
    {"sparse product: the filter has the same bits on any number of threads (double)",
     the_filter_has_the_same_bits_on_any_number_of_threads<double>},
    {"narrow product: of whole numbers it is exact (float)", a_narrow_product_of_whole_numbers_is_exact<float>},
    {"narrow product: of whole numbers it is exact (double)", a_narrow_product_of_whole_numbers_is_exact<double>},
    {"narrow product: it rounds like sums of 512 terms (float)", a_narrow_product_rounds_like_sums_of_512_terms<float>},
    {"narrow product: it rounds like sums of 512 terms (double)",
     a_narrow_product_rounds_like_sums_of_512_terms<double>},
    {"narrow product: a long one is summed in float64 (float)", a_long_narrow_product_is_summed_in_double<float>},
    {"narrow product: a long one is summed in float64 (double)", a_long_narrow_product_is_summed_in_double<double>},
    {"narrow product: a row depends on that row alone (float)",
     a_row_of_a_narrow_product_depends_on_that_row_alone<float>},
    {"narrow product: a row depends on that row alone (double)",
     a_row_of_a_narrow_product_depends_on_that_row_alone<double>},
    {"narrow product: a few rows have the bits of the whole product (float)",
     a_few_rows_times_a_matrix_have_the_bits_of_the_whole_product<float>},
    {"narrow product: a few rows have the bits of the whole product (double)",
     a_few_rows_times_a_matrix_have_the_bits_of_the_whole_product<double>},
    {"narrow product: what is not finite stays in its row and column (float)",
     what_is_not_finite_stays_in_its_row_and_column<float>},
    {"narrow product: what is not finite stays in its row and column (double)",
     what_is_not_finite_stays_in_its_row_and_column<double>},
};

}  // namespace

Tests product_tests() { return TESTS; }

}  // namespace lowfold::tests
