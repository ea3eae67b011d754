// Numbers of 16 bits, one at a time. Built for any machine: include before a target is chosen.
#pragma once
#include <cstdint>
#include <cstring>

namespace tt {

struct Half { uint16_t bits; };
struct Bfloat { uint16_t bits; };

constexpr float kMostHalf = 65504.0f;

inline float bits_to_float(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
}

inline uint32_t float_to_bits(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    return bits;
}

inline float half_to_float(uint16_t half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
    const uint32_t exponent = (half >> 10) & 31u;
    const uint32_t mantissa = half & 1023u;
    if (exponent == 0) {
        const float value = static_cast<float>(mantissa) * 0x1p-24f;
        return sign ? -value : value;
    }
    return bits_to_float(sign | (exponent == 31 ? 0x7f800000u : (exponent + 112u) << 23) | (mantissa << 13));
}

// To the nearest, ties to even; what is too large becomes the largest half.
inline uint16_t float_to_half(float value) {
    const uint32_t bits = float_to_bits(value);
    const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
    const uint32_t size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
    if (size >= 0x477fe000u) return static_cast<uint16_t>(sign | 0x7bffu);
    if (size < 0x38800000u) {
        // the sum's last bits are those of a subnormal half
        const float raised = bits_to_float(size) + 0.5f;
        return static_cast<uint16_t>(sign | (float_to_bits(raised) - 0x3f000000u));
    }
    const uint32_t rounded = size + 0xfffu + ((size >> 13) & 1u);
    return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

inline uint16_t float_to_bf16(float value) {
    const uint32_t bits = float_to_bits(value);
    return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace tt
