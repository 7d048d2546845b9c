// Runs the tests of the core: all of them, or those whose names contain the first argument.
#include <chrono>
#include <cstdio>
#include <string_view>

#include "harness.hpp"

namespace {

using namespace lowfold::tests;

struct Tally {
    int passed = 0, failed = 0;
};

void run(const Test& test, Tally& tally) {
    const auto start = std::chrono::steady_clock::now();
    std::string problem;
    try {
        test.run();
    } catch (const std::exception& error) {
        problem = error.what();
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("%s %6.2f s  %s\n", problem.empty() ? "ok    " : "FAILED", seconds.count(), test.name);
    if (!problem.empty()) std::printf("       %s\n", problem.c_str());
    std::fflush(stdout);
    ++(problem.empty() ? tally.passed : tally.failed);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view wanted = argc > 1 ? argv[1] : "";
    Tally tally;
    for (const Tests tests :
         {parallel_tests(), number_tests(),      dense_tests(),         partition_tests(),   candidate_tests(),
          sum_tests(),      ranking_tests(),     knn_exact_tests(),     knn_request_tests(), knn_edge_tests(),
          visit_tests(),    graph_tests(),       patch_tests(),         tangent_tests(),     alignment_tests(),
          product_tests(),  rearranging_tests(), factorisation_tests(), force_tests(),       tree_tests(),
          layout_tests(),   coranking_tests(),   stress_tests(),        disparity_tests()})
        for (const Test& test : tests)
            if (std::string_view(test.name).find(wanted) != std::string_view::npos) run(test, tally);
    std::printf("%d passed, %d failed\n", tally.passed, tally.failed);
    return tally.failed > 0;
}
