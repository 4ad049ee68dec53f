#include "mutation/subjects.h"

#include "property/random_data.h"

#include <exactformer/build.h>
#include <exactformer/generate.h>

#include <stdlib.h>

typedef struct subject {
    const char *name;
    xf_generate_options data;
    xf_build_options build;
    const xft_family *family; /* not NULL: draws the data */
} subject;

/* Values of all sizes and kinds, tokens that are shared. */
static const xft_family families[] = {
    {.name = "integer targets",
     .inputs = XFT_X_GAUSSIAN | XFT_X_VOCABULARY | XFT_X_LATTICE | XFT_X_BINARY,
     .targets = XFT_Y_INTEGER | XFT_Y_HALF | XFT_Y_POOL,
     .d_min = 2},
    {.name = "any targets",
     .inputs = XFT_X_GAUSSIAN | XFT_X_MIXED | XFT_X_ANISOTROPIC,
     .targets = XFT_Y_FULL | XFT_Y_MIXED | XFT_Y_ODD | XFT_Y_POWERS,
     .d_min = 2},
    {.name = "ends of the range",
     .inputs = XFT_X_TINY | XFT_X_HUGE | XFT_X_GAUSSIAN,
     .targets = XFT_Y_RANGE | XFT_Y_SMALL | XFT_Y_LARGE,
     .d_min = 2},
};

enum { RANDOM_WORK = 1500 }; /* budget of a random data set */

#define DRAW(KIND, N, D, N_MIN, N_MAX, M_MAX, GRID, INPUT_GRID)                                    \
    .data = {.kind = (KIND),                                                                       \
             .n_sequences = (N),                                                                   \
             .d = (D),                                                                             \
             .n_min = (N_MIN),                                                                     \
             .n_max = (N_MAX),                                                                     \
             .m_min = 1,                                                                           \
             .m_max = (M_MAX),                                                                     \
             .grid = (GRID),                                                                       \
             .input_grid = (INPUT_GRID)}
#define GAUSS(N, D, N_MIN, N_MAX, M_MAX, GRID)                                                     \
    DRAW("gaussian", N, D, N_MIN, N_MAX, M_MAX, GRID, XF_GRID_F32)

static const subject subjects[] = {
    {"pooled grid", GAUSS(3, 2, 2, 3, 2, XF_GRID_F16), .build.writer = "grid"},
    {"pooled sorted", GAUSS(3, 2, 2, 3, 2, XF_GRID_FULL), .build.writer = "sorted"},
    {"pooled diamond", GAUSS(4, 2, 2, 3, 1, XF_GRID_F16), .build.writer = "diamond"},
    {"pooled cube", GAUSS(4, 5, 2, 2, 1, XF_GRID_F16), .build.writer = "cube"},
    {"pooled offgrid", GAUSS(3, 4, 2, 2, 1, XF_GRID_FULL), .build.writer = "offgrid"},
    {"pooled argmax", DRAW("gaussian", 3, 2, 2, 3, 1, XF_GRID_F16, XF_GRID_F16),
     .build = {.writer = "argmax", .hardmax_only = 1}},
    {"pooled kinks", DRAW("lattice", 4, 2, 2, 3, 2, XF_GRID_FULL, XF_GRID_FULL),
     .build.front = "kinks"},
    {"pooled folds", DRAW("equal-means", 3, 2, 2, 4, 2, XF_GRID_FULL, XF_GRID_FULL),
     .build.front = "folds"},
    {"pooled balanced", GAUSS(3, 3, 2, 3, 1, XF_GRID_F16), .build.optimise = XF_OPTIMISE_NORM},
    {"pooled binary32", GAUSS(3, 2, 2, 3, 2, XF_GRID_F16), .build.dtype = XF_F32},
    {"pooled binary32, sorted", GAUSS(3, 3, 1, 2, 1, XF_GRID_F32),
     .build = {.dtype = XF_F32, .writer = "sorted"}},
    {"pooled, one token", GAUSS(3, 2, 1, 1, 1, XF_GRID_F16), .build.dtype = XF_F32},
    {"pooled softmax", GAUSS(3, 2, 2, 3, 2, XF_GRID_F16),
     .build = {.attention = XF_SOFTMAX, .tau = 0.5}},
    {"displacement", GAUSS(12, 3, 2, 3, 1, XF_GRID_F16),
     .build = {.dtype = XF_F32, .front = "displacement"}},
    {"published", GAUSS(2, 2, 2, 3, 2, XF_GRID_F16), .build.construction = XF_PUBLISHED},
    {"published, shared tokens", DRAW("lattice", 3, 2, 2, 3, 1, XF_GRID_FULL, XF_GRID_FULL),
     .build.construction = XF_PUBLISHED},
    {"published softmax", GAUSS(2, 2, 2, 3, 1, XF_GRID_F16),
     .build = {.construction = XF_PUBLISHED, .attention = XF_SOFTMAX, .tau = 1.0}},
    {"random, integer targets", .family = &families[0]},
    {"random, any targets", .family = &families[1]},
    {"random, ends of the range", .family = &families[2]},
    {"random, binary32", .family = &families[0], .build.dtype = XF_F32},
};

int xft_n_subjects(void) {
    return (int)(sizeof subjects / sizeof subjects[0]);
}

const char *xft_subject_name(int i) {
    return subjects[i].name;
}

int xft_subject_build(xf_model *model, xf_dataset *data, int i, uint64_t seed) {
    xf_generate_options draw = subjects[i].data;
    xf_build_options build = subjects[i].build;
    draw.seed = build.seed = seed;
    build.threads = 1;
    if (subjects[i].family != NULL) {
        xfi_rng rng;
        xfi_rng_seed(&rng, seed, 0x5b);
        xft_random_data(data, subjects[i].family, build.dtype, RANDOM_WORK, &rng);
    } else if (xf_generate(data, &draw, NULL) != XF_OK) {
        abort();
    }
    if (xf_build(model, data, &build, NULL, NULL) == XF_OK)
        return 1;
    xf_dataset_clear(data);
    return 0;
}
