// AVX2 with VNNI in 256-bit registers: Alder Lake and later, where AVX-512 is absent.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "state.h"
#include "target.h"

#if TT_X86
#include <immintrin.h>

TT_TARGET_BEGIN("avx2,fma,f16c,avxvnni")
#include "vec_avx2.h"
// after the type it is made for
#include "dots.h"
#include "step.h"

namespace tt {
namespace {

struct VnniProducts {
    static __m256i dot8(__m256i sum, __m256i bytes, __m256i signed_bytes) {
        return _mm256_dpbusd_avx_epi32(sum, bytes, signed_bytes);
    }
    static __m256i dot7(__m256i sum, __m256i bytes, __m256i signed_bytes) {
        return dot8(sum, bytes, signed_bytes);
    }
};

using Vector = Avx2<VnniProducts>;
const Kernels kKernels = {"avxvnni", run_multiply<Vector>, run_step<Vector>, run_dots<Vector>};

}  // namespace
const Kernels* avxvnni_kernels() { return &kKernels; }
}  // namespace tt
TT_TARGET_END
#else
namespace tt {
const Kernels* avxvnni_kernels() { return nullptr; }
}  // namespace tt
#endif
