// Sparse systems of equations, solved by elimination.
#pragma once

#include "assembly_tree.hpp"
#include "front_matrix.hpp"
#include "random.hpp"
#include "rearranging.hpp"

namespace lowfold {

/// A = L U for a sparse A whose pivots need no exchange of rows: symmetric and definite, or with a strong diagonal
/// (the multifrontal method, Duff and Reid 1983).
///
/// Each front gathers the entries of its pivots and what its children left, eliminates them, and leaves the rest to
/// its parent. Subtrees are gone through side by side, the fronts above them one after another, each on all threads.
/// What is added to what, and in which order, is given by the tree alone: the same bits for any number of threads.
class Factorisation {
   public:
    /// Only the pattern of A counts here.
    Factorisation(const Context& context, SparseView<double> A, bool symmetric)
        : tree_(context, A, symmetric),
          pattern_(pattern_of(A)),
          symmetric_(symmetric),
          subtrees_(tree_.subtrees()),
          in_subtree_(fronts().size(), 0),
          children_(fronts().size()),
          offset_(fronts().size()) {
        for (const auto& [begin, end] : subtrees_)
            for (std::size_t f = begin; f < end; ++f) in_subtree_[f] = 1;
        for (std::size_t f = 0; f < fronts().size(); ++f) {
            const Front& front = fronts()[f];
            if (front.parent >= 0) children_[static_cast<std::size_t>(front.parent)].push_back(f);
            offset_[f] = entries_;
            entries_ += Rows::size(front.size(), pivots(front));
        }
    }

    std::size_t size() const { return tree_.order().size(); }

    /// Whether A has its entries where the matrix had them that was analysed.
    bool fits(SparseView<double> A) const { return A.rows == size() && pattern_of(A) == pattern_; }

    bool factorised() const { return size() == 0 || !factors_[0].empty(); }

    /// Numbers in the factors.
    std::size_t entries() const { return entries_ * (symmetric_ ? 1 : 2); }

    /// The most numbers that are kept at once while the factors are found: these, and what fronts leave.
    std::size_t peak() const {
        std::size_t kept = 0, most = 0;
        for (std::size_t f = 0; f < fronts().size(); ++f) {
            kept += Rows::size(fronts()[f].below.size());
            most = std::max(most, kept);
            for (const std::size_t child : children_[f]) kept -= Rows::size(fronts()[child].below.size());
        }
        return entries() + most * (symmetric_ ? 1 : 2);
    }

    void factorise(const Context& context, SparseView<double> A) {
        const SparseMatrix<double> rows = permuted(context, A, tree_.order().data(), true);
        const SparseMatrix<double> columns = symmetric_ ? SparseMatrix<double>{} : transposed(rows.view());
        for (std::size_t half = 0; half < halves(); ++half) factors_[half].resize(entries_);
        std::vector<Remainder> remainders(fronts().size());
        const SparseMatrix<double>* matrices[2] = {&rows, &columns};
        each_front(context, [&](std::size_t f, const Context& inner, std::vector<std::int32_t>& place) {
            assemble(inner, f, matrices, remainders, place);
            FrontMatrix(pivots(fronts()[f]), fronts()[f].size(), half(f, 0, remainders[f]), half(f, 1, remainders[f]))
                .eliminate(inner);
        });
    }

    /// out = A^-1 B, or A^-T B. Cost: the factors are read twice for each WIDTH columns of B.
    void solve(const Context& context, MatrixView<const double> B, bool transposed, double* out) const {
        const std::size_t n = tree_.order().size();
        transposed = transposed && !symmetric_;
        Buffer<double> X(n * WIDTH);
        for (std::size_t first = 0; first < B.columns; first += WIDTH) {
            const std::size_t width = std::min(WIDTH, B.columns - first);
            for (std::size_t i = 0; i < n; ++i) {
                const double* from = B.row(static_cast<std::size_t>(tree_.order()[i])) + first;
                std::fill(std::copy_n(from, width, &X[i * WIDTH]), &X[i * WIDTH] + WIDTH, 0.0);
            }
            std::vector<Buffer<double>> left(fronts().size());
            each_front(context, [&](std::size_t f, const Context& inner, std::vector<std::int32_t>& place) {
                forward(inner, f, transposed, X.data(), left, place);
            });
            each_front_back(context,
                            [&](std::size_t f, const Context& inner) { backward(inner, f, transposed, X.data()); });
            for (std::size_t i = 0; i < n; ++i)
                std::copy_n(&X[i * WIDTH], width, out + static_cast<std::size_t>(tree_.order()[i]) * B.columns + first);
        }
    }

   private:
    using Rows = FrontMatrix::Rows;
    using Factor = PackedRows<const double>;
    using Lanes = Wide<double>;
    static constexpr std::size_t WIDTH = 8;  // right-hand sides at once
    static constexpr std::size_t HEIGHT = FrontMatrix::HEIGHT;
    static constexpr std::size_t ROWS = VECTOR_BYTES == 64 ? 8 : 2;  // of a factor at once, against one load of X
    static constexpr std::size_t COLUMNS_AT_ONCE = 512;

    /// What a front leaves to its parent, for U and L.
    struct Remainder {
        Buffer<double> halves[2];
    };

    /// A fingerprint of the places of a matrix's entries.
    static std::uint64_t pattern_of(SparseView<double> A) {
        std::uint64_t bits = A.rows;
        for (std::size_t i = 0; i < A.rows; ++i) {
            bits = random_bits(bits, i, static_cast<std::uint64_t>(A.begin[i + 1]));
            for (auto at = A.begin[i]; at < A.begin[i + 1]; ++at)
                bits = bits * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(A.columns[at]);
        }
        return bits;
    }

    const std::vector<Front>& fronts() const { return tree_.fronts(); }
    std::size_t halves() const { return symmetric_ ? 1 : 2; }
    static std::size_t pivots(const Front& front) { return static_cast<std::size_t>(front.pivots); }

    Rows factor(std::size_t f, std::size_t half) { return {factors_[half].data() + offset_[f], fronts()[f].size()}; }

    Factor factor(std::size_t f, std::size_t half) const {
        return {factors_[half].data() + offset_[f], fronts()[f].size()};
    }

    FrontMatrix::Half half(std::size_t f, std::size_t half, Remainder& remainder) {
        if (half == 1 && symmetric_) return {};
        return {factor(f, half), {remainder.halves[half].data(), fronts()[f].below.size()}};
    }

    /// visit(front, context, place) for all fronts, children first; `place` is memory for n numbers.
    template <class Visit>
    void each_front(const Context& context, const Visit& visit) const {
        const std::size_t n = tree_.order().size();
        parallel_for(context, subtrees_.size(), [&](std::size_t item, Worker& worker) {
            std::vector<std::int32_t> place(n);
            const Context alone = within(worker);
            for (std::size_t f = subtrees_[item].first; f < subtrees_[item].second; ++f) {
                visit(f, alone, place);
                worker.check();
            }
        });
        std::vector<std::int32_t> place(n);
        for (std::size_t f = 0; f < fronts().size(); ++f)
            if (!in_subtree_[f]) visit(f, context, place);
    }

    /// The same with parents first.
    template <class Visit>
    void each_front_back(const Context& context, const Visit& visit) const {
        for (std::size_t f = fronts().size(); f-- > 0;)
            if (!in_subtree_[f]) visit(f, context);
        parallel_for(context, subtrees_.size(), [&](std::size_t item, Worker& worker) {
            const Context alone = within(worker);
            for (std::size_t f = subtrees_[item].second; f-- > subtrees_[item].first;) {
                visit(f, alone);
                worker.check();
            }
        });
    }

    /// One thread, that of a worker, which is asked whether to stop.
    static Context within(Worker& worker) {
        return {1, [&worker] {
                    worker.ask();
                    return false;
                }};
    }

    /// place[i] = the number that unknown i has in a front, for those that it touches.
    void number(const Front& front, std::vector<std::int32_t>& place) const {
        for (std::int32_t i = 0; i < front.pivots; ++i) place[static_cast<std::size_t>(front.first + i)] = i;
        for (std::size_t t = 0; t < front.below.size(); ++t)
            place[static_cast<std::size_t>(front.below[t])] = front.pivots + static_cast<std::int32_t>(t);
    }

    /// The matrix of a front: A's entries in the rows and columns of its pivots, and its children's remainders.
    void assemble(const Context& context, std::size_t f, const SparseMatrix<double>* const (&matrices)[2],
                  std::vector<Remainder>& remainders, std::vector<std::int32_t>& place) {
        const Front& front = fronts()[f];
        number(front, place);
        for (std::size_t side = 0; side < halves(); ++side) {
            remainders[f].halves[side].resize(Rows::size(front.below.size()));
            std::fill(remainders[f].halves[side].begin(), remainders[f].halves[side].end(), 0.0);
            const auto target = half(f, side, remainders[f]);
            std::fill_n(target.pivots.data, Rows::size(front.size(), pivots(front)), 0.0);
            for (std::size_t i = 0; i < pivots(front); ++i) {
                const std::size_t row = static_cast<std::size_t>(front.first) + i;
                const SparseMatrix<double>& A = *matrices[side];
                for (auto at = A.begin[row]; at < A.begin[row + 1]; ++at) {
                    const auto column = static_cast<std::size_t>(A.columns[at]);
                    if (column >= row) target.pivots.row(i)[place[column]] += A.values[at];
                }
            }
            for (const std::size_t child : children_[f]) {
                add(context, fronts()[child], remainders[child].halves[side].data(), target, pivots(front), place);
                Buffer<double>().swap(remainders[child].halves[side]);
            }
        }
    }

    /// Adds what a child left, in runs of places that follow each other.
    static void add(const Context& context, const Front& child, double* remainder, const FrontMatrix::Half& target,
                    std::size_t pivots, const std::vector<std::int32_t>& place) {
        const std::size_t r = child.below.size();
        const Rows from{remainder, r};
        std::vector<std::size_t> to(r), run_end(r);
        for (std::size_t i = r; i-- > 0;) {
            to[i] = static_cast<std::size_t>(place[static_cast<std::size_t>(child.below[i])]);
            run_end[i] = i + 1 < r && to[i + 1] == to[i] + 1 ? run_end[i + 1] : i + 1;
        }
        parallel_ranges(context, r, HEIGHT, [&](std::size_t first, std::size_t last, Worker& worker) {
            for (std::size_t i = first; i < last; ++i) {
                const double* source = from.row(i);
                double* row = target.row(to[i], pivots);
                for (std::size_t j = i; j < r;) {
                    const std::size_t end = run_end[j];
                    double* sum = row + to[j] - j;
                    for (; j < end; ++j) sum[j] += source[j];
                }
            }
            worker.check();
        });
    }

    /// L y = b (U^T y = b if transposed) for the pivots of a front; what they take from later unknowns is left.
    void forward(const Context& context, std::size_t f, bool transposed, double* X, std::vector<Buffer<double>>& left,
                 std::vector<std::int32_t>& place) const {
        const Front& front = fronts()[f];
        const std::size_t k = pivots(front), m = front.size();
        Buffer<double> w(m * WIDTH);
        std::copy_n(X + static_cast<std::size_t>(front.first) * WIDTH, k * WIDTH, w.data());
        std::fill(w.begin() + static_cast<std::ptrdiff_t>(k * WIDTH), w.end(), 0.0);
        if (!children_[f].empty()) number(front, place);
        for (const std::size_t child : children_[f]) {
            const auto& below = fronts()[child].below;
            for (std::size_t t = 0; t < below.size(); ++t) {
                double* to = &w[static_cast<std::size_t>(place[static_cast<std::size_t>(below[t])]) * WIDTH];
                store(to, load<Lanes>(to) + load<Lanes>(&left[child][t * WIDTH]));
            }
            Buffer<double>().swap(left[child]);
        }
        const bool divides = transposed || symmetric_;
        const Factor rows = factor(f, divides ? 0 : 1);
        double multipliers[HEIGHT][WIDTH];
        for (std::size_t p = 0; p < k; p += HEIGHT) {
            const std::size_t height = std::min(HEIGHT, k - p);
            for (std::size_t q = 0; q < height; ++q) {
                double* own = &w[(p + q) * WIDTH];
                const double* row = rows.row(p + q);
                const Lanes multiplier = divides ? load<Lanes>(own) / row[p + q] : load<Lanes>(own);
                store(multipliers[q], multiplier);
                if (transposed) store(own, multiplier);
                for (std::size_t j = p + q + 1; j < p + height; ++j)
                    store(&w[j * WIDTH], load<Lanes>(&w[j * WIDTH]) - multiplier * row[j]);
            }
            const std::size_t from = p + height;
            // Short: COLUMNS_AT_ONCE columns of at most HEIGHT rows.
            parallel_ranges(context, m - from, COLUMNS_AT_ONCE, [&](std::size_t first, std::size_t last, Worker&) {
                std::size_t q = 0;
                for (; q + ROWS <= height; q += ROWS)
                    take<ROWS>(rows, p + q, multipliers + q, from + first, from + last, w.data());
                for (; q < height; ++q) take<1>(rows, p + q, multipliers + q, from + first, from + last, w.data());
            });
        }
        std::copy_n(w.data(), k * WIDTH, X + static_cast<std::size_t>(front.first) * WIDTH);
        left[f].assign(w.begin() + static_cast<std::ptrdiff_t>(k * WIDTH), w.end());
    }

    template <std::size_t COUNT>
    static void take(const Factor& rows, std::size_t q, const double (*multipliers)[WIDTH], std::size_t begin,
                     std::size_t end, double* w) {
        const double* row[COUNT];
        Lanes factor[COUNT];
        for (std::size_t i = 0; i < COUNT; ++i) {
            row[i] = rows.row(q + i);
            factor[i] = -load<Lanes>(multipliers[i]);
        }
        for (std::size_t j = begin; j < end; ++j) {
            auto sum = load<Lanes>(w + j * WIDTH);
#pragma GCC unroll 8
            for (std::size_t i = 0; i < COUNT; ++i) sum = multiply_add(broadcast<Lanes>(row[i][j]), factor[i], sum);
            store(w + j * WIDTH, sum);
        }
    }

    /// U x = y (L^T x = y if transposed) for the pivots of a front, from the later unknowns, which are known.
    void backward(const Context& context, std::size_t f, bool transposed, double* X) const {
        const Front& front = fronts()[f];
        const std::size_t k = pivots(front), m = front.size();
        Buffer<double> w(m * WIDTH);
        std::copy_n(X + static_cast<std::size_t>(front.first) * WIDTH, k * WIDTH, w.data());
        for (std::size_t t = 0; t < front.below.size(); ++t)
            std::copy_n(X + static_cast<std::size_t>(front.below[t]) * WIDTH, WIDTH, &w[(k + t) * WIDTH]);
        const Factor rows = factor(f, transposed ? 1 : 0);
        const bool divides = !transposed;
        for (std::size_t strip = (k + HEIGHT - 1) / HEIGHT; strip-- > 0;) {
            const std::size_t p = strip * HEIGHT, height = std::min(HEIGHT, k - p), from = p + height;
            // Short: ROWS rows are read once.
            parallel_for(context, (height + ROWS - 1) / ROWS, [&](std::size_t item, Worker&) {
                const std::size_t q = item * ROWS;
                if (q + ROWS <= height)
                    collect<ROWS>(rows, p + q, from, m, w.data());
                else
                    for (std::size_t i = q; i < height; ++i) collect<1>(rows, p + i, from, m, w.data());
            });
            for (std::size_t q = height; q-- > 0;) {
                const double* row = rows.row(p + q);
                Lanes own = load<Lanes>(&w[(p + q) * WIDTH]);
                for (std::size_t j = p + q + 1; j < from; ++j) own = own - load<Lanes>(&w[j * WIDTH]) * row[j];
                store(&w[(p + q) * WIDTH], divides ? own / row[p + q] : own);
            }
        }
        std::copy_n(w.data(), k * WIDTH, X + static_cast<std::size_t>(front.first) * WIDTH);
    }

    template <std::size_t COUNT>
    static void collect(const Factor& rows, std::size_t q, std::size_t begin, std::size_t end, double* w) {
        const double* row[COUNT];
        Lanes sum[COUNT];
        for (std::size_t i = 0; i < COUNT; ++i) {
            row[i] = rows.row(q + i);
            sum[i] = load<Lanes>(w + (q + i) * WIDTH);
        }
        for (std::size_t j = begin; j < end; ++j) {
            const auto x = -load<Lanes>(w + j * WIDTH);
#pragma GCC unroll 8
            for (std::size_t i = 0; i < COUNT; ++i) sum[i] = multiply_add(broadcast<Lanes>(row[i][j]), x, sum[i]);
        }
        for (std::size_t i = 0; i < COUNT; ++i) store(w + (q + i) * WIDTH, sum[i]);
    }

    AssemblyTree tree_;
    std::uint64_t pattern_;
    bool symmetric_;
    std::vector<std::pair<std::size_t, std::size_t>> subtrees_;
    std::vector<char> in_subtree_;
    std::vector<std::vector<std::size_t>> children_;
    std::vector<std::size_t> offset_;
    std::size_t entries_ = 0;
    Buffer<double> factors_[2];
};

}  // namespace lowfold
