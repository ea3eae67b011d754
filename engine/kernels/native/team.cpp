#include "team.h"

#include <algorithm>
#include <chrono>
#include <system_error>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

namespace tt {
namespace {

// Long enough for the Python between two decode steps, too short to be seen in a power meter.
constexpr auto kSpinBeforeSleep = std::chrono::microseconds(300);
// A pause is 10 to 50 ns: a member that is later than some microseconds is not running, and may be
// waiting for this core. Spinning on for half a millisecond made the steps of a busy machine longer.
constexpr int kPausesBeforeYield = 400;

inline void pause() {
#if defined(__x86_64__) || defined(_M_X64)
    _mm_pause();
#elif defined(__aarch64__) && !defined(_MSC_VER)
    asm volatile("yield");
#endif
}

}  // namespace

Team::Team(int max_threads) {
    try {
        for (int index = 1; index < max_threads; ++index) {
            workers_.emplace_back(&Team::work, this, index);
        }
    } catch (const std::system_error&) {
        // the system gives no more threads: those that are there do the work
    }
}

Team::~Team() {
    {
        std::lock_guard<std::mutex> lock(sleep_);
        stop_ = true;
        round_.fetch_add(1);
    }
    wake_.notify_all();
    for (auto& worker : workers_) worker.join();
}

void Team::run(int threads, Task task, void* context) {
    std::lock_guard<std::mutex> lock(in_use_);
    const int count = std::clamp(threads, 1, static_cast<int>(workers_.size()) + 1);
    if (count == 1) {
        task(context, Member{*this, 0, 1});
        return;
    }
    task_ = task;
    context_ = context;
    count_ = count;
    round_.fetch_add(1);  // sequentially consistent: a sleeper sees it, or is seen below
    if (sleepers_.load() > 0) {
        { std::lock_guard<std::mutex> asleep(sleep_); }
        wake_.notify_all();
    }
    task(context, Member{*this, 0, count});
    // every worker arrives, those without a part as well: then none reads task_ any more
    done_.wait(static_cast<int>(workers_.size()) + 1);
}

void Team::work(int index) {
    uint64_t seen = 0;
    for (;;) {
        seen = wait_for_task(seen);
        if (stop_) return;
        if (index < count_) task_(context_, Member{*this, index, count_});
        done_.wait(static_cast<int>(workers_.size()) + 1);
    }
}

uint64_t Team::wait_for_task(uint64_t seen) {
    const auto limit = std::chrono::steady_clock::now() + kSpinBeforeSleep;
    for (int spins = 0;; ++spins) {
        const uint64_t round = round_.load(std::memory_order_acquire);
        if (round != seen) return round;
        pause();
        if (spins >= kPausesBeforeYield) std::this_thread::yield();
        if (spins % 64 == 63 && std::chrono::steady_clock::now() > limit) break;
    }
    std::unique_lock<std::mutex> lock(sleep_);
    sleepers_.fetch_add(1);
    wake_.wait(lock, [&] { return round_.load() != seen; });
    sleepers_.fetch_sub(1);
    return round_.load();
}

void Barrier::wait(int count) {
    if (count == 1) return;
    const uint32_t phase = phase_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) == count - 1) {
        arrived_.store(0, std::memory_order_relaxed);
        phase_.store(phase + 1, std::memory_order_release);
        return;
    }
    for (int spins = 0; phase_.load(std::memory_order_acquire) == phase; ++spins) {
        pause();
        if (spins >= kPausesBeforeYield) std::this_thread::yield();
    }
}

}  // namespace tt
