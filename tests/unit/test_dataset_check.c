/* The conditions on data sets: each has its own message, naming the first offender. */
#include "unit/file_support.h"

#include "core/dataset_prepare.h"
#include "core/dataset_sets.h"

#include <math.h>

static char notes[8][256];
static int n_notes;

static void keep_note(void *context, const char *text) {
    (void)context;
    snprintf(notes[n_notes++ % 8], sizeof notes[0], "%s", text);
}

/* x, y and their offsets; d = 2 throughout. */
typedef struct example {
    double x[16];
    int64_t x_offsets[5];
    double y[16];
    int64_t y_offsets[5];
    int64_t n;
} example;

/* Two sequences of two tokens, one target each. */
static const example good = {{1, 2, 3, 4, 5, 6, 7, 8}, {0, 2, 4}, {1, 1, 2, 2}, {0, 1, 2}, 2};

static xf_status make(xf_dataset *out, const example *e, const xf_dataset_options *options,
                      xf_error *error) {
    n_notes = 0;
    return xf_dataset_from_arrays(out, e->n, 2, e->x, e->x_offsets, e->y, e->y_offsets, options,
                                  error);
}

static void assert_fails(const example *e, const char *part, int64_t sequence, int64_t token) {
    xf_dataset data;
    xf_error error = {0};
    xf_status status = make(&data, e, NULL, &error);
    assert_int_equal(status, XF_ERR_DATA);
    assert_int_equal(error.status, XF_ERR_DATA);
    assert_contains(error.message, part);
    assert_int_equal(error.sequence, sequence);
    assert_int_equal(error.token, token);
    assert_null(data.x);
    assert_null(data.y);
    assert_int_equal(make(&data, e, NULL, NULL), XF_ERR_DATA);
}

static void test_a_good_one(void **state) {
    (void)state;
    xf_dataset data;
    assert_int_equal(make(&data, &good, NULL, NULL), XF_OK);
    assert_int_equal(data.n_tokens, 4);
    assert_int_equal(data.n_targets, 2);
    assert_int_equal(data.positions, -1);
    assert_int_equal(xf_dataset_check(&data, NULL), XF_OK);
    xf_dataset_clear(&data);
    xf_dataset_clear(&data);
    xf_dataset_clear(NULL);
}

static void test_arguments(void **state) {
    (void)state;
    xf_dataset data;
    xf_error error;
    int64_t o[2] = {0, 1};
    double v[1] = {1};
    assert_int_equal(xf_dataset_from_arrays(&data, 0, 1, v, o, v, o, NULL, &error), XF_ERR_DATA);
    assert_contains(error.message, "at least one sequence and one coordinate, got 0 and 1");
    assert_int_equal(xf_dataset_from_arrays(&data, 1, 0, v, o, v, o, NULL, &error), XF_ERR_DATA);
    assert_int_equal(xf_dataset_from_arrays(&data, 1, 1, NULL, o, v, o, NULL, &error),
                     XF_ERR_ARGUMENT);
    assert_int_equal(xf_dataset_from_arrays(&data, 1, 1, v, o, v, NULL, NULL, &error),
                     XF_ERR_ARGUMENT);
    assert_contains(error.message, "y needs y_offsets");
    int64_t many[2] = {0, INT64_MAX / 2};
    assert_int_equal(xf_dataset_from_arrays(&data, 1, 4, v, many, v, o, NULL, &error),
                     XF_ERR_MEMORY);
}

static void test_offsets_and_counts(void **state) {
    (void)state;
    example e = good;
    e.x_offsets[0] = 1;
    assert_fails(&e, "x_offsets must start at 0, not at 1", 0, -1);
    e = good;
    e.x_offsets[1] = 0;
    assert_fails(&e, "sequence 0 would be rows 0 up to 0", 0, -1);
    e = good;
    e.x_offsets[2] = -4;
    assert_fails(&e, "sequence 1 would be rows 2 up to -4", 1, -1);
    e = good;
    e.y_offsets[2] = 1;
    assert_fails(&e, "y_offsets must be strictly increasing: sequence 1", 1, -1);
    e = good;
    e.y_offsets[2] = 4;
    assert_fails(&e, "sequence 1 has 3 targets but only 2 input tokens", 1, -1);
}

static void test_values(void **state) {
    (void)state;
    example e = good;
    e.x[5] = (double)NAN;
    assert_fails(&e, "sequence 1, token 0, coordinate 1 is NaN", 1, 0);
    e = good;
    e.x[2] = -(double)INFINITY;
    assert_fails(&e, "sequence 0, token 1, coordinate 0 is infinite", 0, 1);
    e = good;
    e.y[3] = (double)INFINITY;
    assert_fails(&e, "sequence 1, target 0, coordinate 1 is infinite", 1, 0);
}

static void test_repeated_tokens(void **state) {
    (void)state;
    example e = {{1, 2, 9, 9, 5, 0.0, 7, 8, 7, 8, 5, -0.0}, {0, 1, 6}, {1, 1, 2, 2}, {0, 1, 2}, 2};
    assert_fails(&e, "sequence 1: tokens 2 and 3 are equal; `--positions append`", 1, 3);
    e.x[8] = 70;
    assert_fails(&e, "sequence 1: tokens 1 and 4 are equal", 1, 4);
    example t = {{1, 2, 3, 4, 5, 6}, {0, 1, 3}, {1, 1, 2, 2, 2, 2}, {0, 1, 3}, 2};
    assert_fails(&t, "sequence 1: targets 0 and 1 are equal; targets are sets", 1, 1);
}

static void test_zeros_lose_their_sign(void **state) {
    (void)state;
    xf_dataset data;
    example e = good;
    e.x[0] = e.y[0] = -0.0;
    assert_int_equal(make(&data, &e, NULL, NULL), XF_OK);
    assert_false(signbit(data.x[0]));
    assert_false(signbit(data.y[0]));
    xf_dataset_clear(&data);
}

/* Sequences 0 and 2 are one set in two orders, as are their targets. */
static const example repeated = {{1, 2, 3, 4, 9, 9, 3, 4, 1, 2, 8, 8},
                                 {0, 2, 3, 5, 6},
                                 {5, 5, 6, 6, 0, 0, 6, 6, 5, 5, 7, 7},
                                 {0, 2, 3, 5, 6},
                                 4};

static void test_repeated_pairs_are_dropped(void **state) {
    (void)state;
    const xf_dataset_options options = {.note = keep_note};
    xf_dataset data;
    xf_error error;
    assert_int_equal(make(&data, &repeated, &options, NULL), XF_OK);
    assert_int_equal(n_notes, 1);
    assert_string_equal(notes[0], "sequence 2 repeats sequence 0 and is dropped");
    assert_int_equal(data.n_sequences, 3);
    assert_int_equal(data.n_tokens, 4);
    assert_int_equal(data.n_targets, 4);
    static const double x[8] = {1, 2, 3, 4, 9, 9, 8, 8};
    static const int64_t offsets[4] = {0, 2, 3, 4};
    assert_memory_equal(data.x, x, sizeof x);
    assert_memory_equal(data.x_offsets, offsets, sizeof offsets);
    assert_memory_equal(data.y_offsets, offsets, sizeof offsets);
    assert_int_equal(xf_dataset_check(&data, &error), XF_OK);
    xf_dataset_clear(&data);
}

static void test_repeated_pairs_fail_the_check(void **state) {
    (void)state;
    example e = repeated;
    xf_error error;
    const xf_dataset view = {4, 2, 6, 6, -1, e.x, e.x_offsets, e.y, e.y_offsets, NULL};
    assert_int_equal(xf_dataset_check(&view, &error), XF_ERR_DATA);
    assert_contains(error.message, "sequences 0 and 2 are the same pair");
    assert_int_equal(error.sequence, 2);
    e.y[0] = 50;
    assert_int_equal(xf_dataset_check(&view, &error), XF_ERR_DATA);
    assert_contains(error.message, "sequences 0 and 2 have the same input tokens but different");
}

static void test_conflicting_targets(void **state) {
    (void)state;
    example e = repeated;
    e.y[8] = 55;
    assert_fails(&e, "sequences 0 and 2 have the same input tokens but different targets", 2, -1);
    example fewer = {{1, 2, 3, 4, 3, 4, 1, 2}, {0, 2, 4}, {5, 5, 6, 6, 5, 5}, {0, 2, 3}, 2};
    assert_fails(&fewer, "sequences 0 and 1 have the same input tokens but different targets", 1,
                 -1);
}

static void test_many_repeats_are_summed_up(void **state) {
    (void)state;
    enum { N = 20 };
    double x[N];
    int64_t offsets[N + 1] = {0};
    const xf_dataset_options options = {.note = keep_note};
    xf_dataset data;
    for (int j = 0; j < N; j++) {
        x[j] = j % 2;
        offsets[j + 1] = j + 1;
    }
    n_notes = 0;
    assert_int_equal(xf_dataset_from_arrays(&data, N, 1, x, offsets, x, offsets, &options, NULL),
                     XF_OK);
    assert_int_equal(data.n_sequences, 2);
    assert_int_equal(n_notes, 6);
    assert_string_equal(notes[5], "13 more repeated sequences are dropped");
    xf_dataset_clear(&data);
}

static void test_inputs_alone_may_repeat(void **state) {
    (void)state;
    const xf_dataset_options options = {.inputs_only = 1, .note = keep_note};
    xf_dataset data;
    assert_int_equal(make(&data, &repeated, &options, NULL), XF_OK);
    assert_int_equal(data.n_sequences, 4);
    assert_null(data.y);
    assert_int_equal(n_notes, 0);
    assert_int_equal(xf_dataset_check(&data, NULL), XF_OK);
    xf_dataset_clear(&data);
}

static void test_positions(void **state) {
    (void)state;
    const xf_dataset_options options = {.append_positions = 1};
    const example e = {{1, 2, 1, 2, 1, 2, 3, 4}, {0, 3, 4}, {5, 5, 5, 5, 6, 6}, {0, 2, 3}, 2};
    static const double x[12] = {1, 2, 0, 1, 2, 0.25, 1, 2, 0.5, 3, 4, 0};
    static const double y[9] = {5, 5, 0, 5, 5, 0.25, 6, 6, 0};
    xf_dataset data;
    assert_int_equal(make(&data, &e, &options, NULL), XF_OK);
    assert_int_equal(data.positions, 2);
    assert_int_equal(data.d, 3);
    assert_memory_equal(data.x, x, sizeof x);
    assert_memory_equal(data.y, y, sizeof y);
    xf_dataset_clear(&data);
}

static void test_scale_of_positions(void **state) {
    (void)state;
    const int64_t lengths[] = {1, 2, 3, 4, 5, 8, 9};
    const int scales[] = {0, 1, 2, 2, 3, 3, 4};
    static const double x[9];
    static const int64_t y_offsets[2] = {0, 1};
    xf_error error;
    for (int i = 0; i < 7; i++) {
        const int64_t offsets[2] = {0, lengths[i]};
        xf_dataset data;
        xf_dataset_options options = {.append_positions = 1};
        for (int forced = 0; forced <= 1; forced++) {
            options.position_bits = forced ? 6 : 0;
            assert_int_equal(
                xf_dataset_from_arrays(&data, 1, 1, x, offsets, x, y_offsets, &options, NULL), 0);
            assert_int_equal(data.positions, forced ? 5 : scales[i]);
            xf_dataset_clear(&data);
        }
        if (scales[i] == 0)
            continue;
        options.position_bits = scales[i]; /* one bit too few */
        assert_int_equal(
            xf_dataset_from_arrays(&data, 1, 1, x, offsets, x, y_offsets, &options, &error),
            XF_ERR_DATA);
        assert_contains(error.message, "but the model has only");
    }
    const int64_t offsets[2] = {0, 2};
    const xf_dataset_options options = {.append_positions = 1, .position_bits = 64};
    xf_dataset data;
    assert_int_equal(
        xf_dataset_from_arrays(&data, 1, 1, x, offsets, x, y_offsets, &options, &error),
        XF_ERR_ARGUMENT);
}

static void test_check_of_broken_structs(void **state) {
    (void)state;
    xf_error error;
    xf_dataset data;
    xf_dataset_init(&data);
    assert_int_equal(xf_dataset_check(&data, &error), XF_ERR_DATA);
    assert_contains(error.message, "at least one coordinate (d is 0)");
    data.d = 1;
    assert_int_equal(xf_dataset_check(&data, &error), XF_ERR_DATA);
    assert_contains(error.message, "at least one sequence");
    data.n_sequences = 1;
    assert_int_equal(xf_dataset_check(&data, &error), XF_ERR_DATA);
    assert_contains(error.message, "needs x with x_offsets");
    int64_t offsets[2] = {0, 1};
    double x[1] = {1};
    data.x = x;
    data.x_offsets = offsets;
    assert_int_equal(xf_dataset_check(&data, &error), XF_ERR_DATA);
    assert_contains(error.message, "x_offsets must end at the number of rows, 0, not at 1");
}

/* Compare with the definition, all pairs of sequences, on data with many coincidences. */
static void test_sets_against_the_definition(void **state) {
    (void)state;
    enum { N = 60 };
    xfi_rng rng;
    xfi_rng_seed(&rng, 5, 0);
    double x[N * 3];
    int64_t offsets[N + 1] = {0}, original[N];
    for (int64_t j = 0; j < N; j++) {
        int64_t n = 1 + xfi_rng_below(&rng, 3), first = xfi_rng_below(&rng, 4);
        for (int64_t l = 0; l < n; l++)
            x[offsets[j] + l] = (double)((first + l * (1 + 2 * (j % 2))) % 4);
        offsets[j + 1] = offsets[j] + n;
    }
    xfi_sets sets = {N, 1, x, offsets};
    xf_dataset data = {.n_sequences = N, .d = 1, .x = x, .x_offsets = offsets};
    xfi_tiles tiles;
    uint64_t hashes[N];
    int64_t repeats = -1;
    assert_int_equal(xfi_tiles_init(&tiles, &data, NULL, NULL), XF_OK);
    assert_int_equal(xfi_sets_hash(hashes, &repeats, &sets, &tiles, 0, NULL), XF_OK);
    assert_int_equal(xfi_sets_originals(original, &sets, hashes, NULL), XF_OK);
    for (int64_t j = 0; j < N; j++) {
        int64_t first = -1;
        for (int64_t i = 0; first < 0; i++) {
            int masks[2] = {0, 0};
            for (int64_t l = offsets[i]; l < offsets[i + 1]; l++)
                masks[0] |= 1 << (int)x[l];
            for (int64_t l = offsets[j]; l < offsets[j + 1]; l++)
                masks[1] |= 1 << (int)x[l];
            if (masks[0] == masks[1])
                first = i;
        }
        assert_int_equal(original[j], first);
    }
    xfi_tiles_clear(&tiles);
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    const xf_dataset_options options = {.append_positions = 1};
    xf_status status = XF_ERR_MEMORY;
    xf_dataset data;
    for (int64_t k = 0; status != XF_OK; k++) {
        assert_true(k < 50);
        xfi_alloc_limit(k);
        status = make(&data, &repeated, &options, NULL);
        xfi_alloc_limit(-1);
        assert_true(status == XF_OK || status == XF_ERR_MEMORY);
    }
    status = XF_ERR_MEMORY;
    for (int64_t k = 0; status != XF_OK; k++) {
        assert_true(k < 50);
        xfi_alloc_limit(k);
        status = xf_dataset_check(&data, NULL);
        xfi_alloc_limit(-1);
    }
    xf_dataset_clear(&data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_good_one),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_offsets_and_counts),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_repeated_tokens),
        cmocka_unit_test(test_zeros_lose_their_sign),
        cmocka_unit_test(test_repeated_pairs_are_dropped),
        cmocka_unit_test(test_repeated_pairs_fail_the_check),
        cmocka_unit_test(test_conflicting_targets),
        cmocka_unit_test(test_many_repeats_are_summed_up),
        cmocka_unit_test(test_inputs_alone_may_repeat),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_scale_of_positions),
        cmocka_unit_test(test_check_of_broken_structs),
        cmocka_unit_test(test_sets_against_the_definition),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
