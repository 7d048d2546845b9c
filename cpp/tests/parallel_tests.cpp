#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "harness.hpp"
#include "parallel.hpp"

namespace lowfold::tests {
namespace {

using namespace std::chrono_literals;

constexpr int THREAD_COUNTS[] = {1, 2, 3, 8};
constexpr auto PATIENCE = 20s;  // for what happens within milliseconds unless it never does

/// Waits until the claim holds.
template <class Claim>
bool eventually(const Claim& claim) {
    const auto deadline = std::chrono::steady_clock::now() + PATIENCE;
    while (!claim()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(1ms);
    }
    return true;
}

/// A few items of work; whether each was done once.
bool each_item_once(int threads, std::size_t items) {
    std::vector<std::atomic<int>> done(items);
    parallel_for({threads, {}}, items, [&](std::size_t item, Worker&) { ++done[item]; });
    return std::all_of(done.begin(), done.end(), [](const auto& times) { return times == 1; });
}

void each_item_is_done_once() {
    for (const int threads : THREAD_COUNTS)
        for (const std::size_t items : {0, 1, 2, 3, 7, 1000})
            expect(each_item_once(threads, items), text(threads, " threads, ", items, " items"));
    expect(each_item_once(0, 5) && each_item_once(-1, 5), "without a thread of its own, the caller does the work");
}

void ranges_cover_everything_once() {
    for (const int threads : THREAD_COUNTS)
        for (const std::size_t n : {0, 1, 9, 10, 11, 1000}) {
            std::vector<std::atomic<int>> done(n);
            parallel_ranges({threads, {}}, n, 10, [&](std::size_t begin, std::size_t end, Worker&) {
                expect(begin < end && end - begin <= 10 && end <= n, "a range is not empty and at most the grain");
                for (std::size_t i = begin; i < end; ++i) ++done[i];
            });
            expect(std::all_of(done.begin(), done.end(), [](const auto& times) { return times == 1; }),
                   text(threads, " threads, n = ", n));
        }
}

void nested_calls_do_all_their_items() {
    for (const int threads : THREAD_COUNTS) {
        const Context context{threads, {}};
        std::atomic<int> done = 0;
        parallel_for(context, 6, [&](std::size_t, Worker&) {
            parallel_for(context, 5, [&](std::size_t, Worker&) {
                parallel_for(context, 4, [&](std::size_t, Worker&) { ++done; });
            });
        });
        expect_equal(done.load(), 6 * 5 * 4, "items done");
    }
}

void calls_from_several_threads_do_not_disturb_each_other() {
    std::atomic<int> right = 0;
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 4; ++caller)
        callers.emplace_back([&, caller] {
            for (int round = 0; round < 20; ++round) right += each_item_once(1 + (caller + round) % 4, 200);
        });
    for (auto& caller : callers) caller.join();
    expect_equal(right.load(), 4 * 20, "right calls");
}

void slots_are_below_threads_and_not_shared() {
    for (const int threads : THREAD_COUNTS) {
        std::vector<std::atomic<int>> busy(threads);
        std::atomic<bool> fine = true;
        parallel_for({threads, {}}, 200, [&](std::size_t, Worker& worker) {
            if (worker.slot() < 0 || worker.slot() >= threads) {
                fine = false;
                return;
            }
            if (++busy[worker.slot()] != 1) fine = false;
            std::this_thread::sleep_for(50us);
            --busy[worker.slot()];
        });
        expect(fine, text(threads, " threads"));
    }
}

void as_many_threads_work_as_were_asked_for() {
    for (const int threads : THREAD_COUNTS) {
        std::atomic<int> here = 0;
        parallel_for({threads, {}}, threads, [&](std::size_t, Worker&) {
            ++here;
            expect(eventually([&] { return here == threads; }), text(threads, " threads at once"));
        });
    }
}

void the_first_exception_is_thrown_when_all_have_left() {
    for (const int threads : THREAD_COUNTS) {
        std::atomic<int> inside = 0, begun = 0;
        std::string caught;
        try {
            parallel_for({threads, {}}, 10000, [&](std::size_t item, Worker&) {
                ++inside;
                ++begun;
                std::this_thread::sleep_for(100us);
                --inside;
                if (item >= 20) throw std::runtime_error("of item " + std::to_string(item));
            });
        } catch (const std::runtime_error& error) {
            caught = error.what();
        }
        expect_equal(inside.load(), 0, "threads still inside");
        expect(caught.starts_with("of item 2"), "one of the first items that throw: '" + caught + "'");
        expect(begun < 100, text("the rest is not done, but for ", begun.load(), " items"));
    }
}

void an_exception_beats_the_interruptions_that_follow() {
    for (int round = 0; round < 20; ++round) {
        std::atomic<int> here = 0;
        bool right = false;
        try {
            parallel_for({3, {}}, 3, [&](std::size_t item, Worker& worker) {
                ++here;
                expect(eventually([&] { return here == 3; }), "all at once");
                if (item == 1) throw std::out_of_range("first");
                while (true) worker.check();  // until the exception stops the others
            });
        } catch (const std::out_of_range&) {
            right = true;
        } catch (const Interrupted&) {
        }
        expect(right, "the exception of the body, not `Interrupted`");
    }
}

void an_exception_leaves_a_nested_call() {
    std::string caught;
    try {
        parallel_for({3, {}}, 10, [&](std::size_t, Worker&) {
            parallel_for({3, {}}, 10, [&](std::size_t item, Worker&) {
                if (item == 3) throw std::runtime_error("inner");
            });
        });
    } catch (const std::runtime_error& error) {
        caught = error.what();
    }
    expect_equal(caught, std::string("inner"), "what was caught");
}

void many_short_calls_are_interrupted_like_a_long_one() {
    constexpr int CALLS = 5000;  // of two milliseconds
    for (const int threads : THREAD_COUNTS) {
        int done = 0;
        bool stopped = false;
        const Context context{threads, [] { return true; }};
        try {
            for (; done < CALLS; ++done)
                parallel_for(context, 2, [](std::size_t, Worker&) { std::this_thread::sleep_for(1ms); });
        } catch (const Interrupted&) {
            stopped = true;
        }
        expect(stopped, text(done, " calls"));
    }
}

void an_interruption_stops_the_work_soon() {
    const auto here = std::this_thread::get_id();
    for (const int threads : THREAD_COUNTS) {
        std::atomic<int> done = 0, inside = 0;
        std::atomic<bool> elsewhere = false, stopped = false;
        Context context{threads, [&] {
                            elsewhere = elsewhere || std::this_thread::get_id() != here;
                            return true;
                        }};
        try {
            parallel_for(context, 100000, [&](std::size_t, Worker&) {
                ++inside;
                std::this_thread::sleep_for(1ms);
                ++done;
                --inside;
            });
        } catch (const Interrupted&) {
            stopped = true;
        }
        expect(stopped, "Interrupted is thrown");
        expect_equal(inside.load(), 0, "threads still inside");
        expect(!elsewhere, "only the calling thread asks");
        expect(done < 5000, text(done.load(), " items of a millisecond, where one asks every 50 milliseconds"));
    }
}

void an_interruption_reaches_helpers_when_the_caller_has_no_work_left() {
    const auto here = std::this_thread::get_id();
    std::atomic<bool> helping = false, stopped = false;
    try {
        parallel_for({2, [] { return true; }}, 2, [&](std::size_t, Worker& worker) {
            if (std::this_thread::get_id() == here) {
                expect(eventually([&] { return helping.load(); }), "a helper comes");
                return;
            }
            helping = true;
            const auto end = std::chrono::steady_clock::now() + PATIENCE;
            while (std::chrono::steady_clock::now() < end) {
                worker.check();
                std::this_thread::sleep_for(1ms);
            }
        });
    } catch (const Interrupted&) {
        stopped = true;
    }
    expect(stopped, "the helper's check() throws");
}

void an_exception_while_the_caller_asks_still_stops_the_others() {
    const auto here = std::this_thread::get_id();
    std::atomic<bool> asking = false, throwing = false, stopped = false;
    std::atomic<int> helpers = 0;
    const Context context{3, [&] {
                              if (helpers < 2) return false;  // asked before the helpers came
                              asking = true;
                              eventually([&] { return throwing.load(); });
                              std::this_thread::sleep_for(100ms);  // for the exception to arrive
                              return false;
                          }};
    try {
        parallel_for(context, 3, [&](std::size_t, Worker& worker) {
            if (std::this_thread::get_id() == here) {
                expect(eventually([&] { return helpers == 2; }), "two helpers come");
            } else if (++helpers == 1) {
                expect(eventually([&] { return asking.load(); }), "the caller asks while it waits");
                throwing = true;
                throw std::out_of_range("of a helper");
            } else {
                eventually([&] { return throwing.load(); });
                std::this_thread::sleep_for(300ms);
                stopped = true;
                worker.check();
                stopped = false;
            }
        });
    } catch (const std::out_of_range&) {
    }
    expect(stopped, "the other helper's check() throws");
}

void work_that_is_never_interrupted_ends() {
    std::atomic<int> asked = 0, done = 0;
    parallel_for({3, [&] { return ++asked < 0; }}, 200, [&](std::size_t, Worker& worker) {
        worker.check();
        std::this_thread::sleep_for(1ms);
        ++done;
    });
    expect_equal(done.load(), 200, "items done");
    expect(asked > 0, "it was asked on the way");
}

// The thread sanitizer takes the child's new pool for a race with threads of the parent that had left before fork():
// nothing that it can see puts one before the other. What forks is left to the other sanitizers.
#if !defined(__SANITIZE_THREAD__)

/// Runs the claim in a child process; a child that hangs is ended by its alarm.
template <class Claim>
void expect_in_child(const Claim& claim, const std::string& what, Where where = Where::current()) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(std::chrono::seconds(PATIENCE).count());
        bool holds = false;
        try {
            holds = claim();
        } catch (...) {
        }
        _exit(holds ? 0 : 1);
    }
    int status = -1;
    expect(child > 0 && waitpid(child, &status, 0) == child, "fork() and waitpid() work", where);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, text(what, " (status ", status, ")"), where);
}

std::size_t threads_of_this_process() {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
}

void the_pool_works_in_a_child_after_fork() {
    expect(each_item_once(4, 1000), "in the parent, before");
    for (int round = 0; round < 3; ++round)
        expect_in_child([] { return each_item_once(4, 1000) && each_item_once(3, 1000); }, "in the child");
    expect(each_item_once(4, 1000), "in the parent, after");
}

void the_pool_works_in_a_child_of_a_busy_parent() {
    std::atomic<bool> enough = false;
    std::atomic<int> wrong = 0;
    std::thread busy([&] {
        while (!enough) wrong += !each_item_once(3, 50);
    });
    try {
        for (int round = 0; round < 5; ++round) expect_in_child([] { return each_item_once(4, 1000); }, "in the child");
    } catch (...) {
        enough = true;
        busy.join();
        throw;
    }
    enough = true;
    busy.join();
    expect_equal(wrong.load(), 0, "calls of the parent that went wrong");
}

void idle_threads_leave() {
    if (!std::filesystem::exists("/proc/self/task")) return;
    std::size_t alone = 0;
    // In a child that starts with one thread; a sanitizer may add one of its own.
    expect_in_child(
        [&] {
            std::thread([] {}).join();
            if (!eventually([&] { return (alone = threads_of_this_process()) <= 2; })) return false;
            std::atomic<std::size_t> most = 0;
            parallel_for({4, {}}, 4, [&](std::size_t, Worker&) {
                eventually([&] {
                    if (threads_of_this_process() >= alone + 3) most = alone + 3;
                    return most > 0;
                });
            });
            return most > 0 && eventually([&] { return threads_of_this_process() <= alone; }) &&
                   each_item_once(4, 1000);
        },
        "three helpers come, leave, and come again");
}

#endif

constexpr Test TESTS[] = {
    {"parallel: each item is done once", each_item_is_done_once},
    {"parallel: ranges cover everything once", ranges_cover_everything_once},
    {"parallel: nested calls do all their items", nested_calls_do_all_their_items},
    {"parallel: calls from several threads do not disturb each other",
     calls_from_several_threads_do_not_disturb_each_other},
    {"parallel: slots are below threads and not shared", slots_are_below_threads_and_not_shared},
    {"parallel: many short calls are interrupted like a long one", many_short_calls_are_interrupted_like_a_long_one},
    {"parallel: as many threads work as were asked for", as_many_threads_work_as_were_asked_for},
    {"parallel: the first exception is thrown when all have left", the_first_exception_is_thrown_when_all_have_left},
    {"parallel: an exception beats the interruptions that follow", an_exception_beats_the_interruptions_that_follow},
    {"parallel: an exception leaves a nested call", an_exception_leaves_a_nested_call},
    {"parallel: an interruption stops the work soon", an_interruption_stops_the_work_soon},
    {"parallel: an interruption reaches helpers when the caller has no work left",
     an_interruption_reaches_helpers_when_the_caller_has_no_work_left},
    {"parallel: an exception while the caller asks still stops the others",
     an_exception_while_the_caller_asks_still_stops_the_others},
    {"parallel: work that is never interrupted ends", work_that_is_never_interrupted_ends},
#if !defined(__SANITIZE_THREAD__)
    {"parallel: the pool works in a child after fork", the_pool_works_in_a_child_after_fork},
    {"parallel: the pool works in a child of a busy parent", the_pool_works_in_a_child_of_a_busy_parent},
    {"parallel: idle threads leave", idle_threads_leave},
#endif
};

}  // namespace

Tests parallel_tests() { return TESTS; }

}  // namespace lowfold::tests
