// NEON with products of unsigned and signed bytes: Cortex-X2, Apple M2 and later.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "state.h"
#include "target.h"

#if TT_ARM64
#include <arm_neon.h>

TT_TARGET_BEGIN(TT_I8MM)
#include "vec_neon.h"
// after the type it is made for
#include "dots.h"
#include "step.h"

namespace tt {
namespace {

struct MixedProducts {
    static int32x4_t dot8(int32x4_t sum, uint8x16_t bytes, int8x16_t signed_bytes) {
        return vusdotq_s32(sum, bytes, signed_bytes);
    }
};

using Vector = Neon<MixedProducts>;
const Kernels kKernels = {"neon-i8mm", run_multiply<Vector>, run_step<Vector>, run_dots<Vector>};

}  // namespace
const Kernels* neon_i8mm_kernels() { return &kKernels; }
}  // namespace tt
TT_TARGET_END
#else
namespace tt {
const Kernels* neon_i8mm_kernels() { return nullptr; }
}  // namespace tt
#endif
