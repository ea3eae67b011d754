// How a matrix lies in memory, the same for every instruction set.
//
// Rows go in blocks of 16, columns in groups of 32. A block is all its groups' quants, then all
// its groups' scales:
//
//   INT4   256 bytes a group: 4 lines of 64. Line j holds, for each of 16 rows, columns
//          4j..4j+3 in the low and 16+4j..16+4j+3 in the high nibbles. Then 16 scales and 16
//          offsets, fp16. Where all offsets are -8 scales they are left out (INT4_EVEN).
//   INT8   512 bytes a group: 8 lines; line j holds columns 4j..4j+3 of each row, plus 128, so
//          that bytes are unsigned as in INT4. Then 16 scales a group, fp16, or 16 a block, fp32.
//
// One 512-bit load then feeds 16 rows x 4 columns to a product of bytes. Missing rows are zero.
#pragma once
#include <algorithm>
#include <cstdint>

#include "core.h"

namespace tt {

constexpr int kRows = 16;
constexpr int kGroup = 32;

constexpr bool is_int4(int32_t kind) { return kind == TT_INT4 || kind == TT_INT4_EVEN; }

struct BlockLayout {
    int64_t groups;
    int64_t group_bytes;  // of quants
    int64_t scale_bytes;  // of a group
    int64_t bytes;        // of the whole block, a multiple of 64
};

inline BlockLayout block_layout(int32_t kind, int64_t columns) {
    const int64_t groups = columns / kGroup;
    const int64_t group_bytes = is_int4(kind) ? 256 : 512;
    const int64_t scale_bytes = kind == TT_INT4 ? 64 : kind == TT_INT8_ROWS ? 0 : 32;
    const int64_t tail = kind == TT_INT8_ROWS ? 64 : 0;
    const int64_t bytes = groups * (group_bytes + scale_bytes) + tail;
    return {groups, group_bytes, scale_bytes, (bytes + 63) / 64 * 64};
}

// The rows of one tile: its results stay in the first cache while the groups go by.
constexpr int kTileRows = 64;

// Activations as the products want them: groups of 32 columns, each with a scale of its own.
//
// Rows go in tiles of 64, so that what one tile needs lies together: caches have few places for lines that
// are a power of two apart. In a tile of r rows quants are [groups, r, 32]; scales, sums and starts [groups,
// r]. sums are of the values (times the weights' offset they complete a product), starts are -128 times the
// sum of the quants (they take back what INT8 weights were raised by).
struct Activations {
    int8_t* quants = nullptr;
    float* scales = nullptr;
    float* sums = nullptr;
    int32_t* starts = nullptr;
    int64_t rows = 0;
    int64_t groups = 0;

    // Where the first group of row m is, and how far it is from one group to the next.
    struct Row {
        int64_t start;
        int64_t step;

        int64_t at(int64_t g) const { return start + g * step; }
    };
    Row row(int64_t m) const {
        const int64_t first = m / kTileRows * kTileRows;
        return {first * groups + m - first, std::min<int64_t>(kTileRows, rows - first)};
    }
};

constexpr int64_t kActivationBytes = kGroup + 12;  // of a row and group

inline Activations activations_at(void* memory, int64_t rows, int64_t columns) {
    const int64_t groups = columns / kGroup, count = rows * groups;
    auto* quants = static_cast<int8_t*>(memory);
    auto* scales = reinterpret_cast<float*>(quants + count * kGroup);
    auto* starts = reinterpret_cast<int32_t*>(scales + 2 * count);
    return {quants, scales, scales + count, starts, rows, groups};
}

}  // namespace tt
