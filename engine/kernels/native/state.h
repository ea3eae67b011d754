// What the threads of a step share: where the intermediate results lie, and who does what.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core.h"
#include "half.h"
#include "laps.h"
#include "layout.h"
#include "team.h"

namespace tt {

constexpr int kKeys = 64;         // keys of one attention tile
constexpr int kMostHeadDim = 1024;  // of a quantised cache
// Up to so many rows of one request attend with the very numbers of a single row, in parts of their
// keys; more are a prompt's.
constexpr int64_t kFewAttending = 32;
constexpr int64_t kPart = 256;  // keys, whole tiles
constexpr int kMaxQueries = 128;  // query rows times heads of one attention job
// Up to so many rows every thread prepares all activations for itself: cheaper than a barrier.
constexpr int64_t kFewRows = 2;

// Rows [first_row, first_row + rows) of a segment over the keys they see of one K/V head: all of
// them (part -1), or those of part `part`, whose unfinished results wait to be joined.
struct AttentionJob {
    int32_t segment;
    int32_t kv_head;
    int64_t first_row;
    int32_t rows;
    int32_t part;
};

struct AttentionScratch {
    float* keys;    // [head_dim, kKeys]
    float* scores;  // [kMaxQueries, kKeys]
    float* sums;    // [kMaxQueries, 16]
    float* mixed;   // [kMaxQueries, head_dim]
    void* queries;  // quantised, kMaxQueries of them
};

struct StepState {
    const tt_model* model = nullptr;
    const tt_batch* batch = nullptr;
    int64_t rows = 0;
    int64_t qkv_width = 0;
    int64_t mixed_width = 0;

    float* x[2] = {};         // [rows, hidden]: the residual stream, read from one, written to the other
    float* y = nullptr;       // [rows, hidden]: what is to be added to it
    float* qkv = nullptr;     // [rows, qkv_width]
    float* mixed = nullptr;   // [rows, mixed_width]
    float* gated = nullptr;   // [rows, intermediate]
    float* partials = nullptr;
    Activations shared;       // of hidden or mixed_width columns
    Activations gated_quants;
    std::vector<void*> own_activations;  // a thread's, for kFewRows rows
    std::vector<float*> own_row;         // a thread's, of the longest row
    std::vector<AttentionScratch> scratch;

    std::vector<AttentionJob> jobs;
    std::vector<int64_t> row_partial;  // [rows]: its first partial result, or -1
    std::vector<int32_t> row_parts;    // [rows]
    std::unique_ptr<std::atomic<int64_t>[]> next_job;  // [layers]

    int first_layer = 0;
    int end_layer = 0;
    int current = 0;          // which x holds the stream
    bool has_pending = false; // whether y is still to be added
};

// Where a layer's keys and values are.
inline const tt_cache& cache_of(const StepState& s, int layer) {
    return s.batch->caches[s.batch->kinds[layer]];
}

// One instruction set's functions.
struct Kernels {
    const char* name;
    void (*multiply)(const tt_matrix& matrix, const float* x, int64_t count, float* y,
                     void* activations, const Member& member);
    void (*step)(StepState& state, const Member& member);
    int64_t (*dots)(int64_t rounds, volatile int32_t* kept);
};

const Kernels* avx512_kernels();
const Kernels* avxvnni_kernels();
const Kernels* avx2_kernels();
const Kernels* neon_i8mm_kernels();
const Kernels* neon_kernels();
const Kernels* portable_kernels();

}  // namespace tt
