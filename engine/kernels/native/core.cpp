// The doors of the library: instruction sets, teams, single products, and steps.
#include "core.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "state.h"
#include "target.h"

#if TT_X86 && defined(_MSC_VER)
#include <immintrin.h>
#include <intrin.h>
#elif TT_X86
#include <cpuid.h>
#elif TT_ARM64 && defined(__linux__)
#include <sys/auxv.h>
#elif TT_ARM64 && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

// Memory that grows and never moves while a step runs.
namespace tt {
namespace {

class Buffer {
  public:
    // At least `bytes`, aligned to a line; what it held before is lost when it grows.
    void* take(size_t bytes) {
        if (bytes > size_) {
            memory_.reset(new uint8_t[bytes + 64]);
            size_ = bytes;
        }
        const auto at = (reinterpret_cast<uintptr_t>(memory_.get()) + 63) / 64 * 64;
        return reinterpret_cast<void*>(at);
    }
    float* floats(int64_t count) {
        return static_cast<float*>(take(static_cast<size_t>(count) * sizeof(float)));
    }

  private:
    std::unique_ptr<uint8_t[]> memory_;
    size_t size_ = 0;
};

#if TT_X86
struct Features {
    bool avx2 = false, avx512 = false, avxvnni = false;
};

void cpuid(unsigned leaf, unsigned sub, unsigned (&r)[4]) {
#if defined(_MSC_VER)
    int out[4];
    __cpuidex(out, static_cast<int>(leaf), static_cast<int>(sub));
    for (int i = 0; i < 4; ++i) r[i] = static_cast<unsigned>(out[i]);
#else
    __cpuid_count(leaf, sub, r[0], r[1], r[2], r[3]);
#endif
}

// Which vector registers the system saves when it switches threads.
uint64_t saved_registers() {
#if defined(_MSC_VER)
    return _xgetbv(0);
#else
    unsigned low, high;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t{high} << 32) | low;
#endif
}

Features find_features() {
    Features found;
    unsigned r[4];
    cpuid(0, 0, r);
    if (r[0] < 7) return found;
    cpuid(1, 0, r);
    const auto bit = [&](int reg, int n) { return ((r[reg] >> n) & 1u) != 0; };
    const bool has_avx = bit(2, 27) && bit(2, 28) && bit(2, 12) && bit(2, 29);  // OSXSAVE AVX FMA F16C
    if (!has_avx) return found;
    const uint64_t saved = saved_registers();
    if ((saved & 0x6) != 0x6) return found;
    cpuid(7, 0, r);
    const unsigned subleaves = r[0];
    found.avx2 = bit(1, 5);
    const bool has_512 = bit(1, 16) && bit(1, 17) && bit(1, 30) && bit(1, 31) && bit(2, 11);  // F DQ BW VL VNNI
    found.avx512 = found.avx2 && has_512 && (saved & 0xe6) == 0xe6;
    if (subleaves >= 1) {
        cpuid(7, 1, r);
        found.avxvnni = found.avx2 && bit(0, 4);
    }
    return found;
}
#endif

#if TT_ARM64
struct Features {
    bool dotprod = false, i8mm = false;
};

Features find_features() {
    Features found;
#if defined(__linux__)
    found.dotprod = (getauxval(AT_HWCAP) & (1ul << 20)) != 0;  // HWCAP_ASIMDDP
    found.i8mm = found.dotprod && (getauxval(AT_HWCAP2) & (1ul << 13)) != 0;  // HWCAP2_I8MM
#elif defined(__APPLE__)
    const auto has = [](const char* name) {
        int value = 0;
        size_t size = sizeof value;
        return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
    };
    found.dotprod = has("hw.optional.arm.FEAT_DotProd");
    found.i8mm = found.dotprod && has("hw.optional.arm.FEAT_I8MM");
#endif
    return found;
}
#endif

std::vector<const Kernels*> find_kernels() {
    std::vector<const Kernels*> found;
#if TT_X86
    const Features features = find_features();
    if (features.avx512) found.push_back(avx512_kernels());
    if (features.avxvnni) found.push_back(avxvnni_kernels());
    if (features.avx2) found.push_back(avx2_kernels());
#endif
#if TT_ARM64
    const Features features = find_features();
    if (features.i8mm) found.push_back(neon_i8mm_kernels());
    if (features.dotprod) found.push_back(neon_kernels());
#endif
    found.push_back(portable_kernels());
    return found;
}

// A job's rows of a prompt times the heads of a group: where the cache is read once for many of them.
constexpr int kMostTogether = 48;
constexpr int kFewTogether = 16;
// A prompt has so many jobs for each thread, or threads would wait long for the one that has the last.
constexpr int kJobsOfThread = 6;

// Split what a request's rows attend to into jobs: a few rows by parts of their keys as well.
//
// Where parts begin depends on the keys alone. A row's sums are then the same in every batch: a
// guess is verified with the very numbers that computing it alone would give.
class JobList {
  public:
    JobList(StepState& state, int threads) : s_(state), threads_(threads) {}

    // Returns how many partial results there are.
    int64_t fill() {
        s_.jobs.clear();
        s_.row_partial.assign(static_cast<size_t>(s_.rows), -1);
        s_.row_parts.assign(static_cast<size_t>(s_.rows), 1);
        for (int i = 0; i < s_.batch->num_segments; ++i) add_rows(i, s_.batch->caches[0].segments[i]);
        return num_partials_;
    }

  private:
    // The last rows first: they take longest, and short jobs fill the gaps at the end.
    void add_rows(int index, const tt_segment& segment) {
        const int step = rows_of_job(segment.length);
        for (int64_t end = segment.length; end > 0; end -= step) {
            const int64_t first = std::max<int64_t>(0, end - step);
            const auto rows = static_cast<int32_t>(end - first);
            const int64_t parts = (segment.context + end + kPart - 1) / kPart;
            if (segment.length > kFewAttending || parts == 1) {
                add_jobs(index, first, rows, -1);
                continue;
            }
            for (int64_t row = first; row < end; ++row) {
                s_.row_partial[static_cast<size_t>(segment.start + row)] = num_partials_;
                s_.row_parts[static_cast<size_t>(segment.start + row)] = static_cast<int32_t>(parts);
                num_partials_ += s_.model->num_heads * parts;
            }
            for (int64_t part = 0; part < parts; ++part) {
                add_jobs(index, first, rows, static_cast<int32_t>(part));
            }
        }
    }

    int rows_of_job(int64_t length) const {
        const int group = s_.model->num_heads / s_.model->num_kv_heads;
        const int most = std::max(1, kMostTogether / group);
        if (length <= kFewAttending) return most;
        const int64_t pieces = (kJobsOfThread * threads_ + s_.model->num_kv_heads - 1) / s_.model->num_kv_heads;
        const auto even = static_cast<int>(std::min<int64_t>(most, (length + pieces - 1) / pieces));
        return std::max({1, kFewTogether / group, even});
    }

    void add_jobs(int index, int64_t first, int32_t rows, int32_t part) {
        for (int head = 0; head < s_.model->num_kv_heads; ++head) {
            s_.jobs.push_back({index, head, first, rows, part});
        }
    }

    StepState& s_;
    const int threads_;
    int64_t num_partials_ = 0;
};

}  // namespace

int64_t clock_ns() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace tt

struct tt_team {
    tt_team(const tt::Kernels* set, int threads) : kernels(set), team(threads) {}
    const tt::Kernels* kernels;
    tt::Team team;
    tt::Buffer activations;
    std::mutex in_use;  // of the activations
};

struct tt_step {
    tt::StepState state;
    tt::Buffer buffers[9];
    std::vector<tt::Buffer> own;

    void prepare(const tt_model& model, const tt_batch& batch, int threads);
    void prepare_threads(int threads);
};

void tt_step::prepare(const tt_model& model, const tt_batch& batch, int threads) {
    auto& s = state;
    s.model = &model;
    s.batch = &batch;
    s.rows = batch.rows;
    s.qkv_width = int64_t{model.num_heads + 2 * model.num_kv_heads} * model.head_dim;
    s.mixed_width = int64_t{model.num_heads} * model.head_dim;
    const int64_t rows = batch.rows;
    s.x[0] = buffers[0].floats(rows * model.hidden);
    s.x[1] = buffers[1].floats(rows * model.hidden);
    s.y = buffers[2].floats(rows * model.hidden);
    s.qkv = buffers[3].floats(rows * s.qkv_width);
    s.mixed = buffers[4].floats(rows * s.mixed_width);
    s.gated = buffers[5].floats(rows * model.intermediate);
    const auto quantised = [rows](tt::Buffer& buffer, int64_t columns) {
        const int64_t bytes = rows * (columns / tt::kGroup) * tt::kActivationBytes;
        return tt::activations_at(buffer.take(static_cast<size_t>(bytes)), rows, columns);
    };
    s.shared = quantised(buffers[6], std::max(model.hidden, s.mixed_width));
    s.gated_quants = quantised(buffers[7], model.intermediate);
    s.partials = buffers[8].floats(tt::JobList(s, threads).fill() * (model.head_dim + 16));
    s.next_job.reset(new std::atomic<int64_t>[static_cast<size_t>(model.num_layers)]);
    for (int i = 0; i < model.num_layers; ++i) s.next_job[static_cast<size_t>(i)] = 0;
    s.current = 0;
    s.has_pending = false;
    std::memcpy(s.x[0], batch.embedded, static_cast<size_t>(rows * model.hidden) * sizeof(float));
}

void tt_step::prepare_threads(int threads) {
    auto& s = state;
    if (static_cast<int>(own.size()) >= threads) return;
    const tt_model& model = *s.model;
    const int64_t longest = std::max(model.hidden, s.mixed_width);
    const int64_t quantised = tt::kFewRows * (longest / tt::kGroup) * tt::kActivationBytes / 4 + 16;
    const int64_t keys = int64_t{model.head_dim} * tt::kKeys;
    const int64_t scores = int64_t{tt::kMaxQueries} * tt::kKeys;
    const int64_t sums = int64_t{tt::kMaxQueries} * 16;
    const int64_t mixed = int64_t{tt::kMaxQueries} * model.head_dim;
    const int64_t queries =
        int64_t{tt::kMaxQueries} * (model.head_dim / tt::kGroup) * tt::kActivationBytes / 4;
    own.resize(static_cast<size_t>(threads));
    s.own_activations.clear();
    s.own_row.clear();
    s.scratch.clear();
    for (auto& buffer : own) {
        float* at = buffer.floats(quantised + longest + keys + scores + sums + mixed + queries + 64);
        s.own_activations.push_back(at);
        at += (quantised + 15) / 16 * 16;
        s.own_row.push_back(at);
        at += longest;
        float* rest = at + keys + scores;
        s.scratch.push_back({at, at + keys, rest, rest + sums, rest + sums + mixed});
    }
}

int32_t tt_version() { return TT_VERSION; }

const char* tt_instruction_sets() {
    static const std::string names = [] {
        std::string all;
        for (const auto* kernels : tt::find_kernels()) {
            all += all.empty() ? "" : " ";
            all += kernels->name;
        }
        return all;
    }();
    return names.c_str();
}

tt_team* tt_team_new(const char* instruction_set, int32_t threads) {
    for (const auto* kernels : tt::find_kernels()) {
        if (std::strcmp(kernels->name, instruction_set) == 0) {
            return new (std::nothrow) tt_team(kernels, threads);
        }
    }
    return nullptr;
}

void tt_team_free(tt_team* team) { delete team; }

int32_t tt_multiply(tt_team* team, int32_t threads, const tt_matrix* matrix, const float* x,
                    int64_t count, float* y) {
    std::lock_guard<std::mutex> lock(team->in_use);
    struct Call {
        tt_team* team;
        const tt_matrix* matrix;
        const float* x;
        int64_t count;
        float* y;
        void* activations;
    };
    Call call{team, matrix, x, count, y, nullptr};
    const int64_t groups = count * (matrix->columns / tt::kGroup);
    try {
        call.activations = team->activations.take(static_cast<size_t>(groups * tt::kActivationBytes));
    } catch (const std::bad_alloc&) {
        return 1;
    }
    team->team.run(
        threads,
        [](void* context, const tt::Member& member) {
            const auto& c = *static_cast<Call*>(context);
            c.team->kernels->multiply(*c.matrix, c.x, c.count, c.y, c.activations, member);
        },
        &call);
    return 0;
}

int64_t tt_dots(tt_team* team, int32_t threads, int64_t rounds) {
    std::lock_guard<std::mutex> lock(team->in_use);
    struct Call {
        tt_team* team;
        int64_t rounds;
        std::atomic<int64_t> count;
    };
    Call call{team, rounds, {0}};
    team->team.run(
        threads,
        [](void* context, const tt::Member& member) {
            auto& c = *static_cast<Call*>(context);
            volatile int32_t kept = member.index;
            c.count += c.team->kernels->dots(c.rounds, &kept);
        },
        &call);
    return call.count;
}

tt_step* tt_step_new(const tt_model* model) {
    auto* step = new (std::nothrow) tt_step();
    if (step != nullptr) step->state.model = model;
    return step;
}

void tt_step_free(tt_step* step) { delete step; }

int32_t tt_step_run(tt_step* step, tt_team* team, int32_t threads, const tt_batch* batch,
                    int32_t first, int32_t end) {
    try {
        if (first == 0) step->prepare(*step->state.model, *batch, threads);
        step->prepare_threads(threads);
    } catch (const std::bad_alloc&) {
        return 1;
    }
    step->state.batch = batch;
    step->state.first_layer = first;
    step->state.end_layer = end;
    struct Call {
        tt_step* step;
        tt_team* team;
    };
    Call call{step, team};
    team->team.run(
        threads,
        [](void* context, const tt::Member& member) {
            const auto& c = *static_cast<Call*>(context);
            c.team->kernels->step(c.step->state, member);
        },
        &call);
    return 0;
}
