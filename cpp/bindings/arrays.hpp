// Conversion between NumPy arrays and the core's views, and the way a kernel is called from Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>

#include "matrix.hpp"
#include "parallel.hpp"

namespace lowfold::bindings {

namespace nb = nanobind;

// Kernels are bound for double first, then for float: where none fits without copying (an array that is not
// contiguous), Python takes the first, which loses no digits.
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T, int DIMENSIONS>
using NewArray = nb::ndarray<nb::numpy, T, nb::ndim<DIMENSIONS>, nb::c_contig>;

template <class T>
MatrixView<const T> view(const Matrix<T>& array) {
    return {array.data(), array.shape(0), array.shape(1)};
}

/// Raises ValueError unless the arrays fit together: a kernel trusts their sizes.
inline void check_fit(bool fits, const char* needed) {
    if (!fits) throw nb::value_error(needed);
}

/// Whether all are in [0, count).
inline bool all_below(std::size_t count, const std::int32_t* values, std::size_t size) {
    return std::all_of(values, values + size,
                       [&](std::int32_t v) { return v >= 0 && static_cast<std::size_t>(v) < count; });
}

/// An array that Python owns, uninitialised.
template <class T, int DIMENSIONS>
NewArray<T, DIMENSIONS> new_array(const std::size_t (&shape)[DIMENSIONS]) {
    std::size_t size = sizeof(T);
    for (const std::size_t side : shape) size *= side;
    void* data = acquire(size);
    return NewArray<T, DIMENSIONS>(data, DIMENSIONS, shape, nb::capsule(data, [](void* p) noexcept { std::free(p); }));
}

template <class T>
NewArray<T, 2> new_matrix(std::size_t rows, std::size_t columns) {
    return new_array<T, 2>({rows, columns});
}

template <class T>
NewArray<T, 1> new_vector(std::size_t size) {
    return new_array<T, 1>({size});
}

/// Whether the work is to end: by a signal, which the main thread hears, or because another thread asked this one to
/// (`stopping.py`). Leaves the exception set that says so.
inline bool interrupted() {
    const nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) return true;
    try {
        nb::module_::import_("lowfold.backend.stopping").attr("check")();
    } catch (nb::python_error& error) {
        error.restore();
        return true;
    }
    return false;
}

/// Runs kernel(context) without the GIL; Ctrl-C, or another thread's word, ends it and raises KeyboardInterrupt.
template <class Kernel>
auto run(int threads, const Kernel& kernel) {
    const Context context{threads, interrupted};
    try {
        const nb::gil_scoped_release release;
        return kernel(context);
    } catch (const Interrupted&) {
        throw nb::python_error();
    }
}

}  // namespace lowfold::bindings
