// The symmetric graph of a list of neighbours, and shortest paths in graphs.
#include <map>
#include <queue>

#include "geodesic.hpp"
#include "sparse_support.hpp"

namespace lowfold::tests {
namespace {

constexpr int THREAD_COUNTS[] = {1, 2, 3, 8};

void occurrences_are_all_places_of_each_point_in_ascending_order() {
    Dice dice(1);
    for (const std::size_t points : {1, 2, 50})
        for (const std::size_t count : {0, 1, 7, 300}) {
            std::vector<std::int32_t> entries(count);
            for (auto& entry : entries) entry = static_cast<std::int32_t>(dice.below(points));
            const Occurrences found(Context{2, {}}, entries.data(), count, points);
            expect_equal(found.begin[0], 0, "the first offset");
            expect_equal(found.begin[points], static_cast<std::int64_t>(count), "the last offset");
            for (std::size_t i = 0; i < points; ++i) {
                std::vector<std::int64_t> wanted;
                for (std::size_t place = 0; place < count; ++place)
                    if (static_cast<std::size_t>(entries[place]) == i)
                        wanted.push_back(static_cast<std::int64_t>(place));
                const auto* places = found.places.data();
                expect(std::vector<std::int64_t>(places + found.begin[i], places + found.begin[i + 1]) == wanted,
                       text("places of point ", i, " of ", points));
            }
        }
}

template <class T>
std::vector<T> random_lengths(std::size_t count, Dice& dice) {
    std::vector<T> lengths(count);
    for (auto& length : lengths) length = static_cast<T>(dice.uniform());
    return lengths;
}

/// Each pair with an edge, by the rule as it stands: the lower point's length wherever it has one.
template <class T>
SparseMatrix<T> plain_graph(const Data<std::int32_t>& neighbors, const std::vector<T>& lengths) {
    std::map<std::pair<std::size_t, std::size_t>, T> edges;
    for (std::size_t i = neighbors.rows; i-- > 0;)  // the lower overwrites the higher
        for (std::size_t l = 0; l < neighbors.columns; ++l) {
            const auto j = static_cast<std::size_t>(neighbors.row(i)[l]);
            edges[{i, j}] = edges[{j, i}] = lengths[i * neighbors.columns + l];
        }
    std::vector<Entry<T>> entries;
    for (const auto& [ends, length] : edges) entries.push_back({ends.first, ends.second, length});
    return make_sparse(neighbors.rows, entries);
}

template <class T>
void expect_symmetric_graph(const Data<std::int32_t>& neighbors, Dice& dice) {
    const auto lengths = random_lengths<T>(neighbors.values.size(), dice);  // they differ between the two directions
    const auto wanted = plain_graph(neighbors, lengths);
    for (const int threads : THREAD_COUNTS)
        expect_same_matrix(SymmetricGraph<T>(Context{threads, {}}, neighbors.view(), lengths.data()).build(), wanted,
                           text(neighbors.rows, " points, ", neighbors.columns, " neighbours, ", threads, " threads"));
}

template <class T>
void each_pair_of_neighbours_is_an_edge_with_the_length_of_the_lower_point() {
    Dice dice(2);
    for (const auto& [n, k] : {std::pair{1, 0}, {2, 1}, {5, 4}, {511, 1}, {512, 3}, {513, 2}, {1300, 7}})
        expect_symmetric_graph<T>(random_neighbors(n, k, dice), dice);
}

template <class T>
void a_point_that_is_everybodys_neighbour_has_an_edge_to_all() {
    constexpr std::size_t N = 1100, HUB = 600;
    Dice dice(3);
    Data<std::int32_t> neighbors(N, 1);
    std::fill(neighbors.values.begin(), neighbors.values.end(), static_cast<std::int32_t>(HUB));
    neighbors.row(HUB)[0] = 7;
    expect_symmetric_graph<T>(neighbors, dice);
    const auto lengths = random_lengths<T>(N, dice);
    const auto graph = SymmetricGraph<T>(Context{2, {}}, neighbors.view(), lengths.data()).build();
    expect_equal(graph.begin[HUB + 1] - graph.begin[HUB], static_cast<std::int64_t>(N - 1), "edges of the hub");
}

/// Lengths of the edges of a graph that make shortest paths hard, each in its own way.
enum class Lengths { random, some_zero, all_zero, equal, outlier, many_scales };

constexpr Lengths ALL_LENGTHS[] = {Lengths::random, Lengths::some_zero, Lengths::all_zero,
                                   Lengths::equal,  Lengths::outlier,   Lengths::many_scales};

template <class T>
T draw(Lengths lengths, Dice& dice) {
    const double u = dice.uniform();
    if (lengths == Lengths::all_zero || (lengths == Lengths::some_zero && dice.uniform() < 0.4)) return T{0};
    if (lengths == Lengths::equal) return T{1};
    if (lengths == Lengths::many_scales) return static_cast<T>(std::pow(10.0, -6 + 10 * u * u));
    return static_cast<T>(u);
}

/// Directed edges, two components (the points of even and of odd number) and, where there are many points, some that
/// nothing leads to. With an outlier, an edge of length 1e9 is the only way from the even points to the odd ones.
template <class T>
SparseMatrix<T> make_graph(std::size_t n, std::size_t k, Lengths lengths, Dice& dice) {
    std::vector<Entry<T>> edges;
    if (n >= 2 * k + 2) {
        const auto neighbors = random_neighbors(n, k, dice, 2);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t l = 0; l < k; ++l)
                edges.push_back({i, static_cast<std::size_t>(neighbors.row(i)[l]), draw<T>(lengths, dice)});
    }
    std::erase_if(edges, [&](const auto& edge) { return n > 20 && edge.column < 4 && edge.row != 9; });
    if (lengths == Lengths::outlier && n > 9) edges.push_back({8, 5, T{1e9}});
    return make_sparse(n, edges);
}

/// A chain, whose last nodes are as far away as can be.
template <class T>
SparseMatrix<T> make_chain(std::size_t n, Lengths lengths, Dice& dice) {
    std::vector<Entry<T>> edges;
    for (std::size_t i = 0; i + 1 < n; ++i) {
        const T length = draw<T>(lengths, dice);
        edges.push_back({i, i + 1, length});
        edges.push_back({i + 1, i, length});
    }
    return make_sparse(n, edges);
}

template <class T>
struct Request {
    Data<std::int32_t> nodes;
    std::vector<T> behind;
    std::vector<std::int32_t> targets;

    /// Several starts in each row, some of them at one node, some infinitely far behind.
    Request(std::size_t rows, std::size_t starts, std::size_t n, Dice& dice)
        : nodes(rows, starts), behind(rows * starts), targets(n + 3) {
        for (auto& node : nodes.values) node = static_cast<std::int32_t>(dice.below(n));
        for (std::size_t r = 0; r < rows; ++r) {
            if (starts > 1 && r % 3 == 0) nodes.row(r)[1] = nodes.row(r)[0];
            for (std::size_t l = 0; l < starts; ++l)
                behind[r * starts + l] = starts == 1 ? T{0} : static_cast<T>(dice.uniform());
            if (starts > 1 && r % 5 == 1) behind[r * starts] = std::numeric_limits<T>::infinity();
        }
        for (std::size_t c = 0; c < targets.size(); ++c) targets[c] = static_cast<std::int32_t>((7 * c + 2) % n);
    }

    Starts<T> starts() const { return {nodes.view(), behind.data()}; }
};

/// Dijkstra's algorithm with a heap, one row of starts.
template <class T>
std::vector<T> dijkstra(SparseView<T> graph, const std::int32_t* nodes, const T* behind, std::size_t count) {
    std::vector<T> label(graph.rows, std::numeric_limits<T>::infinity());
    using Item = std::pair<T, std::int32_t>;
    std::priority_queue<Item, std::vector<Item>, std::greater<>> heap;
    const auto reach = [&](std::int32_t node, T length) {
        if (!(length < label[node])) return;
        label[node] = length;
        heap.push({length, node});
    };
    for (std::size_t l = 0; l < count; ++l) reach(nodes[l], behind[l]);
    while (!heap.empty()) {
        const auto [length, node] = heap.top();
        heap.pop();
        if (length > label[node]) continue;
        for (auto at = graph.begin[node]; at < graph.begin[node + 1]; ++at)
            reach(graph.columns[at], length + graph.values[at]);
    }
    return label;
}

template <class T>
void expect_shortest_paths(const SparseMatrix<T>& graph, const Request<T>& request, const std::string& what) {
    const std::size_t rows = request.nodes.rows, starts = request.nodes.columns;
    Data<T> wanted(rows, request.targets.size());
    for (std::size_t r = 0; r < rows; ++r) {
        const auto labels = dijkstra(view(graph), request.nodes.row(r), &request.behind[r * starts], starts);
        for (std::size_t c = 0; c < wanted.columns; ++c) wanted.row(r)[c] = labels[request.targets[c]];
    }
    for (const int threads : THREAD_COUNTS) {
        Data<T> found(rows, request.targets.size());
        std::fill(found.values.begin(), found.values.end(), T{-1});
        Geodesics<T>::solve(Context{threads, {}}, view(graph), request.starts(), request.targets.data(),
                            found.writable());
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t c = 0; c < found.columns; ++c)
                expect_equal(
                    found.row(r)[c], wanted.row(r)[c],
                    text(what, ", ", rows, " rows, ", threads, " threads, row ", r, " to ", request.targets[c]));
    }
}

template <class T>
void shortest_paths_have_the_bits_of_dijkstra() {
    Dice dice(4);
    for (const Lengths lengths : ALL_LENGTHS)
        for (const auto& [n, k] : {std::pair{9, 3}, {40, 2}, {500, 5}}) {
            const auto graph = make_graph<T>(n, k, lengths, dice);
            for (const std::size_t rows : {std::size_t{1}, Geodesics<T>::LANE_COUNT, 2 * Geodesics<T>::LANE_COUNT + 5})
                expect_shortest_paths(graph, Request<T>(rows, 1, n, dice),
                                      text("lengths ", static_cast<int>(lengths), ", ", n, " nodes"));
        }
}

template <class T>
void paths_from_several_starts_have_the_bits_of_dijkstra() {
    Dice dice(5);
    for (const Lengths lengths : ALL_LENGTHS)
        for (const std::size_t starts : {2, 5}) {
            const auto graph = make_graph<T>(300, 4, lengths, dice);
            expect_shortest_paths(graph, Request<T>(Geodesics<T>::LANE_COUNT + 1, starts, 300, dice),
                                  text("lengths ", static_cast<int>(lengths), ", ", starts, " starts"));
        }
}

template <class T>
void paths_along_a_chain_have_the_bits_of_dijkstra() {
    Dice dice(6);
    for (const Lengths lengths : ALL_LENGTHS) {
        const auto chain = make_chain<T>(700, lengths, dice);
        expect_shortest_paths(chain, Request<T>(2 * Geodesics<T>::LANE_COUNT + 1, 1, 700, dice),
                              text("lengths ", static_cast<int>(lengths)));
    }
}

template <class T>
void graphs_of_a_few_nodes_and_without_edges_are_solved() {
    Dice dice(7);
    for (const std::size_t n : {1, 2, 3, 200})
        for (const std::size_t rows : {1, 3, 90}) {
            expect_shortest_paths(make_sparse<T>(n, {}), Request<T>(rows, 1, n, dice), text(n, " nodes, no edges"));
            expect_shortest_paths(make_sparse<T>(n, {{0, 0, T{1}}, {0, n - 1, T{0}}}), Request<T>(rows, 2, n, dice),
                                  text(n, " nodes, a loop"));
            if (n > 1)
                expect_shortest_paths(make_chain<T>(n, Lengths::random, dice), Request<T>(rows, 1, n, dice),
                                      text("a chain of ", n, " nodes"));
        }
    const Request<T> nobody(0, 1, 3, dice);
    expect_shortest_paths(make_chain<T>(3, Lengths::random, dice), nobody, "no rows");
}

template <class T>
void a_row_without_a_finite_start_reaches_nothing() {
    Dice dice(8);
    const auto graph = make_graph<T>(60, 3, Lengths::random, dice);
    Request<T> request(3, 2, 60, dice);
    request.behind = {T{0}, T{1}, Geodesics<T>::UNREACHED, Geodesics<T>::UNREACHED, T{1}, T{0}};
    expect_shortest_paths(graph, request, "infinitely far behind");
    Data<T> found(3, request.targets.size());
    Geodesics<T>::solve(Context{1, {}}, view(graph), request.starts(), request.targets.data(), found.writable());
    for (std::size_t c = 0; c < found.columns; ++c)
        expect_equal(found.row(1)[c], Geodesics<T>::UNREACHED, "length of a path from nowhere");
}

void a_group_is_of_the_rows_nearest_to_one_of_them() {
    constexpr std::size_t N = 1000, GROUP = 64;
    Dice dice(9);
    std::vector<std::int32_t> node_at(N), place_of(N);  // a chain through nodes in random order
    for (std::size_t i = 0; i < N; ++i) node_at[i] = static_cast<std::int32_t>(i);
    for (std::size_t i = N; i-- > 1;) std::swap(node_at[i], node_at[dice.below(i + 1)]);
    for (std::size_t i = 0; i < N; ++i) place_of[node_at[i]] = static_cast<std::int32_t>(i);
    std::vector<Entry<float>> edges;
    for (std::size_t i = 0; i + 1 < N; ++i) {
        const auto a = static_cast<std::size_t>(node_at[i]), b = static_cast<std::size_t>(node_at[i + 1]);
        edges.push_back({a, b, 1.0f});
        edges.push_back({b, a, 1.0f});
    }
    Data<std::int32_t> nodes(N, 1);  // each row starts at a node of its own
    for (std::size_t i = 0; i < N; ++i) nodes.row(i)[0] = static_cast<std::int32_t>(N - 1 - i);
    const std::vector<float> behind(N, 0.0f);
    const auto graph = make_sparse(N, edges);
    const auto order = grouped<float>(view(graph), {nodes.view(), behind.data()}, GROUP);
    expect_equal(order.size(), N, "rows in the order");
    for (std::size_t begin = 0; begin < N; begin += GROUP) {
        const auto steps = [&](std::size_t at) {
            return std::abs(place_of[nodes.row(order[at])[0]] - place_of[nodes.row(order[begin])[0]]);
        };
        const std::size_t end = std::min(begin + GROUP, N);
        for (std::size_t inside = begin; inside < end; ++inside)
            for (std::size_t left = end; left < N; ++left)
                expect(steps(inside) <= steps(left), text("no row left is nearer than row ", inside, " of the order"));
    }
}

void the_order_of_groups_holds_each_row_once() {
    Dice dice(10);
    for (const std::size_t n : {1, 2, 50, 400})
        for (const std::size_t rows : {0, 1, 5, 333, 1000})
            for (const std::size_t group : {1, 2, 64, 5000}) {
                const auto graph = make_graph<float>(n, 2, Lengths::random, dice);
                const Request<float> request(rows, 2, n, dice);
                auto order = grouped(view(graph), request.starts(), group);
                std::sort(order.begin(), order.end());
                expect_equal(order.size(), rows, "rows in the order");
                for (std::size_t r = 0; r < rows; ++r) expect_equal(order[r], r, "row in the order");
            }
}

constexpr Test TESTS[] = {
    {"graph: occurrences are all places of each point, in ascending order",
     occurrences_are_all_places_of_each_point_in_ascending_order},
    {"graph: each pair of neighbours is an edge with the length of the lower point (float)",
     each_pair_of_neighbours_is_an_edge_with_the_length_of_the_lower_point<float>},
    {"graph: each pair of neighbours is an edge with the length of the lower point (double)",
     each_pair_of_neighbours_is_an_edge_with_the_length_of_the_lower_point<double>},
    {"graph: a point that is everybody's neighbour has an edge to all (float)",
     a_point_that_is_everybodys_neighbour_has_an_edge_to_all<float>},
    {"graph: a point that is everybody's neighbour has an edge to all (double)",
     a_point_that_is_everybodys_neighbour_has_an_edge_to_all<double>},
    {"geodesic: shortest paths have the bits of Dijkstra's algorithm (float)",
     shortest_paths_have_the_bits_of_dijkstra<float>},
    {"geodesic: shortest paths have the bits of Dijkstra's algorithm (double)",
     shortest_paths_have_the_bits_of_dijkstra<double>},
    {"geodesic: paths from several starts have the bits of Dijkstra's algorithm (float)",
     paths_from_several_starts_have_the_bits_of_dijkstra<float>},
    {"geodesic: paths from several starts have the bits of Dijkstra's algorithm (double)",
     paths_from_several_starts_have_the_bits_of_dijkstra<double>},
    {"geodesic: paths along a chain have the bits of Dijkstra's algorithm (float)",
     paths_along_a_chain_have_the_bits_of_dijkstra<float>},
    {"geodesic: paths along a chain have the bits of Dijkstra's algorithm (double)",
     paths_along_a_chain_have_the_bits_of_dijkstra<double>},
    {"geodesic: graphs of a few nodes and without edges are solved (float)",
     graphs_of_a_few_nodes_and_without_edges_are_solved<float>},
    {"geodesic: graphs of a few nodes and without edges are solved (double)",
     graphs_of_a_few_nodes_and_without_edges_are_solved<double>},
    {"geodesic: a row without a finite start reaches nothing (float)",
     a_row_without_a_finite_start_reaches_nothing<float>},
    {"geodesic: a row without a finite start reaches nothing (double)",
     a_row_without_a_finite_start_reaches_nothing<double>},
    {"geodesic: a group is of the rows nearest to one of them", a_group_is_of_the_rows_nearest_to_one_of_them},
    {"geodesic: the order of groups holds each row once", the_order_of_groups_holds_each_row_once},
};

}  // namespace

Tests graph_tests() { return TESTS; }

}  // namespace lowfold::tests
