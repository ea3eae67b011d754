// Causal attention over the paged cache, read in place, for any instruction set V.
//
// A job is some rows of one request, one K/V head, and all of their keys or a part. Keys go by in tiles of
// 64, scored by every query that shares the head, and the softmax is kept up to date tile by tile.
// How keys and values are read is told in rows.h and int4_rows.h; an INT8 cache has an attention of its own,
// int8_attention.h.
#pragma once
#include <algorithm>
#include <cstdint>

#include "int4_rows.h"
#include "rows.h"
#include "state.h"

namespace tt {

constexpr float kMasked = -1e30f;  // finite: the difference of two masked scores is a number

// 2 to the power of x * log2(e). Below -60 the result is as good as zero, and no product with it so small
// that the processor takes its slow way.
template <class V>
inline typename V::F exponential(typename V::F x) {
    const auto t = V::mul(V::max(x, V::set1(-60.0f)), V::set1(1.44269504f));
    const auto n = V::round(t);
    const auto f = V::sub(t, n);
    // Taylor's series of 2^f for |f| <= 1/2: an error of 3e-7
    auto p = V::set1(1.5403530e-4f);
    p = V::fma(p, f, V::set1(1.3333558e-3f));
    p = V::fma(p, f, V::set1(9.6181291e-3f));
    p = V::fma(p, f, V::set1(5.5504109e-2f));
    p = V::fma(p, f, V::set1(2.4022651e-1f));
    p = V::fma(p, f, V::set1(6.9314718e-1f));
    p = V::fma(p, f, V::set1(1.0f));
    return V::scale2(p, n);
}

// Of the keys that any row from `first` to `last` sees those of the job's part, whole tiles but for the last.
inline std::pair<int64_t, int64_t> keys_of(const AttentionJob& job, int64_t first, int64_t last, int window,
                                           int tile) {
    const int64_t oldest = window > 0 ? std::max<int64_t>(0, first - window + 1) : 0;
    const int64_t start = oldest / tile * tile, end = last + 1;
    if (job.part < 0) return {start, end};
    return {std::max(start, job.part * kPart), std::min(end, (job.part + 1) * kPart)};
}

// Where head_dim channels of the i-th query of a job go, and its row of the batch.
struct QueryPlace {
    size_t row;
    int64_t head;

    QueryPlace(const StepState& s, const AttentionJob& job, int64_t top, int i) {
        const int group = s.model->num_heads / s.model->num_kv_heads;
        row = static_cast<size_t>(top + i / group);
        head = int64_t{job.kv_head} * group + i % group;
    }
};

// What a job mixed, over the sums of its weights.
template <class V>
inline void finish(const StepState& s, const AttentionJob& job, int64_t top, const AttentionScratch& scratch) {
    const int head_dim = s.model->head_dim;
    const int count = job.rows * (s.model->num_heads / s.model->num_kv_heads);
    for (int i = 0; i < count; ++i) {
        const auto factor = V::set1(1.0f / V::hsum(V::load(scratch.sums + i * 16)));
        const QueryPlace place(s, job, top, i);
        float* to = s.mixed + static_cast<int64_t>(place.row) * s.mixed_width + place.head * head_dim;
        const float* from = scratch.mixed + i * head_dim;
        for (int d = 0; d < head_dim; d += 16) V::store(to + d, V::mul(V::load(from + d), factor));
        if (is_quantised(s.batch->kv_type)) rotate<V>(s, to);
    }
}

// A partial result is head_dim sums, the maximum and the sum of weights, padded to 16.
template <class V>
inline void keep_partial(const StepState& s, const AttentionJob& job, int64_t top, const AttentionScratch& scratch,
                         const float* maxima) {
    const int head_dim = s.model->head_dim;
    const int count = job.rows * (s.model->num_heads / s.model->num_kv_heads);
    for (int i = 0; i < count; ++i) {
        const QueryPlace place(s, job, top, i);
        const int64_t at = s.row_partial[place.row] + place.head * s.row_parts[place.row] + job.part;
        float* to = s.partials + at * (head_dim + 16);
        std::copy_n(scratch.mixed + i * head_dim, head_dim, to);
        to[head_dim] = maxima[i];
        to[head_dim + 1] = V::hsum(V::load(scratch.sums + i * 16));
    }
}

template <class V, class Rows>
class Attention {
    using F = typename V::F;

  public:
    Attention(const StepState& state, int layer, AttentionScratch& scratch)
        : s_(state), scratch_(scratch), segments_(cache_of(state, layer).segments), head_dim_(state.model->head_dim),
          window_(state.model->layers[layer].window), rows_(state, layer), tile_{0, {}, scratch} {}

    void run(const AttentionJob& job) {
        const tt_segment& segment = segments_[job.segment];
        const int group = s_.model->num_heads / s_.model->num_kv_heads;
        count_ = tile_.count = job.rows * group;
        const int64_t top = segment.start + job.first_row;
        for (int i = 0; i < count_; ++i) {
            const int64_t column = (int64_t{job.kv_head} * group + i % group) * head_dim_;
            tile_.queries[i] = s_.qkv + (top + i / group) * s_.qkv_width + column;
            last_[i] = segment.context + job.first_row + i / group;
            maxima_[i] = kMasked;
            V::store(scratch_.sums + i * 16, V::zero());
        }
        std::fill_n(scratch_.mixed, count_ * head_dim_, 0.0f);
        const auto [start, end] = keys_of(job, last_[0], last_[count_ - 1], window_, kKeys);
        if (start < end) rows_.begin(tile_);
        for (int64_t key = start; key < end; key += kKeys) {
            const int keys = static_cast<int>(std::min<int64_t>(kKeys, end - key));
            rows_.place(segment, job.kv_head, key, keys, end);
            rows_.score(tile_);
            for (int i = 0; i < count_; ++i) soften(i, key, keys);
            rows_.mix(tile_);
        }
        if (job.part >= 0) {
            keep_partial<V>(s_, job, top, scratch_, maxima_);
        } else {
            finish<V>(s_, job, top, scratch_);
        }
    }

  private:
    // Mask the scores of query `i`, turn them into weights, and bring its sums to the new maximum.
    void soften(int i, int64_t first, int keys) {
        float* scores = scratch_.scores + i * kKeys;
        const int seen = static_cast<int>(std::min<int64_t>(keys, last_[i] + 1 - first));
        const int64_t oldest = window_ > 0 ? last_[i] - window_ + 1 : 0;
        const int unseen = static_cast<int>(std::clamp<int64_t>(oldest - first, 0, kKeys));
        const F masked = V::set1(kMasked);
        F s[4], most = masked;
        for (int j = 0; j < 4; ++j) s[j] = V::load(scores + 16 * j);
        if (seen < kKeys || unseen > 0) {
            for (int j = 0; j < 4; ++j) {
                s[j] = V::first(seen - 16 * j, s[j], masked);
                s[j] = V::first(unseen - 16 * j, masked, s[j]);
            }
        }
        for (const F& part : s) most = V::max(most, part);
        const float maximum = std::max(maxima_[i], V::hmax(most));
        const F shift = V::set1(maximum);
        F sum = V::zero();
        for (int j = 0; j < 4; ++j) {
            const F p = exponential<V>(V::sub(s[j], shift));
            sum = V::add(sum, p);
            V::store(scores + 16 * j, p);
        }
        float* sums = scratch_.sums + i * 16;
        if (maximum > maxima_[i]) {
            const F old = exponential<V>(V::set1(maxima_[i] - maximum));
            sum = V::fma(V::load(sums), old, sum);
            float* mixed = scratch_.mixed + i * head_dim_;
            for (int d = 0; d < head_dim_; d += 16) V::store(mixed + d, V::mul(V::load(mixed + d), old));
            maxima_[i] = maximum;
        } else {
            sum = V::add(V::load(sums), sum);
        }
        V::store(sums, sum);
    }

    const StepState& s_;
    AttentionScratch& scratch_;
    const tt_segment* const segments_;
    const int head_dim_;
    const int window_;
    Rows rows_;
    QueryTile tile_;
    int count_ = 0;
    int64_t last_[kMaxQueries];
    float maxima_[kMaxQueries];
};

// to [head_dim]: the parts of one query's attention put together.
template <class V>
inline void join_parts(const float* parts, int count, int head_dim, float* to) {
    const int64_t stride = head_dim + 16;
    float maximum = kMasked;
    for (int p = 0; p < count; ++p) maximum = std::max(maximum, parts[p * stride + head_dim]);
    float total = 0.0f;
    std::fill_n(to, head_dim, 0.0f);
    for (int p = 0; p < count; ++p) {
        const float* part = parts + p * stride;
        const auto weight = exponential<V>(V::set1(part[head_dim] - maximum));
        total += V::hsum(weight) / 16.0f * part[head_dim + 1];
        for (int d = 0; d < head_dim; d += 16) {
            V::store(to + d, V::fma(weight, V::load(part + d), V::load(to + d)));
        }
    }
    const auto factor = V::set1(1.0f / total);
    for (int d = 0; d < head_dim; d += 16) V::store(to + d, V::mul(V::load(to + d), factor));
}

}  // namespace tt
