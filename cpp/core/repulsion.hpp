// Sums of a kernel over all points, one by one: the reference for every faster way.
#pragma once

#include "law.hpp"
#include "parallel.hpp"

namespace lowfold {

/// Points with charges, and the field phi(y) = sum_j c_j w(|y - y_j|^2) of them.
template <class T, class Law>
class ExactField {
   public:
    ExactField(MatrixView<const T> Y, const T* charges, const Law& law)
        : n_(Y.rows),
          padded_((Y.rows + WIDTH - 1) / WIDTH * WIDTH),
          d_(Y.columns),
          law_(law),
          columns_(padded_ * Y.columns),
          charges_(padded_) {
        std::fill(columns_.begin(), columns_.end(), T{});
        std::fill(charges_.begin(), charges_.end(), T{});
        for (std::size_t j = 0; j < n_; ++j) {
            charges_[j] = charges ? charges[j] : T{1};
            for (std::size_t p = 0; p < d_; ++p) columns_[p * padded_ + j] = Y.row(j)[p];
        }
    }

    static constexpr std::size_t NOBODY = static_cast<std::size_t>(-1);

    /// phi(y), and its gradient: sum_j c_j 2 w'(r_j) (y - y_j), without point `skip`: beside its own w(0) = 1 a point
    /// that is far from all others would not be heard. Sums over BLOCK points in T, over the blocks in float64.
    double at(const T* y, double* gradient, std::size_t skip = NOBODY) const {
        double phi = 0;
        std::fill_n(gradient, d_, 0.0);
        for (std::size_t begin = 0; begin < padded_; begin += BLOCK)
            for (std::size_t p = 0; p < d_; p += DIMENSIONS)
                phi += block(y, {begin, std::min(begin + BLOCK, padded_), p, skip}, gradient);
        return phi;
    }

   private:
    static constexpr std::size_t WIDTH = 64 / sizeof(T), BLOCK = 64 * WIDTH;
    static constexpr std::size_t DIMENSIONS = 4;  // of the gradient in one pass over a block
    using Lanes = Wide<T>;

    struct Part {
        std::size_t begin, end, first, skip;
    };

    /// One block's part of phi (once, with the first dimensions) and of the gradient in some dimensions.
    double block(const T* y, const Part& part, double* gradient) const {
        const auto& [begin, end, first, skip] = part;
        const std::size_t count = std::min(DIMENSIONS, d_ - first);
        Lanes phi{}, force[DIMENSIONS] = {};
        for (std::size_t j = begin; j < end; j += WIDTH) {
            Lanes r{};
            for (std::size_t p = 0; p < d_; ++p) {
                const Lanes difference = y[p] - load<Lanes>(&columns_[p * padded_ + j]);
                r += difference * difference;
            }
            Lanes c = load<Lanes>(&charges_[j]);
            if (skip - j < WIDTH) c[skip - j] = 0;
            const Lanes w = law_.weight(r), slope = c * law_.slope(r, w);
            phi += c * w;
            for (std::size_t p = 0; p < count; ++p)
                force[p] += slope * (y[first + p] - load<Lanes>(&columns_[(first + p) * padded_ + j]));
        }
        for (std::size_t p = 0; p < count; ++p) gradient[first + p] -= 2 * sum_of_lanes(force[p]);
        return first == 0 ? sum_of_lanes(phi) : 0;
    }

    std::size_t n_, padded_, d_;
    Law law_;
    Buffer<T> columns_, charges_;
};

/// potential[i] = phi at row i of `at`, gradient (rows, d) its gradient there, both without point skip[i] (null: with
/// all). Each row has one owner. Cost n * rows.
template <class T, class Law>
void exact_field(const Context& context, const ExactField<T, Law>& field, MatrixView<const T> at,
                 const std::int32_t* skip, T* potential, T* gradient) {
    constexpr std::size_t ROWS_AT_ONCE = 64;
    parallel_ranges(context, at.rows, ROWS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
        std::vector<double> slope(at.columns);
        for (std::size_t i = first; i < last; ++i) {
            const auto left_out = skip ? static_cast<std::size_t>(skip[i]) : ExactField<T, Law>::NOBODY;
            potential[i] = static_cast<T>(field.at(at.row(i), slope.data(), left_out));
            for (std::size_t p = 0; p < at.columns; ++p) gradient[i * at.columns + p] = static_cast<T>(slope[p]);
            worker.check();
        }
    });
}

}  // namespace lowfold
