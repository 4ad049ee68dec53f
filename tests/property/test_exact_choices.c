/* Front ends and writers asked for by name, in both formats: each is exact wherever it builds, and
 * the choice of the library is never deeper than lanes behind a plain front end.
 * Labels: exact slow */
#include "property/campaign.h"

#include <exactformer/exactformer.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum {
    EASY = XFT_X_GAUSSIAN | XFT_X_UNIFORM | XFT_X_VOCABULARY,
    LATTICES = XFT_X_LATTICE | XFT_X_BINARY | XFT_X_ONE_HOT,
    COARSE = XFT_Y_INTEGER | XFT_Y_HALF | XFT_Y_SINGLE,
    FULL = XFT_Y_FULL | XFT_Y_MIXED | XFT_Y_ODD | XFT_Y_POWERS | XFT_Y_ZEROS
};

static const xft_family families[] = {
    {.name = "coarse", .inputs = EASY, .targets = COARSE, .d_min = 2, .most_refused = 1},
    {.name = "full", .inputs = EASY, .targets = FULL, .d_min = 2, .most_refused = 1},
    {.name = "m = 1",
     .inputs = EASY,
     .targets = COARSE | FULL,
     .counts = XFT_ONE_EACH,
     .d_min = 2,
     .most_refused = 1},
    {.name = "one sequence",
     .inputs = EASY,
     .targets = COARSE | FULL,
     .N_max = 1,
     .d_min = 2,
     .most_refused = 1},
    {.name = "small",
     .inputs = EASY | LATTICES,
     .targets = COARSE | FULL,
     .n_max = 4,
     .N_max = 4,
     .d_min = 1,
     .d_max = 4,
     .most_refused = 1},
    {.name = "lattices",
     .inputs = LATTICES,
     .targets = COARSE | FULL,
     .d_min = 2,
     .d_max = 5,
     .n_max = 9,
     .N_max = 60,
     .most_refused = 1},
    {.name = "scales",
     .inputs = XFT_X_TINY | XFT_X_HUGE | XFT_X_OFFSET | XFT_X_ANISOTROPIC | XFT_X_CONSTANT,
     .targets = COARSE | FULL,
     .d_min = 2,
     .most_refused = 1},
    {.name = "extreme",
     .inputs = EASY | XFT_X_CLOSE | XFT_X_LARGEST | XFT_X_SUBNORMAL | XFT_X_MIXED,
     .targets = XFT_Y_RANGE | XFT_Y_BEYOND | XFT_Y_SMALL | XFT_Y_LARGE | XFT_Y_INTEGER,
     .d_min = 2,
     .most_refused = 1},
};

static void run(xf_dtype dtype, int64_t n_cases) {
    xft_campaign campaign = {.families = families,
                             .n_families = sizeof families / sizeof families[0],
                             .n_cases = n_cases,
                             .dtype = dtype,
                             .choices = 1};
    assert_int_equal(xft_campaign_run(&campaign), 0);
}

static void in_binary64(void **state) {
    (void)state;
    run(XF_F64, 1600);
}

static void in_binary32(void **state) {
    (void)state;
    run(XF_F32, 1600);
}

/* Blocks with what is asked for; 0: refused. */
static int64_t depth_of(const xf_dataset *data, const char *front, const char *writer,
                        xf_dtype dtype, uint64_t seed) {
    xf_model model;
    xf_build_options options = {.front = front,
                                .writer = writer,
                                .dtype = dtype,
                                .seed = seed,
                                .threads = 1,
                                .no_self_check = 1};
    if (xf_build(&model, data, &options, NULL, NULL) != XF_OK)
        return 0;
    int64_t n = model.n_blocks;
    xf_model_clear(&model);
    return n;
}

/* Left to choose, the library builds whatever the lanes' writers build behind a front end that it
 * chooses, or a plain one, and no deeper; and never deeper than published. */
static void check_depths(xf_dtype dtype, int64_t i) {
    static const char *const fronts[] = {NULL, "plain"};
    static const char *const writers[] = {"grid", "sorted"};
    xfi_rng rng;
    xf_dataset data;
    xfi_rng_seed(&rng, xft_property_seed(), 0x50000 + (uint64_t)i);
    const xft_family *family = &families[i % (int64_t)(sizeof families / sizeof families[0])];
    xft_random_data(&data, family, dtype, 100 * pow(4000, xfi_rng_uniform(&rng)), &rng);
    int64_t chosen = depth_of(&data, NULL, NULL, dtype, (uint64_t)i % 3);
    assert_true(chosen <= xf_published_bound(data.n_sequences, data.n_targets, XF_HARDMAX));
    for (int k = 0; k < 4; k++) {
        int64_t forced = depth_of(&data, fronts[k / 2], writers[k % 2], dtype, (uint64_t)i % 3);
        if (forced != 0 && (chosen == 0 || chosen > forced))
            fail_msg("case %lld (%s, N = %lld, M = %lld, d = %lld): %lld blocks, but front end %s "
                     "and writer %s take %lld",
                     (long long)i, family->name, (long long)data.n_sequences,
                     (long long)data.n_targets, (long long)data.d, (long long)chosen,
                     fronts[k / 2] ? fronts[k / 2] : "any", writers[k % 2], (long long)forced);
    }
    xf_dataset_clear(&data);
}

static void is_never_deeper(void **state) {
    (void)state;
    int64_t n = (int64_t)ceil(250 * xft_multiplier());
    for (int dtype = 0; dtype < 2; dtype++)
        for (int64_t i = 0; i < n; i++)
            check_depths((xf_dtype)dtype, i);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_never_deeper),
                                       cmocka_unit_test(in_binary64),
                                       cmocka_unit_test(in_binary32)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
