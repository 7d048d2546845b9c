// Lists of candidates, fed as the search does it.
#include <algorithm>
#include <numeric>

#include "candidates.hpp"
#include "data.hpp"
#include "harness.hpp"

namespace lowfold::tests {
namespace {

using Inner = FloatEngine<InnerProduct>;
using Differences = FloatEngine<SumOfDifferences>;
using Squares = FloatEngine<SumOfSquares>;

/// One list, the middle one of three. `truth` orders the positions; `scores` are what an engine made of it.
template <class Engine>
class Feed {
   public:
    Feed(std::size_t wanted, float size, float error, float relative = 0) : wanted_(wanted), candidates_(3, wanted) {
        const float sizes[] = {size, size, size};
        candidates_.reset(3, sizes, error, relative);
    }

    void run(const std::vector<double>& truth, const std::vector<float>& scores) {
        std::vector<float> padded(scores);
        padded.resize((scores.size() + PANEL<float> - 1) / PANEL<float> * PANEL<float>, INFINITE);
        for (std::size_t first = 0; first < padded.size(); first += LANES<float>) {
            const auto lanes = load<Vec<float>>(&padded[first]);
            const auto chosen = at_most(lanes, broadcast<Vec<float>>(candidates_.cut(ROW)));
            candidates_.add(ROW, lanes, chosen, static_cast<std::int32_t>(first));
            if (candidates_.full(ROW)) tighten(truth);
            if (first % 320 == 0 && candidates_.worth_tightening(ROW)) tighten(truth);
        }
        tighten(truth);
        expect(candidates_.count(0) == 0 && candidates_.count(2) == 0, "the other lists stay empty");
    }

    std::vector<std::int32_t> found() const {
        std::vector<std::int32_t> found(candidates_.positions(ROW),
                                        candidates_.positions(ROW) + candidates_.count(ROW));
        std::sort(found.begin(), found.end());
        return found;
    }

    float cut() const { return candidates_.cut(ROW); }
    float radius() const { return candidates_.largest_radius(ROW); }
    int choices() const { return choices_; }  // between equals, or by the exact distance

   private:
    static constexpr int ROW = 1;

    void tighten(const std::vector<double>& truth) {
        candidates_.tighten(ROW, [&](const std::int32_t* positions, int count) -> const std::vector<char>& {
            ++choices_;
            std::vector<int> order(count);
            std::iota(order.begin(), order.end(), 0);
            std::sort(order.begin(), order.end(), [&](int a, int b) {
                return std::pair(truth[positions[a]], positions[a]) < std::pair(truth[positions[b]], positions[b]);
            });
            stays_.assign(count, 0);
            for (std::size_t i = 0; i < wanted_; ++i) stays_[order[i]] = 1;
            return stays_;
        });
    }

    std::size_t wanted_;
    Candidates<Engine> candidates_;
    std::vector<char> stays_;
    int choices_ = 0;
};

std::vector<std::int32_t> nearest(const std::vector<double>& truth, std::size_t wanted) {
    std::vector<std::int32_t> order(truth.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return truth[a] < truth[b]; });
    order.resize(std::min(wanted, order.size()));
    std::sort(order.begin(), order.end());
    return order;
}

template <class Engine>
void everything_within_the_cut_is_kept() {
    for (const std::size_t wanted : {1, 2, 15, 64, 200})
        for (const std::size_t n : {wanted, wanted + 1, std::size_t{97}, std::size_t{3000}})
            for (const float error : {0.0f, 1e-6f, 1e-3f}) {
                if (n < wanted) continue;
                Dice dice(n + wanted);
                std::vector<float> scores(n);
                for (auto& s : scores) s = static_cast<float>(1 + dice.uniform());
                const std::vector<double> truth(scores.begin(), scores.end());
                Feed<Engine> feed(wanted, 1, error);
                feed.run(truth, scores);
                const auto found = feed.found(), best = nearest(truth, wanted);
                expect(std::includes(found.begin(), found.end(), best.begin(), best.end()),
                       text("the best ", wanted, " of ", n));
                if (feed.choices() > 0) continue;
                std::vector<std::int32_t> within;
                for (std::size_t i = 0; i < n; ++i)
                    if (scores[i] <= feed.cut()) within.push_back(static_cast<std::int32_t>(i));
                expect(found == within, text("all within the cut, ", wanted, " of ", n));
            }
}

template <class Engine>
void ties_are_settled_by_the_exact_order() {
    for (const std::size_t wanted : {1, 5, 40, 150})
        for (const int levels : {1, 2, 5}) {
            constexpr std::size_t N = 2000;
            Dice dice(wanted);
            std::vector<float> scores(N);
            for (auto& s : scores) s = static_cast<float>(1 + dice.below(levels));
            const std::vector<double> truth(scores.begin(), scores.end());
            Feed<Engine> feed(wanted, 1, 1e-6f);
            feed.run(truth, scores);
            expect(feed.choices() > 0, "there are too many ties to keep");
            const auto found = feed.found(), best = nearest(truth, wanted);
            expect(std::includes(found.begin(), found.end(), best.begin(), best.end()),
                   text("the first ", wanted, " of ", levels, " levels"));
        }
}

/// Points on a line or in space around the query, with scores as wrong as engine.hpp's bracket allows: too high for
/// the true neighbours and too low for the others.
template <class Engine>
void expect_bracket_is_allowed_for(std::size_t dimensions, double error, std::uint64_t seed) {
    constexpr std::size_t N = 1500, WANTED = 10;
    Dice dice(seed);
    std::vector<double> x(dimensions), y(dimensions), truth(N), largest_error(N);
    for (auto& c : x) c = dice.normal();
    const double spread = 2 * dice.uniform();
    const auto term = [](double c) { return Engine::INNER || Engine::SQUARES ? c * c : std::abs(c); };
    const auto whole = [](double sum) { return Engine::SQUARES ? std::sqrt(sum) : sum; };
    const double relative = Engine::SQUARES ? error : 0;  // of the score itself
    double x_size = 0;
    for (const double c : x) x_size += term(c);
    x_size = whole(x_size);
    for (std::size_t i = 0; i < N; ++i) {
        double distance = 0, y_size = 0;
        for (std::size_t p = 0; p < dimensions; ++p) {
            const double step = spread * dice.normal();
            distance += term(step);
            y[p] = x[p] + step;
            y_size += term(y[p]);
        }
        truth[i] = Engine::INNER ? (distance - x_size) / 2 : whole(distance);
        largest_error[i] = error / 2 * x_size + error * whole(y_size) + relative * truth[i];
    }
    const auto best = nearest(truth, WANTED);
    std::vector<float> scores(N);
    for (std::size_t i = 0; i < N; ++i) {
        const bool near = std::binary_search(best.begin(), best.end(), static_cast<std::int32_t>(i));
        scores[i] =
            static_cast<float>(near ? truth[i] * (1 + relative) + error / 2 * x_size : truth[i] - largest_error[i]);
    }
    Feed<Engine> feed(WANTED, static_cast<float>(x_size), static_cast<float>(error * 1.0001),
                      static_cast<float>(relative * 1.0001));
    feed.run(truth, scores);
    const auto found = feed.found();
    expect(std::includes(found.begin(), found.end(), best.begin(), best.end()),
           text("error ", error, " in ", dimensions, " dimensions"));
    const double last =
        truth[*std::max_element(best.begin(), best.end(), [&](auto a, auto b) { return truth[a] < truth[b]; })];
    const double radius = Engine::INNER ? std::sqrt(std::max(2 * last + x_size, 0.0)) : last;
    expect(feed.radius() >= radius * (1 - 1e-6), "the radius reaches the last of them");
}

template <class Engine>
void no_true_neighbor_is_lost_while_the_error_holds() {
    for (const double error : {1e-6, 1e-3, 0.01, 0.05})
        for (const std::size_t dimensions : {1, 2, 10})
            for (std::uint64_t seed = 0; seed < 15; ++seed)
                expect_bracket_is_allowed_for<Engine>(dimensions, error, seed);
}

void too_few_candidates_are_all_kept() {
    Feed<Inner> feed(50, 1, 1e-6f);
    const std::vector<float> scores{3, 1, 2};
    feed.run({3, 1, 2}, scores);
    expect(feed.found() == std::vector<std::int32_t>{0, 1, 2}, "all three");
    expect_equal(feed.radius(), INFINITE, "radius");
}

constexpr Test TESTS[] = {
    {"candidates: everything within the cut is kept (inner product)", everything_within_the_cut_is_kept<Inner>},
    {"candidates: everything within the cut is kept (differences)", everything_within_the_cut_is_kept<Differences>},
    {"candidates: ties are settled by the exact order (inner product)", ties_are_settled_by_the_exact_order<Inner>},
    {"candidates: ties are settled by the exact order (differences)", ties_are_settled_by_the_exact_order<Differences>},
    {"candidates: no true neighbour is lost while the error holds (inner product)",
     no_true_neighbor_is_lost_while_the_error_holds<Inner>},
    {"candidates: no true neighbour is lost while the error holds (differences)",
     no_true_neighbor_is_lost_while_the_error_holds<Differences>},
    {"candidates: no true neighbour is lost while the error holds (squares)",
     no_true_neighbor_is_lost_while_the_error_holds<Squares>},
    {"candidates: too few are all kept", too_few_candidates_are_all_kept},
};

}  // namespace

Tests candidate_tests() { return TESTS; }

}  // namespace lowfold::tests
