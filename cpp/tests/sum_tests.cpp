// Sums over many columns: their bits depend on nothing but the row and the column, and they err as little as is told.
#include <cstring>

#include "data.hpp"
#include "engine.hpp"
#include "harness.hpp"
#include "wide_sums.hpp"

namespace lowfold::tests {
namespace {

constexpr std::size_t ROWS = 2 * TILE_ROWS + 3, PANELS = 2,
                      COLUMNS[] = {7, SEGMENT, SEGMENT + 1, GROUP, 3 * GROUP + 150};

/// Rows, and points packed into panels behind each other.
struct Given {
    Data<float> rows, points;
    Buffer<float> panels;

    explicit Given(std::size_t columns)
        : rows(make_data<float>(Shape::clustered, ROWS, columns)),
          points(make_data<float>(Shape::clustered, PANELS * PANEL<float>, columns, 2)),
          panels(points.values.size()) {
        for (std::size_t j = 0; j < PANELS; ++j) {
            float scales[PANEL<float>];
            FloatEngine<InnerProduct>::pack_columns(&panels[j * columns * PANEL<float>], PANEL<float>,
                                                    points.row(j * PANEL<float>), columns, scales);
        }
    }

    /// The sums of one row by itself with all points.
    template <class Operation>
    std::vector<float> sums(std::size_t i) const {
        std::vector<float> found;
        for (std::size_t j = 0; j < PANELS; ++j) {
            Vec<float> sums[1][TILE_VECTORS];
            accumulate_all<Operation>(rows.row(i), &panels[j * rows.columns * PANEL<float>], rows.columns, sums);
            for (const auto& lanes : sums[0])
                for (int lane = 0; lane < LANES<float>; ++lane) found.push_back(lanes[lane]);
        }
        return found;
    }
};

template <class Operation>
void bits_of_a_row_by_itself() {
    for (const std::size_t columns : COLUMNS) {
        const Given given(columns);
        WideSums<Operation> wide(ROWS + 1);
        parallel_for(Context{1, {}}, 1, [&](std::size_t, Worker& worker) {
            wide.make(
                ROWS, [&](std::size_t i) { return given.rows.row(i); }, given.panels.data(), PANELS, columns, worker);
        });
        for (std::size_t i = 0; i < ROWS; ++i) {
            const auto alone = given.sums<Operation>(i);
            for (std::size_t j = 0; j < PANELS; ++j) {
                Vec<float> together[1][TILE_VECTORS];
                wide.read(i, j, together);
                expect(std::memcmp(together, &alone[j * PANEL<float>], sizeof(together)) == 0,
                       text("row ", i, " of ", columns, " columns"));
            }
        }
    }
}

template <class Operation>
void sums_within_their_error() {
    for (const std::size_t columns : COLUMNS) {
        const Given given(columns);
        for (std::size_t i = 0; i < ROWS; ++i) {
            const auto found = given.sums<Operation>(i);
            for (std::size_t j = 0; j < found.size(); ++j) {
                double exact = 0, sizes = 0;
                for (std::size_t p = 0; p < columns; ++p) {
                    const double x = given.rows.row(i)[p], y = given.points.row(j)[p];
                    exact = std::is_same_v<Operation, InnerProduct> ? exact + x * y : exact + std::abs(x - y);
                    sizes += std::is_same_v<Operation, InnerProduct> ? (x * x + y * y) / 2 : std::abs(x) + std::abs(y);
                }
                expect(std::abs(found[j] - exact) <= float_error(columns) / 4 * sizes,
                       text(found[j], " for ", exact, " of ", columns, " columns"));
            }
        }
    }
}

void error_grows_slowly() {
    expect(float_error(200'000) < 3 * float_error(SEGMENT), "a sum of 200,000 columns errs by that of some 300");
}

constexpr Test TESTS[] = {
    {"sums: bits of a row by itself (inner products)", bits_of_a_row_by_itself<InnerProduct>},
    {"sums: bits of a row by itself (squares)", bits_of_a_row_by_itself<SumOfSquares>},
    {"sums: bits of a row by itself (differences)", bits_of_a_row_by_itself<SumOfDifferences>},
    {"sums: bits of a row by itself (largest difference)", bits_of_a_row_by_itself<LargestDifference>},
    {"sums: within their error (inner products)", sums_within_their_error<InnerProduct>},
    {"sums: within their error (differences)", sums_within_their_error<SumOfDifferences>},
    {"sums: error grows slowly with the columns", error_grows_slowly},
};

}  // namespace

Tests sum_tests() { return TESTS; }

}  // namespace lowfold::tests
