// Fourier transforms of sixteen sequences at once, one to each lane.
#pragma once

#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

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

}  // namespace lowfold
