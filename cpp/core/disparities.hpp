// Disparities: the numbers nearest to the distances of an embedding that never fall as the dissimilarities rise.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "matrix.hpp"
#include "parallel.hpp"
#include "symmetric_product.hpp"

namespace lowfold {

/// Pairs (first[k], second[k]), first < second, by rising dissimilarity. Equal dissimilarities are a group: begin[g] is
/// the first pair of group g. weights: of each pair, or null for 1.
struct OrderedPairs {
    const std::int32_t *first, *second;
    const std::int64_t* begin;
    std::size_t groups, count;
    const double* weights;

    /// The first pair of a group, or behind the last one the number of pairs.
    std::size_t start(std::size_t group) const {
        return group < groups ? static_cast<std::size_t>(begin[group]) : count;
    }
    double weight(std::size_t k) const { return weights ? weights[k] : 1.0; }
};

/// How equal dissimilarities bind: their disparities may differ, each as near to its distance as the order of the rest
/// allows; or they are one number.
enum class Ties { primary, secondary };

/// sum w d^2, sum w f^2 and sum w (d - f)^2 over pairs, of distances d and disparities f.
struct DisparitySums {
    double square = 0, length = 0, misfit = 0;
};

/// Isotonic regression of the distances |y_i - y_j| (pool adjacent violators), O(pairs) and what it takes to sort ties.
///
/// Whole groups go together in chunks of at least CHUNK pairs. A chunk has one owner, who measures its distances and
/// pools them by itself; what the chunks leave is pooled again, one after another, and each chunk reads its disparities
/// off that. Pooling may go in any order, and this one does not depend on the threads.
template <class T>
class Disparities {
   public:
    Disparities(MatrixView<const T> Y, const OrderedPairs& pairs, Ties ties) : Y_(Y), pairs_(pairs), ties_(ties) {
        chunks_ = {0};
        for (std::size_t group = 1; group <= pairs.groups; ++group)
            if (group == pairs.groups || pairs.start(group) - pairs.start(chunks_.back()) >= CHUNK)
                chunks_.push_back(group);
    }

    /// fitted (pairs): the disparities, times square / length, and the same to targets (packed, n points), where other
    /// entries stay as they are. Where square or length is 0, both are left without meaning.
    DisparitySums run(const Context& context, double* fitted, PackedRows<T> targets) const {
        const std::size_t count = chunks_.size() - 1;
        std::vector<std::vector<Pool>> parts(count);
        std::vector<double> squares(count), misfits(count);
        parallel_for(context, count, [&](std::size_t chunk, Worker& worker) {
            squares[chunk] = measure(chunk, fitted, worker);
            parts[chunk] = pooled(chunk, fitted, worker);
        });
        std::vector<Pool> whole;
        parallel_for(context, 1, [&](std::size_t, Worker& worker) { whole = joined(parts, worker); });
        DisparitySums sums;
        for (const double square : squares) sums.square += square;
        for (const Pool& one : whole) sums.length += one.sum / one.mass * one.sum;
        if (!(sums.square * sums.length > 0)) return sums;
        const double factor = sums.square / sums.length;
        std::vector<T*> rows(Y_.rows);
        for (std::size_t i = 0; i < Y_.rows; ++i) rows[i] = targets.row(i);
        parallel_for(context, count, [&](std::size_t chunk, Worker& worker) {
            misfits[chunk] = spread(chunk, whole, factor, fitted, rows, worker);
        });
        for (const double misfit : misfits) sums.misfit += misfit;
        return sums;
    }

   private:
    static constexpr std::size_t CHUNK = 8192, RUN = 8192, CHECKED = 65536;

    /// Neighbours in the order whose disparities are one number, sum / mass; `end` is the pair behind them.
    struct Pool {
        double sum, mass;
        std::size_t end;

        double value() const { return sum / mass; }
    };

    struct Weighed {
        double d, w;
        auto operator<=>(const Weighed&) const = default;
    };

    /// Pools one after another, each with the last ones as long as they do not rise. The last is kept apart from the
    /// rest, in registers; below the first is one that is less than all.
    class Stack {
       public:
        explicit Stack(std::size_t most) : below_(most + 2) { below_[0] = last_ = LEAST; }

        void append(const Pool& next) {
            if (last_.sum * next.mass < next.sum * last_.mass) {
                below_[++size_] = last_;
                last_ = next;
                return;
            }
            last_ = {last_.sum + next.sum, last_.mass + next.mass, next.end};
            while (below_[size_].sum * last_.mass >= last_.sum * below_[size_].mass) {
                last_.sum += below_[size_].sum;
                last_.mass += below_[size_].mass;
                --size_;
            }
        }

        std::vector<Pool> take() {
            below_[++size_] = last_;
            return {below_.begin() + 2, below_.begin() + static_cast<long>(size_) + 1};
        }

       private:
        static constexpr Pool LEAST{-1, 0, 0};
        Buffer<Pool> below_;
        Pool last_;
        std::size_t size_ = 0;
    };

    /// The distances of a chunk; returns their sum w d^2.
    double measure(std::size_t chunk, double* out, Worker& worker) const {
        const std::size_t begin = pairs_.start(chunks_[chunk]), end = pairs_.start(chunks_[chunk + 1]);
        double total = 0;
        for (std::size_t k = begin; k < end; ++k) {
            const T* a = Y_.row(static_cast<std::size_t>(pairs_.first[k]));
            const T* b = Y_.row(static_cast<std::size_t>(pairs_.second[k]));
            T square{};
            for (std::size_t p = 0; p < Y_.columns; ++p) square += (a[p] - b[p]) * (a[p] - b[p]);
            out[k] = static_cast<double>(std::sqrt(square));
            total += pairs_.weight(k) * out[k] * out[k];
            if (k % CHECKED == 0) worker.check();
        }
        return total;
    }

    std::vector<Pool> pooled(std::size_t chunk, const double* d, Worker& worker) const {
        Stack out(pairs_.start(chunks_[chunk + 1]) - pairs_.start(chunks_[chunk]));
        std::vector<Weighed> tied, spare;
        for (std::size_t group = chunks_[chunk]; group < chunks_[chunk + 1]; ++group) {
            const std::size_t begin = pairs_.start(group), end = pairs_.start(group + 1);
            if (end == begin + 1) {
                out.append({pairs_.weight(begin) * d[begin], pairs_.weight(begin), end});
            } else if (ties_ == Ties::secondary) {
                Pool one{0, 0, end};
                for (std::size_t k = begin; k < end; ++k) {
                    one.sum += pairs_.weight(k) * d[k];
                    one.mass += pairs_.weight(k);
                }
                out.append(one);
            } else {
                tied.clear();
                for (std::size_t k = begin; k < end; ++k) tied.push_back({d[k], pairs_.weight(k)});
                sort(tied, spare, worker);
                for (std::size_t k = begin; k < end; ++k)
                    out.append({tied[k - begin].w * tied[k - begin].d, tied[k - begin].w, k + 1});
            }
        }
        worker.check();
        return out.take();
    }

    static std::vector<Pool> joined(std::vector<std::vector<Pool>>& parts, Worker& worker) {
        std::size_t most = 0;
        for (const auto& part : parts) most += part.size();
        Stack out(most);
        for (auto& part : parts) {
            for (const Pool& next : part) out.append(next);
            part = {};
            worker.check();
        }
        return out.take();
    }

    /// By runs that fit into the cache, then merged, so that a long sort can be stopped.
    static void sort(std::vector<Weighed>& values, std::vector<Weighed>& spare, Worker& worker) {
        const std::size_t n = values.size();
        const auto at = [n](auto& from, std::size_t k) { return from.begin() + static_cast<long>(std::min(k, n)); };
        if (n <= RUN) return std::sort(values.begin(), values.end());
        for (std::size_t k = 0; k < n; k += RUN) {
            std::sort(at(values, k), at(values, k + RUN));
            worker.check();
        }
        for (std::size_t run = RUN; run < n; run *= 2) {
            spare.resize(n);
            for (std::size_t k = 0; k < n; k += 2 * run) {
                std::merge(at(values, k), at(values, k + run), at(values, k + run), at(values, k + 2 * run),
                           at(spare, k));
                worker.check();
            }
            std::swap(values, spare);
        }
    }

    /// Writes the disparities of a chunk; returns their sum w (d - f)^2.
    ///
    /// In a group whose distances go up, those that share a pool with pairs before the group are below its value, those
    /// that share one with pairs behind are above, and the others are alone: d between the two ends is what it was.
    double spread(std::size_t chunk, const std::vector<Pool>& pools, double factor, double* fitted,
                  const std::vector<T*>& targets, Worker& worker) const {
        const auto behind = [](std::size_t k, const Pool& pool) { return k < pool.end; };
        auto at = std::upper_bound(pools.begin(), pools.end(), pairs_.start(chunks_[chunk]), behind);
        double misfit = 0, value = at->value();
        const auto reach = [&](std::size_t k) {
            if (at->end > k) return value;
            while (at->end <= k) ++at;
            return value = at->value();
        };
        for (std::size_t group = chunks_[chunk]; group < chunks_[chunk + 1]; ++group) {
            const std::size_t begin = pairs_.start(group), end = pairs_.start(group + 1);
            const double low = reach(begin), high = reach(end - 1);
            for (std::size_t k = begin; k < end; ++k) {
                const double f = std::min(std::max(fitted[k], low), high);
                misfit += pairs_.weight(k) * (fitted[k] - f) * (fitted[k] - f);
                fitted[k] = factor * f;
                targets[static_cast<std::size_t>(pairs_.first[k])][pairs_.second[k]] = static_cast<T>(fitted[k]);
                if (k % CHECKED == 0) worker.check();
            }
        }
        return misfit;
    }

    MatrixView<const T> Y_;
    OrderedPairs pairs_;
    Ties ties_;
    std::vector<std::size_t> chunks_;  // the first group of each, and the number of groups
};

}  // namespace lowfold
