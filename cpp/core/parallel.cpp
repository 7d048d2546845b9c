#include "parallel.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace lowfold {
namespace {

using namespace std::chrono_literals;

constexpr auto POLL_INTERVAL = 50ms;   // a person does not notice less, and asking costs a lock
constexpr auto IDLE_LIFETIME = 500ms;  // spans the gaps inside an optimisation, not those between two calls of a user

struct Job {
    Job(const std::function<void(std::size_t, Worker&)>& body, std::size_t items, int places)
        : body(body), items(items), places(places) {}

    const std::function<void(std::size_t, Worker&)>& body;
    std::size_t items;
    int places;  // helpers that may still join; guarded by the pool's mutex, as is `active`
    int active = 0;
    std::atomic<std::size_t> next{0};
    std::atomic<bool> stop{false};
    std::mutex error_mutex;
    std::exception_ptr error;

    void work(Worker& worker) noexcept {
        try {
            for (std::size_t item; !stop && (item = next++) < items;) {
                worker.check();
                body(item, worker);
            }
        } catch (...) {
            fail();
        }
    }

    /// Only ever sets `stop`: another thread may have set it meanwhile.
    void ask(const Context& context) noexcept {
        try {
            if (context.interrupted()) stop = true;
        } catch (...) {
            fail();
        }
    }

    void fail() {
        const std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
        stop = true;
    }
};

class Pool {
   public:
    void run(const Context& context, Job& job) {
        {
            const std::lock_guard lock(mutex_);
            jobs_.push_back(&job);
            for (int missing = job.places - idle_; missing > 0; --missing) start_worker();
        }
        wake_.notify_all();
        Worker caller(0, job.stop, &context);
        job.work(caller);
        std::unique_lock lock(mutex_);
        std::erase(jobs_, &job);
        while (job.active > 0) {
            // system_clock: its wait is the one that thread sanitizers understand.
            left_.wait_until(lock, std::chrono::system_clock::now() + POLL_INTERVAL);
            if (job.active > 0 && !job.stop && context.interrupted) {
                lock.unlock();
                job.ask(context);
                lock.lock();
            }
        }
    }

   private:
    void start_worker() {
        try {
            std::thread([this] { serve(); }).detach();
        } catch (const std::system_error&) {
            // No thread to be had: the caller does the work alone, with the same result.
        }
    }

    void serve() {
        std::unique_lock lock(mutex_);
        while (true) {
            if (Job* job = find_job()) {
                Worker helper(job->places--, job->stop, nullptr);
                ++job->active;
                lock.unlock();
                job->work(helper);
                lock.lock();
                if (--job->active == 0) left_.notify_all();
                continue;
            }
            ++idle_;
            const auto status = wake_.wait_until(lock, std::chrono::system_clock::now() + IDLE_LIFETIME);
            --idle_;
            if (status == std::cv_status::timeout && !find_job()) return;
        }
    }

    Job* find_job() {
        for (Job* job : jobs_)
            if (job->places > 0 && !job->stop && job->next < job->items) return job;
        return nullptr;
    }

    std::mutex mutex_;
    std::condition_variable wake_, left_;
    std::vector<Job*> jobs_;
    int idle_ = 0;
};

// Never destroyed: workers may be waiting on it while the process exits.
alignas(Pool) std::byte pool_storage[sizeof(Pool)];

Pool& pool() {
    static Pool* const instance = [] {
        // Threads do not survive fork(), and the mutex may be held by one of them: the child begins anew.
        pthread_atfork(nullptr, nullptr, [] { new (pool_storage) Pool; });
        return new (pool_storage) Pool;
    }();
    return *instance;
}

}  // namespace

void Worker::check() {
    if (stop_) throw Interrupted();
    if (!owner_ || !owner_->interrupted) return;
    // Of the thread, not of the work: a loop of many short pieces of work is to hear of it too.
    thread_local auto asked = std::chrono::steady_clock::time_point{};
    const auto now = std::chrono::steady_clock::now();
    if (now - asked < POLL_INTERVAL) return;
    asked = now;
    ask();
}

void Worker::ask() {
    if (stop_) throw Interrupted();
    if (!owner_ || !owner_->interrupted || !owner_->interrupted()) return;
    stop_ = true;
    throw Interrupted();
}

void parallel_for(const Context& context, std::size_t items, const std::function<void(std::size_t, Worker&)>& body) {
    const auto helpers = std::min<std::size_t>(std::max(context.threads, 1) - 1, items > 0 ? items - 1 : 0);
    Job job(body, items, static_cast<int>(helpers));
    if (helpers > 0) {
        pool().run(context, job);
    } else {
        Worker caller(0, job.stop, &context);
        job.work(caller);
    }
    if (job.error) std::rethrow_exception(job.error);
    if (job.stop) throw Interrupted();
}

}  // namespace lowfold
