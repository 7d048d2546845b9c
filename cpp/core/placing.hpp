// A new point among points that stay where they are.
#pragma once

#include <cmath>
#include <vector>

#include "attraction.hpp"

namespace lowfold {

/// How a new point is moved to the minimum of
///     E(y) = sum_j p_j (-log w(|y - y_j|^2)) + (strength > 0 ? strength * phi(y) : log phi(y)),
/// with the affinities p to its neighbours and the field phi of all points.
struct Placing {
    double strength = 0;
    int most_steps = 100;
    double tolerance = 1e-4;  // length of a step, in units of the kernel's width, below which the point has arrived
};

/// The frozen points that each new point is near, and its affinities to them.
struct NewAffinities {
    MatrixView<const std::int32_t> neighbors;
    const float* P;
};

/// Steps against the gradient divided by the stiffness of the springs, 2 sum_j p_j pull(r_j): shorter where E rises.
/// Each row of Y starts where it is and has one owner; it depends on nothing but its own neighbours and the field.
template <class Field, class Law>
void place_inplace(const Context& context, const Field& field, MatrixView<const float> frozen, const Law& law,
                   const NewAffinities& affinities, const Placing& how, MatrixView<float> Y) {
    constexpr std::size_t ROWS_AT_ONCE = 32;
    const auto& [neighbors, P] = affinities;
    const std::size_t d = Y.columns, k = neighbors.columns;
    parallel_ranges(context, Y.rows, ROWS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker& worker) {
        std::vector<float> trial(d);
        std::vector<double> gradient(d), trial_gradient(d);
        const auto energy = [&](std::size_t i, const float* y, double* slope, double& stiffness) {
            const double phi = field.at(y, slope);
            const double share = how.strength > 0 ? how.strength : 1 / phi;
            double cost = how.strength > 0 ? how.strength * phi : std::log(phi);
            for (std::size_t p = 0; p < d; ++p) slope[p] *= share;
            stiffness = 0;
            for (std::size_t l = 0; l < k; ++l) {
                const float* other = frozen.row(neighbors.row(i)[l]);
                float r = 0;
                for (std::size_t p = 0; p < d; ++p) r += (y[p] - other[p]) * (y[p] - other[p]);
                const double weight = P[i * k + l];
                const double pull = 2 * weight * static_cast<double>(law.pull(r));
                cost += weight * static_cast<double>(law.cost(r));
                stiffness += pull;
                for (std::size_t p = 0; p < d; ++p) slope[p] += pull * static_cast<double>(y[p] - other[p]);
            }
            return cost;
        };
        for (std::size_t i = first; i < last; ++i) {
            float* y = Y.row(i);
            double stiffness = 0, share = 1;
            double cost = energy(i, y, gradient.data(), stiffness);
            for (int step = 0; step < how.most_steps && share > 1e-3; ++step) {
                double length = 0;
                for (std::size_t p = 0; p < d; ++p) {
                    const double move = share * gradient[p] / stiffness;
                    trial[p] = static_cast<float>(static_cast<double>(y[p]) - move);
                    length += move * move;
                }
                if (!(length > how.tolerance * how.tolerance)) break;
                double trial_stiffness = 0;
                const double trial_cost = energy(i, trial.data(), trial_gradient.data(), trial_stiffness);
                if (trial_cost < cost) {
                    std::copy(trial.begin(), trial.end(), y);
                    gradient.swap(trial_gradient);
                    cost = trial_cost;
                    stiffness = trial_stiffness;
                    share = std::min(1.0, 1.5 * share);
                } else {
                    share /= 2;
                }
            }
            worker.check();
        }
    });
}

}  // namespace lowfold
