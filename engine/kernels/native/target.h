// Lets one binary hold several instruction sets: the functions between TT_TARGET_BEGIN and
// TT_TARGET_END may use those named, and are only called where the machine has them.
//
// Standard headers must be included before: their inline functions may be shared by all files of
// the binary, and so must be built for any machine.
#pragma once

#if defined(__x86_64__) || defined(_M_X64)
#define TT_X86 1
#else
#define TT_X86 0
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
