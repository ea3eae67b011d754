// How one tile of keys is scored and its values are mixed, for any instruction set V: from rows of
// floats, or from quantised codes.
//
// Both offer: begin(queries) once a job, place(segment, kv_head, first, keys) once a tile, then
// score() and mix(). Registers decide how many queries and vectors go together.
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cache.h"
#include "product.h"
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
    void place(const tt_segment& segment, int kv_head, int64_t first, int keys) {
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

// Keys and values as codes. Queries become bytes too, each group of 32 with a scale of its own,
// and scores are sums of products of bytes; values become floats again in registers, or, where
// a prompt's many queries share them, once a tile.
template <class V, int32_t Kind>
class CodeRows {
    using F = typename V::F;
    using I = typename V::I;

  public:
    CodeRows(const StepState& state, int layer)
        : s_(state), layer_(layer), head_dim_(state.model->head_dim), layout_(head_dim_) {}

    void begin(const QueryTile& tile) {
        quants_ = activations_at(tile.scratch.queries, tile.count, head_dim_);
        for (int i = 0; i < tile.count; ++i) {
            const float* row = tile.queries[i];
            quantize_groups<V>(quants_, i, 0, head_dim_ / kGroup, [&](int64_t k) { return V::load(row + k); });
        }
    }

    // Vectors of keys past the end repeat the last one.
    void place(const tt_segment& segment, int kv_head, int64_t first, int keys) {
        const int64_t size = s_.batch->block_size;
        const int64_t* blocks = s_.batch->blocks + segment.first_block;
        keys_ = keys;
        is_prompt_ = segment.length > kFewAttending;
        for (int i = 0; i < kKeys / kVector; ++i) {
            const int64_t token = first + kVector * std::min(i, (keys - 1) / kVector);
            const int64_t block = blocks[token / size];
            k_[i] = code_place<Kind>(s_, layout_, layer_, false, kv_head, block, token % size);
            v_[i] = code_place<Kind>(s_, layout_, layer_, true, kv_head, block, token % size);
        }
    }

    void score(const QueryTile& tile) {
        constexpr int kVectors = V::kManyRegisters ? 2 : 1;
        for (int key = 0; key < keys_; key += kVector * kVectors) {
            in_batches<V>(tile.count, [&](auto queries, int i) {
                score_vectors<decltype(queries)::value, kVectors>(tile, i, key / kVector);
            });
        }
    }

    void mix(const QueryTile& tile) {
        if (is_prompt_) {
            float* rows = tile.scratch.keys;
            decode_values(rows);
            mix_rows<V>(tile, head_dim_, keys_, [&](int key) { return rows + key * head_dim_; });
            return;
        }
        in_batches<V>(tile.count, [&](auto queries, int i) {
            if constexpr (Kind == TT_KV_INT8) {
                mix_bytes<decltype(queries)::value>(tile, i);
            } else {
                mix_nibbles<decltype(queries)::value>(tile, i);
            }
        });
    }

  private:
    template <int Queries, int Vectors>
    void score_vectors(const QueryTile& tile, int i, int first) {
        const int64_t line = s_.batch->block_size * 4;
        F sums[Queries][Vectors];
        for (auto& row : sums) {
            for (auto& sum : row) sum = V::zero();
        }
        for (int g = 0; g < head_dim_ / kGroup; ++g) {
            const int64_t at = g * quants_.rows + i;
            I dots[Queries][Vectors];
            for (int q = 0; q < Queries; ++q) {
                for (auto& dot : dots[q]) dot = V::iset1(Kind == TT_KV_INT8 ? quants_.starts[at + q] : 0);
            }
            add_dots<Queries, Vectors>(dots, first, g, line, quants_.quants + at * kGroup);
            for (int q = 0; q < Queries; ++q) {
                const F scale = V::set1(quants_.scales[at + q]);
                for (int v = 0; v < Vectors; ++v) {
                    const F dot = V::to_float(dots[q][v]);
                    if constexpr (Kind == TT_KV_INT8) {
                        sums[q][v] = V::fma(dot, scale, sums[q][v]);
                    } else {
                        const F zeros = parameters(k_[first + v], layout_.groups + g);
                        const F both = V::mul(parameters(k_[first + v], g), scale);
                        sums[q][v] = V::fma(dot, both, sums[q][v]);
                        sums[q][v] = V::fma(zeros, V::set1(quants_.sums[at + q]), sums[q][v]);
                    }
                }
            }
        }
        for (int q = 0; q < Queries; ++q) {
            float* to = tile.scratch.scores + (i + q) * kKeys + first * kVector;
            for (int v = 0; v < Vectors; ++v) {
                F sum = sums[q][v];
                if constexpr (Kind == TT_KV_INT8) sum = V::mul(sum, parameters(k_[first + v], 0));
                V::store(to + kVector * v, sum);
            }
        }
    }

    // dots[q][v] += group g of the queries that start at `quants` times that of vectors of keys.
    template <int Queries, int Vectors>
    void add_dots(I (&dots)[Queries][Vectors], int first, int g, int64_t line, const int8_t* quants) const {
        constexpr int kLines = Kind == TT_KV_INT8 ? 8 : 4;
        for (int j = 0; j < kLines; ++j) {
            I low[Vectors], high[Vectors];
            for (int v = 0; v < Vectors; ++v) {
                const I bytes = V::load_bytes(k_[first + v].codes + (kLines * g + j) * line);
                low[v] = Kind == TT_KV_INT8 ? bytes : V::low_nibbles(bytes);
                if constexpr (Kind == TT_KV_INT4) high[v] = V::high_nibbles(bytes);
            }
            for (int q = 0; q < Queries; ++q) {
                const int8_t* at = quants + q * kGroup + 4 * j;
                const I quad = V::repeat_quad(at);
                for (int v = 0; v < Vectors; ++v) {
                    if constexpr (Kind == TT_KV_INT8) {
                        dots[q][v] = V::dot8(dots[q][v], low[v], quad);
                    } else {
                        dots[q][v] = V::dot4(dots[q][v], low[v], quad);
                    }
                }
                if constexpr (Kind == TT_KV_INT4) {
                    const I second = V::repeat_quad(at + 16);
                    for (int v = 0; v < Vectors; ++v) dots[q][v] = V::dot4(dots[q][v], high[v], second);
                }
            }
        }
    }

    // Parameter n of sixteen tokens.
    F parameters(const CodePlace& place, int n) const {
        return V::load_half(place.parameters + n * s_.batch->block_size);
    }

    const uint8_t* value_codes(int key) const {
        return v_[key / kVector].codes + (key % kVector) * layout_.code_bytes;
    }

    // weights [Queries, kKeys]: the scores times parameter n of the values; returns nothing past
    // the last key.
    template <int Queries>
    void weigh(const QueryTile& tile, int i, int n, float* weights) const {
        for (int v = 0; kVector * v < keys_; ++v) {
            const F scale = V::first(keys_ - kVector * v, parameters(v_[v], n), V::zero());
            for (int q = 0; q < Queries; ++q) {
                const F score = V::load(tile.scratch.scores + (i + q) * kKeys + kVector * v);
                V::store(weights + q * kKeys + kVector * v, V::mul(score, scale));
            }
        }
    }

    template <int Queries>
    void mix_bytes(const QueryTile& tile, int i) {
        constexpr int kMost = V::kManyRegisters ? 4 : 2;
        alignas(64) float weights[Queries * kKeys];
        weigh<Queries>(tile, i, 0, weights);
        const auto some = [&](auto vectors, int d) {
            constexpr int kVectors = decltype(vectors)::value;
            mix_vectors<V, Queries, kVectors>(
                tile.scratch.mixed + i * head_dim_ + d, head_dim_, weights, keys_, [&](int key, F* v) {
                    const auto* codes = reinterpret_cast<const int8_t*>(value_codes(key)) + d;
                    for (int j = 0; j < kVectors; ++j) v[j] = V::widen_bytes(codes + 16 * j);
                });
        };
        int d = 0;
        for (; d + 16 * kMost <= head_dim_; d += 16 * kMost) some(std::integral_constant<int, kMost>{}, d);
        for (; d < head_dim_; d += 16) some(std::integral_constant<int, 1>{}, d);
    }

    template <int Queries>
    void mix_nibbles(const QueryTile& tile, int i) {
        alignas(64) float weights[Queries * kKeys];
        for (int g = 0; g < layout_.groups; ++g) {
            float* mixed = tile.scratch.mixed + i * head_dim_ + kGroup * g;
            weigh<Queries>(tile, i, layout_.groups + g, weights);
            for (int q = 0; q < Queries; ++q) add_zeros(weights + q * kKeys, mixed + q * head_dim_);
            weigh<Queries>(tile, i, g, weights);
            mix_vectors<V, Queries, 2>(mixed, head_dim_, weights, keys_, [&](int key, F* v) {
                V::widen_nibbles(value_codes(key) + 16 * g, v[0], v[1]);
            });
        }
    }

    // Add the sum of weights to a group of 32.
    void add_zeros(const float* weights, float* mixed) const {
        F sum = V::zero();
        for (int v = 0; kVector * v < keys_; ++v) sum = V::add(sum, V::load(weights + kVector * v));
        const F zero = V::set1(V::hsum(sum));
        V::store(mixed, V::add(V::load(mixed), zero));
        V::store(mixed + 16, V::add(V::load(mixed + 16), zero));
    }

    // rows [keys, head_dim]: the tile's values as floats.
    void decode_values(float* rows) const {
        const int64_t size = s_.batch->block_size;
        for (int key = 0; key < keys_; ++key) {
            const uint8_t* codes = value_codes(key);
            const uint16_t* from = v_[key / kVector].parameters + key % kVector;
            float* row = rows + key * head_dim_;
            if constexpr (Kind == TT_KV_INT8) {
                const F scale = V::set1(half_to_float(*from));
                for (int d = 0; d < head_dim_; d += 16) {
                    const auto* bytes = reinterpret_cast<const int8_t*>(codes) + d;
                    V::store(row + d, V::mul(V::widen_bytes(bytes), scale));
                }
            } else {
                for (int g = 0; g < layout_.groups; ++g) {
                    const F scale = V::set1(half_to_float(from[g * size]));
                    const F zero = V::set1(half_to_float(from[(layout_.groups + g) * size]));
                    F low, high;
                    V::widen_nibbles(codes + 16 * g, low, high);
                    V::store(row + kGroup * g, V::fma(low, scale, zero));
                    V::store(row + kGroup * g + 16, V::fma(high, scale, zero));
                }
            }
        }
    }

    const StepState& s_;
    const int layer_;
    const int head_dim_;
    const CodeLayout<Kind> layout_;
    int keys_ = 0;
    bool is_prompt_ = false;
    Activations quants_;
    CodePlace k_[kKeys / kVector];
    CodePlace v_[kKeys / kVector];
};

}  // namespace tt
