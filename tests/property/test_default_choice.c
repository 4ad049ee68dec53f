/* What the program chooses by itself is no worse than the writer it chooses, when that is asked
 * for: not more than 1 % deeper, and where it has as many nonzeros or more, not deeper at all. And
 * whatever was considered can be asked for: it is not refused beforehand. */
#include <exactformer/exactformer.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static xf_dataset generate(const char *kind, int64_t n, int64_t d, int64_t m_max, xf_grid grid,
                           uint64_t seed) {
    xf_generate_options options = {.kind = kind,
                                   .n_sequences = n,
                                   .d = d,
                                   .n_min = 2,
                                   .n_max = 7,
                                   .m_min = m_max > 1 ? 2 : 1,
                                   .m_max = m_max,
                                   .grid = grid,
                                   .seed = seed};
    xf_dataset data;
    xf_error error;
    if (xf_generate(&data, &options, &error) != XF_OK)
        fail_msg("%s", error.message);
    return data;
}

static xf_status build(xf_model *model, int64_t *nonzeros, const xf_dataset *data, xf_dtype dtype,
                       const char *writer, xf_error *error) {
    xf_build_options options = {.writer = writer, .dtype = dtype, .no_self_check = 1};
    xf_inspection found;
    xf_status status = xf_build(model, data, &options, NULL, error);
    if (status != XF_OK)
        return status;
    assert_int_equal(xf_inspect(&found, model, NULL, NULL), XF_OK);
    *nonzeros = found.parameters_nonzero;
    return XF_OK;
}

/* Returns whether the chosen writer reads cells. */
static int compare_with_asked(const xf_dataset *data, xf_dtype dtype) {
    xf_model chosen, asked;
    xf_error error;
    int64_t chosen_nonzeros = 0, asked_nonzeros = 0;
    if (build(&chosen, &chosen_nonzeros, data, dtype, NULL, &error) != XF_OK)
        return 0;
    int cells = strcmp(chosen.writer, "grid") != 0 && strcmp(chosen.writer, "sorted") != 0 &&
                strcmp(chosen.writer, "constant") != 0;
    for (int i = 0; i < chosen.n_alternatives; i++) {
        const char *writer = chosen.alternatives[i].writer;
        xf_status status = build(&asked, &asked_nonzeros, data, dtype, writer, &error);
        if (status != XF_OK && strstr(error.message, "can exist") != NULL)
            fail_msg("%s was considered: %s", writer, error.message);
        xf_model_clear(&asked);
    }
    if (cells) {
        assert_int_equal(build(&asked, &asked_nonzeros, data, dtype, chosen.writer, &error), XF_OK);
        int64_t deeper = chosen.n_blocks - asked.n_blocks;
        if (deeper > asked.n_blocks / 100 || (deeper > 0 && chosen_nonzeros >= asked_nonzeros) ||
            (-deeper <= chosen.n_blocks / 100 && chosen_nonzeros > asked_nonzeros))
            fail_msg("%s: %lld blocks and %lld nonzeros, but %lld and %lld when asked for",
                     chosen.writer, (long long)chosen.n_blocks, (long long)chosen_nonzeros,
                     (long long)asked.n_blocks, (long long)asked_nonzeros);
        xf_model_clear(&asked);
    }
    xf_model_clear(&chosen);
    return cells;
}

static void default_is_no_worse_than_asked(void **state) {
    (void)state;
    static const struct {
        const char *kind;
        int64_t n, d, m_max;
        xf_grid grid;
        xf_dtype dtype;
    } shapes[] = {{"gaussian", 200, 16, 2, XF_GRID_F32, XF_F64},
                  {"gaussian", 120, 12, 1, XF_GRID_F32, XF_F64},
                  {"gaussian", 150, 24, 1, XF_GRID_INTEGER, XF_F32},
                  {"gaussian", 90, 8, 2, XF_GRID_FULL, XF_F64},
                  {"vocabulary", 120, 16, 1, XF_GRID_F32, XF_F64},
                  {"lattice", 150, 5, 1, XF_GRID_F16, XF_F64}};
    int n_cells = 0;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (uint64_t seed = 1; seed <= 8; seed++) {
            xf_dataset data = generate(shapes[s].kind, shapes[s].n, shapes[s].d, shapes[s].m_max,
                                       shapes[s].grid, seed);
            n_cells += compare_with_asked(&data, shapes[s].dtype);
            xf_dataset_clear(&data);
        }
    assert_true(n_cells >= 24); /* else this tests nothing */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(default_is_no_worse_than_asked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
