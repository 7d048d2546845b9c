// Threads: one small pool, shared by every kernel of the process.
//
// Work is cut into items by the caller, never by the number of threads, so that results do not depend on it. The
// calling thread always works too: nested calls and calls from several threads at once cannot wait for each other.
// Idle workers leave after a moment. After fork() the child starts with an empty pool.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>

namespace lowfold {

/// How a kernel may run: on how many threads, and how it learns that the caller wants it to stop.
struct Context {
    int threads = 1;
    /// Asked about twenty times a second, on the calling thread only; empty: never interrupted.
    std::function<bool()> interrupted;
};

/// Thrown out of `parallel_for` when `Context::interrupted` said so; all threads have left the work by then.
struct Interrupted : std::exception {
    const char* what() const noexcept override { return "interrupted"; }
};

/// One thread's place in a running `parallel_for`.
class Worker {
   public:
    Worker(int slot, std::atomic<bool>& stop, const Context* owner) : slot_(slot), stop_(stop), owner_(owner) {}

    /// In [0, Context::threads): which scratch space is this thread's alone.
    int slot() const { return slot_; }

    /// Throws `Interrupted` once the work is to stop. Long items call it every few milliseconds.
    void check();

    /// The same, but only once for many operations, of which `done` more have passed: for steps that may be short or
    /// long, as rows of any number of columns.
    void check_after(std::size_t done) {
        unchecked_ += done;
        if (unchecked_ < OPERATIONS_BETWEEN_CHECKS) return;
        unchecked_ = 0;
        check();
    }

    /// The same at once, however lately it was asked; for work within work.
    void ask();

   private:
    static constexpr std::size_t OPERATIONS_BETWEEN_CHECKS = 1 << 18;  // less than a millisecond, unless memory is slow

    int slot_;
    std::size_t unchecked_ = 0;
    std::atomic<bool>& stop_;
    const Context* owner_;  // null on helper threads: only the calling thread may ask Python
};

/// Calls body(item, worker) once for each item in [0, items), in any order and on up to `context.threads` threads.
/// Each item begins with a check; one that may take longer than a tenth of a second, for any sizes, checks within.
/// The first exception stops the rest and is thrown again here, after every thread has left the body.
void parallel_for(const Context& context, std::size_t items, const std::function<void(std::size_t, Worker&)>& body);

/// Calls body(worker) on the calling thread alone: for work that cannot be cut, but is to hear that it shall stop.
template <class Body>
void alone(const Context& context, const Body& body) {
    parallel_for(context, 1, [&](std::size_t, Worker& worker) { body(worker); });
}

/// Cuts [0, n) into pieces of at most `grain` and calls body(begin, end, worker) for each.
template <class Body>
void parallel_ranges(const Context& context, std::size_t n, std::size_t grain, const Body& body) {
    parallel_for(context, (n + grain - 1) / grain, [&](std::size_t item, Worker& worker) {
        const std::size_t begin = item * grain;
        body(begin, begin + grain < n ? begin + grain : n, worker);
    });
}

}  // namespace lowfold
