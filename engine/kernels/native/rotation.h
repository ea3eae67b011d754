// The rotation of vectors in a quantised cache: a Hadamard transform, for any instruction set V.
#pragma once
#include <cmath>
#include <cstdint>

namespace tt {

// One round of the transform inside a vector: lanes whose numbers differ by `Distance`.
template <class V, int Distance>
inline typename V::F butterfly(typename V::F x) {
    alignas(64) static const float signs[16] = {
        1.0f,
        Distance == 1 ? -1.0f : 1.0f,
        Distance == 2 ? -1.0f : 1.0f,
        Distance <= 2 ? -1.0f : 1.0f,
        Distance == 4 ? -1.0f : 1.0f,
        Distance == 4 || Distance == 1 ? -1.0f : 1.0f,
        Distance == 4 || Distance == 2 ? -1.0f : 1.0f,
        Distance != 8 ? -1.0f : 1.0f,
        Distance == 8 ? -1.0f : 1.0f,
        Distance == 8 || Distance == 1 ? -1.0f : 1.0f,
        Distance == 8 || Distance == 2 ? -1.0f : 1.0f,
        Distance != 4 ? -1.0f : 1.0f,
        Distance >= 4 ? -1.0f : 1.0f,
        Distance != 2 ? -1.0f : 1.0f,
        Distance != 1 ? -1.0f : 1.0f,
        -1.0f,
    };
    return V::fma(x, V::load(signs), V::template swap<Distance>(x));
}

// Multiply row [size] by the orthogonal matrix that has Hadamard matrices of `block` rows along its
// diagonal; block: a power of two, at least 16, that divides size. Twice is the identity.
template <class V>
inline void hadamard(float* row, int size, int block) {
    const auto factor = V::set1(1.0f / std::sqrt(static_cast<float>(block)));
    for (int d = 0; d < size; d += 16) {
        auto x = V::mul(V::load(row + d), factor);
        x = butterfly<V, 1>(x);
        x = butterfly<V, 2>(x);
        x = butterfly<V, 4>(x);
        V::store(row + d, butterfly<V, 8>(x));
    }
    for (int half = 16; half < block; half *= 2) {
        for (int top = 0; top < size; top += 2 * half) {
            for (int d = top; d < top + half; d += 16) {
                const auto a = V::load(row + d), b = V::load(row + d + half);
                V::store(row + d, V::add(a, b));
                V::store(row + d + half, V::sub(a, b));
            }
        }
    }
}

}  // namespace tt
