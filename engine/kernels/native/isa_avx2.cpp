// AVX2 with FMA and F16C: Haswell, Zen and later.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "state.h"
#include "target.h"

#if TT_X86
#include <immintrin.h>

TT_TARGET_BEGIN("avx2,fma,f16c")
#include "vec_avx2.h"
// after the type it is made for
#include "dots.h"
#include "step.h"

namespace tt {
namespace {

struct WordProducts {
    // two products of up to 127 x 127 fit 16 bits
    static __m256i dot7(__m256i sum, __m256i bytes, __m256i signed_bytes) {
        const __m256i pairs = _mm256_maddubs_epi16(bytes, signed_bytes);
        return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    }
    // two of 255 x 127 do not, so bytes are widened, the even ones and the odd ones
    static __m256i dot8(__m256i sum, __m256i bytes, __m256i signed_bytes) {
        const __m256i even = _mm256_and_si256(bytes, _mm256_set1_epi16(255));
        const __m256i odd = _mm256_srli_epi16(bytes, 8);
        const __m256i signed_even = _mm256_srai_epi16(_mm256_slli_epi16(signed_bytes, 8), 8);
        const __m256i signed_odd = _mm256_srai_epi16(signed_bytes, 8);
        const __m256i products = _mm256_add_epi32(_mm256_madd_epi16(even, signed_even),
                                                  _mm256_madd_epi16(odd, signed_odd));
        return _mm256_add_epi32(sum, products);
    }
};

using Vector = Avx2<WordProducts>;
const Kernels kKernels = {"avx2", run_multiply<Vector>, run_step<Vector>, run_dots<Vector>};

}  // namespace
const Kernels* avx2_kernels() { return &kKernels; }
}  // namespace tt
TT_TARGET_END
#else
namespace tt {
const Kernels* avx2_kernels() { return nullptr; }
}  // namespace tt
#endif
