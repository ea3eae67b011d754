// AVX-512 with VNNI: Ice Lake, Zen 4 and later.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "state.h"
#include "target.h"

#if TT_X86
#include <immintrin.h>

TT_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")
#include "vec_avx512.h"
// after the type it is made for
#include "dots.h"
#include "step.h"

namespace tt {
namespace {
const Kernels kKernels = {"avx512", run_multiply<Avx512>, run_step<Avx512>, run_dots<Avx512>};
}
const Kernels* avx512_kernels() { return &kKernels; }
}  // namespace tt
TT_TARGET_END
#else
namespace tt {
const Kernels* avx512_kernels() { return nullptr; }
}  // namespace tt
#endif
