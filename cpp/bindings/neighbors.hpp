#pragma once

#include <nanobind/stl/vector.h>

#include "arrays.hpp"

namespace lowfold::bindings {

/// Adds the index classes, one for float32 and one for float64.
void bind_neighbors(nb::module_& m);

}  // namespace lowfold::bindings
