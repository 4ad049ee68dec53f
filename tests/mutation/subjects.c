#include "mutation/subjects.h"

#include <exactformer/build.h>
#include <exactformer/generate.h>

#include <stdlib.h>

typedef struct subject {
    const char *name;
    xf_generate_options data;
    xf_build_options build;
} subject;

#define GAUSS(N, D, N_MIN, N_MAX, M_MAX, GRID)                                                     \
    {                                                                                              \
        .kind = "gaussian", .n_sequences = (N), .d = (D), .n_min = (N_MIN), .n_max = (N_MAX),      \
        .m_min = 1, .m_max = (M_MAX), .grid = (GRID), .input_grid = XF_GRID_F32                    \
    }

static const subject subjects[] = {
    {"pooled grid", GAUSS(3, 2, 2, 3, 2, XF_GRID_F16), {.writer = "grid"}},
    {"pooled sorted", GAUSS(3, 2, 2, 3, 2, XF_GRID_FULL), {.writer = "sorted"}},
    {"pooled diamond", GAUSS(4, 2, 2, 3, 1, XF_GRID_F16), {.writer = "diamond"}},
    {"pooled cube", GAUSS(4, 5, 2, 2, 1, XF_GRID_F16), {.writer = "cube"}},
    {"pooled offgrid", GAUSS(3, 4, 2, 2, 1, XF_GRID_FULL), {.writer = "offgrid"}},
    {"pooled argmax",
     {.kind = "gaussian",
      .n_sequences = 3,
      .d = 2,
      .n_min = 2,
      .n_max = 3,
      .m_min = 1,
      .m_max = 1,
      .grid = XF_GRID_F16,
      .input_grid = XF_GRID_F16},
     {.writer = "argmax", .hardmax_only = 1}},
    {"pooled kinks",
     {.kind = "lattice", .n_sequences = 4, .d = 2, .n_min = 2, .n_max = 3},
     {.front = "kinks"}},
    {"pooled folds",
     {.kind = "equal-means", .n_sequences = 3, .d = 2, .n_min = 2, .n_max = 4},
     {.front = "folds"}},
    {"pooled balanced", GAUSS(3, 3, 2, 3, 1, XF_GRID_F16), {.optimise = XF_OPTIMISE_NORM}},
    {"pooled binary32", GAUSS(3, 2, 2, 3, 2, XF_GRID_F16), {.dtype = XF_F32}},
    {"pooled binary32, sorted",
     GAUSS(3, 3, 1, 2, 1, XF_GRID_F32),
     {.dtype = XF_F32, .writer = "sorted"}},
    {"pooled, one token", GAUSS(3, 2, 1, 1, 1, XF_GRID_F16), {.dtype = XF_F32}},
    {"pooled softmax", GAUSS(3, 2, 2, 3, 2, XF_GRID_F16), {.attention = XF_SOFTMAX, .tau = 0.5}},
    {"displacement",
     GAUSS(12, 3, 2, 3, 1, XF_GRID_F16),
     {.dtype = XF_F32, .front = "displacement"}},
    {"published", GAUSS(2, 2, 2, 3, 2, XF_GRID_F16), {.construction = XF_PUBLISHED}},
    {"published softmax",
     GAUSS(2, 2, 2, 3, 1, XF_GRID_F16),
     {.construction = XF_PUBLISHED, .attention = XF_SOFTMAX, .tau = 1.0}},
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
    if (xf_generate(data, &draw, NULL) != XF_OK)
        abort();
    if (xf_build(model, data, &build, NULL, NULL) == XF_OK)
        return 1;
    xf_dataset_clear(data);
    return 0;
}
