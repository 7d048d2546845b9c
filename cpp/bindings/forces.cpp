#include <nanobind/stl/vector.h>

#include "attraction.hpp"
#include "convolution.hpp"
#include "fuzzy.hpp"
#include "graphs.hpp"
#include "grid.hpp"
#include "joint.hpp"
#include "layout.hpp"
#include "motion.hpp"
#include "perplexity.hpp"
#include "placing.hpp"
#include "repulsion.hpp"
#include "sparse.hpp"
#include "tree.hpp"

namespace lowfold::bindings {
namespace {

/// (name, degrees of freedom)
using LawOf = std::tuple<std::string, double>;
/// (size, origin, spacing)
using Shape = std::tuple<std::vector<std::size_t>, std::vector<double>, double>;

template <class Use>
auto with_law_of(const LawOf& law, const Use& use) {
    return with_law(std::get<0>(law), std::get<1>(law), use);
}

template <int D>
GridShape<D> grid_shape(const Shape& shape) {
    const auto& [size, origin, spacing] = shape;
    GridShape<D> out;
    if (size.size() != D || origin.size() != D) throw nb::value_error("the grid has another number of dimensions");
    for (int p = 0; p < D; ++p) {
        if (size[p] < 4) throw nb::value_error("a grid has at least four nodes in each direction");
        out.size[p] = size[p];
        out.origin[p] = origin[p];
    }
    out.spacing = spacing;
    out.inverse = 1 / spacing;
    return out;
}

template <class Use>
void with_grid(const Shape& shape, const Use& use) {
    const std::size_t dimensions = std::get<0>(shape).size();
    if (dimensions == 1) return use(grid_shape<1>(shape));
    if (dimensions == 2) return use(grid_shape<2>(shape));
    if (dimensions == 3) return use(grid_shape<3>(shape));
    throw nb::value_error("a grid has one, two or three dimensions");
}

template <class T>
const T* data_or_null(const std::optional<Vector<T>>& array) {
    return array ? array->data() : nullptr;
}

template <class T>
using Fields = std::tuple<NewArray<T, 1>, NewArray<T, 2>>;

template <class T>
void bind_typed(nb::module_& m) {
    m.def("perplexity_rows", [](const Matrix<T>& distances, const Vector<double>& perplexities, int threads) {
        auto out = new_matrix<float>(distances.shape(0), distances.shape(1));
        run(threads, [&](const Context& context) {
            perplexity_rows(context, view(distances), perplexities.data(), perplexities.shape(0), out.data());
        });
        return out;
    });
    m.def("fuzzy_rows", [](const Matrix<T>& distances, double connectivity, double mean_of_all, int threads) {
        auto out = new_matrix<float>(distances.shape(0), distances.shape(1));
        run(threads, [&](const Context& context) {
            fuzzy_rows(context, view(distances), connectivity, mean_of_all, out.data());
        });
        return out;
    });
    m.def("attraction", [](const Sparse<T>& P, const Matrix<T>& Y, const LawOf& law, int threads) {
        check_fit(view(P).rows == Y.shape(0), "P and Y must have a row for each point");
        auto out = new_matrix<T>(Y.shape(0), Y.shape(1));
        with_law_of(law, [&](const auto& which) {
            run(threads, [&](const Context& context) { attraction(context, view(P), view(Y), which, out.data()); });
        });
        return out;
    });
    m.def("attraction_cost", [](const Sparse<T>& P, const Matrix<T>& Y, const LawOf& law, int threads) {
        check_fit(view(P).rows == Y.shape(0), "P and Y must have a row for each point");
        return with_law_of(law, [&](const auto& which) {
            return run(threads,
                       [&](const Context& context) { return attraction_cost(context, view(P), view(Y), which); });
        });
    });
    m.def("pair_field", [](const Sparse<T>& W, const Matrix<T>& Y, const LawOf& law, int threads) -> Fields<T> {
        auto potential = new_vector<T>(Y.shape(0));
        auto gradient = new_matrix<T>(Y.shape(0), Y.shape(1));
        with_law_of(law, [&](const auto& which) {
            run(threads, [&](const Context& context) {
                pair_field(context, view(W), view(Y), which, potential.data(), gradient.data());
            });
        });
        return {potential, gradient};
    });
    m.def(
        "exact_field",
        [](const Matrix<T>& Y, const std::optional<Vector<T>>& charges, const LawOf& law, const Matrix<T>& at,
           const std::optional<Vector<std::int32_t>>& skip, int threads) -> Fields<T> {
            check_fit(Y.shape(1) == at.shape(1) && (!charges || charges->size() == Y.shape(0)) &&
                          (!skip || skip->size() == at.shape(0)),
                      "Y, its charges and the places must fit together");
            auto potential = new_vector<T>(at.shape(0));
            auto gradient = new_matrix<T>(at.shape(0), at.shape(1));
            with_law_of(law, [&](const auto& which) {
                run(threads, [&](const Context& context) {
                    const ExactField field(view(Y), data_or_null(charges), which);
                    exact_field(context, field, view(at), data_or_null(skip), potential.data(), gradient.data());
                });
            });
            return {potential, gradient};
        },
        nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
    m.def(
        "tree_field",
        [](const Matrix<T>& Y, const std::optional<Vector<T>>& charges, const LawOf& law, double theta,
           int threads) -> Fields<T> {
            auto potential = new_vector<T>(Y.shape(0));
            auto gradient = new_matrix<T>(Y.shape(0), Y.shape(1));
            with_law_of(law, [&](const auto& which) {
                run(threads, [&](const Context& context) {
                    const Tree<T> tree(context, view(Y), data_or_null(charges));
                    tree.field(context, which, theta, potential.data(), gradient.data());
                });
            });
            return {potential, gradient};
        },
        nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
}

NewArray<float, 1> spread(const Matrix<float>& Y, const std::optional<Vector<float>>& charges, const Shape& shape,
                          int threads) {
    NewArray<float, 1> out;
    check_fit(!charges || charges->size() == Y.shape(0), "each point has one charge");
    with_grid(shape, [&]<int D>(const GridShape<D>& grid) {
        check_fit(Y.shape(1) == D, "the points must have the grid's dimensions");
        out = new_vector<float>(grid.nodes());
        run(threads, [&](const Context& context) {
            Spreading<D>(context, view(Y), grid).spread(data_or_null(charges), out.data());
        });
    });
    return out;
}

Fields<float> gathered(const Vector<float>& values, const Shape& shape, const Matrix<float>& Y, int threads) {
    auto potential = new_vector<float>(Y.shape(0));
    auto gradient = new_matrix<float>(Y.shape(0), Y.shape(1));
    with_grid(shape, [&]<int D>(const GridShape<D>& grid) {
        check_fit(Y.shape(1) == D && values.size() == grid.nodes(), "points and values must fit the grid");
        run(threads, [&](const Context& context) {
            gather(context, grid, values.data(), view(Y), potential.data(), gradient.data());
        });
    });
    return {potential, gradient};
}

template <class T>
using Block = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// how: pull, push, rate, momentum, limit
void advance(const Block<float>& Y, const Block<float>& velocity, const std::optional<Block<float>>& gains,
             const std::tuple<Matrix<float>, Matrix<float>, Vector<float>>& forces,
             const std::tuple<float, float, float, float, float>& how, int threads) {
    const auto& [attraction, repulsion, weights] = forces;
    const auto [pull, push, rate, momentum, limit] = how;
    const Moving points{{Y.data(), Y.shape(0), Y.shape(1)}, velocity.data(), gains ? gains->data() : nullptr};
    run(threads, [&](const Context& context) {
        advance_inplace(context, points, attraction.data(), repulsion.data(), weights.data(),
                        {pull, push, rate, momentum, limit});
    });
}

std::tuple<NewArray<float, 1>, NewArray<float, 1>> bounds(const Matrix<float>& Y) {
    check_fit(Y.shape(0) > 0, "bounds need at least one point");
    auto low = new_vector<float>(Y.shape(1)), high = new_vector<float>(Y.shape(1));
    run(1, [&](const Context& context) {
        alone(context, [&](Worker& worker) { column_bounds(view(Y), low.data(), high.data(), worker); });
    });
    return {low, high};
}

/// New points start at Y and are returned where they came to rest. The field is on a grid, or that of the frozen points
/// with their charges (1 each if none).
NewArray<float, 2> placed(const std::tuple<Matrix<float>, Matrix<std::int32_t>, Matrix<float>>& points,
                          const std::tuple<Matrix<float>, std::optional<Vector<float>>>& frozen, const LawOf& law,
                          double strength, const std::optional<std::tuple<Vector<float>, Shape>>& field, int threads) {
    const auto& [Y, neighbors, P] = points;
    const auto& [others, charges] = frozen;
    check_fit(Y.shape(1) == others.shape(1) && neighbors.shape(0) == Y.shape(0) && P.shape(0) == Y.shape(0) &&
                  P.shape(1) == neighbors.shape(1) && (!charges || charges->size() == others.shape(0)),
              "new points, their neighbours and the frozen points must fit together");
    auto out = new_matrix<float>(Y.shape(0), Y.shape(1));
    std::copy_n(Y.data(), Y.size(), out.data());
    const MatrixView<float> moving{out.data(), Y.shape(0), Y.shape(1)};
    const Placing how{.strength = strength};
    with_law_of(law, [&](const auto& which) {
        const auto place = [&](const auto& of) {
            run(threads, [&](const Context& context) {
                place_inplace(context, of, view(others), which, {view(neighbors), P.data()}, how, moving);
            });
        };
        if (field)
            with_grid(std::get<1>(*field), [&]<int D>(const GridShape<D>& grid) {
                check_fit(Y.shape(1) == D && std::get<0>(*field).size() == grid.nodes(),
                          "points and field must fit the grid");
                place(GridField<D>{grid, std::get<0>(*field).data()});
            });
        else
            place(ExactField(view(others), data_or_null(charges), which));
    });
    return out;
}

/// Epoch: number, step, negatives, seed. Curve: a, b, strength.
using EpochOf = std::tuple<std::uint32_t, float, int, std::uint32_t>;
using CurveOf = std::tuple<float, float, float>;

template <bool BOTH, class Others>
NewArray<float, 2> epoch_of(const Sparse<std::uint32_t>& edges, const Matrix<float>& Y, const Matrix<float>& near,
                            const Others& others, const CurveOf& curve, const EpochOf& epoch, int threads) {
    check_fit(view(edges).rows == Y.shape(0) && near.shape(1) == Y.shape(1), "edges and points must fit together");
    auto out = new_matrix<float>(Y.shape(0), Y.shape(1));
    const auto how = std::make_from_tuple<Epoch>(epoch);
    with_dimensions(Y.shape(1), [&]<int D>() {
        run(threads, [&](const Context& context) {
            Layout<D, BOTH>(view(edges), view(Y), view(near), others(context), std::make_from_tuple<Curve>(curve), how)
                .run(context, out.data());
        });
    });
    return out;
}

/// The points move among themselves; `order` is one by lot.
NewArray<float, 2> layout_epoch(const Sparse<std::uint32_t>& edges, const Matrix<float>& Y,
                                const Vector<std::int32_t>& order, const CurveOf& curve, const EpochOf& epoch,
                                int threads) {
    if (order.shape(0) != Y.shape(0)) throw nb::value_error("the order must have an entry for each point");
    return epoch_of<true>(
        edges, Y, Y, [&](const Context& context) { return Crowd(context, view(Y), order.data()); }, curve, epoch,
        threads);
}

/// The points move among fixed others, to which the edges lead.
NewArray<float, 2> placing_epoch(const Sparse<std::uint32_t>& edges, const Matrix<float>& Y,
                                 const Matrix<float>& others, const CurveOf& curve, const EpochOf& epoch, int threads) {
    return epoch_of<false>(
        edges, Y, others, [&](const Context&) { return Fixed(view(others)); }, curve, epoch, threads);
}

}  // namespace

void bind_forces(nb::module_& m) {
    bind_typed<double>(m);
    bind_typed<float>(m);
    m.def("joint_affinity",
          [](const Matrix<std::int32_t>& neighbors, const Matrix<float>& P, float scale, int threads) {
              return arrays(run(threads, [&](const Context& context) {
                  return JointAffinity(context, view(neighbors), P.data(), ScaledSum{scale}).build();
              }));
          });
    m.def("fuzzy_union", [](const Matrix<std::int32_t>& neighbors, const Matrix<float>& P, float mix, int threads) {
        return arrays(run(threads, [&](const Context& context) {
            return JointAffinity(context, view(neighbors), P.data(), FuzzyUnion{mix}).build();
        }));
    });
    m.def(
        "firing_edges",
        [](const Sparse<float>& graph, float largest, std::uint32_t epochs, std::optional<std::uint32_t> seed,
           int threads) {
            return arrays(run(threads, [&](const Context& context) {
                return firing_edges(context, view(graph), largest, epochs, seed);
            }));
        },
        nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
    m.def("layout_epoch", &layout_epoch);
    m.def("placing_epoch", &placing_epoch);
    m.def("spread", &spread, nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
    m.def("gather", &gathered);
    m.def("column_bounds", &bounds);
    nb::class_<Convolution>(m, "Convolution")
        .def("__init__",
             [](Convolution* self, const std::vector<std::size_t>& size,
                const nb::ndarray<const float, nb::c_contig, nb::device::cpu>& kernel) {
                 bool fits = size.size() >= 1 && size.size() <= 3 && kernel.ndim() == size.size();
                 for (std::size_t axis = 0; fits && axis < size.size(); ++axis)
                     fits = kernel.shape(axis) == (axis + 1 < size.size() ? 2 * size[axis] : size[axis] + 1);
                 if (!fits)
                     throw nb::value_error("the kernel's transform must be twice the grid's size, last axis size + 1");
                 run(1, [&](const Context& context) { new (self) Convolution(context, size, kernel.data()); });
             })
        .def(
            "run_inplace",
            [](const Convolution& self, const nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>& values,
               int threads) {
                if (values.size() != self.nodes()) throw nb::value_error("the values must have the shape of the grid");
                run(threads, [&](const Context& context) { self.run_inplace(context, values.data()); });
            },
            nb::arg().noconvert(), nb::arg());
    m.def("advance_inplace", &advance, nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert().none(),
          nb::arg(), nb::arg(), nb::arg());
    m.def("placed", &placed, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
}

}  // namespace lowfold::bindings
