// Where the vectors of the cache lie, and how they are written, for any instruction set V.
//
// Floating formats: [layers, 2 * kv_heads, slots, head_dim], K before V. INT8 and INT4: codes
// [layers, 2, kv_heads, blocks, block] and fp16 parameters [layers, 2, kv_heads, blocks, n,
// block_size], as engine/kv/quantized.py tells:
//
//   INT8   value = q * scale. A byte a value; in K with the sign bit flipped.
//   INT4   value = q * scale + zero for 32 values; byte i of a group: values i and 16 + i.
//
// In a block of K bytes 4j..4j+3 of all tokens lie side by side; in one of V byte j of tokens
// 4i..4i+3. Keys are coded times factors, which queries are divided by, and less their centre, which
// the softmax of their scores does not see.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "rotation.h"
#include "state.h"

namespace tt {

constexpr int kVector = 16;  // keys that are scored together
constexpr int kQuad = 4;  // values whose bytes are multiplied and added up at once
constexpr float kMostWeight = 127 * 128.0f;  // of a value: two numbers of 7 bits

inline bool is_quantised(int32_t kv_type) { return kv_type == TT_KV_INT8 || kv_type == TT_KV_INT4; }

// Which of a cache's planes, each of all its slots, holds the K or V of one head of a layer.
inline int64_t plane_of(const StepState& s, int layer, bool is_value, int64_t kv_head) {
    return (2 * int64_t{s.batch->places[layer]} + (is_value ? 1 : 0)) * s.model->num_kv_heads + kv_head;
}

// Rotate a vector of a quantised cache, or back: the values that share a scale among themselves.
template <class V>
inline void rotate(const StepState& s, float* row) {
    const int size = s.model->head_dim;
    hadamard<V>(row, size, s.batch->kv_type == TT_KV_INT4 ? kGroup : size & -size);
}

// Multiply a query's or key's channels by their factors.
template <class V>
inline void balance(const StepState& s, int layer, bool is_key, int64_t kv_head, float* row) {
    const float* factors = cache_of(s, layer).factors;
    if (!factors) return;
    const int64_t heads = s.model->num_kv_heads, head_dim = s.model->head_dim;
    factors += ((2 * int64_t{s.batch->places[layer]} + (is_key ? 1 : 0)) * heads + kv_head) * head_dim;
    for (int d = 0; d < head_dim; d += 16) V::store(row + d, V::mul(V::load(row + d), V::load(factors + d)));
}

// Sizes of a quantised cache.
template <int32_t Kind>
struct CodeLayout {
    int groups;            // parts of a vector with a scale of their own
    int64_t code_bytes;    // of a vector
    int64_t parameters;    // of a vector

    explicit CodeLayout(int head_dim)
        : groups(Kind == TT_KV_INT4 ? head_dim / kGroup : 1),
          code_bytes(Kind == TT_KV_INT4 ? head_dim / 2 : head_dim),
          parameters(Kind == TT_KV_INT4 ? 2 * groups : 1) {}
};

// One block of one head's K or V, from token `token` of it on: of V's from the four it is one of.
struct CodePlace {
    uint8_t* codes;
    uint16_t* parameters;
};

template <int32_t Kind>
inline CodePlace code_place(const StepState& s, const CodeLayout<Kind>& layout, int layer, bool is_value,
                            int64_t kv_head, int64_t block, int64_t token) {
    const tt_cache& cache = cache_of(s, layer);
    const int64_t first = plane_of(s, layer, is_value, kv_head) * cache.num_slots + block * s.batch->block_size;
    auto* codes = static_cast<uint8_t*>(cache.pool) + first * layout.code_bytes;
    auto* parameters = static_cast<uint16_t*>(cache.parameters) + first * layout.parameters + token;
    return {codes + (is_value ? token / 4 * 4 * layout.code_bytes : token * 4), parameters};
}

// Code `width` values as INT8 with one scale.
template <class V>
inline void encode8(const float* row, int width, uint8_t* codes, uint16_t* scale) {
    auto most = V::zero();
    for (int d = 0; d < width; d += 16) most = V::max(most, V::abs(V::load(row + d)));
    *scale = float_to_half(V::hmax(most) / 127.0f);
    const float kept = half_to_float(*scale);
    const auto inverse = V::set1(kept > 0.0f ? 1.0f / kept : 0.0f);
    const auto low = V::set1(-127.0f), high = V::set1(127.0f);
    for (int d = 0; d < width; d += 16) {
        const auto value = V::min(V::max(V::mul(V::load(row + d), inverse), low), high);
        V::store_bytes(reinterpret_cast<int8_t*>(codes + d), V::to_int(value));
    }
}

// Code 32 values as INT4 with a scale and a zero.
template <class V>
inline void encode4(const float* row, uint8_t* codes, uint16_t* scale, uint16_t* zero) {
    const auto lo = V::load(row), hi = V::load(row + 16);
    const float least = -V::hmax(V::max(V::sub(V::zero(), lo), V::sub(V::zero(), hi)));
    *zero = float_to_half(least);
    const float start = half_to_float(*zero);
    *scale = float_to_half(std::max(0.0f, V::hmax(V::max(lo, hi)) - start) / 15.0f);
    const float kept = half_to_float(*scale);
    const auto inverse = V::set1(kept > 0.0f ? 1.0f / kept : 0.0f), first = V::set1(start);
    const auto code = [&](typename V::F x) {
        const auto value = V::mul(V::sub(x, first), inverse);
        return V::to_int(V::min(V::max(value, V::zero()), V::set1(15.0f)));
    };
    int8_t low[16], high[16];
    V::store_bytes(low, code(lo));
    V::store_bytes(high, code(hi));
    for (int i = 0; i < 16; ++i) codes[i] = static_cast<uint8_t>(low[i] | (high[i] << 4));
}

// to [head_dim]: a rotated key less its centre. Returns `to`, or the key itself where there is none.
template <class V>
inline const float* centred(const StepState& s, int layer, int64_t kv_head, const float* row, float* to) {
    const float* centre = cache_of(s, layer).centres;
    if (!centre) return row;
    const int head_dim = s.model->head_dim;
    centre += (int64_t{s.batch->places[layer]} * s.model->num_kv_heads + kv_head) * head_dim;
    for (int d = 0; d < head_dim; d += 16) V::store(to + d, V::sub(V::load(row + d), V::load(centre + d)));
    return to;
}

// Write `row`, already rotated, to its place.
template <class V, int32_t Kind>
inline void append_codes(const StepState& s, int layer, bool is_value, int64_t kv_head, int64_t slot,
                         const float* row) {
    const int head_dim = s.model->head_dim;
    const CodeLayout<Kind> layout(head_dim);
    const int64_t size = s.batch->block_size;
    const CodePlace to = code_place<Kind>(s, layout, layer, is_value, kv_head, slot / size, slot % size);
    alignas(64) uint8_t codes[kMostHeadDim];
    alignas(64) float less[kMostHeadDim];
    if (!is_value) row = centred<V>(s, layer, kv_head, row, less);
    if constexpr (Kind == TT_KV_INT8) {
        encode8<V>(row, head_dim, codes, to.parameters);
    } else {
        for (int g = 0; g < layout.groups; ++g) {
            encode4<V>(row + kGroup * g, codes + 16 * g, to.parameters + g * size,
                       to.parameters + (layout.groups + g) * size);
        }
    }
    if (is_value) {
        uint8_t* every = to.codes + slot % 4;  // whole fours are in a block
        for (int64_t i = 0; i < layout.code_bytes; ++i) every[4 * i] = codes[i];
        return;
    }
    const uint32_t flip = Kind == TT_KV_INT8 ? 0x80808080u : 0u;
    for (int64_t quad = 0; quad < layout.code_bytes / 4; ++quad) {
        uint32_t bytes;
        std::memcpy(&bytes, codes + 4 * quad, 4);
        bytes ^= flip;
        std::memcpy(to.codes + quad * size * 4, &bytes, 4);
    }
}

template <class V, class T>
inline void append_floats(const StepState& s, int layer, bool is_value, int64_t kv_head, int64_t slot,
                          const float* row) {
    const tt_cache& cache = cache_of(s, layer);
    const int64_t plane = plane_of(s, layer, is_value, kv_head);
    T* to = static_cast<T*>(cache.pool) + (plane * cache.num_slots + slot) * s.model->head_dim;
    for (int d = 0; d < s.model->head_dim; d += 16) V::store_kv(to + d, V::load(row + d));
}

// Write the K or V of one token; a quantised cache has `row` rotated before.
template <class V>
inline void append(const StepState& s, int layer, bool is_value, int64_t kv_head, int64_t slot,
                   const float* row) {
    switch (s.batch->kv_type) {
        case TT_KV_BF16: return append_floats<V, Bfloat>(s, layer, is_value, kv_head, slot, row);
        case TT_KV_FP16: return append_floats<V, Half>(s, layer, is_value, kv_head, slot, row);
        case TT_KV_INT8: return append_codes<V, TT_KV_INT8>(s, layer, is_value, kv_head, slot, row);
        case TT_KV_INT4: return append_codes<V, TT_KV_INT4>(s, layer, is_value, kv_head, slot, row);
        default: return append_floats<V, float>(s, layer, is_value, kv_head, slot, row);
    }
}

}  // namespace tt
