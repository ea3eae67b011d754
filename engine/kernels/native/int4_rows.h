// How one tile of keys is scored and its values are mixed, for any instruction set V: from an INT4 cache.
// It offers what rows.h tells.
#pragma once
#include <algorithm>
#include <cstdint>

#include "product.h"
#include "rows.h"

namespace tt {

// A tile's weights of some queries, each query's in units of its own: 128 * high + low. Scores past a
// 16,000th of the tile's largest are not lost to it, and no product of bytes overflows 16 bits.
template <int Queries>
struct TileWeights {
    alignas(64) int8_t high[Queries][kKeys];
    alignas(64) int8_t low[Queries][kKeys];
    float units[Queries];
};

// Keys and values as codes. Queries become bytes too, each group of 32 with a scale of its own, and so do the
// weights of a tile: both scores and what is mixed are sums of products of bytes.
template <class V>
class Int4Rows {
    using F = typename V::F;
    using I = typename V::I;

  public:
    Int4Rows(const StepState& state, int layer)
        : s_(state), layer_(layer), head_dim_(state.model->head_dim), layout_(head_dim_) {}

    void begin(const QueryTile& tile) {
        quants_ = activations_at(tile.scratch.queries, tile.count, head_dim_);
        for (int i = 0; i < tile.count; ++i) {
            const float* row = tile.queries[i];
            quantize_groups<V>(quants_, i, 0, head_dim_ / kGroup, [&](int64_t k) { return V::load(row + k); });
        }
    }

    // Vectors of keys past the end repeat the last one. `end`: of the job's keys.
    void place(const tt_segment& segment, int kv_head, int64_t first, int keys, int64_t end) {
        const int64_t size = s_.batch->block_size;
        const int64_t* blocks = s_.batch->blocks + segment.first_block;
        keys_ = keys;
        for (int i = 0; i < kKeys / kVector; ++i) {
            const int64_t token = first + kVector * std::min(i, (keys - 1) / kVector);
            const int64_t block = blocks[token / size];
            k_[i] = code_place<TT_KV_INT4>(s_, layout_, layer_, false, kv_head, block, token % size);
            v_[i] = code_place<TT_KV_INT4>(s_, layout_, layer_, true, kv_head, block, token % size);
        }
        if (first + kKeys < end) bring(blocks, kv_head, first + kKeys, end);
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
        in_batches<V>(tile.count, [&](auto queries, int i) { mix_some<decltype(queries)::value>(tile, i); });
    }

  private:
    // Have the next tile brought nearer: hardware sees no pattern in blocks, and looks no further than a page.
    void bring(const int64_t* blocks, int kv_head, int64_t first, int64_t end) const {
        const int64_t size = s_.batch->block_size;
        for (int64_t token = first; token < std::min(first + kKeys, end); token += kVector) {
            for (const bool is_value : {false, true}) {
                const CodePlace from =
                    code_place<TT_KV_INT4>(s_, layout_, layer_, is_value, kv_head, blocks[token / size], token % size);
                const int64_t stride = is_value ? 64 : size * 4;  // from line to line of sixteen tokens
                for (int64_t i = 0; i < layout_.code_bytes / 4; ++i) TT_PREFETCH(from.codes + i * stride);
                TT_PREFETCH(from.parameters);
            }
        }
    }

    template <int Queries, int Vectors>
    void score_vectors(const QueryTile& tile, int i, int first) {
        const int64_t line = s_.batch->block_size * 4;
        F sums[Queries][Vectors];
        for (auto& row : sums) {
            for (auto& sum : row) sum = V::zero();
        }
        for (int g = 0; g < layout_.groups; ++g) add_group<Queries, Vectors>(sums, i, first, g, line);
        for (int q = 0; q < Queries; ++q) {
            float* to = tile.scratch.scores + (i + q) * kKeys + first * kVector;
            for (int v = 0; v < Vectors; ++v) V::store(to + kVector * v, sums[q][v]);
        }
    }

    // sums[q][v] += what group g adds to the scores of vectors of keys.
    template <int Queries, int Vectors>
    TT_INLINE void add_group(F (&sums)[Queries][Vectors], int i, int first, int g, int64_t line) const {
        const int64_t at = quants_.row(i).at(g);
        I dots[Queries][Vectors];
        for (auto& row : dots) {
            for (auto& dot : row) dot = V::iset1(0);
        }
        add_dots<Queries, Vectors>(dots, first, g, line, quants_.quants + at * kGroup);
        for (int q = 0; q < Queries; ++q) {
            const F scale = V::set1(quants_.scales[at + q]);
            for (int v = 0; v < Vectors; ++v) {
                const F zeros = parameters(k_[first + v], layout_.groups + g);
                const F both = V::mul(parameters(k_[first + v], g), scale);
                sums[q][v] = V::fma(V::to_float(dots[q][v]), both, sums[q][v]);
                sums[q][v] = V::fma(zeros, V::set1(quants_.sums[at + q]), sums[q][v]);
            }
        }
    }

    // dots[q][v] += group g of the queries that start at `quants` times that of vectors of keys.
    template <int Queries, int Vectors>
    void add_dots(I (&dots)[Queries][Vectors], int first, int g, int64_t line, const int8_t* quants) const {
        for (int j = 0; j < 4; ++j) {
            I low[Vectors], high[Vectors];
            for (int v = 0; v < Vectors; ++v) {
                const I bytes = V::load_bytes(k_[first + v].codes + (4 * g + j) * line);
                low[v] = V::low_nibbles(bytes);
                high[v] = V::high_nibbles(bytes);
            }
            for (int q = 0; q < Queries; ++q) {
                const int8_t* at = quants + q * kGroup + 4 * j;
                const I quad = V::repeat_quad(at), second = V::repeat_quad(at + 16);
                for (int v = 0; v < Vectors; ++v) dots[q][v] = V::dot7(dots[q][v], low[v], quad);
                for (int v = 0; v < Vectors; ++v) dots[q][v] = V::dot7(dots[q][v], high[v], second);
            }
        }
    }

    // Parameter n of sixteen tokens.
    F parameters(const CodePlace& place, int n) const {
        return V::load_half(place.parameters + n * s_.batch->block_size);
    }

    // Weigh some queries' scores by parameter n of the values. Nothing is past the last key.
    template <int Queries>
    TileWeights<Queries> weigh(const QueryTile& tile, int i, int n) const {
        TileWeights<Queries> to;
        F scales[kKeys / kVector];
        for (int v = 0; v < kKeys / kVector; ++v) scales[v] = value_parameters(v, n);
        for (int q = 0; q < Queries; ++q) {
            F weights[kKeys / kVector], most = V::zero();
            for (int v = 0; v < kKeys / kVector; ++v) {
                weights[v] = V::mul(V::load(tile.scratch.scores + (i + q) * kKeys + kVector * v), scales[v]);
                most = V::max(most, weights[v]);
            }
            const float limit = V::hmax(most);
            const F inverse = V::set1(limit > 1e-30f ? kMostWeight / limit : 0.0f);
            to.units[q] = limit / kMostWeight;
            for (int v = 0; v < kKeys / kVector; ++v) {
                I high, low;
                V::split7(V::to_int(V::mul(weights[v], inverse)), high, low);
                V::store_bytes(to.high[q] + kVector * v, high);
                V::store_bytes(to.low[q] + kVector * v, low);
            }
        }
        return to;
    }

    // Parameter n of vector v of the tile's values, zero past the last key.
    F value_parameters(int v, int n) const {
        const int left = keys_ - kVector * v;
        if (left <= 0) return V::zero();
        return V::first(left, parameters(v_[v], n), V::zero());
    }

    template <int Queries>
    void mix_some(const QueryTile& tile, int i) const {
        float* mixed = tile.scratch.mixed + i * head_dim_;
        for (int g = 0; g < layout_.groups; ++g) {
            add_zeros<Queries>(tile, i, g, mixed + kGroup * g);
            add_products<Queries>(weigh<Queries>(tile, i, g), g, mixed + kGroup * g);
        }
    }

    // mixed[q] += what weights make of group g of the values.
    template <int Queries>
    void add_products(const TileWeights<Queries>& weights, int g, float* mixed) const {
        I high[Queries][2], low[Queries][2];
        for (int q = 0; q < Queries; ++q) {
            for (int j = 0; j < 2; ++j) high[q][j] = low[q][j] = V::iset1(0);
        }
        const int64_t stride = kQuad * layout_.code_bytes;
        for (int v = 0; kVector * v < keys_; ++v) {
            const uint8_t* codes = v_[v].codes + kQuad * 16 * g;
            for (int quad = 0; quad < kVector / kQuad; ++quad) {
                const int key = kVector * v + kQuad * quad;
                const I both = V::load_bytes(codes + quad * stride);
                const I values[2] = {V::low_nibbles(both), V::high_nibbles(both)};
                for (int q = 0; q < Queries; ++q) {
                    const I some = V::repeat_quad(weights.high[q] + key);
                    for (int j = 0; j < 2; ++j) high[q][j] = V::dot7(high[q][j], some, values[j]);
                    const I rest = V::repeat_quad(weights.low[q] + key);
                    for (int j = 0; j < 2; ++j) low[q][j] = V::dot7(low[q][j], rest, values[j]);
                }
            }
        }
        for (int q = 0; q < Queries; ++q) {
            const F unit = V::set1(weights.units[q]);
            for (int j = 0; j < 2; ++j) {
                float* to = mixed + q * head_dim_ + 16 * j;
                const F sum = V::fma(V::to_float(high[q][j]), V::set1(128.0f), V::to_float(low[q][j]));
                V::store(to, V::fma(sum, unit, V::load(to)));
            }
        }
    }

    // Add the scores' sums of the zeros of group g.
    template <int Queries>
    void add_zeros(const QueryTile& tile, int i, int g, float* mixed) const {
        F zeros[kKeys / kVector];
        for (int v = 0; v < kKeys / kVector; ++v) zeros[v] = value_parameters(v, layout_.groups + g);
        for (int q = 0; q < Queries; ++q) {
            F sum = V::zero();
            for (int v = 0; v < kKeys / kVector; ++v) {
                sum = V::fma(V::load(tile.scratch.scores + (i + q) * kKeys + kVector * v), zeros[v], sum);
            }
            const F zero = V::set1(V::hsum(sum));
            float* to = mixed + q * head_dim_;
            V::store(to, V::add(V::load(to), zero));
            V::store(to + 16, V::add(V::load(to + 16), zero));
        }
    }

    const StepState& s_;
    const int layer_;
    const int head_dim_;
    const CodeLayout<TT_KV_INT4> layout_;
    int keys_ = 0;
    Activations quants_;
    CodePlace k_[kKeys / kVector];
    CodePlace v_[kKeys / kVector];
};

}  // namespace tt
