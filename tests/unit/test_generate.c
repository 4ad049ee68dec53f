/* Synthetic data: every kind is valid, the same everywhere, and what it says it is. */
#include <exactformer/generate.h>

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void make(xf_dataset *out, const xf_generate_options *options) {
    xf_error error;
    if (xf_generate(out, options, &error) != XF_OK)
        fail_msg("%s, d %lld, seed %llu: %s", options->kind, (long long)options->d,
                 (unsigned long long)options->seed, error.message);
    if (xf_dataset_check(out, &error) != XF_OK)
        fail_msg("%s: %s", options->kind, error.message);
}

static uint64_t add_bytes(uint64_t hash, const void *bytes, int64_t n_words) {
    const unsigned char *byte = bytes;
    for (int64_t i = 0; i < n_words; i++) {
        uint64_t word = 0;
        memcpy(&word, byte + 8 * i, 8);
        for (int b = 0; b < 8; b++)
            hash = (hash ^ (word >> (8 * b) & 255)) * 0x100000001b3u;
    }
    return hash;
}

/* FNV-1a of all four arrays, the low byte of a value first. */
static uint64_t checksum(const xf_dataset *data) {
    uint64_t hash = 0xcbf29ce484222325u;
    hash = add_bytes(hash, data->x_offsets, data->n_sequences + 1);
    hash = add_bytes(hash, data->y_offsets, data->n_sequences + 1);
    hash = add_bytes(hash, data->x, data->n_tokens * data->d);
    return add_bytes(hash, data->y, data->n_targets * data->d);
}

static void all_kinds_are_valid(void **state) {
    (void)state;
    const int64_t dimensions[] = {1, 2, 3, 16, 64, 100};
    const int64_t sequences[] = {0, 1, 150};
    for (const char *const *kind = xf_generate_kinds(); *kind; kind++)
        for (int i = 0; i < 6; i++)
            for (int k = 0; k < 3; k++) {
                xf_dataset data;
                xf_generate_options options = {.kind = *kind,
                                               .d = dimensions[i],
                                               .n_sequences = sequences[k],
                                               .seed = (uint64_t)(10 * i + k)};
                if (strcmp(*kind, "long") == 0 && i > 2)
                    options.n_sequences = 3;
                make(&data, &options);
                assert_int_equal(data.d, dimensions[i]);
                assert_int_equal(data.positions, -1);
                if (options.n_sequences)
                    assert_int_equal(data.n_sequences, options.n_sequences);
                xf_dataset_clear(&data);
            }
}

/* pairs and subsets have one size, permutation as many targets as tokens. */
static int64_t largest_size(const char *kind) {
    return strcmp(kind, "pairs") == 0 || strcmp(kind, "subsets") == 0 ? 3 : 9;
}

static void sizes_are_respected(void **state) {
    (void)state;
    for (const char *const *kind = xf_generate_kinds(); *kind; kind++) {
        int is_permutation = strcmp(*kind, "permutation") == 0;
        xf_dataset data;
        make(&data, &(xf_generate_options){.kind = *kind,
                                           .n_sequences = 40,
                                           .n_min = 3,
                                           .n_max = largest_size(*kind),
                                           .m_min = 2,
                                           .m_max = 3});
        for (int64_t j = 0; j < 40; j++) {
            int64_t n = data.x_offsets[j + 1] - data.x_offsets[j];
            int64_t m = data.y_offsets[j + 1] - data.y_offsets[j];
            assert_in_range(n, 3, largest_size(*kind));
            assert_in_range(m, is_permutation ? n : 2, is_permutation ? n : 3);
        }
        xf_dataset_clear(&data);
    }
}

static void options_decide_everything(void **state) {
    (void)state;
    for (const char *const *kind = xf_generate_kinds(); *kind; kind++) {
        xf_dataset a, b, c;
        xf_generate_options options = {.kind = *kind, .seed = 7};
        make(&a, &options);
        make(&b, &options);
        options.seed = 8;
        make(&c, &options);
        assert_true(checksum(&a) == checksum(&b));
        assert_true(checksum(&a) != checksum(&c));
        xf_dataset_clear(&a);
        xf_dataset_clear(&b);
        xf_dataset_clear(&c);
    }
}

typedef struct golden {
    const char *kind;
    uint64_t checksum;
} golden;

/* d = 3, 20 sequences, seed 1. A change here changes everybody's data sets. */
static const golden golden_checksums[] = {
    {"gaussian", 0xc0797e043f15f9ee},    {"uniform", 0x3f5a659c6d5e6808},
    {"vocabulary", 0xf835af9144fe5fdc},  {"nested", 0x2a6b36b27b4da9a2},
    {"equal-means", 0x484ae8db29efd487}, {"lattice", 0x1433c1e4df60f678},
    {"permutation", 0xdda5628d15696ffe}, {"long", 0x5f4acc294d86f437},
    {"hard-floats", 0x9e1c30e3b55cc150}, {"mirrored", 0x8636ae382b51ed18},
    {"pairs", 0x95897234005407f6},       {"subsets", 0xe34346e914c699aa},
    {"anisotropic", 0x388f031e0759be38},
};

static void values_are_the_same_everywhere(void **state) {
    (void)state;
    int n_kinds = 0, n_wrong = 0;
    for (const char *const *kind = xf_generate_kinds(); *kind; kind++, n_kinds++) {
        xf_dataset data;
        make(&data, &(xf_generate_options){.kind = *kind, .d = 3, .n_sequences = 20, .seed = 1});
        uint64_t hash = checksum(&data);
        xf_dataset_clear(&data);
        assert_string_equal(golden_checksums[n_kinds].kind, *kind);
        if (hash == golden_checksums[n_kinds].checksum)
            continue;
        print_message("{\"%s\", 0x%016" PRIx64 "},\n", *kind, hash);
        n_wrong++;
    }
    assert_int_equal(n_wrong, 0);
    assert_int_equal(n_kinds, sizeof golden_checksums / sizeof golden_checksums[0]);
}

/* Every kind of the list has a description, nothing else has. */
static void kinds_are_described(void **state) {
    (void)state;
    for (const char *const *kind = xf_generate_kinds(); *kind; kind++)
        assert_true(strlen(xf_generate_describe(*kind)) > 10);
    assert_null(xf_generate_describe("normal"));
    assert_null(xf_generate_describe(""));
    assert_null(xf_generate_describe(NULL));
}

static int is_binary16(double v) {
    double scaled = ldexp(v, v == 0.0 || ilogb(v) < -14 ? 24 : 10 - ilogb(v));
    return fabs(v) <= 65504.0 && scaled == rint(scaled);
}

static int is_on_grid(double v, xf_grid grid) {
    switch (grid) {
    case XF_GRID_F32:
        return (double)(float)v == v;
    case XF_GRID_F16:
        return is_binary16(v);
    case XF_GRID_INTEGER:
        return rint(v) == v;
    default:
        return 1;
    }
}

static void grids_are_kept(void **state) {
    (void)state;
    const xf_grid grids[] = {XF_GRID_F32, XF_GRID_F16, XF_GRID_INTEGER};
    for (const char *const *kind = xf_generate_kinds(); *kind; kind++)
        for (int g = 0; g < 3; g++) {
            xf_dataset data;
            make(&data, &(xf_generate_options){.kind = *kind,
                                               .n_sequences = 20,
                                               .grid = grids[g],
                                               .input_grid = grids[g],
                                               .scale = 3.7,
                                               .offset = 0.3});
            for (int64_t i = 0; i < data.n_tokens * data.d; i++)
                assert_true(is_on_grid(data.x[i], grids[g]));
            for (int64_t i = 0; i < data.n_targets * data.d; i++)
                assert_true(is_on_grid(data.y[i], grids[g]));
            xf_dataset_clear(&data);
        }
}

static void scale_and_offset_are_applied(void **state) {
    (void)state;
    xf_dataset plain, moved;
    make(&plain, &(xf_generate_options){.kind = "gaussian"});
    make(&moved, &(xf_generate_options){.kind = "gaussian", .scale = -4.0, .offset = 100.0});
    for (int64_t i = 0; i < plain.n_tokens * plain.d; i++)
        assert_true(moved.x[i] == -4.0 * plain.x[i] + 100.0);
    for (int64_t i = 0; i < plain.n_targets * plain.d; i++)
        assert_true(moved.y[i] == plain.y[i]);
    xf_dataset_clear(&plain);
    xf_dataset_clear(&moved);
}

static void means_coincide(void **state) {
    (void)state;
    xf_dataset data;
    make(&data, &(xf_generate_options){.kind = "equal-means", .n_sequences = 200});
    for (int64_t j = 0; j < data.n_sequences; j++)
        for (int64_t c = 0; c < data.d; c++) {
            double sum = 0.0;
            for (int64_t i = data.x_offsets[j]; i < data.x_offsets[j + 1]; i++)
                sum += data.x[i * data.d + c];
            assert_true(sum == 0.0);
        }
    xf_dataset_clear(&data);
}

static void mirrored_sequences_mirror(void **state) {
    (void)state;
    xf_dataset data;
    make(&data, &(xf_generate_options){.kind = "mirrored", .d = 5});
    for (int64_t j = 1; j < data.n_sequences; j += 2) {
        int64_t n = data.x_offsets[j + 1] - data.x_offsets[j];
        assert_int_equal(n, data.x_offsets[j] - data.x_offsets[j - 1]);
        const double *x = data.x + data.x_offsets[j] * data.d;
        for (int64_t i = 0; i < n * data.d; i++)
            assert_true(x[i] == -x[i - n * data.d]);
    }
    xf_dataset_clear(&data);
}

static void nested_sequences_nest(void **state) {
    (void)state;
    xf_dataset data;
    make(&data, &(xf_generate_options){.kind = "nested", .n_sequences = 30});
    for (int64_t j = 1; j < 30; j++) {
        int64_t n = data.x_offsets[j] - data.x_offsets[j - 1];
        assert_int_equal(data.x_offsets[j + 1] - data.x_offsets[j], n + 1);
        assert_memory_equal(data.x + data.x_offsets[j] * data.d,
                            data.x + data.x_offsets[j - 1] * data.d,
                            (size_t)(n * data.d) * sizeof(double));
    }
    xf_dataset_clear(&data);
}

/* xf_dataset_check has seen that they differ, so the number is the proof. */
static void all_subsets_occur(void **state) {
    (void)state;
    xf_dataset data;
    make(&data, &(xf_generate_options){.kind = "pairs", .vocabulary = 20});
    assert_int_equal(data.n_sequences, 190);
    xf_dataset_clear(&data);
    make(&data, &(xf_generate_options){.kind = "subsets", .vocabulary = 9});
    assert_int_equal(data.n_sequences, 84);
    xf_dataset_clear(&data);
    make(&data, &(xf_generate_options){.kind = "subsets", .vocabulary = 8, .n_min = 5, .n_max = 5});
    assert_int_equal(data.n_sequences, 56);
    xf_dataset_clear(&data);
}

static int count_in_targets(const xf_dataset *data, const double *token) {
    int count = 0;
    for (int64_t i = 0; i < data->n_targets; i++)
        count += memcmp(data->y + i * data->d, token, (size_t)data->d * sizeof *token) == 0;
    return count;
}

static void pools_make_targets_shared(void **state) {
    (void)state;
    const char *const kinds[] = {"vocabulary", "pairs", "subsets"};
    for (int k = 0; k < 3; k++) {
        xf_dataset data;
        make(&data, &(xf_generate_options){.kind = kinds[k]});
        assert_true(count_in_targets(&data, data.y) > 1);
        xf_dataset_clear(&data);
    }
}

static void hard_floats_are_hard(void **state) {
    (void)state;
    xf_dataset data;
    make(&data, &(xf_generate_options){.kind = "hard-floats", .n_sequences = 500, .d = 8});
    int zeros = 0, powers = 0, odd = 0, negative = 0;
    double least = INFINITY, most = 0.0;
    for (int64_t i = 0; i < data.n_targets * data.d; i++) {
        double v = data.y[i];
        zeros += v == 0.0;
        negative += v < 0.0;
        if (v == 0.0)
            continue;
        int exponent = 0;
        double significand = frexp(fabs(v), &exponent);
        powers += significand == 0.5;
        odd += fmod(ldexp(significand, 53), 2.0) != 0.0;
        least = fmin(least, fabs(v));
        most = fmax(most, fabs(v));
    }
    assert_true(zeros > 100 && powers > 50 && odd > 1000 && negative > 1000);
    assert_true(least < 2e-12 && least > 4e-13 && most > 5e5 && most < 1.1e6);
    xf_dataset_clear(&data);
}

typedef struct refusal {
    xf_generate_options options;
    const char *words; /* occur in the message */
} refusal;

static const refusal refusals[] = {
    {{.kind = NULL}, "unknown kind"},
    {{.kind = "normal"}, "'normal'"},
    {{.kind = "gaussian", .n_sequences = -1}, "number of sequences is -1"},
    {{.kind = "gaussian", .d = INT64_MAX}, "dimension"},
    {{.kind = "gaussian", .n_min = 5, .n_max = 4}, "tokens exceeds"},
    {{.kind = "gaussian", .m_min = 5, .m_max = 4}, "targets exceeds"},
    {{.kind = "gaussian", .n_min = 2, .n_max = 4, .m_min = 5}, "5 targets"},
    {{.kind = "gaussian", .scale = NAN}, "finite"},
    {{.kind = "gaussian", .offset = INFINITY}, "finite"},
    {{.kind = "gaussian", .grid = (xf_grid)9}, "grid"},
    {{.kind = "gaussian", .d = 1, .n_min = 500, .n_max = 500, .input_grid = XF_GRID_INTEGER},
     "no new token for sequence 0"},
    {{.kind = "gaussian",
      .d = 1,
      .n_min = 1,
      .n_max = 1,
      .input_grid = XF_GRID_INTEGER,
      .n_sequences = 500},
     "no new set of tokens"},
    {{.kind = "gaussian", .offset = 1e300}, "no new token"},
    {{.kind = "gaussian", .scale = 1e-300, .offset = 1.0}, "no new token"},
    {{.kind = "gaussian",
      .d = 1,
      .n_min = 200,
      .n_max = 200,
      .m_min = 200,
      .grid = XF_GRID_INTEGER},
     "no new target"},
    {{.kind = "vocabulary", .vocabulary = 5}, "vocabulary of 5"},
    {{.kind = "vocabulary", .vocabulary = 5, .n_min = 2, .n_max = 2, .n_sequences = 11}, "set"},
    {{.kind = "vocabulary", .d = 1, .vocabulary = 500, .input_grid = XF_GRID_INTEGER},
     "token of the vocabulary"},
    {{.kind = "pairs", .vocabulary = 5, .n_sequences = 11}, "fewer than 11"},
    {{.kind = "pairs", .n_min = 2, .n_max = 3}, "one size"},
    {{.kind = "subsets", .vocabulary = 2}, "subsets of 3"},
    {{.kind = "equal-means", .n_min = 1}, "at least 2 tokens"},
};

static void impossible_data_are_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        xf_dataset data;
        xf_error error;
        assert_int_equal(xf_generate(&data, &refusals[i].options, &error), XF_ERR_ARGUMENT);
        assert_int_equal(xf_generate(&data, &refusals[i].options, NULL), XF_ERR_ARGUMENT);
        if (strstr(error.message, refusals[i].words) == NULL)
            fail_msg("'%s' does not say '%s'", error.message, refusals[i].words);
        assert_null(data.x);
        assert_null(data.y_offsets);
        assert_int_equal(data.n_sequences, 0);
    }
    xf_dataset data;
    assert_int_equal(xf_generate(&data, NULL, NULL), XF_ERR_ARGUMENT);
}

/* Sizes whose product overflows, or that no machine has room for. */
static void huge_data_run_out_of_memory(void **state) {
    (void)state;
    xf_dataset data;
    xf_generate_options options = {
        .kind = "gaussian", .d = INT32_MAX, .n_min = INT32_MAX, .m_min = INT32_MAX};
    assert_int_equal(xf_generate(&data, &options, NULL), XF_ERR_MEMORY);
    assert_null(data.x_offsets);
}

static void every_failed_allocation_is_reported(void **state) {
    (void)state;
    const char *const kinds[] = {"gaussian", "pairs"};
    for (int k = 0; k < 2; k++) {
        int64_t allowed = 0;
        for (;; allowed++) {
            xf_dataset data;
            xf_error error;
            xfi_alloc_limit(allowed);
            xf_status status = xf_generate(
                &data, &(xf_generate_options){.kind = kinds[k], .n_sequences = 5}, &error);
            xfi_alloc_limit(-1);
            xf_dataset_clear(&data);
            if (status == XF_OK)
                break;
            assert_int_equal(status, XF_ERR_MEMORY);
        }
        assert_true(allowed > 5);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_are_valid),
        cmocka_unit_test(sizes_are_respected),
        cmocka_unit_test(options_decide_everything),
        cmocka_unit_test(values_are_the_same_everywhere),
        cmocka_unit_test(kinds_are_described),
        cmocka_unit_test(grids_are_kept),
        cmocka_unit_test(scale_and_offset_are_applied),
        cmocka_unit_test(means_coincide),
        cmocka_unit_test(mirrored_sequences_mirror),
        cmocka_unit_test(nested_sequences_nest),
        cmocka_unit_test(all_subsets_occur),
        cmocka_unit_test(pools_make_targets_shared),
        cmocka_unit_test(hard_floats_are_hard),
        cmocka_unit_test(impossible_data_are_refused),
        cmocka_unit_test(huge_data_run_out_of_memory),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
