// Sixteen lanes as two 256-bit registers: AVX2 with FMA and F16C, with or without VNNI.
//
// Included by isa_avx2.cpp and isa_avxvnni.cpp alone, after the compiler was told to use the
// instruction set.
#pragma once
#include <immintrin.h>

#include <cstdint>

namespace tt {

// Bytes is how products of bytes are added up; it also makes the type one of its file's own.
template <class Bytes>
struct Avx2 {
    struct F { __m256 lo, hi; };
    struct I { __m256i lo, hi; };
    static constexpr bool kManyRegisters = false;
    static constexpr bool kPacksFour = false;

    static F zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
    static F set1(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
    static F load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
    static void store(float* p, F a) {
        _mm256_storeu_ps(p, a.lo);
        _mm256_storeu_ps(p + 8, a.hi);
    }
    static F load_half(const uint16_t* p) {
        return {_mm256_cvtph_ps(quarter(p)), _mm256_cvtph_ps(quarter(p + 8))};
    }
    static F load_kv(const float* p) { return load(p); }
    static F load_kv(const Bfloat* p) { return {widen(quarter(p)), widen(quarter(p + 8))}; }
    static F load_kv(const Half* p) { return load_half(&p->bits); }
    static void store_kv(float* p, F a) { store(p, a); }
    static void store_kv(Half* p, F a) {
        const F inside = min(max(a, set1(-kMostHalf)), set1(kMostHalf));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(inside.lo, 8));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8), _mm256_cvtps_ph(inside.hi, 8));
    }
    static void store_kv(Bfloat* p, F a) {
        const __m256i packed = _mm256_packus_epi32(round_bf16(a.lo), round_bf16(a.hi));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permute4x64_epi64(packed, 0xd8));
    }
    static F add(F a, F b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
    static F sub(F a, F b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
    static F mul(F a, F b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
    static F div(F a, F b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
    static F max(F a, F b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
    static F min(F a, F b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
    static F abs(F a) {
        const __m256 sign = _mm256_set1_ps(-0.0f);
        return {_mm256_andnot_ps(sign, a.lo), _mm256_andnot_ps(sign, a.hi)};
    }
    static F fma(F a, F b, F c) {
        return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
    }
    static F round(F a) { return {_mm256_round_ps(a.lo, 8), _mm256_round_ps(a.hi, 8)}; }
    // n is whole and above -127: its bits become an exponent
    static F scale2(F a, F n) { return {times_power(a.lo, n.lo), times_power(a.hi, n.hi)}; }
    static float hsum(F a) {
        __m256 s = _mm256_add_ps(a.lo, a.hi);
        __m128 q = _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
        q = _mm_add_ps(q, _mm_movehl_ps(q, q));
        return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
    }
    static float hmax(F a) {
        __m256 s = _mm256_max_ps(a.lo, a.hi);
        __m128 q = _mm_max_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
        q = _mm_max_ps(q, _mm_movehl_ps(q, q));
        return _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)));
    }
    static F first(int count, F a, F b) {
        const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        const __m256i lo = _mm256_cmpgt_epi32(_mm256_set1_epi32(count), lanes);
        const __m256i hi = _mm256_cmpgt_epi32(_mm256_set1_epi32(count - 8), lanes);
        return {_mm256_blendv_ps(b.lo, a.lo, _mm256_castsi256_ps(lo)),
                _mm256_blendv_ps(b.hi, a.hi, _mm256_castsi256_ps(hi))};
    }

    // lane i becomes lane i ^ Distance
    template <int Distance>
    static F swap(F a) {
        if constexpr (Distance == 1) return {_mm256_permute_ps(a.lo, 0xb1), _mm256_permute_ps(a.hi, 0xb1)};
        if constexpr (Distance == 2) return {_mm256_permute_ps(a.lo, 0x4e), _mm256_permute_ps(a.hi, 0x4e)};
        if constexpr (Distance == 4) {
            return {_mm256_permute2f128_ps(a.lo, a.lo, 1), _mm256_permute2f128_ps(a.hi, a.hi, 1)};
        }
        return {a.hi, a.lo};
    }

    static I iset1(int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
    static I iadd(I a, I b) { return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)}; }
    static int32_t ihsum(I a) {
        const __m256i s = _mm256_add_epi32(a.lo, a.hi);
        __m128i q = _mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
        q = _mm_add_epi32(q, _mm_shuffle_epi32(q, 0x4e));
        return _mm_cvtsi128_si32(_mm_add_epi32(q, _mm_shuffle_epi32(q, 0xb1)));
    }
    static F to_float(I a) { return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)}; }
    static I to_int(F a) { return {_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi)}; }
    static void store_bytes(int8_t* p, I a) {
        const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a.lo, a.hi), 0xd8);
        const __m128i bytes =
            _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
    }
    static I load_bytes(const uint8_t* p) { return {line(p), line(p + 32)}; }
    static I low_nibbles(I a) {
        const __m256i mask = _mm256_set1_epi8(15);
        return {_mm256_and_si256(a.lo, mask), _mm256_and_si256(a.hi, mask)};
    }
    static I high_nibbles(I a) {
        const I shifted = {_mm256_srli_epi32(a.lo, 4), _mm256_srli_epi32(a.hi, 4)};
        return low_nibbles(shifted);
    }
    static void split7(I a, I& high, I& low) {
        const __m256i mask = _mm256_set1_epi32(127);
        high = {_mm256_srli_epi32(a.lo, 7), _mm256_srli_epi32(a.hi, 7)};
        low = {_mm256_and_si256(a.lo, mask), _mm256_and_si256(a.hi, mask)};
    }
    static I repeat_quad(const int8_t* p) {
        int32_t quad;
        __builtin_memcpy(&quad, p, 4);
        return iset1(quad);
    }
    static I dot8(I sum, I bytes, I signed_bytes) {
        return {Bytes::dot8(sum.lo, bytes.lo, signed_bytes.lo),
                Bytes::dot8(sum.hi, bytes.hi, signed_bytes.hi)};
    }
    static I dot7(I sum, I bytes, I signed_bytes) {
        return {Bytes::dot7(sum.lo, bytes.lo, signed_bytes.lo),
                Bytes::dot7(sum.hi, bytes.hi, signed_bytes.hi)};
    }

    template <class T>
    static void transpose(const T* const* rows, float* out, int64_t stride) {
        for (int i = 0; i < 16; ++i) {
            float row[16];
            store(row, load_kv(rows[i]));
            for (int j = 0; j < 16; ++j) out[j * stride + i] = row[j];
        }
    }

  private:
    static __m128i quarter(const void* p) {
        return _mm_loadu_si128(static_cast<const __m128i*>(p));
    }
    static __m256i line(const uint8_t* p) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    }
    static __m256 widen(__m128i bf16) {
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bf16), 16));
    }
    static __m256i round_bf16(__m256 a) {
        const __m256i bits = _mm256_castps_si256(a);
        const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
        const __m256i half = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
        return _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16);
    }
    static __m256 times_power(__m256 a, __m256 n) {
        const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
        return _mm256_mul_ps(a, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
    }
};

}  // namespace tt
