// Sixteen lanes as one 512-bit register. Products of bytes need VNNI.
//
// Included by isa_avx512.cpp alone, after the compiler was told to use the instruction set.
#pragma once
#include <immintrin.h>

#include <cstdint>

namespace tt {

struct Avx512 {
    using F = __m512;
    using I = __m512i;
    static constexpr bool kManyRegisters = true;
    static constexpr bool kPacksFour = true;

    static F zero() { return _mm512_setzero_ps(); }
    static F set1(float x) { return _mm512_set1_ps(x); }
    static F load(const float* p) { return _mm512_loadu_ps(p); }
    static void store(float* p, F a) { _mm512_storeu_ps(p, a); }
    static F load_half(const uint16_t* p) { return _mm512_cvtph_ps(half_line(p)); }
    static F load_kv(const float* p) { return load(p); }
    static F load_kv(const Bfloat* p) {
        return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half_line(&p->bits)), 16));
    }
    static F load_kv(const Half* p) { return load_half(&p->bits); }
    static void store_kv(float* p, F a) { store(p, a); }
    static void store_kv(Half* p, F a) {
        const F inside = min(max(a, set1(-kMostHalf)), set1(kMostHalf));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(inside, 8));
    }
    static void store_kv(Bfloat* p, F a) {
        const I bits = _mm512_castps_si512(a);
        const I odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
        const I rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
        const __m256i narrow = _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), narrow);
    }
    static F add(F a, F b) { return _mm512_add_ps(a, b); }
    static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
    static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
    static F div(F a, F b) { return _mm512_div_ps(a, b); }
    static F max(F a, F b) { return _mm512_max_ps(a, b); }
    static F min(F a, F b) { return _mm512_min_ps(a, b); }
    static F abs(F a) { return _mm512_abs_ps(a); }
    static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
    static F round(F a) { return _mm512_roundscale_ps(a, 8); }
    static F scale2(F a, F n) { return _mm512_scalef_ps(a, n); }
    static float hsum(F a) { return _mm512_reduce_add_ps(a); }
    static float hmax(F a) { return _mm512_reduce_max_ps(a); }
    static F first(int count, F a, F b) {
        const unsigned mask = count >= 16 ? 0xffffu : count <= 0 ? 0u : (1u << count) - 1u;
        return _mm512_mask_blend_ps(static_cast<__mmask16>(mask), b, a);
    }

    // lane i becomes lane i ^ Distance
    template <int Distance>
    static F swap(F a) {
        if constexpr (Distance == 1) return _mm512_permute_ps(a, 0xb1);
        if constexpr (Distance == 2) return _mm512_permute_ps(a, 0x4e);
        if constexpr (Distance == 4) return _mm512_shuffle_f32x4(a, a, 0xb1);
        return _mm512_shuffle_f32x4(a, a, 0x4e);
    }

    static I iset1(int32_t x) { return _mm512_set1_epi32(x); }
    static I iadd(I a, I b) { return _mm512_add_epi32(a, b); }
    static int32_t ihsum(I a) { return _mm512_reduce_add_epi32(a); }
    static F to_float(I a) { return _mm512_cvtepi32_ps(a); }
    static I to_int(F a) { return _mm512_cvtps_epi32(a); }
    static void store_bytes(int8_t* p, I a) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a));
    }
    static I load_bytes(const uint8_t* p) { return _mm512_loadu_si512(p); }
    static I low_nibbles(I a) { return _mm512_and_si512(a, _mm512_set1_epi8(15)); }
    static I high_nibbles(I a) {
        return _mm512_and_si512(_mm512_srli_epi32(a, 4), _mm512_set1_epi8(15));
    }
    static void split7(I a, I& high, I& low) {
        high = _mm512_srli_epi32(a, 7);
        low = _mm512_and_si512(a, _mm512_set1_epi32(127));
    }
    // Two numbers of 7 bits of each weight. Packing leaves quad 0 of all four vectors first, then quad 1.
    static void store_weights(int8_t* high, int8_t* low, const F* w) {
        const I a = _mm512_packus_epi32(to_int(w[0]), to_int(w[1]));
        const I b = _mm512_packus_epi32(to_int(w[2]), to_int(w[3]));
        const I mask = _mm512_set1_epi16(127);
        const I upper = _mm512_packus_epi16(_mm512_srli_epi16(a, 7), _mm512_srli_epi16(b, 7));
        const I lower = _mm512_packus_epi16(_mm512_and_si512(a, mask), _mm512_and_si512(b, mask));
        _mm512_store_si512(high, upper);
        _mm512_store_si512(low, lower);
    }
    static I repeat_quad(const int8_t* p) {
        int32_t quad;
        __builtin_memcpy(&quad, p, 4);
        return _mm512_set1_epi32(quad);
    }
    static TT_INLINE I dot8(I sum, I bytes, I signed_bytes) {
#if defined(__GNUC__) && !defined(__clang__)
        // GCC copies sums to and fro between the turns of a loop if it is told by its own intrinsic.
        asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(bytes), "v"(signed_bytes));
        return sum;
#else
        return _mm512_dpbusd_epi32(sum, bytes, signed_bytes);
#endif
    }
    static TT_INLINE I dot7(I sum, I bytes, I signed_bytes) { return dot8(sum, bytes, signed_bytes); }

    // Four rounds of interleaving at twice the distance each, as in any 16 x 16 transpose.
    template <class T>
    static void transpose(const T* const* rows, float* out, int64_t stride) {
        F a[16], b[16];
        for (int i = 0; i < 16; i += 2) {
            const F even = load_kv(rows[i]), odd = load_kv(rows[i + 1]);
            a[i] = _mm512_unpacklo_ps(even, odd);
            a[i + 1] = _mm512_unpackhi_ps(even, odd);
        }
        for (int i = 0; i < 16; i += 4) {
            for (int j = 0; j < 2; ++j) {
                const __m512d x = _mm512_castps_pd(a[i + j]), y = _mm512_castps_pd(a[i + j + 2]);
                b[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(x, y));
                b[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(x, y));
            }
        }
        for (int half = 0; half < 16; half += 8) {
            for (int j = 0; j < 4; ++j) {
                a[half + j] = _mm512_shuffle_f32x4(b[half + j], b[half + j + 4], 0x88);
                a[half + j + 4] = _mm512_shuffle_f32x4(b[half + j], b[half + j + 4], 0xdd);
            }
        }
        for (int j = 0; j < 8; ++j) {
            // a[j]: columns j and j + 8 of rows 0-7; a[j + 8]: of rows 8-15
            const F lower = _mm512_shuffle_f32x4(a[j], a[j + 8], 0x88);
            const F upper = _mm512_shuffle_f32x4(a[j], a[j + 8], 0xdd);
            store(out + j * stride, lower);
            store(out + (j + 8) * stride, upper);
        }
    }

  private:
    static __m128i quarter_line(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
    static __m256i half_line(const uint16_t* p) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    }
};

}  // namespace tt
