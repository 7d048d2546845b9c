#include "neighbors.hpp"

#include <utility>

#include "knn.hpp"

namespace lowfold::bindings {
namespace {

Metric metric_named(const std::string& name) {
    if (name == "euclidean") return Metric::euclidean;
    if (name == "sqeuclidean") return Metric::sqeuclidean;
    if (name == "cosine") return Metric::cosine;
    if (name == "manhattan") return Metric::manhattan;
    if (name == "chebyshev") return Metric::chebyshev;
    throw nb::value_error(("no kernel for metric " + name).c_str());
}

Scores scores_named(const std::string& name) {
    if (name == "products") return Scores::products;
    if (name == "bytes") return Scores::bytes;
    if (name == "differences") return Scores::differences;
    throw nb::value_error(("no scores named " + name).c_str());
}

template <class T>
std::unique_ptr<Index<T>> make_index(const Context& context, MatrixView<const T> X, Metric metric, std::size_t cells,
                                     Scores scores, std::uint64_t seed) {
    const auto make = [&]<class Engine, class Operation>() -> std::unique_ptr<Index<T>> {
        return std::make_unique<CellIndex<T, Engine, Operation>>(context, X, metric, cells, seed);
    };
    if (metric == Metric::manhattan) return make.template operator()<FloatEngine<SumOfDifferences>, SumOfDifferences>();
    if (metric == Metric::chebyshev)
        return make.template operator()<FloatEngine<LargestDifference>, LargestDifference>();
    if (scores == Scores::differences) return make.template operator()<FloatEngine<SumOfSquares>, SumOfSquares>();
#if defined(__AVX512VNNI__)
    if (scores == Scores::bytes && X.columns <= ByteEngine::MAX_DIMENSIONS)
        return make.template operator()<ByteEngine, InnerProduct>();
#endif
    return make.template operator()<FloatEngine<InnerProduct>, InnerProduct>();
}

template <class T>
class PythonIndex {
   public:
    PythonIndex(const Matrix<T>& X, const std::string& metric, std::size_t cells, const std::string& scores,
                std::uint64_t seed, int threads)
        : index_(run(threads,
                     [&](const Context& context) {
                         return make_index<T>(context, view(X), metric_named(metric), cells, scores_named(scores),
                                              seed);
                     })),
          points_(X.shape(0)),
          columns_(X.shape(1)) {}

    /// (indices, distances) of the neighbours of `queries`, or of the indexed points themselves (or some of them).
    auto search(const std::optional<Matrix<T>>& queries, const std::optional<Vector<std::int32_t>>& subset,
                std::size_t k, float alpha, float caution, int threads) const {
        check_fit(!queries || queries->shape(1) == columns_, "queries must have the features of the points");
        Request<T> request{.k = k, .alpha = alpha, .caution = caution};
        if (queries) request.queries = view(*queries);
        if (subset) request.subset = subset->data();
        request.count = queries ? queries->shape(0) : subset ? subset->shape(0) : points_;
        auto indices = new_matrix<std::int32_t>(request.count, k);
        auto distances = new_matrix<T>(request.count, k);
        request.indices = indices.data();
        request.distances = distances.data();
        run(threads, [&](const Context& context) { index_->search(context, request); });
        return std::tuple(std::move(indices), std::move(distances));
    }

    /// (indices, needed): the exact neighbours of some of the indexed points, and the alpha that each would have
    /// needed.
    auto calibrate(const Vector<std::int32_t>& subset, std::size_t k, float caution, int threads) const {
        Request<T> request{
            .subset = subset.data(), .count = subset.shape(0), .k = k, .alpha = INFINITE, .caution = caution};
        auto indices = new_matrix<std::int32_t>(request.count, k);
        auto needed = new_matrix<float>(request.count, k);
        std::vector<T> distances(request.count * k);
        request.indices = indices.data();
        request.distances = distances.data();
        request.needed = needed.data();
        run(threads, [&](const Context& context) { index_->search(context, request); });
        return std::tuple(std::move(indices), std::move(needed));
    }

    std::size_t cells() const { return index_->cells(); }

    /// The points cell by cell.
    auto order() const {
        auto out = new_vector<std::int32_t>(points_);
        std::copy_n(index_->order(), points_, out.data());
        return out;
    }

   private:
    std::unique_ptr<Index<T>> index_;
    std::size_t points_, columns_;
};

template <class T>
void bind_index(nb::module_& m, const char* name) {
    nb::class_<PythonIndex<T>>(m, name)
        .def(nb::init<const Matrix<T>&, const std::string&, std::size_t, const std::string&, std::uint64_t, int>())
        .def("search", &PythonIndex<T>::search, nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg())
        .def("calibrate", &PythonIndex<T>::calibrate)
        .def("order", &PythonIndex<T>::order)
        .def_prop_ro("cells", &PythonIndex<T>::cells);
}

template <class T, class P>
void bind_ranking(nb::module_& m) {
    m.def("rank_candidates", [](const Matrix<P>& X, const Matrix<T>& queries, const Matrix<std::int32_t>& candidates,
                                const std::string& metric, int threads) {
        const std::size_t rows = queries.shape(0);
        check_fit(queries.shape(1) == X.shape(1) && candidates.shape(0) == rows,
                  "queries must have the features of X, and as many rows as there are lists of candidates");
        check_fit(all_below(X.shape(0), candidates.data(), candidates.size()), "candidates must be rows of X");
        auto indices = new_matrix<std::int32_t>(rows, candidates.shape(1));
        auto distances = new_matrix<T>(rows, candidates.shape(1));
        const CandidateLists<T, P> lists{view(X), view(queries), view(candidates)};
        run(threads, [&](const Context& context) {
            rank_candidates(context, metric_named(metric), lists, indices.data(), distances.data());
        });
        return std::tuple(std::move(indices), std::move(distances));
    });
}

}  // namespace

void bind_neighbors(nb::module_& m) {
    bind_index<float>(m, "Index32");
    bind_index<double>(m, "Index64");
    bind_ranking<double, double>(m);
    bind_ranking<float, float>(m);
    bind_ranking<double, float>(m);
}

}  // namespace lowfold::bindings
