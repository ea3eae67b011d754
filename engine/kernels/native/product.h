// Products of packed weights with quantised activations, for any instruction set V.
#pragma once
#include <algorithm>
#include <cstdint>

#include "layout.h"
#include "target.h"
#include "team.h"

namespace tt {

constexpr int64_t kNearBytes = 32 << 10;  // of a block
constexpr int64_t kFarBytes = 2 << 10;

// Quantise row `m`; load(k) returns the 16 values from column k on.
template <class V, class Load>
inline void quantize_groups(const Activations& to, int64_t m, int64_t first, int64_t end,
                            const Load& load) {
    const auto row = to.row(m);
    for (int64_t g = first; g < end; ++g) {
        const auto lo = load(g * kGroup), hi = load(g * kGroup + 16);
        const float limit = V::hmax(V::max(V::abs(lo), V::abs(hi)));
        // below the limit a reciprocal would overflow, and nothing of it is left in a sum
        const bool is_zero = !(limit > 1e-30f);
        const auto inverse = V::set1(is_zero ? 0.0f : 127.0f / limit);
        const auto qlo = V::to_int(V::mul(lo, inverse)), qhi = V::to_int(V::mul(hi, inverse));
        const int64_t at = row.at(g);
        V::store_bytes(to.quants + at * kGroup, qlo);
        V::store_bytes(to.quants + at * kGroup + 16, qhi);
        const int32_t sum = V::ihsum(V::iadd(qlo, qhi));
        const float scale = is_zero ? 0.0f : limit / 127.0f;
        to.scales[at] = scale;
        to.sums[at] = scale * static_cast<float>(sum);
        to.starts[at] = -128 * sum;
    }
}

// The unpacked quants of one group of one block, and its scales.
template <class V, int32_t Kind>
struct GroupWeights {
    typename V::I lines[8];
    typename V::F scales;
    typename V::F offsets;

    TT_INLINE void load(const uint8_t* block, const BlockLayout& layout, int64_t g) {
        const uint8_t* q = block + g * layout.group_bytes;
        const uint8_t* s = block + layout.groups * layout.group_bytes + g * layout.scale_bytes;
        if constexpr (is_int4(Kind)) {
            for (int j = 0; j < 4; ++j) {
                const auto both = V::load_bytes(q + 64 * j);
                lines[j] = V::low_nibbles(both);
                lines[j + 4] = V::high_nibbles(both);
            }
        } else {
            for (int j = 0; j < 8; ++j) lines[j] = V::load_bytes(q + 64 * j);
        }
        if constexpr (Kind != TT_INT8_ROWS) scales = V::load_half(reinterpret_cast<const uint16_t*>(s));
        if constexpr (Kind == TT_INT4) offsets = V::load_half(reinterpret_cast<const uint16_t*>(s) + 16);
        if constexpr (Kind == TT_INT4_EVEN) offsets = V::mul(scales, V::set1(-8.0f));
    }
};

// sums[r][b] += a group of blocks b, times that of rows at, at + 1, ...
template <class V, int32_t Kind, int Blocks, int Rows>
TT_INLINE void add_group(typename V::F (*sums)[Blocks], const GroupWeights<V, Kind>* weights,
                         const Activations& x, int64_t at) {
    const int8_t* q = x.quants + at * kGroup;
    typename V::I dots[Rows][Blocks];
    for (int r = 0; r < Rows; ++r) {
        for (auto& dot : dots[r]) dot = V::iset1(is_int4(Kind) ? 0 : x.starts[at + r]);
    }
    for (int j = 0; j < 8; ++j) {
        for (int r = 0; r < Rows; ++r) {
            const auto quad = V::repeat_quad(q + r * kGroup + 4 * j);
            for (int b = 0; b < Blocks; ++b) {
                if constexpr (is_int4(Kind)) {
                    dots[r][b] = V::dot7(dots[r][b], weights[b].lines[j], quad);
                } else {
                    dots[r][b] = V::dot8(dots[r][b], weights[b].lines[j], quad);
                }
            }
        }
    }
    for (int r = 0; r < Rows; ++r) {
        const auto scale = V::set1(x.scales[at + r]);
        for (int b = 0; b < Blocks; ++b) {
            const auto both = Kind == TT_INT8_ROWS ? scale : V::mul(weights[b].scales, scale);
            sums[r][b] = V::fma(V::to_float(dots[r][b]), both, sums[r][b]);
            if constexpr (is_int4(Kind)) {
                sums[r][b] = V::fma(weights[b].offsets, V::set1(x.sums[at + r]), sums[r][b]);
            }
        }
    }
}

// Rows whose products of bytes go on at the same time; more would not fit the registers.
constexpr int kAbreast = 2;

// out [count, 2, 16]: the products of rows [m, m + count) with `Blocks` blocks.
template <class V, int32_t Kind, int Blocks, int Rows>
TT_APART void multiply_few(const uint8_t* const* blocks, const BlockLayout& layout,
                           const Activations& activations, int64_t m, float* out) {
    const Activations x = activations;  // nobody else writes to it
    const auto row = x.row(m);
    // the next blocks, or where they are large a part of these: hardware looks no further than a page
    const int64_t ahead = layout.bytes <= kNearBytes ? Blocks * layout.bytes : kFarBytes;
    typename V::F sums[Rows][Blocks];
    for (auto& row : sums) {
        for (auto& sum : row) sum = V::zero();
    }
    for (int64_t g = 0; g < layout.groups; ++g) {
        GroupWeights<V, Kind> weights[Blocks];
        for (int b = 0; b < Blocks; ++b) {
            const uint8_t* next = blocks[b] + g * layout.group_bytes + ahead;
            for (int i = 0; i < (is_int4(Kind) ? 4 : 8); ++i) TT_PREFETCH(next + 64 * i);
        }
        for (int b = 0; b < Blocks; ++b) weights[b].load(blocks[b], layout, g);
        const int64_t at = row.at(g);
        for (int r = 0; r + kAbreast <= Rows; r += kAbreast) {
            add_group<V, Kind, Blocks, kAbreast>(sums + r, weights, x, at + r);
        }
        for (int r = Rows / kAbreast * kAbreast; r < Rows; ++r) {
            add_group<V, Kind, Blocks, 1>(sums + r, weights, x, at + r);
        }
    }
    for (int r = 0; r < Rows; ++r) {
        for (int b = 0; b < Blocks; ++b) V::store(out + (2 * r + b) * 16, sums[r][b]);
    }
}

// The same for `Rows` rows whose sums are in memory.
template <class V, int32_t Kind, int Blocks, int Rows>
TT_INLINE void add_stored(float* out, const GroupWeights<V, Kind>* weights, const Activations& x, int64_t at) {
    typename V::F sums[Rows][Blocks];
    for (int r = 0; r < Rows; ++r) {
        for (int b = 0; b < Blocks; ++b) sums[r][b] = V::load(out + (2 * r + b) * 16);
    }
    add_group<V, Kind, Blocks, Rows>(sums, weights, x, at);
    for (int r = 0; r < Rows; ++r) {
        for (int b = 0; b < Blocks; ++b) V::store(out + (2 * r + b) * 16, sums[r][b]);
    }
}

template <class V, int32_t Kind, int Blocks>
TT_APART void multiply_many(const uint8_t* const* blocks, const BlockLayout& layout,
                            const Activations& activations, int64_t m, int count, float* out) {
    const Activations x = activations;  // nobody else writes to it
    const auto row = x.row(m);
    for (int r = 0; r < count; ++r) {
        for (int b = 0; b < Blocks; ++b) V::store(out + (2 * r + b) * 16, V::zero());
    }
    for (int64_t g = 0; g < layout.groups; ++g) {
        GroupWeights<V, Kind> weights[Blocks];
        for (int b = 0; b < Blocks; ++b) weights[b].load(blocks[b], layout, g);
        const int64_t at = row.at(g);
        int r = 0;
        for (; r + kAbreast <= count; r += kAbreast) {
            add_stored<V, Kind, Blocks, kAbreast>(out + 32 * r, weights, x, at + r);
        }
        for (; r < count; ++r) add_stored<V, Kind, Blocks, 1>(out + 32 * r, weights, x, at + r);
    }
}

template <class V, int32_t Kind, int Blocks>
inline void multiply_rows(const uint8_t* const* blocks, const BlockLayout& layout,
                          const Activations& x, int64_t m, int count, float* out) {
    switch (count) {
        case 1: return multiply_few<V, Kind, Blocks, 1>(blocks, layout, x, m, out);
        case 2: return multiply_few<V, Kind, Blocks, 2>(blocks, layout, x, m, out);
        case 3: return multiply_few<V, Kind, Blocks, 3>(blocks, layout, x, m, out);
        case 4: return multiply_few<V, Kind, Blocks, 4>(blocks, layout, x, m, out);
        default: return multiply_many<V, Kind, Blocks>(blocks, layout, x, m, count, out);
    }
}

template <class V, int32_t Kind>
inline void multiply_pair_of(const tt_matrix& w, const BlockLayout& layout, int64_t first,
                             int64_t second, const Activations& x, int64_t m, int count,
                             float* out) {
    const uint8_t* blocks[2] = {w.data + first * layout.bytes, nullptr};
    if (second >= 0) blocks[1] = w.data + second * layout.bytes;
    if (V::kManyRegisters && second >= 0) {
        multiply_rows<V, Kind, 2>(blocks, layout, x, m, count, out);
    } else {
        multiply_rows<V, Kind, 1>(blocks, layout, x, m, count, out);
        if (second >= 0) {
            multiply_rows<V, Kind, 1>(blocks + 1, layout, x, m, count, out + 16);
        }
    }
    const auto gain = V::set1(w.gain);
    for (int b = 0; b < (second >= 0 ? 2 : 1); ++b) {
        auto factor = gain;
        if constexpr (Kind == TT_INT8_ROWS) {
            const uint8_t* tail = blocks[b] + layout.groups * layout.group_bytes;
            factor = V::mul(gain, V::load(reinterpret_cast<const float*>(tail)));
        }
        for (int r = 0; r < count; ++r) {
            float* at = out + (2 * r + b) * 16;
            V::store(at, V::mul(V::load(at), factor));
        }
    }
}

// out [count, 2, 16]: rows [m, m + count) times blocks `first` and, unless negative, `second`.
template <class V>
inline void multiply_pair(const tt_matrix& w, const BlockLayout& layout, int64_t first,
                          int64_t second, const Activations& x, int64_t m, int count, float* out) {
    switch (w.kind) {
        case TT_INT4:
            return multiply_pair_of<V, TT_INT4>(w, layout, first, second, x, m, count, out);
        case TT_INT4_EVEN:
            return multiply_pair_of<V, TT_INT4_EVEN>(w, layout, first, second, x, m, count, out);
        case TT_INT8_GROUPED:
            return multiply_pair_of<V, TT_INT8_GROUPED>(w, layout, first, second, x, m, count, out);
        default:
            return multiply_pair_of<V, TT_INT8_ROWS>(w, layout, first, second, x, m, count, out);
    }
}

constexpr int64_t kKeptBytes = 640 << 10;  // of weights that stay in the second cache beside a tile of rows

// Rows that go by between two looks at the same weights, `bytes` of them in all: a tile's, which then stays
// where all of the weights do, or as many as stay there themselves.
inline int64_t rows_per_pass(int64_t columns, int64_t bytes) {
    if (bytes <= kKeptBytes) return kTileRows;
    const int64_t rows = (int64_t{512} << 10) / columns / kTileRows * kTileRows;
    return std::max<int64_t>(rows, kTileRows);
}

// Have `bytes` of each of `count` rows brought nearer before they are written: they are far apart.
inline void bring_rows(const float* to, int64_t stride, int64_t bytes, int count) {
    for (int r = 0; r < count; ++r, to += stride) {
        for (int64_t at = 0; at < bytes; at += 64) TT_PREFETCH(reinterpret_cast<const char*>(to) + at);
    }
}

// Call done(i, m, count, out) for all rows x and pairs of blocks pair(i), i in [lo, hi), and before each
// product expect(i, m, count).
template <class V, class Pair, class Expect, class Done>
inline void multiply(const tt_matrix& w, const Activations& x, int64_t lo, int64_t hi, const Pair& pair,
                     const Expect& expect, const Done& done) {
    const BlockLayout layout = block_layout(w.kind, w.columns);
    const int64_t pass = rows_per_pass(w.columns, 2 * (hi - lo) * layout.bytes);
    alignas(64) float out[kTileRows * 32];
    for (int64_t top = 0; top < x.rows; top += pass) {
        const int64_t bottom = std::min(top + pass, x.rows);
        for (int64_t i = lo; i < hi; ++i) {
            const auto [first, second] = pair(i);
            for (int64_t m = top; m < bottom; m += kTileRows) {
                const int count = static_cast<int>(std::min<int64_t>(kTileRows, bottom - m));
                if (count > 1) expect(i, m, count);
                multiply_pair<V>(w, layout, first, second, x, m, count, out);
                done(i, m, count, out);
            }
        }
    }
}

// y [x.rows, stride]: this member's share of the columns of y.
template <class V>
inline void multiply_share(const tt_matrix& w, const Activations& x, float* y, int64_t stride,
                           const Member& member) {
    const int64_t blocks = (w.rows + kRows - 1) / kRows;
    const auto [lo, hi] = member.share((blocks + 1) / 2);
    const auto pair = [&](int64_t i) {
        return std::pair<int64_t, int64_t>(2 * i, 2 * i + 1 < blocks ? 2 * i + 1 : -1);
    };
    const auto expect = [&](int64_t i, int64_t m, int count) {
        bring_rows(y + m * stride + 32 * i, stride, 128, count);
    };
    multiply<V>(w, x, lo, hi, pair, expect, [&](int64_t i, int64_t m, int count, const float* out) {
        const int64_t n = 32 * i;
        const int64_t width = std::min<int64_t>(32, w.rows - n);
        for (int r = 0; r < count; ++r) {
            std::copy_n(out + 32 * r, width, y + (m + r) * stride + n);
        }
    });
}

}  // namespace tt
