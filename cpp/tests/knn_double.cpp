#include "knn_index.hpp"

namespace lowfold::tests {

template std::unique_ptr<Index<double>> make_index(const Context&, MatrixView<const double>, const Kind&, std::size_t,
                                                   std::uint64_t);

}  // namespace lowfold::tests
