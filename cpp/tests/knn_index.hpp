// make_index of knn_support.hpp, to be compiled for one T at a time.
#pragma once

#include "knn_support.hpp"

namespace lowfold::tests {

template <class T>
std::unique_ptr<Index<T>> make_index(const Context& context, MatrixView<const T> X, const Kind& kind, std::size_t cells,
                                     std::uint64_t seed) {
    const auto make = [&]<class Engine, class Operation>() -> std::unique_ptr<Index<T>> {
        return std::make_unique<CellIndex<T, Engine, Operation>>(context, X, kind.metric, cells, seed);
    };
    if (kind.metric == Metric::manhattan)
        return make.template operator()<FloatEngine<SumOfDifferences>, SumOfDifferences>();
    if (kind.metric == Metric::chebyshev)
        return make.template operator()<FloatEngine<LargestDifference>, LargestDifference>();
    if (kind.scores == Scores::differences) return make.template operator()<FloatEngine<SumOfSquares>, SumOfSquares>();
#if defined(__AVX512VNNI__)
    if (kind.scores == Scores::bytes) return make.template operator()<ByteEngine, InnerProduct>();
#endif
    return make.template operator()<FloatEngine<InnerProduct>, InnerProduct>();
}

}  // namespace lowfold::tests
