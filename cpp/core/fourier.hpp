// Fourier transforms of sixteen sequences at once, one to each lane, and convolution in the plane by them.
//
// SciPy's transforms take more than twice as long for the sizes of an embedding: 4.5 ms for 640 x 625 nodes, padded to
// twice that, on two cores; here 2.0 ms.
#pragma once

#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "parallel.hpp"
#include "simd.hpp"

namespace lowfold {

/// Sixteen complex numbers.
struct Waves {
    using Lanes = Wide<float>;
    Lanes re, im;

    friend Waves operator+(const Waves& a, const Waves& b) { return {a.re + b.re, a.im + b.im}; }
    friend Waves operator-(const Waves& a, const Waves& b) { return {a.re - b.re, a.im - b.im}; }
    friend Waves operator*(float s, const Waves& a) { return {s * a.re, s * a.im}; }
};

/// -i a
inline Waves turned(const Waves& a) { return {a.im, -a.re}; }

struct Twiddle {
    float re, im;
};

inline Waves operator*(const Waves& a, const Twiddle& w) {
    return {a.re * w.re - a.im * w.im, a.re * w.im + a.im * w.re};
}

/// sum_j x_j exp(-2 pi i j k / n) for n = 2^a 3^b 5^c, by Stockham's passes, which leave the result in order.
/// Cost 5 n log2 n for each lane.
class Fourier {
   public:
    explicit Fourier(std::size_t n) : n_(n) {
        std::size_t rest = n;
        for (const std::size_t radix : {4u, 2u, 3u, 5u})
            while (rest % radix == 0) {
                add_pass(rest, radix);
                rest /= radix;
            }
        if (rest != 1) throw std::invalid_argument("the length of a transform must have no prime factor above 5");
    }

    std::size_t size() const { return n_; }

    /// Transforms x with the help of y, both of n elements; returns the one that holds the result.
    Waves* run(Waves* x, Waves* y) const {
        std::size_t stride = 1;
        for (const Pass& pass : passes_) {
            switch (pass.radix) {
                case 2:
                    apply<2>(pass, stride, x, y);
                    break;
                case 3:
                    apply<3>(pass, stride, x, y);
                    break;
                case 4:
                    apply<4>(pass, stride, x, y);
                    break;
                default:
                    apply<5>(pass, stride, x, y);
            }
            stride *= pass.radix;
            std::swap(x, y);
        }
        return x;
    }

    /// n times the inverse: real and imaginary parts change places before and after.
    Waves* run_inverse(Waves* x, Waves* y) const {
        for (std::size_t j = 0; j < n_; ++j) std::swap(x[j].re, x[j].im);
        Waves* out = run(x, y);
        for (std::size_t j = 0; j < n_; ++j) std::swap(out[j].re, out[j].im);
        return out;
    }

   private:
    struct Pass {
        std::size_t radix, parts;
        std::vector<Twiddle> twiddles;  // exp(-2 pi i p t / length) at p * (radix - 1) + t - 1
    };

    void add_pass(std::size_t length, std::size_t radix) {
        Pass pass{radix, length / radix, {}};
        for (std::size_t p = 0; p < pass.parts; ++p)
            for (std::size_t t = 1; t < radix; ++t) {
                const double angle = -2 * M_PI * static_cast<double>(p * t % length) / static_cast<double>(length);
                pass.twiddles.push_back({static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
            }
        passes_.push_back(std::move(pass));
    }

    template <int RADIX>
    static void apply(const Pass& pass, std::size_t stride, const Waves* x, Waves* y) {
        for (std::size_t p = 0; p < pass.parts; ++p) {
            const Twiddle* w = &pass.twiddles[p * (RADIX - 1)];
            for (std::size_t q = 0; q < stride; ++q) {
                Waves a[RADIX];
                for (int r = 0; r < RADIX; ++r) a[r] = x[q + stride * (p + static_cast<std::size_t>(r) * pass.parts)];
                butterfly(a);
                Waves* to = y + q + stride * RADIX * p;
                to[0] = a[0];
                for (int t = 1; t < RADIX; ++t) to[stride * static_cast<std::size_t>(t)] = a[t] * w[t - 1];
            }
        }
    }

    static void butterfly(Waves (&a)[2]) {
        const Waves sum = a[0] + a[1];
        a[1] = a[0] - a[1];
        a[0] = sum;
    }
    static void butterfly(Waves (&a)[3]) {
        const Waves sum = a[1] + a[2], difference = 0.866025404f * turned(a[1] - a[2]);
        const Waves middle = a[0] - 0.5f * sum;
        a[0] = a[0] + sum;
        a[1] = middle + difference;
        a[2] = middle - difference;
    }
    static void butterfly(Waves (&a)[4]) {
        const Waves even = a[0] + a[2], odd = a[1] + a[3], even_rest = a[0] - a[2], odd_rest = turned(a[1] - a[3]);
        a[0] = even + odd;
        a[1] = even_rest + odd_rest;
        a[2] = even - odd;
        a[3] = even_rest - odd_rest;
    }
    static void butterfly(Waves (&a)[5]) {
        constexpr float C1 = 0.309016994f, C2 = -0.809016994f, S1 = 0.951056516f, S2 = 0.587785252f;
        const Waves s14 = a[1] + a[4], s23 = a[2] + a[3], d14 = turned(a[1] - a[4]), d23 = turned(a[2] - a[3]);
        const Waves m1 = a[0] + C1 * s14 + C2 * s23, m2 = a[0] + C2 * s14 + C1 * s23;
        const Waves n1 = S1 * d14 + S2 * d23, n2 = S2 * d14 - S1 * d23;
        a[0] = a[0] + s14 + s23;
        a[1] = m1 + n1;
        a[4] = m1 - n1;
        a[2] = m2 + n2;
        a[3] = m2 - n2;
    }

    std::size_t n_;
    std::vector<Pass> passes_;
};

/// Convolution of values on a rows x columns grid with a symmetric kernel, given by its real transform on a grid of
/// twice the size, (2 rows) x (columns + 1). Rows of zeros are never transformed.
class PlaneConvolution {
   public:
    PlaneConvolution(std::size_t rows, std::size_t columns, const float* kernel)
        : rows_(rows), columns_(columns), along_(2 * columns), across_(2 * rows), kernel_(groups() * 2 * rows * LANES) {
        const float scale = 1 / (4 * static_cast<float>(rows) * static_cast<float>(columns));
        for (std::size_t group = 0; group < groups(); ++group)
            for (std::size_t f = 0; f < 2 * rows; ++f)
                for (std::size_t lane = 0; lane < LANES; ++lane) {
                    const std::size_t k = group * LANES + lane;
                    kernel_[(group * 2 * rows + f) * LANES + lane] =
                        k <= columns ? scale * kernel[f * (columns + 1) + k] : 0.0f;
                }
    }

    std::size_t rows() const { return rows_; }
    std::size_t columns() const { return columns_; }

    /// values <- kernel * values. Each group of rows, and then of columns, has one owner.
    void run_inplace(const Context& context, float* values) const {
        // Element (k, r) of the transform of row r at wave number k, in blocks of LANES rows.
        Buffer<Waves> middle(groups() * LANES * row_groups());
        const std::size_t longest = 2 * std::max(rows_, columns_);
        std::vector<Buffer<Waves>> scratch(static_cast<std::size_t>(std::max(1, context.threads)));
        const auto space = [&](Worker& worker) {
            Buffer<Waves>& mine = scratch[static_cast<std::size_t>(worker.slot())];
            mine.resize(2 * longest);
            return std::pair(mine.data(), mine.data() + longest);
        };
        const std::size_t pairs = (row_groups() + 1) / 2;
        parallel_for(context, pairs, [&](std::size_t pair, Worker& worker) {
            const auto [x, y] = space(worker);
            forward_rows(values, pair, x, y, middle.data());
        });
        parallel_for(context, groups(), [&](std::size_t group, Worker& worker) {
            const auto [x, y] = space(worker);
            multiply_columns(group, x, y, middle.data());
        });
        parallel_for(context, pairs, [&](std::size_t pair, Worker& worker) {
            const auto [x, y] = space(worker);
            backward_rows(pair, x, y, middle.data(), values);
            worker.check();
        });
    }

   private:
    static constexpr std::size_t LANES = 16;

    std::size_t groups() const { return columns_ / LANES + 1; }  // of wave numbers 0 .. columns
    std::size_t row_groups() const { return (rows_ + LANES - 1) / LANES; }
    Waves& at(Waves* middle, std::size_t k, std::size_t group) const { return middle[k * row_groups() + group]; }

    /// Two groups of rows, real, go as the real and the imaginary part of one transform Z; that of the first is
    /// (Z_k + conj Z_-k) / 2, that of the second (Z_k - conj Z_-k) / 2i.
    void forward_rows(const float* values, std::size_t pair, Waves* x, Waves* y, Waves* middle) const {
        const std::size_t n = 2 * columns_;
        float lanes[2][LANES];
        for (std::size_t c = 0; c < columns_; ++c) {
            for (std::size_t half = 0; half < 2; ++half)
                for (std::size_t lane = 0; lane < LANES; ++lane) {
                    const std::size_t row = (2 * pair + half) * LANES + lane;
                    lanes[half][lane] = row < rows_ ? values[row * columns_ + c] : 0.0f;
                }
            x[c] = {load<Waves::Lanes>(lanes[0]), load<Waves::Lanes>(lanes[1])};
        }
        for (std::size_t c = columns_; c < n; ++c) x[c] = Waves{};
        const Waves* Z = along_.run(x, y);
        for (std::size_t k = 0; k <= columns_; ++k) {
            const Waves& a = Z[k];
            const Waves& b = Z[k == 0 ? 0 : n - k];
            at(middle, k, 2 * pair) = {0.5f * (a.re + b.re), 0.5f * (a.im - b.im)};
            if (2 * pair + 1 < row_groups()) at(middle, k, 2 * pair + 1) = {0.5f * (a.im + b.im), 0.5f * (b.re - a.re)};
        }
    }

    /// Sixteen wave numbers: forward along the rows, times the kernel, and back.
    void multiply_columns(std::size_t group, Waves* x, Waves* y, Waves* middle) const {
        const std::size_t n = 2 * rows_, first = group * LANES, count = std::min(LANES, columns_ + 1 - first);
        for (std::size_t block = 0; block < row_groups(); ++block) {
            Waves from[LANES] = {};
            for (std::size_t lane = 0; lane < count; ++lane) from[lane] = at(middle, first + lane, block);
            transpose(from, x + block * LANES, std::min(LANES, rows_ - block * LANES));
        }
        for (std::size_t r = rows_; r < n; ++r) x[r] = Waves{};
        Waves* f = across_.run(x, y);
        for (std::size_t r = 0; r < n; ++r) {
            const auto factor = load<Waves::Lanes>(&kernel_[(group * n + r) * LANES]);
            f[r] = {f[r].re * factor, f[r].im * factor};
        }
        Waves* out = across_.run_inverse(f, f == x ? y : x);
        for (std::size_t block = 0; block < row_groups(); ++block) {
            Waves from[LANES] = {}, to[LANES];
            std::copy_n(out + block * LANES, std::min(LANES, rows_ - block * LANES), from);
            transpose(from, to, LANES);
            for (std::size_t lane = 0; lane < count; ++lane) at(middle, first + lane, block) = to[lane];
        }
    }

    /// The two groups of rows again as one transform: Z = A + i B, with the other half of the wave numbers by symmetry.
    void backward_rows(std::size_t pair, Waves* x, Waves* y, Waves* middle, float* values) const {
        const std::size_t n = 2 * columns_;
        const Waves nothing{};
        for (std::size_t k = 0; k <= columns_; ++k) {
            const Waves& a = at(middle, k, 2 * pair);
            const Waves& b = 2 * pair + 1 < row_groups() ? at(middle, k, 2 * pair + 1) : nothing;
            x[k] = {a.re - b.im, a.im + b.re};
            if (k > 0 && k < columns_) x[n - k] = {a.re + b.im, b.re - a.im};
        }
        const Waves* out = along_.run_inverse(x, y);
        for (std::size_t half = 0; half < 2; ++half)
            for (std::size_t c = 0; c < columns_; ++c) {
                const Waves::Lanes v = half ? out[c].im : out[c].re;
                for (std::size_t lane = 0; lane < LANES; ++lane) {
                    const std::size_t row = (2 * pair + half) * LANES + lane;
                    if (row < rows_) values[row * columns_ + c] = v[lane];
                }
            }
    }

    /// Lane a of from[b] becomes lane b of to[a], for the first `count` of them.
    static void transpose(const Waves (&from)[LANES], Waves* to, std::size_t count) {
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
            to[a] = {load<Waves::Lanes>(lanes[0]), load<Waves::Lanes>(lanes[1])};
        }
    }

    std::size_t rows_, columns_;
    Fourier along_, across_;
    Buffer<float> kernel_;
};

}  // namespace lowfold
