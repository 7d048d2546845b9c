// Batches of queries on their way through the cells.
#include "data.hpp"
#include "harness.hpp"
#include "visits.hpp"

namespace lowfold::tests {
namespace {

using Engine = FloatEngine<InnerProduct>;
using Euclidean = Cells<Engine, InnerProduct>;

constexpr std::size_t POINTS = 2000, COLUMNS = 4, CELLS = 8, ROWS = 8;
constexpr int WANTED = 5;

/// Keeps any candidates, and remembers which places of a batch asked for the nearest of theirs.
class Batch final : public Visits<Engine, InnerProduct> {
   public:
    explicit Batch(const Euclidean& cells)
        : Visits(cells,
                 {.capacity = ROWS, .wanted = WANTED, .error = cells.error(false), .alpha = 1, .everywhere = false}) {}

    /// The last place that asked, or -1, for `count` queries whose coordinates are all x.
    int last_to_ask(std::size_t count, float x) {
        last_ = -1;
        const auto query = [&](std::size_t, float* to) { std::fill_n(to, COLUMNS, x); };
        parallel_for(Context{1, {}}, 1, [&](std::size_t, Worker& worker) { collect(count, 0, query, worker); });
        return last_;
    }

   private:
    const std::vector<char>& nearest(int row, const std::int32_t*, int count) override {
        last_ = std::max(last_, row);
        stays_.assign(count, 0);
        std::fill_n(stays_.begin(), std::min(count, WANTED), 1);
        return stays_;
    }

    int last_ = -1;
    std::vector<char> stays_;
};

/// A query that is out of the range of scores visits every point; what it leaves behind does not.
void a_far_query_leaves_nothing_to_the_next_batch() {
    const auto X = make_data<float>(Shape::random, POINTS, COLUMNS);
    const ReadPoint read = [&](std::size_t i, float* to) { std::copy_n(X.row(i), COLUMNS, to); };
    const Context context{1, {}};
    Euclidean cells(context, POINTS, COLUMNS, CELLS, 7, read);
    cells.pack(context, Metric::euclidean, [&](std::size_t i, float* to) { read(cells.order()[i], to); });
    Batch batch(cells);
    expect_equal(batch.last_to_ask(ROWS, FAR), static_cast<int>(ROWS) - 1, "all candidates of the far queries");
    expect(batch.last_to_ask(1, 0.0f) <= 0, "places beyond the batch look for nothing");
}

constexpr Test TESTS[] = {
    {"visits: a far query leaves nothing to the next batch", a_far_query_leaves_nothing_to_the_next_batch},
};

}  // namespace

Tests visit_tests() { return TESTS; }

}  // namespace lowfold::tests
