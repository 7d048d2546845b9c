#include "graphs.hpp"

#include "factorisation.hpp"
#include "geodesic.hpp"
#include "rearranging.hpp"
#include "sparse.hpp"
#include "sparse_product.hpp"

namespace lowfold::bindings {
namespace {

template <class T>
using Block = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// Calls use.operator()<COLUMNS>() with the number of vectors as a constant.
template <class Use>
void with_columns(std::size_t columns, const Use& use) {
    if (columns == 2) return use.template operator()<2>();
    if (columns == 4) return use.template operator()<4>();
    if (columns == 8) return use.template operator()<8>();
    if (columns == 16) return use.template operator()<16>();
    throw nb::value_error("products take 2, 4, 8 or 16 vectors at once");
}

template <class T>
void bind_typed(nb::module_& m) {
    m.def("symmetric_graph", [](const Matrix<std::int32_t>& neighbors, const Matrix<T>& lengths, int threads) {
        check_fit(neighbors.shape(0) == lengths.shape(0) && neighbors.shape(1) == lengths.shape(1),
                  "each neighbour has a length");
        check_fit(all_below(neighbors.shape(0), neighbors.data(), neighbors.size()),
                  "neighbours must be numbers of the rows themselves");
        auto graph = run(threads, [&](const Context& context) {
            return SymmetricGraph<T>(context, view(neighbors), lengths.data()).build();
        });
        return arrays(std::move(graph));
    });
    m.def("components", [](const Sparse<T>& graph) {
        auto out = new_vector<std::int32_t>(std::get<0>(graph).shape(0) - 1);
        run(1, [&](const Context& context) {
            alone(context, [&](Worker& worker) { find_components(view(graph), out.data(), worker); });
        });
        return out;
    });
    m.def("banded_order", [](const Sparse<T>& graph) {
        Buffer<std::int32_t> order;
        run(1, [&](const Context& context) {
            alone(context, [&](Worker& worker) { order = banded_order(view(graph), worker); });
        });
        return array(std::move(order));
    });
    m.def("permuted", [](const Sparse<T>& A, const Vector<std::int32_t>& order, bool ascending, int threads) {
        const std::size_t n = view(A).rows;
        if (order.size() != n) throw nb::value_error("the order must name each row of A once");
        return arrays(
            run(threads, [&](const Context& context) { return permuted(context, view(A), order.data(), ascending); }));
    });
    m.def("scaled_values", [](const Sparse<T>& A, const Vector<T>& scale, int threads) {
        if (scale.size() != view(A).rows) throw nb::value_error("the scale must have a number for each row of A");
        auto out = new_vector<T>(std::get<2>(A).size());
        run(threads, [&](const Context& context) { scale_both_sides(context, view(A), scale.data(), out.data()); });
        return out;
    });
    m.def("geodesics", [](const Sparse<T>& graph, const Matrix<std::int32_t>& nodes, const Matrix<T>& behind,
                          const Vector<std::int32_t>& targets, int threads) {
        check_fit(nodes.shape(0) == behind.shape(0) && nodes.shape(1) == behind.shape(1),
                  "each node at a start has a length behind it");
        check_fit(all_below(view(graph).rows, nodes.data(), nodes.size()) &&
                      all_below(view(graph).rows, targets.data(), targets.size()),
                  "paths begin and end at nodes of the graph");
        const auto negative = [](T length) { return !(length >= 0); };  // a way that grows shorter has no shortest
        check_fit(
            std::none_of(std::get<2>(graph).data(), std::get<2>(graph).data() + std::get<2>(graph).size(), negative),
            "lengths must be numbers from 0 on");
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
        check_fit(view(A).rows == V.shape(0), "A and V must have the same rows");
        auto out = new_matrix<T>(V.shape(0), V.shape(1));
        with_columns(V.shape(1), [&]<int COLUMNS>() {
            run(threads, [&](const Context& context) {
                combine<COLUMNS, T>(context, view(A), V.data(), nullptr, T{1}, T{0}, T{0}, out.data());
            });
        });
        return out;
    });
    m.def(
        "chebyshev_inplace",
        [](const Sparse<T>& A, const Block<T>& V, std::tuple<double, double, double> ends, int degree, int threads) {
            const auto [low, high, top] = ends;
            with_columns(V.shape(1), [&]<int COLUMNS>() {
                run(threads, [&](const Context& context) {
                    chebyshev_inplace<COLUMNS>(context, view(A), V.data(), low, high, top, degree);
                });
            });
        },
        nb::arg(), nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg());
}

void bind_factorisation(nb::module_& m) {
    nb::class_<Factorisation>(m, "Factorisation")
        .def("__init__",
             [](Factorisation* self, const Sparse<double>& A, bool symmetric) {
                 run(1, [&](const Context& context) { new (self) Factorisation(context, view(A), symmetric); });
             })
        .def_prop_ro("entries", &Factorisation::entries)
        .def_prop_ro("peak", &Factorisation::peak)
        .def("factorise",
             [](Factorisation& self, const Sparse<double>& A, int threads) {
                 if (!self.fits(view(A))) throw nb::value_error("A must have the pattern that was analysed");
                 run(threads, [&](const Context& context) { self.factorise(context, view(A)); });
             })
        .def("solve", [](const Factorisation& self, const Matrix<double>& B, bool transposed, int threads) {
            if (B.shape(0) != self.size()) throw nb::value_error("B must have a row for each row of A");
            if (!self.factorised()) throw nb::value_error("call factorise first");
            auto out = new_matrix<double>(B.shape(0), B.shape(1));
            run(threads, [&](const Context& context) { self.solve(context, view(B), transposed, out.data()); });
            return out;
        });
}

}  // namespace

void bind_graphs(nb::module_& m) {
    bind_factorisation(m);
    bind_typed<double>(m);
    bind_typed<float>(m);
    bind_products<double>(m);
    bind_products<float>(m);
}

}  // namespace lowfold::bindings
