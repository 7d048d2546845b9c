#include "alignment.hpp"
#include "graphs.hpp"
#include "sparse.hpp"

namespace lowfold::bindings {
namespace {

template <class T>
void bind_typed(nb::module_& m) {
    m.def("barycentric_weights", [](const Matrix<T>& queries, const Matrix<T>& X, const Matrix<std::int32_t>& neighbors,
                                    double regularisation, int threads) {
        check_fit(queries.shape(1) == X.shape(1) && queries.shape(0) == neighbors.shape(0),
                  "queries, points and neighbours must fit together");
        auto out = new_matrix<double>(neighbors.shape(0), neighbors.shape(1));
        run(threads, [&](const Context& context) {
            barycentric_weights(context, view(queries), view(X), view(neighbors), regularisation, out.data());
        });
        return out;
    });
    m.def("tangent_blocks", [](const Matrix<T>& X, const Matrix<std::int32_t>& neighbors, std::size_t d, int threads) {
        auto out = new_array<double, 3>({neighbors.shape(0), neighbors.shape(1), neighbors.shape(1)});
        run(threads, [&](const Context& context) { tangent_blocks(context, view(X), view(neighbors), d, out.data()); });
        return out;
    });
    m.def("hessian_blocks", [](const Matrix<T>& X, const Matrix<std::int32_t>& neighbors, std::size_t d, int threads) {
        auto out = new_array<double, 3>({neighbors.shape(0), neighbors.shape(1), neighbors.shape(1)});
        run(threads, [&](const Context& context) { hessian_blocks(context, view(X), view(neighbors), d, out.data()); });
        return out;
    });
    m.def("modified_blocks", [](const Matrix<T>& X, const Matrix<std::int32_t>& neighbors, std::size_t d,
                                double regularisation, int threads) {
        auto out = new_array<double, 3>({neighbors.shape(0), neighbors.shape(1) + 1, neighbors.shape(1) + 1});
        run(threads, [&](const Context& context) {
            ModifiedWeights<T>(context, view(X), view(neighbors), d, regularisation).blocks(context, out.data());
        });
        return out;
    });
}

}  // namespace

void bind_patches(nb::module_& m) {
    using Blocks = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
    bind_typed<double>(m);
    bind_typed<float>(m);
    m.def("align", [](const Matrix<std::int32_t>& patches, const Blocks& blocks, std::size_t points, int threads) {
        return arrays(run(threads, [&](const Context& context) {
            return Alignment(context, view(patches), blocks.data(), points).build();
        }));
    });
}

}  // namespace lowfold::bindings
