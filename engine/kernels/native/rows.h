// How one tile of keys is scored and its values are mixed, for any instruction set V: from rows of
// floats. From an INT4 cache: int4_rows.h.
//
// Both offer: begin(queries) once a job, place(segment, kv_head, first, keys, end) once a tile, then
// score() and mix(). Registers decide how many queries and vectors go together.
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cache.h"
#include "state.h"

namespace tt {

// The queries of one job: all that share a K/V head, of some rows.
struct QueryTile {
    int count;
    const float* queries[kMaxQueries];
    AttentionScratch& scratch;
};

// Call f(number, i) for all i in [0, count), `number` of them at a time, as a type.
template <class V, class F>
inline void in_batches(int count, const F& f) {
    constexpr int kMost = V::kManyRegisters ? 4 : 2;
    int i = 0;
    for (; i + kMost <= count; i += kMost) f(std::integral_constant<int, kMost>{}, i);
    switch (count - i) {
        case 3: return f(std::integral_constant<int, 3>{}, i);
        case 2: return f(std::integral_constant<int, 2>{}, i);
        case 1: return f(std::integral_constant<int, 1>{}, i);
        default: return;
    }
}

// mixed[q] += the sum over keys of weights[q, key] times load(key, j), q < Queries, j < Vectors.
template <class V, int Queries, int Vectors, class Load>
inline void mix_vectors(float* mixed, int64_t stride, const float* weights, int keys, const Load& load) {
    typename V::F sums[Queries][Vectors];
    for (int q = 0; q < Queries; ++q) {
        for (int j = 0; j < Vectors; ++j) sums[q][j] = V::load(mixed + q * stride + 16 * j);
    }
    for (int key = 0; key < keys; ++key) {
        typename V::F v[Vectors];
        load(key, v);
        for (int q = 0; q < Queries; ++q) {
            const auto p = V::set1(weights[q * kKeys + key]);
            for (int j = 0; j < Vectors; ++j) sums[q][j] = V::fma(p, v[j], sums[q][j]);
        }
    }
    for (int q = 0; q < Queries; ++q) {
        for (int j = 0; j < Vectors; ++j) V::store(mixed + q * stride + 16 * j, sums[q][j]);
    }
}

// mixed [tile.count, head_dim] += scores times rows of T; row(key) is where one starts.
template <class V, class Row>
inline void mix_rows(const QueryTile& tile, int head_dim, int keys, const Row& row) {
    constexpr int kMost = V::kManyRegisters ? 4 : 2;
    const auto some = [&](auto vectors, int d) {
        in_batches<V>(tile.count, [&](auto queries, int i) {
            constexpr int kVectors = decltype(vectors)::value;
            mix_vectors<V, decltype(queries)::value, kVectors>(
                tile.scratch.mixed + i * head_dim + d, head_dim, tile.scratch.scores + i * kKeys, keys,
                [&](int key, typename V::F* v) {
                    for (int j = 0; j < kVectors; ++j) v[j] = V::load_kv(row(key) + d + 16 * j);
                });
        });
    };
    int d = 0;
    for (; d + 16 * kMost <= head_dim; d += 16 * kMost) some(std::integral_constant<int, kMost>{}, d);
    for (; d < head_dim; d += 16) some(std::integral_constant<int, 1>{}, d);
}

// Keys and values as rows of T, read in place; keys are turned on their side first, so that
// sixteen are scored at a time.
template <class V, class T>
class FloatRows {
    using F = typename V::F;

  public:
    FloatRows(const StepState& state, int layer) : s_(state), layer_(layer), head_dim_(state.model->head_dim) {}

    void begin(const QueryTile&) {}

    // Rows past the end repeat the last one.
    void place(const tt_segment& segment, int kv_head, int64_t first, int keys, int64_t) {
        const tt_batch& batch = *s_.batch;
        const tt_cache& cache = cache_of(s_, layer_);
        const T* pool = static_cast<const T*>(cache.pool);
        const T* k = pool + plane_of(s_, layer_, false, kv_head) * cache.num_slots * head_dim_;
        const T* v = pool + plane_of(s_, layer_, true, kv_head) * cache.num_slots * head_dim_;
        const int64_t* blocks = batch.blocks + segment.first_block;
        keys_ = keys;
        for (int i = 0; i < kKeys; ++i) {
            const int64_t token = first + std::min(i, keys - 1);
            const int64_t block = blocks[token / batch.block_size];
            const int64_t slot = block * batch.block_size + token % batch.block_size;
            k_rows_[i] = k + slot * head_dim_;
            v_rows_[i] = v + slot * head_dim_;
        }
    }

    void score(const QueryTile& tile) {
        float* turned = tile.scratch.keys;
        for (int key = 0; key < keys_; key += kVector) {
            for (int d = 0; d < head_dim_; d += 16) {
                const T* part[16];
                for (int i = 0; i < 16; ++i) part[i] = k_rows_[key + i] + d;
                V::transpose(part, turned + d * kKeys + key, kKeys);
            }
        }
        constexpr int kMost = V::kManyRegisters ? 4 : 2;
        for (int key = 0; key < keys_; key += kVector * kMost) {
            in_batches<V>(tile.count, [&](auto queries, int i) {
                score_vectors<decltype(queries)::value, kMost>(tile, i, key);
            });
        }
    }

    void mix(const QueryTile& tile) {
        mix_rows<V>(tile, head_dim_, keys_, [&](int key) { return v_rows_[key]; });
    }

  private:
    template <int Queries, int Vectors>
    void score_vectors(const QueryTile& tile, int i, int first) {
        F sums[Queries][Vectors];
        for (auto& row : sums) {
            for (auto& sum : row) sum = V::zero();
        }
        const float* keys = tile.scratch.keys + first;
        for (int d = 0; d < head_dim_; ++d, keys += kKeys) {
            F k[Vectors];
            for (int j = 0; j < Vectors; ++j) k[j] = V::load(keys + 16 * j);
            for (int q = 0; q < Queries; ++q) {
                const F x = V::set1(tile.queries[i + q][d]);
                for (int j = 0; j < Vectors; ++j) sums[q][j] = V::fma(x, k[j], sums[q][j]);
            }
        }
        for (int q = 0; q < Queries; ++q) {
            float* to = tile.scratch.scores + (i + q) * kKeys + first;
            for (int j = 0; j < Vectors; ++j) V::store(to + 16 * j, sums[q][j]);
        }
    }

    const StepState& s_;
    const int layer_;
    const int head_dim_;
    int keys_ = 0;
    const T* k_rows_[kKeys];
    const T* v_rows_[kKeys];
};

}  // namespace tt
