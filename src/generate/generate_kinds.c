/* The table of kinds. */
#include "generate/generator.h"

#include <string.h>

/* name, description, flags, N, n_min, n_max, m_min, m_max, sizes, size, input, target */
const xfi_kind xfi_kinds[] = {
    {"gaussian", "independent standard normal tokens and targets", 0, 100, 2, 8, 1, 3, NULL, NULL,
     xfi_input_gaussian, xfi_target_gaussian},
    {"uniform", "independent tokens and targets, uniform in [-1, 1]", 0, 100, 2, 8, 1, 3, NULL,
     NULL, xfi_input_uniform, xfi_target_uniform},
    {"vocabulary", "tokens from a shared vocabulary, targets from a shared pool",
     XFI_KIND_VOCABULARY | XFI_KIND_POOL, 100, 2, 8, 1, 3, xfi_sizes_vocabulary, NULL,
     xfi_input_vocabulary, xfi_target_pool},
    {"nested", "chains of nested sets {a}, {a, b}, ...", 0, 16, 1, 16, 1, 3, xfi_sizes_nested,
     xfi_size_nested, xfi_input_nested, xfi_target_gaussian},
    {"equal-means", "sets of pairs {-k v, k v}, some with 0: every plain mean is 0", 0, 50, 2, 6, 1,
     3, xfi_sizes_equal_means, NULL, xfi_input_equal_means, xfi_target_gaussian},
    {"lattice", "tokens and targets on a small integer lattice, many shared", 0, 100, 2, 8, 1, 3,
     xfi_sizes_lattice, NULL, xfi_input_lattice, xfi_target_lattice},
    {"permutation", "as many targets as tokens, all of them input tokens of the set",
     XFI_KIND_M_IS_N, 50, 2, 8, 1, 8, NULL, NULL, xfi_input_gaussian, xfi_target_permutation},
    {"long", "long Gaussian sequences with few targets", 0, 10, 1000, 1200, 1, 2, NULL, NULL,
     xfi_input_gaussian, xfi_target_gaussian},
    {"hard-floats", "targets with full significands, zeros, powers of two, 1e-12 to 1e6", 0, 100, 2,
     8, 1, 3, NULL, NULL, xfi_input_gaussian, xfi_target_hard_floats},
    {"mirrored", "sequences X and -X", 0, 100, 2, 8, 1, 3, NULL, xfi_size_mirrored,
     xfi_input_mirrored, xfi_target_gaussian},
    {"pairs", "all pairs of a vocabulary, targets from a shared pool",
     XFI_KIND_VOCABULARY | XFI_KIND_POOL, 45, 2, 2, 1, 2, xfi_sizes_subsets, NULL,
     xfi_input_subsets, xfi_target_pool},
    {"subsets", "all 3-subsets (or n-subsets) of a vocabulary, targets from a shared pool",
     XFI_KIND_VOCABULARY | XFI_KIND_POOL, 84, 3, 3, 1, 2, xfi_sizes_subsets, NULL,
     xfi_input_subsets, xfi_target_pool},
    {"anisotropic", "Gaussian tokens whose coordinates range from 2^-20 to 2^20 in scale", 0, 100,
     2, 8, 1, 3, NULL, NULL, xfi_input_anisotropic, xfi_target_gaussian},
    {0},
};

static const char *const names[] = {
    "gaussian", "uniform",     "vocabulary", "nested", "equal-means", "lattice",     "permutation",
    "long",     "hard-floats", "mirrored",   "pairs",  "subsets",     "anisotropic", NULL,
};

_Static_assert(sizeof names / sizeof names[0] == sizeof xfi_kinds / sizeof xfi_kinds[0],
               "every kind has its name in the list");

const char *const *xf_generate_kinds(void) {
    return names;
}

const xfi_kind *xfi_kind_find(const char *name) {
    for (const xfi_kind *kind = xfi_kinds; kind->name != NULL; kind++)
        if (name != NULL && strcmp(kind->name, name) == 0)
            return kind;
    return NULL;
}

const char *xf_generate_describe(const char *kind) {
    const xfi_kind *found = xfi_kind_find(kind);
    return found ? found->description : NULL;
}
