// Affinities of neighbours made symmetric.
#pragma once

#include "graph.hpp"

namespace lowfold {

/// scale (a + b)
struct ScaledSum {
    float scale;
    float operator()(float a, float b) const { return scale * a + scale * b; }
};

/// join(P_ij, P_ji) as a sparse matrix, P given by the neighbours of each point and its affinities to them, 0 to
/// others. A neighbour's number may occur once in a row. Each row has one owner. Cost n k log k.
template <class Join>
class JointAffinity {
   public:
    JointAffinity(const Context& context, MatrixView<const std::int32_t> neighbors, const float* P, const Join& join)
        : context_(context),
          neighbors_(neighbors),
          P_(P),
          join_(join),
          reverse_(context, neighbors.data, neighbors.rows * neighbors.columns, neighbors.rows) {}

    SparseMatrix<float> build() const {
        const std::size_t n = neighbors_.rows, k = neighbors_.columns;
        // Rows are merged into places of their own that are as long as they can be at most, then moved together.
        Buffer<Entry> wide(2 * n * k);
        SparseMatrix<float> joint;
        joint.begin.resize(n + 1);
        joint.begin[0] = 0;
        const auto place = [&](std::size_t i) { return &wide[i * k + static_cast<std::size_t>(reverse_.begin[i])]; };
        parallel_ranges(context_, n, ROWS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
            std::vector<Entry> own(k);
            for (std::size_t i = first; i < last; ++i) {
                joint.begin[i + 1] = merge(i, own, place(i));
                worker.check_after(static_cast<std::size_t>(joint.begin[i + 1]));
            }
        });
        joint.allocate();
        parallel_ranges(context_, n, ROWS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
            for (std::size_t i = first; i < last; ++i) {
                const Entry* from = place(i);
                for (auto at = joint.begin[i]; at < joint.begin[i + 1]; ++at, ++from) {
                    joint.columns[at] = from->column;
                    joint.values[at] = from->value;
                }
            }
            worker.check();
        });
        return joint;
    }

   private:
    static constexpr std::size_t ROWS_AT_ONCE = 512;

    struct Entry {
        std::int32_t column;
        float value;
    };

    /// Row i in ascending order of columns, written to `to`; returns its length.
    std::int64_t merge(std::size_t i, std::vector<Entry>& own, Entry* to) const {
        const std::size_t k = neighbors_.columns;
        for (std::size_t l = 0; l < k; ++l) own[l] = {neighbors_.row(i)[l], P_[i * k + l]};
        std::sort(own.begin(), own.end(), [](const Entry& a, const Entry& b) { return a.column < b.column; });
        const Entry* const begin = to;
        auto next = own.begin();
        const auto alone = [&] {
            *to++ = {next->column, join_(next->value, 0)};
            ++next;
        };
        for (auto at = reverse_.begin[i]; at < reverse_.begin[i + 1]; ++at) {
            const auto from = static_cast<std::int32_t>(reverse_.places[at] / static_cast<std::int64_t>(k));
            const float value = P_[reverse_.places[at]];
            while (next != own.end() && next->column < from) alone();
            if (next != own.end() && next->column == from) {
                *to++ = {from, join_(next->value, value)};
                ++next;
            } else {
                *to++ = {from, join_(0, value)};
            }
        }
        while (next != own.end()) alone();
        return to - begin;
    }

    Context context_;
    MatrixView<const std::int32_t> neighbors_;
    const float* P_;
    Join join_;
    Occurrences reverse_;
};

}  // namespace lowfold
