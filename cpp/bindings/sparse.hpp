// Conversion between sparse matrices of the core and the three arrays of SciPy's CSR.
#pragma once

#include "arrays.hpp"
#include "graph.hpp"

namespace lowfold::bindings {

/// (begin, columns, values)
template <class T>
using Sparse = std::tuple<Vector<std::int64_t>, Vector<std::int32_t>, Vector<T>>;

template <class T>
SparseView<T> view(const Sparse<T>& matrix) {
    const auto& [begin, columns, values] = matrix;
    return {begin.data(), columns.data(), values.data(), begin.shape(0) - 1};
}

/// An array that owns a buffer.
template <class T>
NewArray<T, 1> array(Buffer<T>&& buffer) {
    auto* owner = new Buffer<T>(std::move(buffer));
    return NewArray<T, 1>(owner->data(), {owner->size()},
                          nb::capsule(owner, [](void* p) noexcept { delete static_cast<Buffer<T>*>(p); }));
}

template <class T>
auto arrays(SparseMatrix<T>&& matrix) {
    return std::tuple(array(std::move(matrix.begin)), array(std::move(matrix.columns)),
                      array(std::move(matrix.values)));
}

}  // namespace lowfold::bindings
