#include "stress.hpp"

#include "disparities.hpp"
#include "graphs.hpp"
#include "stress_placing.hpp"

namespace lowfold::bindings {
namespace {

template <class T>
using Stress = std::tuple<NewArray<double, 2>, NewArray<double, 1>, double>;

template <class T>
using Written = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// (name, inverse weight of delta = 0)
using LawOf = std::tuple<std::string, double>;

template <class T, class Use>
auto with_law(const LawOf& law, bool weighted, const Use& use) {
    const auto& [name, inverse] = law;
    const T at_zero = static_cast<T>(inverse);
    if (weighted != (name == "given")) throw nb::value_error("weights belong to the law 'given', and to no other");
    if (name == "given") return use(StressLaw<T, Weighting::given>{at_zero});
    if (name == "inverse") return use(StressLaw<T, Weighting::inverse>{at_zero});
    if (name != "unit") throw nb::value_error("the law must be 'unit', 'inverse' or 'given'");
    return use(StressLaw<T, Weighting::unit>{at_zero});
}

template <class T>
Stress<T> stress_of(const Pairs<T>& deltas, const std::optional<Matrix<T>>& weights, const Matrix<T>& Y,
                    const LawOf& law, int threads) {
    const std::size_t n = Y.shape(0), d = Y.shape(1);
    if (weights && (weights->shape(0) != n || weights->shape(1) != n))
        throw nb::value_error("weights must be square, with a row for each point");
    auto gradient = new_matrix<double>(n, d);
    auto residuals = new_vector<double>(n);
    const double size = with_law<T>(law, weights.has_value(), [&](const auto& which) {
        return with_dimensions(d, [&]<int D>() {
            return run(threads, [&](const Context& context) {
                StressPass<T, D, std::decay_t<decltype(which)>> pass(view(Y), which);
                const MatrixView<const T> given = weights ? view(*weights) : MatrixView<const T>{};
                const KeptPairs<T, MatrixView<const T>> pairs(given, n);
                return pass.run(context, deltas, pairs, gradient.data(), residuals.data());
            });
        });
    });
    return {gradient, residuals, size};
}

/// (first, second, begin, weights): see OrderedPairs; begin holds the first pair of each group, and no end.
using OrderOf =
    std::tuple<Vector<std::int32_t>, Vector<std::int32_t>, Vector<std::int64_t>, std::optional<Vector<double>>>;

template <class T>
std::tuple<double, double, double> disparities_inplace(const Written<double>& fitted, const Written<T>& targets,
                                                       const Matrix<T>& Y, const OrderOf& order,
                                                       const std::string& ties, int threads) {
    const auto& [first, second, begin, weights] = order;
    const std::size_t n = Y.shape(0), count = first.size();
    check_fit(ties == "primary" || ties == "secondary", "ties must be 'primary' or 'secondary'");
    check_fit(second.size() == count && fitted.size() == count && (!weights || weights->size() == count),
              "a pair must have two points, a place for its disparity, and a weight if there are any");
    check_fit(targets.size() == PackedRows<T>::size(n), "the targets must hold strips of rows of Y");
    bool fits = begin.size() > 0 && begin.data()[0] == 0 && begin.data()[begin.size() - 1] < std::int64_t(count);
    for (std::size_t group = 1; group < begin.size(); ++group) fits &= begin.data()[group - 1] < begin.data()[group];
    check_fit(fits, "groups must begin at pair 0, rise, and have a pair each");
    for (std::size_t k = 0; k < count; ++k)
        fits &= 0 <= first.data()[k] && first.data()[k] < second.data()[k] && std::size_t(second.data()[k]) < n;
    check_fit(fits, "a pair must have two points i < j that exist");
    const OrderedPairs pairs{first.data(), second.data(), begin.data(),
                             begin.size(), count,         weights ? weights->data() : nullptr};
    const DisparitySums sums = run(threads, [&](const Context& context) {
        const Disparities<T> disparities(view(Y), pairs, ties == "primary" ? Ties::primary : Ties::secondary);
        return disparities.run(context, fitted.data(), {targets.data(), n});
    });
    return {sums.square, sums.length, sums.misfit};
}

template <class T>
void bind_typed(nb::module_& m) {
    m.def("cross_distances", [](const Matrix<T>& A, const Matrix<T>& B, int threads) {
        if (A.shape(1) != B.shape(1)) throw nb::value_error("A and B must have as many columns");
        auto out = new_matrix<T>(A.shape(0), B.shape(0));
        if (B.shape(0))
            run(threads, [&](const Context& context) { cross_distances(context, view(A), view(B), out.data()); });
        return out;
    });
    m.def("disparities_inplace", disparities_inplace<T>, nb::arg().noconvert(), nb::arg().noconvert(), nb::arg(),
          nb::arg(), nb::arg(), nb::arg());
    m.def(
        "stress_of_matrix",
        [](const Matrix<T>& deltas, const std::optional<Matrix<T>>& weights, const Matrix<T>& Y, const LawOf& law,
           int threads) {
            if (deltas.shape(0) != Y.shape(0) || deltas.shape(1) != Y.shape(0))
                throw nb::value_error("the deltas must be square, with a row for each point");
            return stress_of<T>(KeptPairs<T, MatrixView<const T>>(view(deltas), Y.shape(0)), weights, Y, law, threads);
        },
        nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
    m.def(
        "stress_of_packed",
        [](const Vector<T>& deltas, const std::optional<Matrix<T>>& weights, const Matrix<T>& Y, const LawOf& law,
           int threads) {
            const std::size_t n = Y.shape(0);
            if (deltas.size() != PackedRows<T>::size(n))
                throw nb::value_error("the deltas must hold strips of rows of Y");
            const PackedRows<const T> rows{deltas.data(), n};
            return stress_of<T>(KeptPairs<T, PackedRows<const T>>(rows, n), weights, Y, law, threads);
        },
        nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
    m.def(
        "stress_of_rows",
        [](const Matrix<T>& X, const std::optional<Matrix<T>>& weights, const Matrix<T>& Y, const LawOf& law,
           int threads) {
            if (X.shape(0) != Y.shape(0)) throw nb::value_error("X and Y must have as many rows");
            return stress_of<T>(MeasuredPairs<T>(view(X)), weights, Y, law, threads);
        },
        nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
    m.def(
        "placed_by_stress",
        [](const Matrix<double>& start, const Matrix<T>& deltas, const std::optional<Matrix<T>>& weights,
           const Matrix<T>& Y, const LawOf& law, int threads) {
            if (start.shape(1) != Y.shape(1) || start.shape(0) != deltas.shape(0) || deltas.shape(1) != Y.shape(0))
                throw nb::value_error("each new point needs a start, and a delta to each fixed point");
            if (weights && (weights->shape(0) != deltas.shape(0) || weights->shape(1) != deltas.shape(1)))
                throw nb::value_error("weights must have the shape of the deltas");
            auto out = new_matrix<double>(start.shape(0), start.shape(1));
            auto residuals = new_vector<double>(start.shape(0));
            std::copy_n(start.data(), start.size(), out.data());
            with_law<T>(law, weights.has_value(), [&]<Weighting W>(const StressLaw<T, W>& which) {
                run(threads, [&](const Context& context) {
                    const FixedPoints<T, StressLaw<T, W>> fixed(view(Y), which);
                    place_by_stress(context, fixed, view(deltas), weights ? weights->data() : nullptr,
                                    which.inverse_at_zero, {out.data(), start.shape(0), start.shape(1)},
                                    residuals.data());
                });
            });
            return std::make_tuple(out, residuals);
        },
        nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
}

}  // namespace

void bind_stress(nb::module_& m) {
    bind_typed<double>(m);
    bind_typed<float>(m);
}

}  // namespace lowfold::bindings
