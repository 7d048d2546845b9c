// The Python module of one instruction set: array conversion, and the GIL released around each kernel.
#include "arrays.hpp"
#include "dense.hpp"
#include "directions.hpp"
#include "duplicates.hpp"
#include "graphs.hpp"
#include "narrow_product.hpp"
#include "neighbors.hpp"
#include "random.hpp"
#include "symmetric_product.hpp"

namespace lowfold::bindings {
namespace {

template <class T>
NewArray<double, 2> product(const Matrix<T>& A, const Vector<double>& a_mean, const Matrix<T>& B,
                            const Vector<double>& b_mean, bool symmetric, int threads) {
    check_fit(A.shape(0) == B.shape(0), "both sides of the product must have the same rows");
    check_fit(A.shape(1) == a_mean.size() && B.shape(1) == b_mean.size(), "a mean must have the features of its rows");
    auto out = new_matrix<double>(A.shape(1), B.shape(1));
    run(threads, [&](const Context& context) {
        const CrossProduct<T> product(context, view(A), a_mean.data(), view(B), b_mean.data(), symmetric);
        for (std::size_t i = 0; i < A.shape(1); ++i)
            for (std::size_t j = 0; j < B.shape(1); ++j) out.data()[i * B.shape(1) + j] = product.at(i, j);
    });
    return out;
}

template <class T>
void bind_kernels(nb::module_& m) {
    m.def("column_means", [](const Matrix<T>& X, int threads) {
        const auto mean = run(threads, [&](const Context& context) { return column_means(context, view(X)); });
        auto out = new_vector<double>(mean.size());
        std::copy(mean.begin(), mean.end(), out.data());
        return out;
    });
    m.def("largest_entry", [](const Matrix<T>& X, const Vector<double>& mean, int threads) {
        check_fit(X.shape(1) == mean.size(), "a mean must have the features of its rows");
        return run(threads, [&](const Context& context) { return largest_entry(context, view(X), mean.data()); });
    });
    m.def("scatter", [](const Matrix<T>& X, const Vector<double>& mean, int threads) {
        return product<T>(X, mean, X, mean, true, threads);
    });
    m.def("cross",
          [](const Matrix<T>& A, const Vector<double>& a_mean, const Matrix<T>& B, const Vector<double>& b_mean,
             int threads) { return product<T>(A, a_mean, B, b_mean, false, threads); });
    m.def("project", [](const Matrix<T>& X, const Vector<double>& mean, const Matrix<T>& B, int threads) {
        check_fit(X.shape(1) == mean.size() && X.shape(1) == B.shape(0), "X, mean and B must have the same features");
        auto out = new_matrix<T>(X.shape(0), B.shape(1));
        run(threads, [&](const Context& context) {
            project(context, view(X), mean.data(), view(B), {out.data(), X.shape(0), B.shape(1)});
        });
        return out;
    });
    m.def("times", [](const Matrix<T>& A, const Matrix<T>& V, int threads) {
        check_fit(A.shape(1) == V.shape(0), "A must have as many columns as V has rows");
        auto out = new_matrix<double>(A.shape(0), V.shape(1));
        run(threads, [&](const Context& context) { NarrowProduct<T>(view(V)).run(context, view(A), out.data()); });
        return out;
    });
    m.def("symmetric_times", [](const Matrix<T>& A, const Matrix<T>& V, int threads) {
        if (A.shape(0) != A.shape(1) || A.shape(0) != V.shape(0))
            throw nb::value_error("A must be square and have as many rows as V");
        auto out = new_matrix<double>(A.shape(0), V.shape(1));
        run(threads, [&](const Context& context) { SymmetricProduct<T>(view(V)).run(context, view(A), out.data()); });
        return out;
    });
    m.def("packed_times", [](const Vector<T>& A, const Matrix<T>& V, int threads) {
        const std::size_t n = V.shape(0);
        if (A.size() != PackedRows<T>::size(n)) throw nb::value_error("A must hold the strips of a matrix of V's rows");
        auto out = new_matrix<double>(n, V.shape(1));
        run(threads, [&](const Context& context) {
            SymmetricProduct<T>(view(V)).run(context, PackedRows<const T>{A.data(), n}, out.data());
        });
        return out;
    });
    m.def("directions", [](const Matrix<T>& X, bool centred, int threads) {
        auto units = new_matrix<T>(X.shape(0), X.shape(1));
        auto has_direction = new_vector<bool>(X.shape(0));
        run(threads, [&](const Context& context) {
            directions(context, view(X), centred, {units.data(), X.shape(0), X.shape(1)}, has_direction.data());
        });
        return std::tuple(units, has_direction);
    });
    m.def("fingerprints", [](const Matrix<T>& X, int threads) {
        auto out = new_vector<std::uint64_t>(X.shape(0));
        run(threads, [&](const Context& context) { fingerprints(context, view(X), out.data()); });
        return out;
    });
}

/// Which of the instruction sets that modules are compiled for this processor has.
std::vector<std::string> supported_simd() {
    std::vector<std::string> names{"baseline"};
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("movbe") &&
        __builtin_cpu_supports("f16c")) {
        names.push_back("avx2");
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni"))
            names.push_back("avx512");
    }
#endif
    return names;
}

}  // namespace

NB_MODULE(LOWFOLD_MODULE, m) {
    // A program may end while indices are still in use; telling its user of them helps nobody.
    nb::set_leak_warnings(false);
    m.attr("simd") = SIMD_NAME;
    m.def("supported_simd", &supported_simd);
    m.def("random_bits", [](std::uint64_t seed, std::uint64_t stream, std::size_t count) {
        auto out = new_vector<std::uint64_t>(count);
        run(1, [&](const Context& context) {
            // Short: a few operations for each number.
            parallel_ranges(context, count, 1 << 16, [&](std::size_t begin, std::size_t end, Worker&) {
                for (std::size_t i = begin; i < end; ++i) out.data()[i] = random_bits(seed, stream, i);
            });
        });
        return out;
    });
    bind_kernels<double>(m);
    bind_kernels<float>(m);
    bind_neighbors(m);
    bind_graphs(m);
    bind_patches(m);
    bind_forces(m);
    bind_stress(m);
    bind_metrics(m);
}

}  // namespace lowfold::bindings
