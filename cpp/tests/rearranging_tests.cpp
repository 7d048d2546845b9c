// Symmetric matrices read by halves, and sparse ones in another order.
#include "rearranging.hpp"
#include "sparse_product.hpp"
#include "sparse_support.hpp"
#include "symmetric_product.hpp"

namespace lowfold::tests {
namespace {

constexpr int THREAD_COUNTS[] = {1, 2, 3, 8};

template <class T>
void a_symmetric_product_of_whole_numbers_is_exact_and_reads_one_half() {
    for (const std::size_t n : {1, 2, 7, 8, 9, 63, 64, 65, 150, 700})
        for (const std::size_t columns : {1, 7, 8, 17}) {
            auto A = whole_numbers<T>(n, n, 1);
            const auto V = whole_numbers<T>(n, columns, 2);
            std::vector<T> packed;
            for (std::size_t i = 0; i < n; ++i) {
                for (std::size_t j = i / 64 * 64; j < n; ++j) packed.push_back(A.row(i)[j]);
                std::fill_n(A.row(i), i, std::numeric_limits<T>::quiet_NaN());
            }
            expect_equal(packed.size(), PackedRows<T>::size(n), "the size of the strips");
            for (const int threads : THREAD_COUNTS) {
                Data<double> found(n, columns), from_packed(n, columns);
                SymmetricProduct<T>(V.view()).run(Context{threads, {}}, A.view(), found.values.data());
                SymmetricProduct<T>(V.view()).run(Context{threads, {}}, PackedRows<const T>{packed.data(), n},
                                                  from_packed.values.data());
                expect(found.values == from_packed.values, "packed and not");
                for (std::size_t i = 0; i < n; ++i)
                    for (std::size_t c = 0; c < columns; ++c) {
                        double wanted = 0;
                        for (std::size_t j = 0; j < n; ++j)
                            wanted += double{A.row(std::min(i, j))[std::max(i, j)]} * double{V.row(j)[c]};
                        expect_equal(found.row(i)[c], wanted, text("entry ", i, ", ", c, " of ", n));
                    }
            }
        }
}

template <class T>
void a_permuted_matrix_times_permuted_vectors_is_the_product_permuted() {
    for (const std::size_t n : {1, 7, 500, 3000}) {
        const auto A = sparse_whole_numbers<T>(n, 9, 3);
        std::vector<std::int32_t> order(n);
        for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<std::int32_t>(i);
        std::reverse(order.begin(), order.end());
        std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n / 3), order.end());
        const auto V = whole_numbers<T>(n, 4, 2);
        Data<T> moved(n, 4), product(n, 4), of_moved(n, 4);
        for (std::size_t i = 0; i < n; ++i) std::copy_n(V.row(static_cast<std::size_t>(order[i])), 4, moved.row(i));
        combine<4, T>(Context{1, {}}, view(A), V.values.data(), nullptr, T{1}, T{0}, T{0}, product.values.data());
        for (const int threads : THREAD_COUNTS) {
            const auto B = permuted(Context{threads, {}}, view(A), order.data(), threads % 2 == 0);
            combine<4, T>(Context{threads, {}}, view(B), moved.values.data(), nullptr, T{1}, T{0}, T{0},
                          of_moved.values.data());
            for (std::size_t i = 0; i < n; ++i)
                expect(
                    std::equal(of_moved.row(i), of_moved.row(i) + 4, product.row(static_cast<std::size_t>(order[i]))),
                    text("row ", i, " of ", n));
        }
    }
}

constexpr Test TESTS[] = {
    {"rearranging: a permuted product is the product permuted (float)",
     a_permuted_matrix_times_permuted_vectors_is_the_product_permuted<float>},
    {"rearranging: a permuted product is the product permuted (double)",
     a_permuted_matrix_times_permuted_vectors_is_the_product_permuted<double>},
    {"symmetric product: of whole numbers it is exact, packed or not (float)",
     a_symmetric_product_of_whole_numbers_is_exact_and_reads_one_half<float>},
    {"symmetric product: of whole numbers it is exact, packed or not (double)",
     a_symmetric_product_of_whole_numbers_is_exact_and_reads_one_half<double>},
};

}  // namespace

Tests rearranging_tests() { return TESTS; }

}  // namespace lowfold::tests
