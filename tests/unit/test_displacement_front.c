/* construct/displacement.h: the front end that writers see, which data it serves, and what happens
 * when memory runs out. */
#include "construct/displacement.h"
#include "construct/displacement_bound.h"
#include "construct/displacement_stages.h"

#include "base/alloc.h"

#include <exactformer/exactformer.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef struct scene {
    xf_dataset data;
    xf_build_options options;
    xfi_problem problem;
    xfi_writers writers;
} scene;

static void make_scene(scene *s, int64_t N, int64_t d, int64_t m_min, int64_t m_max,
                       xf_dtype dtype) {
    xf_generate_options options = {.kind = "gaussian",
                                   .n_sequences = N,
                                   .d = d,
                                   .n_min = 4,
                                   .n_max = 4,
                                   .m_min = m_min,
                                   .m_max = m_max,
                                   .input_grid = XF_GRID_F32,
                                   .grid = XF_GRID_INTEGER,
                                   .seed = 9};
    *s = (scene){.options = {.dtype = dtype, .threads = 1}};
    assert_int_equal(xf_generate(&s->data, &options, NULL), XF_OK);
    assert_int_equal(xfi_problem_init(&s->problem, &s->data, &s->options, NULL), XF_OK);
    assert_int_equal(xfi_writers_choose(&s->writers, &s->problem, NULL), XF_OK);
}

static void clear_scene(scene *s) {
    xfi_problem_clear(&s->problem);
    xf_dataset_clear(&s->data);
}

static void every_shape_knows_its_data(void **state) {
    (void)state;
    static const struct {
        int64_t d, m_min, m_max;
        int serves[4];
    } cases[] = {{1, 1, 1, {0, 0, 0, 0}}, {2, 1, 1, {1, 0, 0, 0}}, {3, 1, 1, {1, 0, 0, 1}},
                 {2, 4, 4, {0, 1, 0, 0}}, {3, 4, 4, {0, 1, 1, 1}}, {2, 1, 4, {0, 0, 0, 0}},
                 {3, 1, 4, {0, 0, 0, 1}}};
    for (int i = 0; i < 7; i++) {
        scene s;
        make_scene(&s, 30, cases[i].d, cases[i].m_min, cases[i].m_max, XF_F64);
        for (int shape = 0; shape < 4; shape++) {
            xfi_best best;
            int found = 0;
            xfi_displacement_shape wanted = (xfi_displacement_shape)shape;
            assert_int_equal(xfi_displacement_serves(wanted, &s.data), cases[i].serves[shape]);
            xfi_best_init(&best);
            assert_int_equal(xfi_displace(&best, &found, wanted, &s.writers, &s.problem, NULL),
                             XF_OK);
            assert_int_equal(found, cases[i].serves[shape]);
            assert_int_equal(best.model.n_blocks > 0, found);
            if (found)
                assert_string_equal(best.report.front, "displacement");
            xf_model_clear(&best.model);
        }
        clear_scene(&s);
    }
}

static void coordinates_differ(void **state) {
    (void)state;
    for (int d = 2; d < 6; d++)
        for (int k1 = 0; k1 < d; k1++) {
            xfi_displacement_axes k = xfi_displacement_axes_of((xfi_axes){k1, -1}, d);
            assert_int_equal(k.k1, k1);
            assert_true(k.k2 != k1 && k.k2 >= 0 && k.k2 < d);
            assert_true(d == 2 ? k.k3 == -1 : k.k3 >= 0 && k.k3 < d && k.k3 != k1 && k.k3 != k.k2);
        }
}

/* Where each target's group is. */
static void find_centres(double *centre, const xfi_groups *groups) {
    for (int64_t g = 0; g < groups->n; g++)
        centre[groups->at[g].target] = groups->at[g].low / 2 + groups->at[g].high / 2;
}

/* A front end is what `certify` says it is: sigma (t - shift) on k1, whatever the coordinates. */
static void check_certificates(const xfi_front_end *front, const scene *s) {
    double at[512] = {0}, other[512] = {0};
    assert_in_range(s->data.n_targets, 1, 512);
    xfi_certificate certificate;
    assert_int_equal(
        front->certify(&certificate, front->self, 1.0, 0.0, &s->problem, (xfi_axes){0, 1}, NULL),
        XF_OK);
    assert_true(certificate.groups.margin >= 4.0);
    assert_int_equal(certificate.blocks.n_blocks, front->n_blocks);
    find_centres(at, &certificate.groups);
    double span =
        certificate.groups.at[certificate.groups.n - 1].high - certificate.groups.at[0].low;
    xfi_certificate_clear(&certificate);
    for (int i = 0; i < 6; i++) {
        double sigma = ldexp(1.0, 7 * i - 14), shift = span * (i - 2) / 8;
        xfi_axes axes = {i % 3, (i + 1) % 3};
        assert_int_equal(
            front->certify(&certificate, front->self, sigma, shift, &s->problem, axes, NULL),
            XF_OK);
        assert_true(certificate.groups.margin > 1.0);
        find_centres(other, &certificate.groups);
        for (int64_t g = 0; g < s->data.n_targets; g++)
            assert_true(fabs(other[g] / sigma + shift - at[g]) <= 0x1p-18 * span);
        xfi_certificate_clear(&certificate);
    }
}

/* Keep the front end of a search: build it from its parts again. */
static void scale_and_shift_are_kept(void **state) {
    (void)state;
    static const int64_t m_min[] = {1, 4, 4, 1}, m_max[] = {1, 4, 4, 4};
    for (int shape = 0; shape < 4; shape++)
        for (int dtype = 0; dtype < 2; dtype++) {
            scene s;
            make_scene(&s, 40, 3, m_min[shape], m_max[shape], (xf_dtype)dtype);
            double v[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
            xfi_displacement d = {.shape = (xfi_displacement_shape)shape, .K = 1.0};
            int half = shape >= XFI_DISPLACE_SHARED, found = 0;
            xfi_scalar local = {.v = v[0]}, pooled = {.v = v[1], .half = half, .nu = -1},
                       cells = {.v = v[2], .half = half, .nu = -1};
            assert_true(xfi_scalar_copy(&d.local, &local, 3));
            assert_true(xfi_scalar_copy(&d.pooled, &pooled, 3));
            assert_true(xfi_scalar_copy(&d.cells, &cells, 3));
            assert_int_equal(xfi_scalar_centre(&d.cells, &s.problem, NULL), XF_OK);
            xfi_displacement_room room = {.reserve = 0x1p-5, .margin = 4.25};
            assert_int_equal(xfi_displacement_find(&d, &found, &room, &s.problem, NULL), XF_OK);
            assert_true(found);
            xfi_front_end front = xfi_displacement_front(&d);
            check_certificates(&front, &s);
            xfi_displacement_clear(&d);
            clear_scene(&s);
        }
}

/* Weights that leave the range make no front end, not a wrong one. */
static void range_is_watched(void **state) {
    (void)state;
    scene s;
    make_scene(&s, 30, 3, 1, 1, XF_F32);
    for (int64_t i = 0; i < s.data.n_tokens * 3; i++)
        s.data.x[i] *= 0x1p-120;
    xfi_problem_clear(&s.problem);
    assert_int_equal(xfi_problem_init(&s.problem, &s.data, &s.options, NULL), XF_OK);
    xfi_best best;
    int found = 0;
    xfi_best_init(&best);
    xfi_displace_best(&best, &found, &s.writers, &s.problem, NULL);
    if (best.model.n_blocks > 0) {
        xf_verify_report report;
        best.model.dtype = XF_F32;
        assert_int_equal(xf_model_check(&best.model, NULL), XF_OK);
        assert_int_equal(xf_verify(&report, &best.model, &s.data, NULL, NULL), XF_OK);
    }
    xf_model_clear(&best.model);
    clear_scene(&s);
}

/* Whichever allocation fails: an error, and nothing is left behind. */
static void memory_may_run_out(void **state) {
    (void)state;
    static const int64_t m_min[] = {1, 4, 4, 1}, m_max[] = {1, 4, 4, 4};
    for (int shape = 0; shape < 4; shape++) {
        scene s;
        make_scene(&s, 6, 3, m_min[shape], m_max[shape], XF_F64);
        xf_status status = XF_ERR_MEMORY;
        int64_t allowed = 0;
        for (; status != XF_OK; allowed += 1 + allowed / 16) {
            xfi_best best;
            int found = 0;
            xf_error error = {0};
            xfi_best_init(&best);
            xfi_alloc_limit(allowed);
            status = xfi_displace(&best, &found, (xfi_displacement_shape)shape, &s.writers,
                                  &s.problem, &error);
            xfi_alloc_limit(-1);
            assert_true(status == XF_OK || (status == XF_ERR_MEMORY && error.status == status));
            xf_model_clear(&best.model);
        }
        assert_true(allowed > 100);
        clear_scene(&s);
    }
}

static void other_models_are_refused(void **state) {
    (void)state;
    scene s;
    make_scene(&s, 10, 3, 1, 1, XF_F64);
    xf_model model;
    xfi_groups groups;
    assert_int_equal(xf_model_new(&model, 3, 3, 4, NULL), XF_OK);
    assert_false(xfi_has_displacement(&model));
    assert_int_equal(xfi_displacement_groups(&groups, &model, &s.data, 1, NULL), XF_ERR_ARGUMENT);
    xf_model_clear(&model);
    clear_scene(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_knows_its_data), cmocka_unit_test(coordinates_differ),
        cmocka_unit_test(scale_and_shift_are_kept),   cmocka_unit_test(range_is_watched),
        cmocka_unit_test(memory_may_run_out),         cmocka_unit_test(other_models_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
