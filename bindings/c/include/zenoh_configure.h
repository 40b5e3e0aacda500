// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The version of zenoh-c whose interface this is, and the parts of it that are there. The part for
// shared memory (`Z_FEATURE_SHARED_MEMORY`) is not. With `ZONDA_GENERATION_A`, which a library of generation a wants, it is
// the interface of zenoh-c 1.5 and 1.6, with `ZONDA_GENERATION_1_4` in addition that of 1.4.
#pragma once

#define ZENOH_C_MAJOR 1
#if defined(ZONDA_GENERATION_1_4)
#define ZENOH_C "1.4.0"
#define ZENOH_C_MINOR 4
#define ZENOH_C_PATCH 0
#elif defined(ZONDA_GENERATION_A)
#define ZENOH_C "1.6.2"
#define ZENOH_C_MINOR 6
#define ZENOH_C_PATCH 2
#else
#define ZENOH_C "1.9.0"
#define ZENOH_C_MINOR 9
#define ZENOH_C_PATCH 0
#endif
#define ZENOH_C_TWEAK 0

#define Z_FEATURE_UNSTABLE_API

#if defined(__x86_64__) || defined(_M_X64)
#define TARGET_ARCH_X86_64
#elif defined(__aarch64__) || defined(_M_ARM64)
#define TARGET_ARCH_AARCH64
#endif
