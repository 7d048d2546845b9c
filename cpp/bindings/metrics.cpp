#include "coranking.hpp"
#include "graphs.hpp"

namespace lowfold::bindings {
namespace {

void check_rows(const Vector<std::int32_t>& rows, std::size_t n) {
    for (std::size_t r = 0; r < rows.shape(0); ++r)
        if (rows.data()[r] < 0 || static_cast<std::size_t>(rows.data()[r]) >= n)
            throw nb::value_error("a row is no point");
}

template <class T>
void bind_typed(nb::module_& m) {
    m.def("coranking", [](const Matrix<T>& X, const Matrix<T>& Y, const Vector<std::int32_t>& rows,
                          const Vector<std::int64_t>& ks, const std::tuple<bool, bool>& how, int threads) {
        const auto [given, area] = how;
        const std::size_t n = Y.shape(0), count = ks.shape(0);
        const bool fits = given ? X.shape(0) == rows.shape(0) && X.shape(1) == n : X.shape(0) == n;
        if (!fits) throw nb::value_error("X and Y must have a row for each point, or X one for each of the rows");
        check_rows(rows, n);
        for (std::size_t k = 0; k < count; ++k)
            if (ks.data()[k] < 1 || static_cast<std::size_t>(ks.data()[k]) >= n)
                throw nb::value_error("k must be at least 1 and below the number of points");
        static_assert(sizeof(Agreement) == 3 * sizeof(double));
        auto out = new_array<double, 3>({rows.shape(0), count, 3});
        auto areas = new_vector<double>(rows.shape(0));
        run(threads, [&](const Context& context) {
            coranking(context, view(X), given, view(Y), rows.data(), rows.shape(0), ks.data(), count, area,
                      reinterpret_cast<Agreement*>(out.data()), areas.data());
        });
        return std::tuple(out, areas);
    });
    m.def("squared_distances", [](const Matrix<T>& X, const Vector<std::int32_t>& rows, int threads) {
        check_rows(rows, X.shape(0));
        auto out = new_matrix<T>(rows.shape(0), X.shape(0));
        run(threads, [&](const Context& context) {
            squared_distances(context, view(X), rows.data(), rows.shape(0), out.data());
        });
        return out;
    });
}

}  // namespace

void bind_metrics(nb::module_& m) {
    bind_typed<double>(m);
    bind_typed<float>(m);
}

}  // namespace lowfold::bindings
