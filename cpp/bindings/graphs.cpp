#include "graphs.hpp"

#include "geodesic.hpp"
#include "sparse.hpp"
#include "sparse_product.hpp"

namespace lowfold::bindings {
namespace {

constexpr int NARROW = 8, BROAD = 16;  // vectors at once that products are compiled for

template <class T>
using Block = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T, class Use>
void with_columns(std::size_t columns, const Use& use) {
    if (columns == BROAD) return use.template operator()<BROAD>();
    if constexpr (sizeof(T) == 8) {
        if (columns == NARROW) return use.template operator()<NARROW>();
    }
    throw nb::value_error("products take 8 (float64) or 16 vectors at once");
}

template <class T>
void bind_typed(nb::module_& m) {
    m.def("symmetric_graph", [](const Matrix<std::int32_t>& neighbors, const Matrix<T>& lengths, int threads) {
        auto graph = run(threads, [&](const Context& context) {
            return SymmetricGraph<T>(view(neighbors), lengths.data()).build(context);
        });
        return arrays(std::move(graph));
    });
    m.def("geodesics", [](const Sparse<T>& graph, const Matrix<std::int32_t>& nodes, const Matrix<T>& behind,
                          const Vector<std::int32_t>& targets, int threads) {
        auto out = new_matrix<T>(nodes.shape(0), targets.shape(0));
        run(threads, [&](const Context& context) {
            Geodesics<T>::solve(context, view(graph), {view(nodes), behind.data()}, targets.data(),
                                {out.data(), nodes.shape(0), targets.shape(0)});
        });
        return out;
    });
}

template <class T>
void bind_products(nb::module_& m) {
    m.def("sparse_times", [](const Sparse<T>& A, const Matrix<T>& V, int threads) {
        auto out = new_matrix<T>(V.shape(0), V.shape(1));
        with_columns<T>(V.shape(1), [&]<int COLUMNS>() {
            run(threads, [&](const Context& context) {
                combine<COLUMNS, T>(context, view(A), V.data(), nullptr, T{1}, T{0}, T{0}, out.data());
            });
        });
        return out;
    });
    m.def("chebyshev_inplace",
          [](const Sparse<T>& A, const Block<T>& V, std::tuple<double, double, double> ends, int degree, int threads) {
              const auto [low, high, top] = ends;
              with_columns<T>(V.shape(1), [&]<int COLUMNS>() {
                  run(threads, [&](const Context& context) {
                      chebyshev_inplace<COLUMNS>(context, view(A), V.data(), low, high, top, degree);
                  });
              });
          });
}

}  // namespace

void bind_graphs(nb::module_& m) {
    bind_typed<float>(m);
    bind_typed<double>(m);
    bind_products<float>(m);
    bind_products<double>(m);
}

}  // namespace lowfold::bindings
