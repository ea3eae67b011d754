// Causal attention over the paged cache, read in place, for any instruction set V.
//
// A job is some rows of one request, one K/V head and a run of keys. Keys go by in tiles of 64:
// their K is turned on its side once, so that sixteen keys are scored at a time by every query
// that shares the head, and the softmax is kept up to date tile by tile.
#pragma once
#include <algorithm>
#include <cstdint>

#include "state.h"

namespace tt {

constexpr float kMasked = -1e30f;  // finite: the difference of two masked scores is a number

// 2 to the power of x * log2(e); below about -87 the result is as good as zero.
template <class V>
inline typename V::F exponential(typename V::F x) {
    const auto t = V::mul(V::max(x, V::set1(-87.0f)), V::set1(1.44269504f));
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

template <class V, class T>
class Attention {
    using F = typename V::F;

  public:
    Attention(const StepState& state, int layer, AttentionScratch& scratch)
        : s_(state), layer_(layer), scratch_(scratch), head_dim_(state.model->head_dim) {
        window_ = state.model->layers[layer].window;
    }

    void run(const AttentionJob& job) {
        const tt_segment& segment = s_.batch->segments[job.segment];
        const int group = s_.model->num_heads / s_.model->num_kv_heads;
        rows_ = job.rows;
        count_ = job.rows * group;
        const int64_t top = segment.start + job.first_row;
        for (int i = 0; i < count_; ++i) {
            const int64_t column = (int64_t{job.kv_head} * group + i % group) * head_dim_;
            queries_[i] = s_.qkv + (top + i / group) * s_.qkv_width + column;
            last_[i] = segment.context + job.first_row + i / group;
            maxima_[i] = kMasked;
            V::store(scratch_.sums + i * 16, V::zero());
        }
        std::fill_n(scratch_.mixed, count_ * head_dim_, 0.0f);
        const int64_t oldest = window_ > 0 ? std::max<int64_t>(0, last_[0] - window_ + 1) : 0;
        const int64_t start = std::max(job.first_key, oldest / kKeys * kKeys);
        const int64_t end = std::min(job.end_key, last_[count_ - 1] + 1);
        for (int64_t key = start; key < end; key += kKeys) {
            tile(segment, job.kv_head, key, static_cast<int>(std::min<int64_t>(kKeys, end - key)));
        }
        if (job.partial >= 0) {
            keep_partial(job);
        } else {
            finish(job, top, group);
        }
    }

  private:
    void tile(const tt_segment& segment, int kv_head, int64_t first, int keys) {
        const T* k_rows[kKeys];
        const T* v_rows[kKeys];
        locate(segment, kv_head, first, keys, k_rows, v_rows);
        for (int key = 0; key < kKeys; key += 16) {
            for (int d = 0; key < keys && d < head_dim_; d += 16) {
                const T* part[16];
                for (int i = 0; i < 16; ++i) part[i] = k_rows[key + i] + d;
                V::transpose(part, scratch_.keys + d * kKeys + key, kKeys);
            }
        }
        int i = 0;
        for (; i + 4 <= count_; i += 4) score<4>(i);
        if (i + 2 <= count_) score<2>(i), i += 2;
        if (i < count_) score<1>(i);
        for (i = 0; i < count_; ++i) soften(i, first, keys);
        for (int d = 0; d < head_dim_;) {
            // 64 dimensions of 4 queries are all the registers there are
            const int vectors = std::min(4, (head_dim_ - d) / 16);
            for (i = 0; i + 4 <= count_; i += 4) mix<4>(i, d, vectors, v_rows, keys);
            if (i + 2 <= count_) mix<2>(i, d, vectors, v_rows, keys), i += 2;
            if (i < count_) mix<1>(i, d, vectors, v_rows, keys);
            d += vectors * 16;
        }
    }

    // Where the tile's K and V rows lie; rows past the end repeat the last one and are masked.
    void locate(const tt_segment& segment, int kv_head, int64_t first, int keys, const T** k_rows,
                const T** v_rows) const {
        const tt_batch& batch = *s_.batch;
        const int64_t heads = s_.model->num_kv_heads;
        const T* layer = static_cast<const T*>(batch.pool) +
                         int64_t{layer_} * 2 * heads * batch.num_slots * head_dim_;
        const T* k = layer + kv_head * batch.num_slots * head_dim_;
        const T* v = k + heads * batch.num_slots * head_dim_;
        const int64_t* blocks = batch.blocks + segment.first_block;
        for (int i = 0; i < kKeys; ++i) {
            const int64_t token = first + std::min(i, keys - 1);
            const int64_t block = blocks[token / batch.block_size];
            const int64_t slot = block * batch.block_size + token % batch.block_size;
            k_rows[i] = k + slot * head_dim_;
            v_rows[i] = v + slot * head_dim_;
        }
    }

    template <int Queries>
    void score(int i) {
        F sums[Queries][4];
        for (auto& row : sums) {
            for (auto& sum : row) sum = V::zero();
        }
        const float* keys = scratch_.keys;
        for (int d = 0; d < head_dim_; ++d, keys += kKeys) {
            F k[4];
            for (int j = 0; j < 4; ++j) k[j] = V::load(keys + 16 * j);
            for (int q = 0; q < Queries; ++q) {
                const F x = V::set1(queries_[i + q][d]);
                for (int j = 0; j < 4; ++j) sums[q][j] = V::fma(x, k[j], sums[q][j]);
            }
        }
        for (int q = 0; q < Queries; ++q) {
            float* to = scratch_.scores + (i + q) * kKeys;
            for (int j = 0; j < 4; ++j) V::store(to + 16 * j, sums[q][j]);
        }
    }

    // Mask the scores of query `i`, turn them into weights, and bring its sums to the new maximum.
    void soften(int i, int64_t first, int keys) {
        float* scores = scratch_.scores + i * kKeys;
        const int seen = static_cast<int>(std::min<int64_t>(keys, last_[i] + 1 - first));
        const int64_t oldest = window_ > 0 ? last_[i] - window_ + 1 : 0;
        const int unseen = static_cast<int>(std::clamp<int64_t>(oldest - first, 0, kKeys));
        const F masked = V::set1(kMasked);
        F s[4], most = masked;
        for (int j = 0; j < 4; ++j) {
            s[j] = V::first(seen - 16 * j, V::load(scores + 16 * j), masked);
            s[j] = V::first(unseen - 16 * j, masked, s[j]);
            most = V::max(most, s[j]);
        }
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

    template <int Queries>
    void mix(int i, int d, int vectors, const T* const* v_rows, int keys) {
        switch (vectors) {
            case 4: return mix_vectors<Queries, 4>(i, d, v_rows, keys);
            case 3: return mix_vectors<Queries, 3>(i, d, v_rows, keys);
            case 2: return mix_vectors<Queries, 2>(i, d, v_rows, keys);
            default: return mix_vectors<Queries, 1>(i, d, v_rows, keys);
        }
    }

    template <int Queries, int Vectors>
    void mix_vectors(int i, int d, const T* const* v_rows, int keys) {
        float* mixed = scratch_.mixed + i * head_dim_ + d;
        const float* weights = scratch_.scores + i * kKeys;
        F sums[Queries][Vectors];
        for (int q = 0; q < Queries; ++q) {
            for (int j = 0; j < Vectors; ++j) sums[q][j] = V::load(mixed + q * head_dim_ + 16 * j);
        }
        for (int key = 0; key < keys; ++key) {
            F v[Vectors];
            for (int j = 0; j < Vectors; ++j) v[j] = V::load_kv(v_rows[key] + d + 16 * j);
            for (int q = 0; q < Queries; ++q) {
                const F p = V::set1(weights[q * kKeys + key]);
                for (int j = 0; j < Vectors; ++j) sums[q][j] = V::fma(p, v[j], sums[q][j]);
            }
        }
        for (int q = 0; q < Queries; ++q) {
            for (int j = 0; j < Vectors; ++j) V::store(mixed + q * head_dim_ + 16 * j, sums[q][j]);
        }
    }

    void finish(const AttentionJob& job, int64_t top, int group) const {
        for (int i = 0; i < count_; ++i) {
            const F factor = V::set1(1.0f / V::hsum(V::load(scratch_.sums + i * 16)));
            const int64_t head = int64_t{job.kv_head} * group + i % group;
            float* to = s_.mixed + (top + i / group) * s_.mixed_width + head * head_dim_;
            const float* from = scratch_.mixed + i * head_dim_;
            for (int d = 0; d < head_dim_; d += 16) V::store(to + d, V::mul(V::load(from + d), factor));
        }
    }

    // A partial result is head_dim sums, the maximum and the sum of weights, padded to 16.
    void keep_partial(const AttentionJob& job) const {
        for (int i = 0; i < count_; ++i) {
            float* to = s_.partials + (job.partial + int64_t{i} * job.parts) * (head_dim_ + 16);
            std::copy_n(scratch_.mixed + i * head_dim_, head_dim_, to);
            to[head_dim_] = maxima_[i];
            to[head_dim_ + 1] = V::hsum(V::load(scratch_.sums + i * 16));
        }
    }

    const StepState& s_;
    const int layer_;
    AttentionScratch& scratch_;
    const int head_dim_;
    int window_;
    int rows_ = 0;
    int count_ = 0;
    const float* queries_[kMaxQueries];
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
