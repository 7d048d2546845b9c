// A small test harness: each file lists its tests, a claim that does not hold throws.
#pragma once

#include <cmath>
#include <source_location>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>

namespace lowfold::tests {

struct Test {
    const char* name;  // the claim
    void (*run)();
};

using Tests = std::span<const Test>;

// One for each file of tests.
Tests parallel_tests();
Tests number_tests();
Tests dense_tests();
Tests partition_tests();
Tests candidate_tests();
Tests sum_tests();
Tests ranking_tests();
Tests knn_exact_tests();
Tests knn_request_tests();
Tests knn_edge_tests();
Tests visit_tests();
Tests graph_tests();
Tests patch_tests();
Tests tangent_tests();
Tests alignment_tests();
Tests product_tests();
Tests rearranging_tests();
Tests factorisation_tests();
Tests force_tests();
Tests tree_tests();
Tests layout_tests();
Tests coranking_tests();
Tests stress_tests();
Tests disparity_tests();

struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

using Where = std::source_location;

/// Joins the parts of a message.
template <class... Parts>
std::string text(const Parts&... parts) {
    std::ostringstream out;
    out.precision(17);
    (out << ... << parts);
    return out.str();
}

[[noreturn]] inline void fail(const std::string& message, Where where = Where::current()) {
    throw Failure(text(where.file_name(), ":", where.line(), ": ", message));
}

inline void expect(bool holds, const std::string& claim, Where where = Where::current()) {
    if (!holds) fail(claim, where);
}

template <class A, class B>
void expect_equal(const A& found, const B& wanted, const std::string& what, Where where = Where::current()) {
    if (!(found == wanted)) fail(text(what, " is ", found, ", not ", wanted), where);
}

inline void expect_close(double found, double wanted, double tolerance, const std::string& what,
                         Where where = Where::current()) {
    if (!(std::abs(found - wanted) <= tolerance))
        fail(text(what, " is ", found, ", not ", wanted, " +- ", tolerance), where);
}

}  // namespace lowfold::tests
