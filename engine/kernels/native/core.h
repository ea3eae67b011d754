// The plain C interface of the native core: what engine/kernels/library.py calls through ctypes.
//
// Everything here is owned by the caller and only read, unless a comment says otherwise. Sizes
// are in elements; every pointer of floats is fp32. A team may be used by one call at a time:
// calls from several threads wait for each other.
#pragma once
#include <cstdint>

#if defined(_WIN32)
#define TT_API __declspec(dllexport)
#else
#define TT_API __attribute__((visibility("default")))
#endif

extern "C" {

// How the weights of a matrix are kept; see pack.cpp for the layout in memory.
enum tt_kind : int32_t {
    TT_INT4 = 0,          // value = q * scale + offset, a scale and an offset for 32 columns
    TT_INT8_GROUPED = 1,  // value = q * scale, a scale for 32 columns
    TT_INT8_ROWS = 2,     // value = q * scale, a scale for a row
    TT_INT4_EVEN = 3,     // value = (q - 8) * scale, a scale for 32 columns
};

// A packed matrix W [rows, columns]; columns is a multiple of 32.
struct tt_matrix {
    int64_t rows;
    int64_t columns;
    const uint8_t* data;  // tt_packed_bytes of them, aligned to 64
    float gain;           // every product is multiplied by it
    int32_t kind;
};

// One decoder layer. Pointers to norms and biases may be null: then the step leaves them out.
struct tt_layer {
    const tt_matrix* qkv;
    const tt_matrix* o;
    const tt_matrix* gate_up;
    const tt_matrix* down;
    const float* attention_norm;       // [hidden]
    const float* post_attention_norm;  // [hidden]
    const float* ffn_norm;             // [hidden]
    const float* post_ffn_norm;        // [hidden]
    const float* qk_norm;              // [heads + kv_heads, head_dim]
    const float* qkv_bias;             // [(heads + 2 kv_heads) * head_dim]
    int32_t rotation;                  // index of the rotary table
    int32_t window;                    // tokens seen, the own one included; 0: all
};

enum tt_activation : int32_t { TT_SILU = 0, TT_GELU_TANH = 1 };

struct tt_model {
    const tt_layer* layers;
    const tt_matrix* head;
    const float* norm;  // [hidden]
    int64_t hidden;
    int64_t intermediate;
    int32_t num_layers;
    int32_t num_heads;
    int32_t num_kv_heads;
    int32_t head_dim;
    int32_t rotary_half;  // pairs of a head that rotate
    int32_t activation;
    float norm_eps;
    float attention_scale;
    float residual_scale;
    float reserved;
};

// Cosines and sines of one rotary table: [positions, stride], of which rotary_half are read.
struct tt_rotation {
    const float* cosines;
    const float* sines;
    int64_t stride;
};

// Rows [start, start + length) are tokens [context, context + length) of one request, whose
// blocks in one kind of layers are blocks[first_block ...].
struct tt_segment {
    int64_t start;
    int64_t length;
    int64_t context;
    int64_t first_block;
};

enum tt_kv_type : int32_t {
    TT_KV_FP32 = 0,
    TT_KV_BF16 = 1,
    TT_KV_FP16 = 2,
    TT_KV_INT8 = 3,  // 3 and 4: see cache.h; block_size is a multiple of 16
    TT_KV_INT4 = 4,
};

// What a step spends its time on: Part in engine/api/profile.py, in the same order.
enum tt_part : int32_t {
    TT_PART_NORM = 0,
    TT_PART_QKV,
    TT_PART_ROTARY,
    TT_PART_ATTENTION,
    TT_PART_OUTPUT,
    TT_PART_FFN,
    TT_PART_EMBED,
    TT_PART_HEAD,
    TT_PART_SAMPLING,
    TT_PART_OTHER,
    TT_PARTS,
};

// The keys and values of one kind of layers: those that look equally far back.
struct tt_cache {
    void* pool;        // written to: [its layers, 2 * kv_heads, num_slots, head_dim], or codes
    void* parameters;  // written to: scales and zeros of a quantised cache, fp16
    // Of a quantised cache: what queries and keys are multiplied by before they are rotated, [its
    // layers, 2, kv_heads, head_dim], and what is taken off rotated keys, [its layers, kv_heads,
    // head_dim]. Null: nothing.
    const float* factors;
    const float* centres;
    const tt_segment* segments;  // [num_segments], with its own blocks
    const int64_t* slots;        // [rows]
    int64_t num_slots;
};

// One forward pass over rows of several requests.
struct tt_batch {
    const float* embedded;       // [rows, hidden]
    const int64_t* positions;    // [rows]
    const int64_t* logit_rows;   // [num_logits]
    const int64_t* blocks;
    const tt_rotation* rotations;
    const tt_cache* caches;
    const int32_t* kinds;   // [layers]: which of the caches holds a layer
    const int32_t* places;  // [layers]: which of its layers that is
    float* logits;          // written to: [num_logits, vocabulary]
    int64_t rows;
    int64_t num_logits;
    int64_t num_segments;
    int32_t block_size;
    int32_t kv_type;
    // Added to, unless null: nanoseconds of the calling thread, [layers + 1, TT_PARTS], the last
    // row for what is outside the layers. Waiting for other threads counts as the part before.
    int64_t* part_ns;
};

struct tt_team;
struct tt_step;

// Which version of this file a binary was built from: TT_VERSION.
constexpr int32_t TT_VERSION = 6;
TT_API int32_t tt_version();

// The instruction sets that this binary holds and this machine runs, best first, as one string
// with spaces between.
TT_API const char* tt_instruction_sets();

// A team for at most `threads` threads, the caller's included. Null: unknown instruction set.
TT_API tt_team* tt_team_new(const char* instruction_set, int32_t threads);
TT_API void tt_team_free(tt_team* team);

// Bytes of a packed matrix, or -1 for an unknown kind.
TT_API int64_t tt_packed_bytes(int32_t kind, int64_t rows, int64_t columns);

// Fill `data` from quants [rows, columns], one a byte (unsigned 0..15 for INT4, else signed).
// scales and offsets: fp16 bits [rows, columns / 32]; row_scales: fp32 [rows]. Null where unused.
TT_API void tt_pack(int32_t kind, int64_t rows, int64_t columns, const uint8_t* quants,
                    const uint16_t* scales, const uint16_t* offsets, const float* row_scales,
                    uint8_t* data);

// out [count, columns]: the rows `ids` as floats.
TT_API void tt_unpack_rows(const tt_matrix* matrix, const int64_t* ids, int64_t count, float* out);

// y [count, rows] = x [count, columns] times the transposed matrix, on `threads` threads.
TT_API int32_t tt_multiply(tt_team* team, int32_t threads, const tt_matrix* matrix, const float* x,
                           int64_t count, float* y);

// Multiply and add bytes in registers alone, `rounds` times on each of `threads` threads. Returns how
// many multiplications and additions all did: with the time it took, what this machine could do.
TT_API int64_t tt_dots(tt_team* team, int32_t threads, int64_t rounds);

// The memory that steps of one model use again and again.
TT_API tt_step* tt_step_new(const tt_model* model);
TT_API void tt_step_free(tt_step* step);

// Run layers [first, end) of a batch; after the last layer fill its logits. A batch starts with
// first == 0 and goes on where the call before it stopped. Returns 0, or 1 when memory ran out.
TT_API int32_t tt_step_run(tt_step* step, tt_team* team, int32_t threads, const tt_batch* batch,
                           int32_t first, int32_t end);
}
