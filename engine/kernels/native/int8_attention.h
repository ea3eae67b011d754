// Causal attention over an INT8 cache, read in place, for any instruction set V: what attention.h does, with
// both products of bytes.
//
// Queries become bytes too, with one scale each. Scores stay in units of their own until the softmax, which
// takes powers of two. Weights are two numbers of 7 bits, in a unit that a tile's keys share: 128 * high +
// low; so no score past a 16,000th of the tile's largest is lost, and no product of bytes overflows 16 bits.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "attention.h"
#include "cache.h"
#include "state.h"

namespace tt {

constexpr int kMostSpan = 256;  // keys of a tile
constexpr int kSpanBytes = 16 << 10;  // of its codes, and as many of its values': they stay in the first cache
constexpr float kLog2E = 1.44269504f;

// 2 to the power of x, x below 127; minimax polynomial of 2^f for |f| <= 1/2, an error of 3e-6. Below -80
// it is as good as zero.
template <class V>
TT_INLINE typename V::F power_of_two(typename V::F x) {
    const auto t = V::max(x, V::set1(-80.0f));
    const auto n = V::round(t);
    const auto f = V::sub(t, n);
    auto p = V::set1(9.570101911e-3f);
    p = V::fma(p, f, V::set1(5.591786032e-2f));
    p = V::fma(p, f, V::set1(2.402474483e-1f));
    p = V::fma(p, f, V::set1(6.931218147e-1f));
    p = V::fma(p, f, V::set1(9.999992614e-1f));
    return V::scale2(p, n);
}

// Four vectors' weights in two numbers of 7 bits each, quads of bytes in an order of the instruction set's.
template <class V>
TT_INLINE void store_weights(int8_t* high, int8_t* low, const typename V::F* weights) {
    if constexpr (V::kPacksFour) {
        V::store_weights(high, low, weights);
    } else {
        for (int v = 0; v < 4; ++v) {
            typename V::I upper, lower;
            V::split7(V::to_int(weights[v]), upper, lower);
            V::store_bytes(high + kVector * v, upper);
            V::store_bytes(low + kVector * v, lower);
        }
    }
}

// Where store_weights puts quad `quad` of vector `v`.
template <class V>
constexpr int weight_quad(int v, int quad) {
    return V::kPacksFour ? kQuad * quad + v : kQuad * v + quad;
}

// The largest of `size` values, a multiple of 16, without their signs.
template <class V>
inline float largest(const float* row, int size) {
    auto most = V::zero();
    for (int d = 0; d < size; d += 16) most = V::max(most, V::abs(V::load(row + d)));
    return V::hmax(most);
}

template <class V>
class Int8Attention {
    using F = typename V::F;
    using I = typename V::I;
    static constexpr int kMostVectors = kMostSpan / kVector;
    static constexpr int kAtOnce = 4;  // queries
    static constexpr int kMixedAtOnce = 2;
    static constexpr int kWide = V::kManyRegisters ? 4 : 1;    // vectors of keys, or of channels

  public:
    Int8Attention(const StepState& state, int layer, AttentionScratch& scratch)
        : s_(state), layer_(layer), scratch_(scratch), segments_(cache_of(state, layer).segments),
          head_dim_(state.model->head_dim), window_(state.model->layers[layer].window), layout_(head_dim_),
          span_(std::clamp(kSpanBytes / head_dim_ / kKeys * kKeys, kKeys, kMostSpan)) {}

    void run(const AttentionJob& job) {
        const tt_segment& segment = segments_[job.segment];
        const int group = s_.model->num_heads / s_.model->num_kv_heads;
        count_ = job.rows * group;
        const int64_t top = segment.start + job.first_row;
        for (int i = 0; i < count_; ++i) {
            const int64_t head = int64_t{job.kv_head} * group + i % group;
            take_query(i, s_.qkv + (top + i / group) * s_.qkv_width + head * head_dim_);
            last_[i] = segment.context + job.first_row + i / group;
            maxima_[i] = kMasked;
            V::store(scratch_.sums + i * 16, V::zero());
        }
        std::fill_n(scratch_.mixed, count_ * head_dim_, 0.0f);
        const auto [start, end] = keys_of(job, last_[0], last_[count_ - 1], window_, span_);
        for (int64_t key = start; key < end; key += span_) {
            first_ = key;
            keys_ = static_cast<int>(std::min<int64_t>(span_, end - key));
            vectors_ = (keys_ + kKeys - 1) / kKeys * kKeys / kVector;
            place(segment, job.kv_head);
            for (int i = 0; i < count_; i += kAtOnce) {
                bring(segment, job.kv_head, i, end);
                attend_some(i);
            }
        }
        if (job.part >= 0) {
            for (int i = 0; i < count_; ++i) maxima_[i] /= kLog2E;
            keep_partial<V>(s_, job, top, scratch_, maxima_);
        } else {
            finish<V>(s_, job, top, scratch_);
        }
    }

  private:
    // What weights are told in: a number, and how many powers of two weights are raised by.
    struct Unit {
        float size;
        float raise;
    };

    // Some queries' weights of a tile's values in two numbers of 7 bits, and what brings sums to a new maximum.
    struct Weights {
        alignas(64) int8_t high[kAtOnce][kMostSpan];
        alignas(64) int8_t low[kAtOnce][kMostSpan];
        float units[kAtOnce];   // of the weights
        float shrink[kAtOnce];  // of what was mixed before
    };

    void take_query(int i, const float* row) {
        const float limit = largest<V>(row, head_dim_);
        const F inverse = V::set1(limit > 1e-30f ? 127.0f / limit : 0.0f);
        I sum = V::iset1(0);
        for (int d = 0; d < head_dim_; d += 16) {
            const I codes = V::to_int(V::mul(V::load(row + d), inverse));
            V::store_bytes(query(i) + d, codes);
            sum = V::iadd(sum, codes);
        }
        scales_[i] = std::max(limit / 127.0f * kLog2E, 1e-20f);  // masked scores stay far below
        starts_[i] = -128 * V::ihsum(sum);  // bytes of keys are raised by so much
    }

    int8_t* query(int i) const { return static_cast<int8_t*>(scratch_.queries) + i * head_dim_; }

    // Vectors of keys past the end repeat the last one.
    void place(const tt_segment& segment, int kv_head) {
        const int64_t size = s_.batch->block_size;
        const int64_t* blocks = s_.batch->blocks + segment.first_block;
        F most = V::zero();
        for (int v = 0; v < vectors_; ++v) {
            const int64_t token = first_ + kVector * std::min(v, (keys_ - 1) / kVector);
            const int64_t block = blocks[token / size];
            const CodePlace k = code_place<TT_KV_INT8>(s_, layout_, layer_, false, kv_head, block, token % size);
            const CodePlace value = code_place<TT_KV_INT8>(s_, layout_, layer_, true, kv_head, block, token % size);
            k_[v] = k.codes;
            v_[v] = value.codes;
            V::store(key_scales_ + kVector * v, V::load_half(k.parameters));
            const F scales = V::first(keys_ - kVector * v, V::load_half(value.parameters), V::zero());
            V::store(value_scales_ + kVector * v, scales);
            most = V::max(most, scales);
        }
        unit_ = unit_of(most);
    }

    // The unit of weights that are one at most, times scales.
    static Unit unit_of(F scales) {
        const float unit = std::max(V::hmax(scales), 1e-30f) / kMostWeight;
        return {unit, -std::log2(unit)};
    }

    // Have a share of the next tile brought nearer, another one with each batch of queries: hardware sees no
    // pattern in blocks.
    void bring(const tt_segment& segment, int kv_head, int i, int64_t end) const {
        const int64_t size = s_.batch->block_size;
        const int64_t* blocks = s_.batch->blocks + segment.first_block;
        const int batches = (count_ + kAtOnce - 1) / kAtOnce, batch = i / kAtOnce;
        const int parts = 2 * span_ / kVector, last = parts * (batch + 1) / batches;
        for (int part = parts * batch / batches; part < last; ++part) {
            const int64_t token = first_ + span_ + part / 2 * kVector;
            if (token >= end) return;
            const bool is_value = part % 2 != 0;
            const int64_t block = blocks[token / size];
            const CodePlace from = code_place<TT_KV_INT8>(s_, layout_, layer_, is_value, kv_head, block, token % size);
            const int64_t stride = is_value ? 64 : size * 4;
            for (int64_t line = 0; line < head_dim_ / 4; ++line) TT_PREFETCH(from.codes + line * stride);
            TT_PREFETCH(from.parameters);
        }
    }

    void attend_some(int i) {
        switch (count_ - i) {
            case 1: return attend<1>(i);
            case 2: return attend<2>(i);
            case 3: return attend<3>(i);
            default: return attend<kAtOnce>(i);
        }
    }

    template <int Queries>
    void attend(int i) {
        score<Queries>(i);
        for (int q = 0; q < Queries; ++q) {
            const int64_t seen = last_[i + q] + 1 - first_;
            const int64_t unseen = window_ > 0 ? last_[i + q] - window_ + 1 - first_ : 0;
            units_[q] = unit_;
            if (seen < kVector * vectors_ || unseen > 0) mask(i + q, q, seen, unseen);
        }
        Weights weights;
        F sums[Queries];
        for (int q = 0; q < Queries; ++q) sums[q] = soften(i + q, q, weights);
        level(i, sums, weights);
        int q = 0;
        for (; q + kMixedAtOnce <= Queries; q += kMixedAtOnce) mix_some<kMixedAtOnce>(i, q, weights);
        for (; q < Queries; ++q) mix_some<1>(i, q, weights);
    }

    template <int Queries>
    void mix_some(int i, int q, const Weights& weights) {
        int d = 0;
        for (; d + 16 * kWide <= head_dim_; d += 16 * kWide) mix<Queries, kWide>(i, q, d, weights);
        for (; d < head_dim_; d += 16) mix<Queries, 1>(i, q, d, weights);
    }

    // scores[q][key] = products of bytes, times the keys' scales; tops_[q]: the largest, of the softmax.
    template <int Queries>
    TT_APART void score(int i) {
        const int64_t line = s_.batch->block_size * 4;
        const int width = head_dim_;
        F most[Queries];
        for (auto& each : most) each = V::set1(kMasked);
        for (int v = 0; v < vectors_; v += kWide) {
            I dots[Queries][kWide];
            for (int q = 0; q < Queries; ++q) {
                for (auto& dot : dots[q]) dot = V::iset1(starts_[i + q]);
            }
            const int8_t* quads = query(i);
            const uint8_t* keys[kWide];
            for (int w = 0; w < kWide; ++w) keys[w] = k_[v + w];
            for (int64_t at = 0; at < width / 4 * line; at += line, quads += 4) {
                I bytes[kWide];
                for (int w = 0; w < kWide; ++w) bytes[w] = V::load_bytes(keys[w] + at);
                for (int q = 0; q < Queries; ++q) {
                    const I quad = V::repeat_quad(quads + q * width);
                    for (int w = 0; w < kWide; ++w) dots[q][w] = V::dot8(dots[q][w], bytes[w], quad);
                }
            }
            for (int w = 0; w < kWide; ++w) {
                const F scale = V::load(key_scales_ + kVector * (v + w));
                for (int q = 0; q < Queries; ++q) {
                    const F score = V::mul(V::to_float(dots[q][w]), scale);
                    V::store(scratch_.scores + q * kMostSpan + kVector * (v + w), score);
                    most[q] = V::max(most[q], score);
                }
            }
        }
        for (int q = 0; q < Queries; ++q) tops_[q] = V::hmax(most[q]) * scales_[i + q];
    }

    // Turn the scores of query `i`, the q-th of some, into weights: their sum, of sixteen lanes.
    TT_INLINE F soften(int i, int q, Weights& to) const {
        const float* scores = scratch_.scores + q * kMostSpan;
        const F scale = V::set1(scales_[i]), shift = V::set1(units_[q].raise - tops_[q]);
        F sum = V::zero();
        for (int v = 0; v < vectors_; v += 4) {
            F weights[4];
            for (int j = 0; j < 4; ++j) {
                const F p = power_of_two<V>(V::fma(V::load(scores + kVector * (v + j)), scale, shift));
                sum = V::add(sum, p);
                weights[j] = V::mul(p, V::load(value_scales_ + kVector * (v + j)));
            }
            store_weights<V>(to.high[q] + kVector * v, to.low[q] + kVector * v, weights);
        }
        return sum;
    }

    // What brings the sums before and those of this tile to the larger of their maxima, and to values.
    template <int Queries>
    TT_INLINE void level(int i, const F (&sums)[Queries], Weights& to) {
        float changes[16] = {};
        for (int q = 0; q < Queries; ++q) {
            changes[q] = -std::fabs(maxima_[i + q] - tops_[q]);
        }
        V::store(changes, power_of_two<V>(V::load(changes)));
        for (int q = 0; q < Queries; ++q) {
            const bool is_larger = maxima_[i + q] < tops_[q];
            const float shrink = is_larger ? changes[q] : 1.0f, share = is_larger ? 1.0f : changes[q];
            maxima_[i + q] = std::max(maxima_[i + q], tops_[q]);
            to.units[q] = units_[q].size * share;
            float* total = scratch_.sums + (i + q) * 16;
            V::store(total, V::fma(V::load(total), V::set1(shrink), V::mul(sums[q], V::set1(to.units[q]))));
            to.shrink[q] = shrink;
        }
    }

    // Leave what query i, the q-th of some, sees of the tile: keys [unseen, seen). Its numbers are then those of
    // a job of its own: the unit knows no values of later keys.
    TT_APART void mask(int i, int q, int64_t seen, int64_t unseen) {
        const F masked = V::set1(kMasked);
        const int first = static_cast<int>(std::clamp<int64_t>(unseen, 0, span_));
        const int end = static_cast<int>(std::clamp<int64_t>(seen, 0, span_));
        // where nothing is seen, far below all scores, and far above what is masked
        F most = V::set1(1e-6f * kMasked), scales = V::zero();
        for (int v = 0; v < vectors_; ++v) {
            const auto seen_of = [&](F all, F other) {
                return V::first(first - kVector * v, other, V::first(end - kVector * v, all, other));
            };
            float* at = scratch_.scores + q * kMostSpan + kVector * v;
            const F left = seen_of(V::load(at), masked);
            V::store(at, left);
            most = V::max(most, left);
            scales = V::max(scales, seen_of(V::load(value_scales_ + kVector * v), V::zero()));
        }
        tops_[q] = V::hmax(most) * scales_[i];
        units_[q] = unit_of(scales);
    }

    // mixed[i + q][d...] += what the weights of queries q, q + 1, ... make of the values' channels from d on.
    template <int Queries, int Wide>
    TT_APART void mix(int i, int first, int d, const Weights& weights) {
        I high[Queries][Wide], low[Queries][Wide];
        for (int q = 0; q < Queries; ++q) {
            for (int w = 0; w < Wide; ++w) high[q][w] = low[q][w] = V::iset1(0);
        }
        const int64_t stride = kQuad * layout_.code_bytes;
        const int8_t* const upper = weights.high[first];
        const int8_t* const lower = weights.low[first];
        for (int v = 0; kVector * v < keys_; ++v) {
            const uint8_t* codes = v_[v] + kQuad * d;
            for (int quad = 0; quad < kVector / kQuad; ++quad, codes += stride) {
                I values[Wide];
                for (int w = 0; w < Wide; ++w) values[w] = V::load_bytes(codes + 64 * w);
                const int at = 64 * (v / 4) + 4 * weight_quad<V>(v % 4, quad);
                for (int q = 0; q < Queries; ++q) {
                    const I some = V::repeat_quad(upper + q * kMostSpan + at);
                    for (int w = 0; w < Wide; ++w) high[q][w] = V::dot7(high[q][w], some, values[w]);
                    const I rest = V::repeat_quad(lower + q * kMostSpan + at);
                    for (int w = 0; w < Wide; ++w) low[q][w] = V::dot7(low[q][w], rest, values[w]);
                }
            }
        }
        for (int q = 0; q < Queries; ++q) {
            const F unit = V::set1(weights.units[first + q]), shrink = V::set1(weights.shrink[first + q]);
            for (int w = 0; w < Wide; ++w) {
                float* to = scratch_.mixed + (i + first + q) * head_dim_ + d + 16 * w;
                const F sum = V::fma(V::to_float(high[q][w]), V::set1(128.0f), V::to_float(low[q][w]));
                V::store(to, V::fma(sum, unit, V::mul(V::load(to), shrink)));
            }
        }
    }

    const StepState& s_;
    const int layer_;
    AttentionScratch& scratch_;
    const tt_segment* const segments_;
    const int head_dim_;
    const int window_;
    const CodeLayout<TT_KV_INT8> layout_;
    const int span_;     // keys of a tile, a multiple of kKeys
    int count_ = 0;
    int64_t first_ = 0;  // key of the tile
    int keys_ = 0;
    int vectors_ = 0;  // of the tile, of fours
    float tops_[kAtOnce];
    Unit unit_{};        // of queries that see all of the tile
    Unit units_[kAtOnce];
    const uint8_t* k_[kMostVectors];
    const uint8_t* v_[kMostVectors];
    alignas(64) float key_scales_[kMostSpan];
    alignas(64) float value_scales_[kMostSpan];
    int64_t last_[kMaxQueries];
    float maxima_[kMaxQueries];
    float scales_[kMaxQueries];
    int32_t starts_[kMaxQueries];
};

}  // namespace tt
