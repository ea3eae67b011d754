// Plain C++: any machine, and the slow twin of the others.
#include "vec_portable.h"
// after the type it is made for
#include "dots.h"
#include "step.h"

namespace tt {
namespace {
const Kernels kKernels = {"portable", run_multiply<Portable>, run_step<Portable>, run_dots<Portable>};
}
const Kernels* portable_kernels() { return &kKernels; }
}  // namespace tt
