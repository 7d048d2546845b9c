// Cells: sampling, assignment, division.
#include <algorithm>

#include "data.hpp"
#include "distance.hpp"
#include "harness.hpp"
#include "partition.hpp"

namespace lowfold::tests {
namespace {

template <class Operation>
constexpr Metric METRIC = std::is_same_v<Operation, InnerProduct>       ? Metric::euclidean
                          : std::is_same_v<Operation, SumOfSquares>     ? Metric::euclidean
                          : std::is_same_v<Operation, SumOfDifferences> ? Metric::manhattan
                                                                        : Metric::chebyshev;

template <class Operation>
double distance_between(const float* x, const float* y, std::size_t dimensions) {
    double squares = 0, sum = 0, largest = 0;
    for (std::size_t p = 0; p < dimensions; ++p) {
        const double difference = std::abs(double{x[p]} - double{y[p]});
        squares += difference * difference;
        sum += difference;
        largest = std::max(largest, difference);
    }
    if (METRIC<Operation> == Metric::manhattan) return sum;
    return METRIC<Operation> == Metric::chebyshev ? largest : std::sqrt(squares);
}

/// A partition with copies of what it found.
template <class Operation>
struct Cells {
    Data<float> X;
    Buffer<float> centroids;
    std::vector<std::int32_t> labels;

    Cells(const Data<float>& X, std::size_t cells, std::uint64_t seed, int threads = 2) : X(X) {
        const ReadPoint read = [&](std::size_t i, float* to) { std::copy_n(X.row(i), X.columns, to); };
        const Context context{threads, {}};
        Partition<Operation> partition(context, X.rows, X.columns, seed, read);
        centroids = partition.centroids(cells).rows();
        labels = partition.labels;
    }

    std::size_t count() const { return centroids.size() / X.columns; }

    std::size_t largest() const {
        std::vector<std::size_t> size(count());
        for (const auto label : labels) ++size[label];
        return *std::max_element(size.begin(), size.end());
    }

    void expect_nearest(Where where = Where::current()) const {
        expect_equal(labels.size(), X.rows, "labels", where);
        for (std::size_t i = 0; i < X.rows; ++i) {
            expect(labels[i] >= 0 && static_cast<std::size_t>(labels[i]) < count(), "labels are cells", where);
            const double own = to_centroid(i, labels[i]);
            for (std::size_t c = 0; c < count(); ++c) expect_not_farther(i, own, to_centroid(i, c), where);
        }
    }

   private:
    double to_centroid(std::size_t i, std::size_t c) const {
        return distance_between<Operation>(X.row(i), &centroids[c * X.columns], X.columns);
    }

    /// Up to the rounding of a float32 score, which is relative to the squares of the points for the inner product.
    void expect_not_farther(std::size_t i, double own, double other, Where where) const {
        double size = 0;
        for (std::size_t p = 0; p < X.columns; ++p) size = std::max(size, std::abs(double{X.row(i)[p]}));
        const double error = 4 * double{float_error(X.columns)};
        if (METRIC<Operation> == Metric::euclidean) {
            size *= std::sqrt(static_cast<double>(X.columns));
            expect(own * own <= other * other + error * (size * size + other * other), "nearest centroid", where);
        } else {
            expect(own <= other + error * (size + other), "nearest centroid", where);
        }
    }
};

template <class Operation>
void each_point_is_in_the_cell_of_its_nearest_centroid() {
    for (const Shape shape : {Shape::random, Shape::clustered, Shape::lattice, Shape::duplicated, Shape::outlier})
        for (const std::size_t cells : {1, 2, 7, 30}) {
            const Cells<Operation> found(make_data<float>(shape, 1000, 6), cells, 5);
            expect(found.count() >= cells, text(cells, " cells at least"));
            found.expect_nearest();
        }
}

void equally_near_centroids_go_to_the_first() {
    Buffer<float> rows{1, 0, -1, 0, 1, 0, 0, 1, 0, 0};  // 0 and 2 coincide
    const Centroids<InnerProduct> centroids(rows, 2);
    const Data<float> X = [] {
        Data<float> X(4, 2);
        X.values = {1, 0, 0, 1, 0.5f, 0.5f, -3, 0};
        return X;
    }();
    const auto labels = nearest_centroids(Context{1, {}}, X.rows, centroids,
                                          [&](std::size_t i, float* to) { std::copy_n(X.row(i), 2, to); });
    expect(labels == std::vector<std::int32_t>{0, 3, 0, 1}, "the lowest index among equals");
}

void fewer_points_than_cells_are_no_problem() {
    for (const Shape shape : {Shape::random, Shape::lattice, Shape::duplicated})
        for (const std::size_t n : {1, 2, 3, 5, 8, 13})
            for (const std::size_t cells : {1, 2, 9, 40, 100}) {
                const Cells<InnerProduct> found(make_data<float>(shape, n, 2), cells, 5);
                expect(found.count() >= 1, "a cell at least");
                found.expect_nearest();
            }
}

void equal_points_can_be_partitioned() {
    for (const std::size_t n : {2, 5, 100, 1000})
        for (const std::size_t cells : {1, 3, 8}) {
            Data<float> X(n, 3);
            std::fill(X.values.begin(), X.values.end(), 0.5f);
            const Cells<InnerProduct> found(X, cells, 5);
            found.expect_nearest();
            expect(found.count() <= (1 + DIVISIONS) * (cells + 1), "few cells, although none can be divided");
        }
}

void crowded_cells_are_divided() {
    // Tight clusters of very different sizes: now and then a large one gets no more than one centroid at first.
    constexpr std::size_t N = 3000, CELLS = 32, CLUSTERS = 25;
    int divided = 0;
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        Dice dice(seed);
        Data<float> centres(CLUSTERS, 3), X(N, 3);
        for (auto& x : centres.values) x = static_cast<float>(dice.normal());
        for (std::size_t i = 0; i < N; ++i) {
            const double share = dice.uniform();
            const float* centre = centres.row(static_cast<std::size_t>(share * share * CLUSTERS));
            for (std::size_t p = 0; p < 3; ++p) X.row(i)[p] = static_cast<float>(centre[p] + 0.01 * dice.normal());
        }
        const Cells<InnerProduct> found(X, CELLS, seed);
        found.expect_nearest();
        divided += found.count() > CELLS;
        expect(found.largest() <= CROWDED * N / CELLS, text("the largest cell has ", found.largest(), " points"));
    }
    expect(divided > 0, "there was something to divide");
}

void cells_do_not_depend_on_the_number_of_threads() {
    const auto X = make_data<float>(Shape::clustered, 2000, 5);
    const Cells<InnerProduct> first(X, 12, 5, 1);
    for (const int threads : {2, 3, 8}) {
        const Cells<InnerProduct> other(X, 12, 5, threads);
        expect(other.centroids == first.centroids && other.labels == first.labels, text(threads, " threads"));
    }
    const Cells<InnerProduct> another(X, 12, 6, 1);
    expect(another.centroids != first.centroids, "but on the seed");
}

void a_stratified_sample_takes_one_of_each_part() {
    for (const std::size_t n : {1, 2, 10, 1000})
        for (const std::size_t count : {1, 2, 7, 10, 5000}) {
            const auto sample = stratified_sample(n, count, 3, 4);
            expect_equal(sample.size(), std::min(n, count), "size of the sample");
            for (std::size_t i = 0; i < sample.size(); ++i)
                expect(sample[i] >= i * n / sample.size() && sample[i] < (i + 1) * n / sample.size(), "its part");
        }
    expect(stratified_sample(1000, 10, 3, 4) == stratified_sample(1000, 10, 3, 4), "the same for a seed");
    expect(stratified_sample(1000, 10, 3, 4) != stratified_sample(1000, 10, 3, 5), "another for another stream");
}

void grouping_lists_the_members_of_each_label() {
    const std::vector<std::int32_t> label{2, 0, 2, 4, 0, 2};
    const Grouping groups(label, 5);
    expect(groups.begin == std::vector<std::size_t>{0, 2, 2, 5, 5, 6}, "where they begin");
    expect(groups.order == std::vector<std::int32_t>{1, 4, 0, 2, 5, 3}, "ascending within a label");
    expect_equal(groups.size(2), 3u, "members of label 2");
}

constexpr Test TESTS[] = {
    {"partition: each point is in the cell of its nearest centroid (inner product)",
     each_point_is_in_the_cell_of_its_nearest_centroid<InnerProduct>},
    {"partition: each point is in the cell of its nearest centroid (sum of squares)",
     each_point_is_in_the_cell_of_its_nearest_centroid<SumOfSquares>},
    {"partition: each point is in the cell of its nearest centroid (sum of differences)",
     each_point_is_in_the_cell_of_its_nearest_centroid<SumOfDifferences>},
    {"partition: each point is in the cell of its nearest centroid (largest difference)",
     each_point_is_in_the_cell_of_its_nearest_centroid<LargestDifference>},
    {"partition: equally near centroids go to the first", equally_near_centroids_go_to_the_first},
    {"partition: fewer points than cells are no problem", fewer_points_than_cells_are_no_problem},
    {"partition: equal points can be partitioned", equal_points_can_be_partitioned},
    {"partition: crowded cells are divided", crowded_cells_are_divided},
    {"partition: cells do not depend on the number of threads", cells_do_not_depend_on_the_number_of_threads},
    {"partition: a stratified sample takes one of each part", a_stratified_sample_takes_one_of_each_part},
    {"partition: grouping lists the members of each label", grouping_lists_the_members_of_each_label},
};

}  // namespace

Tests partition_tests() { return TESTS; }

}  // namespace lowfold::tests
