// Sixteen lanes in plain C++: what every instruction set below has to offer, and their slow twin.
//
// F: 16 floats. I: 16 int32, also seen as 64 bytes. Compilers turn these loops into the vectors
// that the platform always has (SSE2, NEON).
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#include "half.h"

namespace tt {

struct Portable {
    struct F { float v[16]; };
    struct I { int32_t v[16]; };
    static constexpr bool kManyRegisters = false;
    static constexpr bool kPacksFour = false;

    template <class Op>
    static F map(Op op) {
        F r;
        for (int i = 0; i < 16; ++i) r.v[i] = op(i);
        return r;
    }
    template <class Op>
    static I imap(Op op) {
        I r;
        for (int i = 0; i < 16; ++i) r.v[i] = op(i);
        return r;
    }

    static F zero() { return set1(0.0f); }
    static F set1(float x) { return map([&](int) { return x; }); }
    static F load(const float* p) { return map([&](int i) { return p[i]; }); }
    static void store(float* p, F a) { std::memcpy(p, a.v, 64); }
    static F load_half(const uint16_t* p) { return map([&](int i) { return half_to_float(p[i]); }); }
    static F load_kv(const float* p) { return load(p); }
    static F load_kv(const Bfloat* p) {
        return map([&](int i) { return bits_to_float(static_cast<uint32_t>(p[i].bits) << 16); });
    }
    static F load_kv(const Half* p) { return map([&](int i) { return half_to_float(p[i].bits); }); }
    static void store_kv(float* p, F a) { store(p, a); }
    static void store_kv(Half* p, F a) {
        for (int i = 0; i < 16; ++i) p[i].bits = float_to_half(a.v[i]);
    }
    static void store_kv(Bfloat* p, F a) {
        for (int i = 0; i < 16; ++i) p[i].bits = float_to_bf16(a.v[i]);
    }
    static F add(F a, F b) { return map([&](int i) { return a.v[i] + b.v[i]; }); }
    static F sub(F a, F b) { return map([&](int i) { return a.v[i] - b.v[i]; }); }
    static F mul(F a, F b) { return map([&](int i) { return a.v[i] * b.v[i]; }); }
    static F div(F a, F b) { return map([&](int i) { return a.v[i] / b.v[i]; }); }
    static F max(F a, F b) { return map([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; }); }
    static F min(F a, F b) { return map([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; }); }
    static F abs(F a) { return map([&](int i) { return std::fabs(a.v[i]); }); }
    static F fma(F a, F b, F c) { return map([&](int i) { return a.v[i] * b.v[i] + c.v[i]; }); }
    static F round(F a) { return map([&](int i) { return std::nearbyint(a.v[i]); }); }
    static F scale2(F a, F n) { return map([&](int i) { return std::ldexp(a.v[i], static_cast<int>(n.v[i])); }); }
    static float hsum(F a) {
        float sum = 0.0f;
        for (float x : a.v) sum += x;
        return sum;
    }
    static float hmax(F a) {
        float most = a.v[0];
        for (float x : a.v) most = x > most ? x : most;
        return most;
    }
    // a where lane < count, else b
    static F first(int count, F a, F b) { return map([&](int i) { return i < count ? a.v[i] : b.v[i]; }); }

    // lane i becomes lane i ^ Distance
    template <int Distance>
    static F swap(F a) { return map([&](int i) { return a.v[i ^ Distance]; }); }

    static I iset1(int32_t x) { return imap([&](int) { return x; }); }
    static I iadd(I a, I b) { return imap([&](int i) { return a.v[i] + b.v[i]; }); }
    static int32_t ihsum(I a) {
        int32_t sum = 0;
        for (int32_t x : a.v) sum += x;
        return sum;
    }
    static F to_float(I a) { return map([&](int i) { return static_cast<float>(a.v[i]); }); }
    static I to_int(F a) { return imap([&](int i) { return static_cast<int32_t>(std::nearbyint(a.v[i])); }); }
    static void store_bytes(int8_t* p, I a) {
        for (int i = 0; i < 16; ++i) p[i] = static_cast<int8_t>(a.v[i]);
    }
    static I load_bytes(const uint8_t* p) {
        I r;
        std::memcpy(r.v, p, 64);
        return r;
    }
    static I low_nibbles(I a) { return imap([&](int i) { return a.v[i] & 0x0f0f0f0f; }); }
    static I high_nibbles(I a) {
        return imap([&](int i) { return static_cast<int32_t>((static_cast<uint32_t>(a.v[i]) >> 4) & 0x0f0f0f0fu); });
    }
    // the upper and lower seven of fourteen bits
    static void split7(I a, I& high, I& low) {
        high = imap([&](int i) { return a.v[i] >> 7; });
        low = imap([&](int i) { return a.v[i] & 127; });
    }
    static I repeat_quad(const int8_t* p) {
        int32_t quad;
        std::memcpy(&quad, p, 4);
        return iset1(quad);
    }
    // sum + the products of each lane's four unsigned bytes with four signed ones
    static I dot8(I sum, I bytes, I signed_bytes) {
        uint8_t u[64];
        int8_t s[64];
        std::memcpy(u, bytes.v, 64);
        std::memcpy(s, signed_bytes.v, 64);
        return imap([&](int i) {
            int32_t t = sum.v[i];
            for (int j = 4 * i; j < 4 * i + 4; ++j) t += static_cast<int32_t>(u[j]) * s[j];
            return t;
        });
    }
    // the same where no unsigned byte is over 127
    static I dot7(I sum, I bytes, I signed_bytes) { return dot8(sum, bytes, signed_bytes); }

    // out[j * stride + i] = rows[i][j], i and j below 16
    template <class T>
    static void transpose(const T* const* rows, float* out, int64_t stride) {
        for (int i = 0; i < 16; ++i) {
            const F row = load_kv(rows[i]);
            for (int j = 0; j < 16; ++j) out[j * stride + i] = row.v[j];
        }
    }
};

}  // namespace tt
