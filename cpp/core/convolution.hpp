// Convolution of values on a grid of one, two or three dimensions, by Fourier transforms.
//
// SciPy's transforms take more than twice as long for the sizes of an embedding (4.5 ms for 640 x 625 nodes, padded to
// twice that, on two cores; here 2.0 ms), and leave threads of their own behind.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "fourier.hpp"
#include "parallel.hpp"

namespace lowfold {

/// values <- kernel * values. The kernel is symmetric in each direction and given by its real transform on a grid of
/// twice the size, whose last direction has only the wave numbers 0 .. columns. Zeros are never transformed.
///
/// A grid is a stack of planes of rows of columns; directions that it lacks have one node and are not padded.
class Convolution {
   public:
    /// Each group of wave numbers has one owner.
    Convolution(const Context& context, std::span<const std::size_t> size, const float* kernel)
        : planes_(size.size() > 2 ? size[size.size() - 3] : 1),
          rows_(size.size() > 1 ? size[size.size() - 2] : 1),
          columns_(size.back()),
          along_(2 * columns_),
          across_(size.size() > 1 ? 2 * rows_ : 1),
          through_(size.size() > 2 ? 2 * planes_ : 1),
          kernel_(groups() * waves() * LANES) {
        const float scale = 1 / static_cast<float>(waves() * along_.size());
        parallel_for(context, groups(), [&](std::size_t group, Worker& worker) {
            for (std::size_t f = 0; f < waves(); ++f) {
                for (std::size_t lane = 0; lane < LANES; ++lane) {
                    const std::size_t k = group * LANES + lane;
                    kernel_[(group * waves() + f) * LANES + lane] =
                        k <= columns_ ? scale * kernel[f * (columns_ + 1) + k] : 0.0f;
                }
                worker.check_after(LANES);
            }
        });
    }

    std::size_t nodes() const { return planes_ * rows_ * columns_; }

    /// Each group of rows, and then of wave numbers, has one owner.
    void run_inplace(const Context& context, float* values) const {
        Buffer<Waves> middle(planes_ * rows_ * groups());  // sixteen wave numbers of each row
        std::vector<Buffer<Waves>> scratch(static_cast<std::size_t>(std::max(1, context.threads)));
        const auto space = [&](Worker& worker) {
            Buffer<Waves>& mine = scratch[static_cast<std::size_t>(worker.slot())];
            mine.resize(2 * longest() + planes_ * across_.size());
            return Space{mine.data(), mine.data() + longest(), mine.data() + 2 * longest()};
        };
        const std::size_t pairs = (planes_ * rows_ + 2 * LANES - 1) / (2 * LANES);
        parallel_for(context, pairs, [&](std::size_t pair, Worker& worker) {
            forward_rows(values, pair, space(worker), middle.data());
        });
        parallel_for(context, groups(), [&](std::size_t group, Worker& worker) {
            multiply(group, space(worker), middle.data());
            worker.check();
        });
        parallel_for(context, pairs, [&](std::size_t pair, Worker& worker) {
            backward_rows(pair, space(worker), middle.data(), values);
        });
    }

   private:
    static constexpr std::size_t LANES = 16;

    /// Two sequences, as a transform needs them, and the waves of all planes.
    struct Space {
        Waves *x, *y, *slab;
    };

    std::size_t groups() const { return columns_ / LANES + 1; }             // of wave numbers 0 .. columns
    std::size_t waves() const { return across_.size() * through_.size(); }  // in the other directions
    std::size_t longest() const { return std::max({along_.size(), across_.size(), through_.size()}); }
    Waves& at(Waves* middle, std::size_t row, std::size_t group) const { return middle[row * groups() + group]; }

    /// Two groups of rows, real, go as the real and the imaginary part of one transform Z; that of the first is
    /// (Z_k + conj Z_-k) / 2, that of the second (Z_k - conj Z_-k) / 2i.
    void forward_rows(const float* values, std::size_t pair, const Space& space, Waves* middle) const {
        const std::size_t n = along_.size(), rows = planes_ * rows_;
        float lanes[2][LANES];
        for (std::size_t c = 0; c < columns_; ++c) {
            for (std::size_t half = 0; half < 2; ++half)
                for (std::size_t lane = 0; lane < LANES; ++lane) {
                    const std::size_t row = (2 * pair + half) * LANES + lane;
                    lanes[half][lane] = row < rows ? values[row * columns_ + c] : 0.0f;
                }
            space.x[c] = {load<Waves::Lanes>(lanes[0]), load<Waves::Lanes>(lanes[1])};
        }
        std::fill(space.x + columns_, space.x + n, Waves{});
        const Waves* Z = along_.run(space.x, space.y);
        for (std::size_t group = 0; group < groups(); ++group) {
            Waves from[2][LANES] = {};
            const std::size_t first = group * LANES;
            for (std::size_t k = first; k < std::min(first + LANES, columns_ + 1); ++k) {
                const Waves& a = Z[k];
                const Waves& b = Z[k == 0 ? 0 : n - k];
                from[0][k - first] = {0.5f * (a.re + b.re), 0.5f * (a.im - b.im)};
                from[1][k - first] = {0.5f * (a.im + b.im), 0.5f * (b.re - a.re)};
            }
            for (std::size_t half = 0; half < 2; ++half) {
                const std::size_t row = (2 * pair + half) * LANES;
                if (row < rows) transpose(from[half], &at(middle, row, group), groups(), std::min(LANES, rows - row));
            }
        }
    }

    /// Sixteen wave numbers: forward through rows and planes, times the kernel, and back.
    void multiply(std::size_t group, const Space& space, Waves* middle) const {
        const std::size_t across = across_.size();
        for (std::size_t plane = 0; plane < planes_; ++plane) {
            for (std::size_t r = 0; r < rows_; ++r) space.x[r] = at(middle, plane * rows_ + r, group);
            std::fill(space.x + rows_, space.x + across, Waves{});
            std::copy_n(across_.run(space.x, space.y), across, space.slab + plane * across);
        }
        for (std::size_t f = 0; f < across; ++f) {
            for (std::size_t plane = 0; plane < planes_; ++plane) space.x[plane] = space.slab[plane * across + f];
            std::fill(space.x + planes_, space.x + through_.size(), Waves{});
            Waves* waves = through_.run(space.x, space.y);
            for (std::size_t g = 0; g < through_.size(); ++g) {
                const auto factor = load<Waves::Lanes>(&kernel_[((group * through_.size() + g) * across + f) * LANES]);
                waves[g] = {waves[g].re * factor, waves[g].im * factor};
            }
            const Waves* out = through_.run_inverse(waves, waves == space.x ? space.y : space.x);
            for (std::size_t plane = 0; plane < planes_; ++plane) space.slab[plane * across + f] = out[plane];
        }
        for (std::size_t plane = 0; plane < planes_; ++plane) {
            const Waves* out = across_.run_inverse(space.slab + plane * across, space.x);
            for (std::size_t r = 0; r < rows_; ++r) at(middle, plane * rows_ + r, group) = out[r];
        }
    }

    /// The two groups of rows again as one transform: Z = A + i B, with the other half of the wave numbers by symmetry.
    void backward_rows(std::size_t pair, const Space& space, Waves* middle, float* values) const {
        const std::size_t n = along_.size(), rows = planes_ * rows_;
        for (std::size_t group = 0; group < groups(); ++group) {
            Waves from[2][LANES] = {}, to[2][LANES];
            for (std::size_t half = 0; half < 2; ++half) {
                for (std::size_t lane = 0; lane < LANES; ++lane) {
                    const std::size_t row = (2 * pair + half) * LANES + lane;
                    if (row < rows) from[half][lane] = at(middle, row, group);
                }
                transpose(from[half], to[half], 1, LANES);
            }
            const std::size_t first = group * LANES;
            for (std::size_t k = first; k < std::min(first + LANES, columns_ + 1); ++k) {
                const Waves &a = to[0][k - first], &b = to[1][k - first];
                space.x[k] = {a.re - b.im, a.im + b.re};
                if (k > 0 && k < columns_) space.x[n - k] = {a.re + b.im, b.re - a.im};
            }
        }
        const Waves* out = along_.run_inverse(space.x, space.y);
        for (std::size_t half = 0; half < 2; ++half)
            for (std::size_t c = 0; c < columns_; ++c) {
                const Waves::Lanes v = half ? out[c].im : out[c].re;
                for (std::size_t lane = 0; lane < LANES; ++lane) {
                    const std::size_t row = (2 * pair + half) * LANES + lane;
                    if (row < rows) values[row * columns_ + c] = v[lane];
                }
            }
    }

    /// Lane a of from[b] becomes lane b of to[a * stride], for the first `count` of them.
    static void transpose(const Waves (&from)[LANES], Waves* to, std::size_t stride, std::size_t count) {
        float re[LANES][LANES], im[LANES][LANES];
        for (std::size_t b = 0; b < LANES; ++b) {
            store(re[b], from[b].re);
            store(im[b], from[b].im);
        }
        for (std::size_t a = 0; a < count; ++a) {
            float lanes[2][LANES];
            for (std::size_t b = 0; b < LANES; ++b) {
                lanes[0][b] = re[b][a];
                lanes[1][b] = im[b][a];
            }
            to[a * stride] = {load<Waves::Lanes>(lanes[0]), load<Waves::Lanes>(lanes[1])};
        }
    }

    std::size_t planes_, rows_, columns_;
    Fourier along_, across_, through_;
    Buffer<float> kernel_;
};

}  // namespace lowfold
