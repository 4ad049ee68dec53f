/* construct/asked_writer.h: writers that cannot serve are refused at once, and say why. */
#include <exactformer/exactformer.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct wish {
    const char *writer;
    int64_t n, d, m; /* m > 1: that many targets a sequence */
    xf_grid grid;
    const char *why;
} wish;

static int steps;

static int count(void *context, const char *phase, double done) {
    (void)context;
    (void)phase;
    (void)done;
    steps++;
    return 0;
}

static void refused_at_once(void **state) {
    (void)state;
    static const wish wishes[] = {
        {"cube", 100, 4, 1, XF_GRID_F32, "it needs 8 coordinates for cells of 7 bits"},
        {"cubeoff", 100, 4, 1, XF_GRID_FULL, "it needs 8 coordinates for cells of 7 bits"},
        {"cube", 65, 3, 2, XF_GRID_F32, "it needs 9 coordinates for cells of 8 bits"},
        {"cube", 2, 2, 1, XF_GRID_F32, "it needs 3 coordinates for cells of 2 bits"},
        {"offgrid", 100, 3, 1, XF_GRID_FULL, "it needs four coordinates, and there are 3"},
        {"diamond", 100, 4, 1, XF_GRID_FULL, "the targets are off the grid"},
        {"grid", 100, 4, 1, XF_GRID_FULL, "the targets are off the grid"},
        {"argmax", 100, 4, 1, XF_GRID_FULL, "the targets are off the grid"},
        {"argmax", 100, 4, 2, XF_GRID_F32, "it writes one target a sequence"},
    };
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++) {
        const wish *w = &wishes[i];
        xf_generate_options sizes = {.kind = "gaussian",
                                     .n_sequences = w->n,
                                     .d = w->d,
                                     .n_min = 3,
                                     .n_max = 3,
                                     .m_min = w->m,
                                     .m_max = w->m,
                                     .grid = w->grid};
        xf_build_options options = {.writer = w->writer, .progress = count};
        xf_dataset data;
        xf_model model;
        xf_error error;
        assert_int_equal(xf_generate(&data, &sizes, NULL), XF_OK);
        steps = 0;
        assert_int_equal(xf_build(&model, &data, &options, NULL, &error), XF_ERR_INFEASIBLE);
        if (strstr(error.message, w->why) == NULL || strstr(error.message, "can exist") == NULL)
            fail_msg("%s: %s", w->writer, error.message);
        assert_int_equal(steps, 0);
        xf_dataset_clear(&data);
    }
}

/* Not known before the search, which finds longer cells than the least. */
static void refused_afterwards(void **state) {
    (void)state;
    xf_generate_options sizes = {.kind = "gaussian",
                                 .n_sequences = 20,
                                 .d = 6,
                                 .n_min = 4,
                                 .n_max = 4,
                                 .m_min = 1,
                                 .m_max = 1};
    xf_build_options options = {.writer = "cube"};
    xf_dataset data;
    xf_model model;
    xf_error error;
    assert_int_equal(xf_generate(&data, &sizes, NULL), XF_OK);
    assert_int_equal(xf_build(&model, &data, &options, NULL, &error), XF_ERR_INFEASIBLE);
    if (strstr(error.message, "was found for these data: it needs 7 coordinates") == NULL)
        fail_msg("%s", error.message);
    xf_dataset_clear(&data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_at_once),
        cmocka_unit_test(refused_afterwards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
