// The tile of registers, and the dense products made of it.
#include <algorithm>
#include <memory>

#include "data.hpp"
#include "dense.hpp"
#include "directions.hpp"
#include "harness.hpp"

namespace lowfold::tests {
namespace {

constexpr int THREAD_COUNTS[] = {1, 2, 3, 8};

/// The first `rows` rows against one panel, as rows x PANEL entries.
template <class Operation, class T>
std::vector<T> tile(const Data<T>& left, const Data<T>& panel, int rows) {
    std::vector<T> out(rows * PANEL<T>);
    Buffer<T> interleaved(rows * left.columns);
    for (int i = 0; i < rows; ++i)
        for (std::size_t p = 0; p < left.columns; ++p) interleaved[p * rows + i] = left.row(i)[p];
    with_rows(rows, [&]<int ROWS>() {
        Vec<T> sum[ROWS][TILE_VECTORS];
        accumulate<Operation>(interleaved.data(), panel.values.data(), left.columns, sum);
        std::memcpy(out.data(), sum, sizeof(sum));
    });
    return out;
}

template <class T>
struct TileData {
    Data<T> left, panel;
    explicit TileData(std::size_t depth)
        : left(make_data<T>(Shape::random, TILE_ROWS, depth, 1)),
          panel(make_data<T>(Shape::random, depth, PANEL<T>, 2)) {}
};

template <class Operation, class T>
void expect_same_bits_for_any_row_count() {
    for (const std::size_t depth : {0, 1, 2, 37}) {
        const TileData<T> data(depth);
        const auto full = tile<Operation>(data.left, data.panel, TILE_ROWS);
        for (int rows = 1; rows < TILE_ROWS; ++rows) {
            const auto part = tile<Operation>(data.left, data.panel, rows);
            expect(std::memcmp(part.data(), full.data(), part.size() * sizeof(T)) == 0, text(rows, " rows"));
        }
    }
}

template <class T>
void any_row_count_gives_the_bits_of_the_full_tile() {
    expect_same_bits_for_any_row_count<InnerProduct, T>();
    expect_same_bits_for_any_row_count<SumOfDifferences, T>();
    expect_same_bits_for_any_row_count<LargestDifference, T>();
}

template <class T>
void the_three_operations_are_those_of_plain_loops() {
    for (const std::size_t depth : {0, 1, 2, 37}) {
        const TileData<T> data(depth);
        const auto product = tile<InnerProduct>(data.left, data.panel, TILE_ROWS);
        const auto sum = tile<SumOfDifferences>(data.left, data.panel, TILE_ROWS);
        const auto largest = tile<LargestDifference>(data.left, data.panel, TILE_ROWS);
        for (int i = 0; i < TILE_ROWS; ++i)
            for (int j = 0; j < PANEL<T>; ++j) {
                double inner = 0, size = 0;
                T differences = 0, most = 0;
                for (std::size_t p = 0; p < depth; ++p) {
                    const T x = data.left.row(i)[p], y = data.panel.row(p)[j];
                    inner += double{x} * double{y};
                    size += std::abs(double{x} * double{y});
                    differences += std::abs(x - y);
                    most = std::max(most, std::abs(x - y));
                }
                const int at = i * PANEL<T> + j;
                // Two roundings for each term at most.
                const double tolerance = 2 * static_cast<double>(depth) * std::numeric_limits<T>::epsilon() * size;
                expect_close(product[at], inner, tolerance, "inner product");
                expect_equal(sum[at], differences, "sum of differences");
                expect_equal(largest[at], most, "largest difference");
            }
    }
}

template <class T>
void a_strided_copy_writes_every_stride_and_nothing_between() {
    for (const std::size_t stride : {1, 2, 6, 14, 33})
        for (const std::size_t count : {0, 1, 2, 17, 100}) {
            std::vector<T> from(count), to(count * stride + 3, T{-1});
            for (std::size_t p = 0; p < count; ++p) from[p] = static_cast<T>(p);
            copy_strided(from.data(), count, to.data(), stride);
            for (std::size_t at = 0; at < to.size(); ++at) {
                const bool written = at % stride == 0 && at / stride < count;
                expect_equal(to[at], written ? from[at / stride] : T{-1}, text("place ", at, ", stride ", stride));
            }
        }
}

/// For each column a mean; not the true one, so that nothing cancels.
template <class T>
std::vector<double> some_mean(const Data<T>& X) {
    std::vector<double> mean(X.columns);
    for (std::size_t p = 0; p < X.columns; ++p) mean[p] = 0.25 + 0.01 * static_cast<double>(p);
    return mean;
}

template <class T>
void a_projection_is_that_of_a_plain_loop() {
    for (const std::size_t depth : {1, 5, 33})
        for (const std::size_t columns : {1, 2, PANEL<T> - 1, PANEL<T>, PANEL<T> + 1, 2 * PANEL<T> + 3}) {
            const auto X = make_data<T>(Shape::random, 2 * TILE_ROWS + 1, depth, 1);
            const auto B = make_data<T>(Shape::random, depth, columns, 2);
            const auto mean = some_mean(X);
            Data<T> Y(X.rows, columns);
            project(Context{2, {}}, X.view(), mean.data(), B.view(), Y.writable());
            for (std::size_t i = 0; i < X.rows; ++i)
                for (std::size_t j = 0; j < columns; ++j) {
                    double wanted = 0, size = 0;
                    for (std::size_t p = 0; p < depth; ++p) {
                        const double term = (X.row(i)[p] - mean[p]) * B.row(p)[j];
                        wanted += term;
                        size += std::abs(term);
                    }
                    // Centring, product and sum round each term once.
                    const double tolerance = 3 * static_cast<double>(depth) * std::numeric_limits<T>::epsilon() * size;
                    expect_close(Y.row(i)[j], wanted, tolerance, text("entry ", i, ", ", j));
                }
        }
}

template <class T>
void a_projected_row_depends_on_that_row_alone() {
    const auto X = make_data<T>(Shape::random, 20 * TILE_ROWS + 7, 19, 1);
    const auto B = make_data<T>(Shape::random, 19, PANEL<T> + 5, 2);
    const auto mean = some_mean(X);
    Data<T> all(X.rows, B.columns), other(X.rows, B.columns);
    project(Context{1, {}}, X.view(), mean.data(), B.view(), all.writable());
    for (const int threads : THREAD_COUNTS)
        for (const std::size_t batch : {std::size_t{1}, std::size_t{5}, std::size_t{TILE_ROWS + 1}, X.rows}) {
            for (std::size_t begin = 0; begin < X.rows; begin += batch) {
                const std::size_t rows = std::min(batch, X.rows - begin);
                project<T>(Context{threads, {}}, {X.row(begin), rows, X.columns}, mean.data(), B.view(),
                           {other.row(begin), rows, B.columns});
            }
            expect(other.values == all.values, text("batches of ", batch, " on ", threads, " threads"));
        }
}

template <class T>
void expect_cross_product(const Data<T>& A, const Data<T>& B, bool symmetric) {
    const auto a_mean = some_mean(A), b_mean = some_mean(B);
    const CrossProduct<T> first(Context{1, {}}, A.view(), a_mean.data(), B.view(), b_mean.data(), symmetric);
    for (std::size_t i = 0; i < A.columns; ++i)
        for (std::size_t j = 0; j < B.columns; ++j) {
            double wanted = 0, size = 0;
            for (std::size_t r = 0; r < A.rows; ++r) {
                const double term = (A.row(r)[i] - a_mean[i]) * (B.row(r)[j] - b_mean[j]);
                wanted += term;
                size += std::abs(term);
            }
            // Sums in T run over blocks of 1024 rows.
            const double steps = 2 + static_cast<double>(std::min<std::size_t>(A.rows, 1024));
            expect_close(first.at(i, j), wanted, steps * std::numeric_limits<T>::epsilon() * size,
                         text("entry ", i, ", ", j, " of ", A.columns, " x ", B.columns, " from ", A.rows, " rows"));
        }
    for (const int threads : {2, 3, 8}) {
        const CrossProduct<T> other(Context{threads, {}}, A.view(), a_mean.data(), B.view(), b_mean.data(), symmetric);
        for (std::size_t i = 0; i < A.columns; ++i)
            for (std::size_t j = 0; j < B.columns; ++j)
                expect_equal(other.at(i, j), first.at(i, j), text("entry on ", threads, " threads"));
    }
}

template <class T>
void a_cross_product_is_that_of_a_plain_loop_on_any_number_of_threads() {
    for (const std::size_t rows : {1, 1023, 1024, 1025, 2100})
        for (const std::size_t columns : {1, TILE_ROWS + 1, 3 * LANES<T> + 1}) {
            const auto A = make_data<T>(Shape::random, rows, columns, 1);
            const auto B = make_data<T>(Shape::random, rows, 4 * LANES<T> - 3, 2);
            expect_cross_product(A, B, false);
        }
}

template <class T>
void a_symmetric_product_is_that_of_a_plain_loop_and_symmetric() {
    // Panels of the product are three registers wide, parts of it up to 16 tiles of 8 rows high.
    for (const std::size_t columns : {1, LANES<T>, LANES<T> + 1, 3 * LANES<T>, 3 * LANES<T> + 1, 8 * LANES<T>, 150}) {
        const auto X = make_data<T>(Shape::random, 600, columns);
        expect_cross_product(X, X, true);
        const auto mean = some_mean(X);
        const CrossProduct<T> found(Context{2, {}}, X.view(), mean.data(), X.view(), mean.data(), true);
        for (std::size_t i = 0; i < columns; ++i)
            for (std::size_t j = 0; j < i; ++j) expect_equal(found.at(i, j), found.at(j, i), "entry and its mirror");
    }
}

/// Columns that equal their mean in every row: at both ends, alone, and all of them.
template <class T>
void columns_that_are_zero_everywhere_change_no_bit_of_the_others() {
    constexpr std::size_t ROWS = 2100, COLUMNS = 3 * PANEL<T> + 5;
    const auto whole = make_data<T>(Shape::random, ROWS, COLUMNS);
    const std::vector<double> zero(COLUMNS);
    for (const std::size_t every : {1, 2, 7}) {
        auto X = whole;
        std::vector<std::size_t> kept;
        for (std::size_t p = 0; p < COLUMNS; ++p) {
            const bool cleared = every == 1 || p < 3 || p + 4 > COLUMNS || p % every == 0;
            for (std::size_t i = 0; cleared && i < ROWS; ++i) X.row(i)[p] = 0;
            if (!cleared) kept.push_back(p);
        }
        if (every == 7) X.row(ROWS - 1)[0] = 2;  // zero in all rows but the last
        Data<T> narrow(ROWS, kept.size());
        for (std::size_t i = 0; i < ROWS; ++i)
            for (std::size_t p = 0; p < kept.size(); ++p) narrow.row(i)[p] = X.row(i)[kept[p]];
        for (const bool symmetric : {false, true}) {
            const CrossProduct<T> found(Context{2, {}}, X.view(), zero.data(), X.view(), zero.data(), symmetric);
            const CrossProduct<T> wanted(Context{2, {}}, narrow.view(), zero.data(), narrow.view(), zero.data(),
                                         symmetric);
            for (std::size_t i = 0; i < kept.size(); ++i)
                for (std::size_t j = 0; j < kept.size(); ++j)
                    expect_equal(found.at(kept[i], kept[j]), wanted.at(i, j), "an entry of the others");
            expect_equal(found.at(1, 1), 0.0, "an entry of a column of zeros");
            expect_equal(found.at(0, 0), every == 7 ? 4.0 : 0.0, "an entry of a column with one number");
        }
    }
}

template <class T>
void directions_have_length_one_on_any_number_of_threads() {
    for (const Shape shape : SHAPES) {
        const auto X = make_data<T>(shape, 1100, 37);
        Data<T> first(X.rows, X.columns), other(X.rows, X.columns);
        const auto has = std::make_unique<bool[]>(X.rows);
        directions(Context{1, {}}, X.view(), true, first.writable(), has.get());
        directions(Context{3, {}}, X.view(), true, other.writable(), has.get());
        expect(first.values == other.values, "the same bits");
        for (std::size_t i = 0; i < X.rows; ++i) {
            double length = 0, sum = 0;
            for (std::size_t p = 0; p < X.columns; ++p) {
                length += double(first.row(i)[p]) * first.row(i)[p];
                sum += first.row(i)[p];
            }
            if (!has[i]) continue;
            expect_close(length, 1, 1e-5, "the length of a row");
            expect_close(sum, 0, 1e-4, "the sum of a centred row");
        }
    }
}

constexpr Test TESTS[] = {
    {"tile: any row count gives the bits of the full tile (float)",
     any_row_count_gives_the_bits_of_the_full_tile<float>},
    {"tile: any row count gives the bits of the full tile (double)",
     any_row_count_gives_the_bits_of_the_full_tile<double>},
    {"tile: the three operations are those of plain loops (float)",
     the_three_operations_are_those_of_plain_loops<float>},
    {"tile: the three operations are those of plain loops (double)",
     the_three_operations_are_those_of_plain_loops<double>},
    {"tile: a strided copy writes every stride and nothing between (float)",
     a_strided_copy_writes_every_stride_and_nothing_between<float>},
    {"tile: a strided copy writes every stride and nothing between (double)",
     a_strided_copy_writes_every_stride_and_nothing_between<double>},
    {"tile: a strided copy writes every stride and nothing between (int32)",
     a_strided_copy_writes_every_stride_and_nothing_between<std::int32_t>},
    {"dense: a projection is that of a plain loop (float)", a_projection_is_that_of_a_plain_loop<float>},
    {"dense: a projection is that of a plain loop (double)", a_projection_is_that_of_a_plain_loop<double>},
    {"dense: a projected row depends on that row alone (float)", a_projected_row_depends_on_that_row_alone<float>},
    {"dense: a projected row depends on that row alone (double)", a_projected_row_depends_on_that_row_alone<double>},
    {"dense: a cross product is that of a plain loop on any number of threads (float)",
     a_cross_product_is_that_of_a_plain_loop_on_any_number_of_threads<float>},
    {"dense: a cross product is that of a plain loop on any number of threads (double)",
     a_cross_product_is_that_of_a_plain_loop_on_any_number_of_threads<double>},
    {"dense: a symmetric product is that of a plain loop, and symmetric (float)",
     a_symmetric_product_is_that_of_a_plain_loop_and_symmetric<float>},
    {"dense: a symmetric product is that of a plain loop, and symmetric (double)",
     a_symmetric_product_is_that_of_a_plain_loop_and_symmetric<double>},
    {"cross product: columns that are zero everywhere change no bit of the others (float)",
     columns_that_are_zero_everywhere_change_no_bit_of_the_others<float>},
    {"cross product: columns that are zero everywhere change no bit of the others (double)",
     columns_that_are_zero_everywhere_change_no_bit_of_the_others<double>},
    {"directions: have length one on any number of threads (float)",
     directions_have_length_one_on_any_number_of_threads<float>},
    {"directions: have length one on any number of threads (double)",
     directions_have_length_one_on_any_number_of_threads<double>},
};

}  // namespace

Tests dense_tests() { return TESTS; }

}  // namespace lowfold::tests
