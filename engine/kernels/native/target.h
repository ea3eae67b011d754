// Lets one binary hold several instruction sets: the functions between TT_TARGET_BEGIN and
// TT_TARGET_END may use those named, and are only called where the machine has them.
//
// Standard headers must be included before: their inline functions may be shared by all files of
// the binary, and so must be built for any machine.
#pragma once

#if defined(__x86_64__) || defined(_M_X64)
#define TT_X86 1
#include <xmmintrin.h>
#else
#define TT_X86 0
#endif

#if defined(__aarch64__) && (defined(__GNUC__) || defined(__clang__))
#define TT_ARM64 1
#else
#define TT_ARM64 0
#endif

// Names of instructions beside NEON, as compilers spell them.
#if defined(__clang__)
#define TT_DOTPROD "dotprod"
#define TT_I8MM "dotprod,i8mm"
#else
#define TT_DOTPROD "arch=armv8.2-a+dotprod"
#define TT_I8MM "arch=armv8.2-a+dotprod+i8mm"
#endif

// What must be part of its caller, and what must not be: registers are few, and compilers guess.
#if defined(_MSC_VER) && !defined(__clang__)
#define TT_INLINE __forceinline
#define TT_APART __declspec(noinline)
#else
#define TT_INLINE inline __attribute__((always_inline))
#define TT_APART __attribute__((noinline))
#endif

// Have the line at `p` brought into the first cache, if there is one: any address will do.
#if TT_X86
#define TT_PREFETCH(p) _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0)
#elif defined(__GNUC__) || defined(__clang__)
#define TT_PREFETCH(p) __builtin_prefetch(p, 0, 3)
#else
#define TT_PREFETCH(p) static_cast<void>(p)
#endif

#define TT_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define TT_TARGET_BEGIN(names) \
    TT_PRAGMA(clang attribute push(__attribute__((target(names))), apply_to = function))
#define TT_TARGET_END TT_PRAGMA(clang attribute pop)
#elif defined(__GNUC__)
#define TT_TARGET_BEGIN(names) TT_PRAGMA(GCC push_options) TT_PRAGMA(GCC target(names))
#define TT_TARGET_END TT_PRAGMA(GCC pop_options)
#else
#define TT_TARGET_BEGIN(names)
#define TT_TARGET_END
#endif
