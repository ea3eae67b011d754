// NEON with products of bytes: Cortex-A76, Apple M1 and later.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "state.h"
#include "target.h"

#if TT_ARM64
#include <arm_neon.h>

TT_TARGET_BEGIN(TT_DOTPROD)
#include "vec_neon.h"
// after the type it is made for
#include "dots.h"
#include "step.h"

namespace tt {
namespace {

struct SignedProducts {
    // bytes are 128 more than signed ones; 64 twice is what no signed byte can be
    static int32x4_t dot8(int32x4_t sum, uint8x16_t bytes, int8x16_t signed_bytes) {
        const int8x16_t less = vreinterpretq_s8_u8(veorq_u8(bytes, vdupq_n_u8(128)));
        const int8x16_t half = vdupq_n_s8(64);
        sum = vdotq_s32(vdotq_s32(sum, half, signed_bytes), half, signed_bytes);
        return vdotq_s32(sum, less, signed_bytes);
    }
};

using Vector = Neon<SignedProducts>;
const Kernels kKernels = {"neon", run_multiply<Vector>, run_step<Vector>, run_dots<Vector>};

}  // namespace
const Kernels* neon_kernels() { return &kKernels; }
}  // namespace tt
TT_TARGET_END
#else
namespace tt {
const Kernels* neon_kernels() { return nullptr; }
}  // namespace tt
#endif
