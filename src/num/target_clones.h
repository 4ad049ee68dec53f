/* XFI_CLONES: compile a hot loop for wide vectors too and choose at run time. XFI_CLONES_FMA: the
 * same for loops that call fma(), with instruction sets that have it. The flag -ffp-contract=off
 * holds in every clone, so they all give the same bits. */
#ifndef XFI_NUM_TARGET_CLONES_H
#define XFI_NUM_TARGET_CLONES_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__) &&       \
    !defined(__SANITIZE_ADDRESS__)
#define XFI_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#define XFI_CLONES_FMA __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define XFI_CLONES
#define XFI_CLONES_FMA
#endif

#endif
