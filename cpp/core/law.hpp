// The kernels w(r) of the force family, r a squared distance. Everything else follows from w: attraction pulls with
// -w'(r) / w(r), repulsion is the gradient of sums of w.
#pragma once

#include <stdexcept>
#include <string>

#include "elementary.hpp"

namespace lowfold {

/// w = 1 / (1 + r): Student's distribution with one degree of freedom.
struct Cauchy {
    template <class V>
    V weight(V r) const {
        return 1 / (1 + r);
    }
    /// -w'(r), given w(r).
    template <class V>
    V slope(V, V w) const {
        return w * w;
    }
    /// -w'(r) / w(r)
    template <class V>
    V pull(V r) const {
        return 1 / (1 + r);
    }
    /// -log w(r)
    template <class V>
    V cost(V r) const {
        return logarithm(1 + r);
    }
};

/// w = (1 + r / dof)^(-(dof + 1) / 2)
struct Student {
    double dof;

    template <class V>
    V weight(V r) const {
        return exponential(-cost(r));
    }
    template <class V>
    V slope(V r, V w) const {
        return w * pull(r);
    }
    template <class V>
    V pull(V r) const {
        return scalar<V>((dof + 1) / (2 * dof)) / (1 + r * scalar<V>(1 / dof));
    }
    template <class V>
    V cost(V r) const {
        return logarithm(1 + r * scalar<V>(1 / dof)) * scalar<V>((dof + 1) / 2);
    }

   private:
    template <class V>
    static auto scalar(double x) {
        if constexpr (std::is_arithmetic_v<V>)
            return static_cast<V>(x);
        else
            return static_cast<std::decay_t<decltype(V{}[0])>>(x);
    }
};

/// w = exp(-r)
struct Gaussian {
    template <class V>
    V weight(V r) const {
        return exponential(-r);
    }
    template <class V>
    V slope(V, V w) const {
        return w;
    }
    template <class V>
    V pull(V r) const {
        return r - r + 1;
    }
    template <class V>
    V cost(V r) const {
        return r;
    }
};

/// Calls use(law) with the law of that name.
template <class Use>
auto with_law(const std::string& name, double dof, const Use& use) {
    if (name == "gaussian") return use(Gaussian{});
    if (name != "student") throw std::invalid_argument("the law must be 'student' or 'gaussian'");
    return dof == 1 ? use(Cauchy{}) : use(Student{dof});
}

}  // namespace lowfold
