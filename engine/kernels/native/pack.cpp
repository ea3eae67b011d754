// Packing of canonical weights into blocks, and reading single rows back.
#include <cstring>

#include "layout.h"
#include "vec_portable.h"

namespace tt {
namespace {

void pack_quants(int32_t kind, int64_t columns, const uint8_t* row, int lane, uint8_t* block) {
    if (is_int4(kind)) {
        for (int64_t g = 0; g < columns / kGroup; ++g) {
            const uint8_t* q = row + g * kGroup;
            for (int k = 0; k < 16; ++k) {
                uint8_t* to = block + g * 256 + (k / 4) * 64 + lane * 4 + k % 4;
                *to = static_cast<uint8_t>(q[k] | q[k + 16] << 4);
            }
        }
        return;
    }
    for (int64_t k = 0; k < columns; k += 4) {
        uint8_t* to = block + k * kRows + lane * 4;
        for (int i = 0; i < 4; ++i) to[i] = row[k + i] ^ 0x80u;  // a signed byte plus 128
    }
}

}  // namespace
}  // namespace tt

int64_t tt_packed_bytes(int32_t kind, int64_t rows, int64_t columns) {
    if (kind < TT_INT4 || kind > TT_INT4_EVEN) return -1;
    return (rows + tt::kRows - 1) / tt::kRows * tt::block_layout(kind, columns).bytes;
}

void tt_pack(int32_t kind, int64_t rows, int64_t columns, const uint8_t* quants,
             const uint16_t* scales, const uint16_t* offsets, const float* row_scales,
             uint8_t* data) {
    using namespace tt;
    const BlockLayout layout = block_layout(kind, columns);
    std::memset(data, 0, static_cast<size_t>(tt_packed_bytes(kind, rows, columns)));
    for (int64_t n = 0; n < rows; ++n) {
        uint8_t* block = data + n / kRows * layout.bytes;
        uint8_t* tail = block + layout.groups * layout.group_bytes;
        const int lane = static_cast<int>(n % kRows);
        pack_quants(kind, columns, quants + n * columns, lane, block);
        if (kind == TT_INT8_ROWS) reinterpret_cast<float*>(tail)[lane] = row_scales[n];
        for (int64_t g = 0; scales != nullptr && g < layout.groups; ++g) {
            auto* to = reinterpret_cast<uint16_t*>(tail + g * layout.scale_bytes);
            to[lane] = scales[n * layout.groups + g];
            if (kind == TT_INT4) to[16 + lane] = offsets[n * layout.groups + g];
        }
    }
}

void tt_unpack_rows(const tt_matrix* matrix, const int64_t* ids, int64_t count, float* out) {
    using namespace tt;
    const BlockLayout layout = block_layout(matrix->kind, matrix->columns);
    for (int64_t i = 0; i < count; ++i) {
        const uint8_t* block = matrix->data + ids[i] / kRows * layout.bytes;
        const uint8_t* tail = block + layout.groups * layout.group_bytes;
        const int lane = static_cast<int>(ids[i] % kRows);
        float* row = out + i * matrix->columns;
        for (int64_t g = 0; g < layout.groups; ++g, row += kGroup) {
            const uint8_t* q = block + g * layout.group_bytes + lane * 4;
            const auto* halves = reinterpret_cast<const uint16_t*>(tail + g * layout.scale_bytes);
            const float scale = matrix->gain * (matrix->kind == TT_INT8_ROWS
                                                    ? reinterpret_cast<const float*>(tail)[lane]
                                                    : half_to_float(halves[lane]));
            if (is_int4(matrix->kind)) {
                const float offset =
                    matrix->kind == TT_INT4 ? matrix->gain * half_to_float(halves[16 + lane]) : -8.0f * scale;
                for (int k = 0; k < 16; ++k) {
                    const uint8_t both = q[(k / 4) * 64 + k % 4];
                    row[k] = static_cast<float>(both & 15) * scale + offset;
                    row[k + 16] = static_cast<float>(both >> 4) * scale + offset;
                }
            } else {
                for (int k = 0; k < kGroup; ++k) {
                    row[k] = static_cast<float>(q[(k / 4) * 64 + k % 4] - 128) * scale;
                }
            }
        }
    }
}
