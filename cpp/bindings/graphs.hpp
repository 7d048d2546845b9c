#pragma once

#include "arrays.hpp"

namespace lowfold::bindings {

/// Adds what is done on graphs: the symmetric graph, shortest paths, products with vectors.
void bind_graphs(nb::module_& m);

/// Adds the local problems of the LLE family.
void bind_patches(nb::module_& m);
void bind_forces(nb::module_& m);

/// Adds the stress family: distances of all pairs, the stress and its gradient, new points.
void bind_stress(nb::module_& m);

/// Adds what judges an embedding.
void bind_metrics(nb::module_& m);

}  // namespace lowfold::bindings
