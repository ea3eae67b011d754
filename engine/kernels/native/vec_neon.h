// Sixteen lanes as four 128-bit registers: NEON with products of bytes (Armv8.2 dotprod), with or
// without products of unsigned and signed ones (i8mm).
//
// Included by isa_neon.cpp and isa_neon_i8mm.cpp alone, after the compiler was told to use the
// instruction set.
#pragma once
#include <arm_neon.h>

#include <cstdint>

namespace tt {

// Bytes is how products of bytes are added up; it also makes the type one of its file's own.
template <class Bytes>
struct Neon {
    struct F { float32x4_t v[4]; };
    struct I { int32x4_t v[4]; };
    static constexpr bool kManyRegisters = false;
    static constexpr bool kPacksFour = false;

    template <class Op>
    static F map(Op op) { return {{op(0), op(1), op(2), op(3)}}; }
    template <class Op>
    static I imap(Op op) { return {{op(0), op(1), op(2), op(3)}}; }

    static F zero() { return set1(0.0f); }
    static F set1(float x) { return map([&](int) { return vdupq_n_f32(x); }); }
    static F load(const float* p) { return map([&](int i) { return vld1q_f32(p + 4 * i); }); }
    static void store(float* p, F a) {
        for (int i = 0; i < 4; ++i) vst1q_f32(p + 4 * i, a.v[i]);
    }
    static F load_half(const uint16_t* p) {
        return map([&](int i) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p + 4 * i))); });
    }
    static F load_kv(const float* p) { return load(p); }
    static F load_kv(const Bfloat* p) {
        return map([&](int i) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(&p[4 * i].bits), 16)); });
    }
    static F load_kv(const Half* p) { return load_half(&p->bits); }
    static void store_kv(float* p, F a) { store(p, a); }
    static void store_kv(Half* p, F a) {
        const F inside = min(max(a, set1(-kMostHalf)), set1(kMostHalf));
        for (int i = 0; i < 4; ++i) vst1_u16(&p[4 * i].bits, vreinterpret_u16_f16(vcvt_f16_f32(inside.v[i])));
    }
    static void store_kv(Bfloat* p, F a) {
        for (int i = 0; i < 4; ++i) {
            const uint32x4_t bits = vreinterpretq_u32_f32(a.v[i]);
            const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
            const uint32x4_t rounded = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
            vst1_u16(&p[4 * i].bits, vshrn_n_u32(rounded, 16));
        }
    }
    static F add(F a, F b) { return map([&](int i) { return vaddq_f32(a.v[i], b.v[i]); }); }
    static F sub(F a, F b) { return map([&](int i) { return vsubq_f32(a.v[i], b.v[i]); }); }
    static F mul(F a, F b) { return map([&](int i) { return vmulq_f32(a.v[i], b.v[i]); }); }
    static F div(F a, F b) { return map([&](int i) { return vdivq_f32(a.v[i], b.v[i]); }); }
    static F max(F a, F b) { return map([&](int i) { return vmaxq_f32(a.v[i], b.v[i]); }); }
    static F min(F a, F b) { return map([&](int i) { return vminq_f32(a.v[i], b.v[i]); }); }
    static F abs(F a) { return map([&](int i) { return vabsq_f32(a.v[i]); }); }
    static F fma(F a, F b, F c) { return map([&](int i) { return vfmaq_f32(c.v[i], a.v[i], b.v[i]); }); }
    static F round(F a) { return map([&](int i) { return vrndnq_f32(a.v[i]); }); }
    // n is whole and above -127: its bits become an exponent
    static F scale2(F a, F n) {
        return map([&](int i) {
            const int32x4_t exponent = vaddq_s32(vcvtnq_s32_f32(n.v[i]), vdupq_n_s32(127));
            return vmulq_f32(a.v[i], vreinterpretq_f32_s32(vshlq_n_s32(exponent, 23)));
        });
    }
    static float hsum(F a) {
        return vaddvq_f32(vaddq_f32(vaddq_f32(a.v[0], a.v[1]), vaddq_f32(a.v[2], a.v[3])));
    }
    static float hmax(F a) {
        return vmaxvq_f32(vmaxq_f32(vmaxq_f32(a.v[0], a.v[1]), vmaxq_f32(a.v[2], a.v[3])));
    }
    // a where lane < count, else b
    static F first(int count, F a, F b) {
        const int32_t lanes[4] = {0, 1, 2, 3};
        return map([&](int i) {
            return vbslq_f32(vcgtq_s32(vdupq_n_s32(count - 4 * i), vld1q_s32(lanes)), a.v[i], b.v[i]);
        });
    }

    // lane i becomes lane i ^ Distance
    template <int Distance>
    static F swap(F a) {
        if constexpr (Distance == 1) return map([&](int i) { return vrev64q_f32(a.v[i]); });
        if constexpr (Distance == 2) return map([&](int i) { return vextq_f32(a.v[i], a.v[i], 2); });
        return map([&](int i) { return a.v[i ^ (Distance / 4)]; });
    }

    static I iset1(int32_t x) { return imap([&](int) { return vdupq_n_s32(x); }); }
    static I iadd(I a, I b) { return imap([&](int i) { return vaddq_s32(a.v[i], b.v[i]); }); }
    static int32_t ihsum(I a) {
        return vaddvq_s32(vaddq_s32(vaddq_s32(a.v[0], a.v[1]), vaddq_s32(a.v[2], a.v[3])));
    }
    static F to_float(I a) { return map([&](int i) { return vcvtq_f32_s32(a.v[i]); }); }
    static I to_int(F a) { return imap([&](int i) { return vcvtnq_s32_f32(a.v[i]); }); }
    static void store_bytes(int8_t* p, I a) {
        const int16x8_t lo = vcombine_s16(vqmovn_s32(a.v[0]), vqmovn_s32(a.v[1]));
        const int16x8_t hi = vcombine_s16(vqmovn_s32(a.v[2]), vqmovn_s32(a.v[3]));
        vst1q_s8(p, vcombine_s8(vqmovn_s16(lo), vqmovn_s16(hi)));
    }
    static I load_bytes(const uint8_t* p) {
        return imap([&](int i) { return vreinterpretq_s32_u8(vld1q_u8(p + 16 * i)); });
    }
    static I low_nibbles(I a) {
        return imap([&](int i) {
            return vreinterpretq_s32_u8(vandq_u8(vreinterpretq_u8_s32(a.v[i]), vdupq_n_u8(15)));
        });
    }
    static I high_nibbles(I a) {
        return imap([&](int i) { return vreinterpretq_s32_u8(vshrq_n_u8(vreinterpretq_u8_s32(a.v[i]), 4)); });
    }
    static void split7(I a, I& high, I& low) {
        high = imap([&](int i) { return vshrq_n_s32(a.v[i], 7); });
        low = imap([&](int i) { return vandq_s32(a.v[i], vdupq_n_s32(127)); });
    }
    static I repeat_quad(const int8_t* p) {
        int32_t quad;
        __builtin_memcpy(&quad, p, 4);
        return iset1(quad);
    }
    static I dot8(I sum, I bytes, I signed_bytes) {
        return imap([&](int i) {
            return Bytes::dot8(sum.v[i], vreinterpretq_u8_s32(bytes.v[i]), vreinterpretq_s8_s32(signed_bytes.v[i]));
        });
    }
    // no byte is over 127: signed or not is the same
    static I dot7(I sum, I bytes, I signed_bytes) {
        return imap([&](int i) {
            return vdotq_s32(sum.v[i], vreinterpretq_s8_s32(bytes.v[i]), vreinterpretq_s8_s32(signed_bytes.v[i]));
        });
    }

    template <class T>
    static void transpose(const T* const* rows, float* out, int64_t stride) {
        for (int i = 0; i < 16; i += 4) {
            F four[4];
            for (int r = 0; r < 4; ++r) four[r] = load_kv(rows[i + r]);
            for (int q = 0; q < 4; ++q) {
                const float32x4x2_t a = vtrnq_f32(four[0].v[q], four[1].v[q]);
                const float32x4x2_t b = vtrnq_f32(four[2].v[q], four[3].v[q]);
                float* to = out + 4 * q * stride + i;
                vst1q_f32(to, vcombine_f32(vget_low_f32(a.val[0]), vget_low_f32(b.val[0])));
                vst1q_f32(to + stride, vcombine_f32(vget_low_f32(a.val[1]), vget_low_f32(b.val[1])));
                vst1q_f32(to + 2 * stride, vcombine_f32(vget_high_f32(a.val[0]), vget_high_f32(b.val[0])));
                vst1q_f32(to + 3 * stride, vcombine_f32(vget_high_f32(a.val[1]), vget_high_f32(b.val[1])));
            }
        }
    }
};

}  // namespace tt
