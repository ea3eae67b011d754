// Products of bytes and nothing else, for any instruction set V: what the others are measured against.
#pragma once
#include <cstdint>

#include "target.h"

namespace tt {

// Four sums that are not waited for. Variables of their own: compilers move arrays about.
template <class V>
struct FourSums {
    using I = typename V::I;
    I a, b, c, d;

    explicit FourSums(int32_t first)
        : a(V::iset1(first)), b(V::iset1(first + 1)), c(V::iset1(first + 2)), d(V::iset1(first + 3)) {}

    TT_INLINE void add(I bytes, I others) {
        a = V::dot7(a, bytes, others);
        b = V::dot7(b, bytes, others);
        c = V::dot7(c, bytes, others);
        d = V::dot7(d, bytes, others);
    }

    I all() const { return V::iadd(V::iadd(a, b), V::iadd(c, d)); }
};

constexpr int kUnrolled = 8;  // what compilers do between two turns of a loop hardly counts then

// `rounds` times some products of bytes, of sixteen lanes each, in registers: of use where that is one
// instruction, as compilers find shorter ways with several. Returns how many
// multiplications and additions that were, and leaves something of the result in `kept`, or it would
// not be computed.
template <class V>
int64_t run_dots(int64_t rounds, volatile int32_t* kept) {
    const auto bytes = V::iset1(0x01020304 + *kept), others = V::iset1(0x04030201 + *kept);
    FourSums<V> first(0), second(4), third(8);
    for (int64_t round = 0; round < rounds; ++round) {
        for (int i = 0; i < kUnrolled; ++i) {
            first.add(bytes, others);
            if constexpr (V::kManyRegisters) {  // as many as are needed for one to be ready again
                second.add(bytes, others);
                third.add(bytes, others);
            }
        }
    }
    *kept = V::ihsum(V::iadd(first.all(), V::iadd(second.all(), third.all())));
    return rounds * kUnrolled * (V::kManyRegisters ? 12 : 4) * 16 * 4 * 2;
}

}  // namespace tt
