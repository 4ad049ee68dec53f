/* XFI_CLONES: compile a hot loop for wide vectors too and choose at run time. The
 * flag -ffp-contract=off holds in every clone, so they all give the same bits. */
#ifndef XFI_NUM_TARGET_CLONES_H
#define XFI_NUM_TARGET_CLONES_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__) &&       \
    !defined(__SANITIZE_ADDRESS__)
#define XFI_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define XFI_CLONES
#endif

#endif
