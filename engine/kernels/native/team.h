// A team of threads that runs one function at a time and meets at barriers inside it.
//
// Between two tasks a member spins for a moment, because the next layer or token usually comes
// at once, and then sleeps, so that an idle engine costs nothing. At a barrier members spin, but
// soon let others run: on a machine with more work than cores the missing member may be waiting
// for this very core.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace tt {

class Team;

// One thread's view of a running task.
struct Member {
    Team& team;
    int index;
    int count;

    void barrier() const;

    // This member's contiguous share of `items`: [first, second).
    std::pair<int64_t, int64_t> share(int64_t items) const {
        return {items * index / count, items * (index + 1) / count};
    }
};

// Where `count` threads wait for each other, again and again.
class Barrier {
  public:
    void wait(int count);

  private:
    // each on a line of its own: members that spin must not slow down those that arrive
    alignas(64) std::atomic<int> arrived_{0};
    alignas(64) std::atomic<uint32_t> phase_{0};
};

class Team {
  public:
    using Task = void (*)(void* context, const Member& member);

    explicit Team(int max_threads);
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    // Run task(context, member) on `threads` threads, this one included; returns when all are done.
    void run(int threads, Task task, void* context);

    Barrier& barrier() { return inside_; }

  private:
    void work(int index);
    uint64_t wait_for_task(uint64_t seen);

    std::mutex in_use_;
    std::vector<std::thread> workers_;
    Task task_ = nullptr;
    void* context_ = nullptr;
    int count_ = 1;
    bool stop_ = false;

    std::mutex sleep_;
    std::condition_variable wake_;
    std::atomic<int> sleepers_{0};
    alignas(64) std::atomic<uint64_t> round_{0};
    Barrier inside_;  // of those that take part in the task
    Barrier done_;    // of everybody
};

inline void Member::barrier() const { team.barrier().wait(count); }

}  // namespace tt
