/* construct/slots.h: the promises that T-sorted rests on, checked one by one. */
#include "construct/slots.h"

#include "base/alloc.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MAX_TARGETS = 40 };

/* Targets of many kinds on coordinate 0: zeros, shared binades, odd last bits, subnormals. */
static double draw(xfi_rng *rng, const xfi_format *format) {
    int64_t kind = xfi_rng_below(rng, 8);
    double sign = xfi_rng_below(rng, 2) ? 1.0 : -1.0;
    if (kind == 0)
        return 0.0;
    if (kind == 1)
        return sign * (double)(1 + xfi_rng_below(rng, 1000)) * format->smallest;
    double y = 1.0 + xfi_rng_uniform(rng);
    y = xfi_round(format, kind == 2 ? nextafter(2.0, 0) : kind == 3 ? 1.0 : y);
    return sign * xfi_round(format, ldexp(y, (int)xfi_rng_below(rng, kind < 6 ? 3 : 60)));
}

static void check_place(const xfi_place *place, double y, const xfi_format *format) {
    double gate = ldexp(fabs(place->f), -place->k) - ldexp(place->theta, -place->k);
    assert_true(gate == 1.0);
    assert_true(place->f * place->side > 0);
    assert_true(xfi_representable(format, place->f));
    assert_true(xfi_representable(format, place->theta));
    double difference = y - place->f;
    assert_true(difference + place->f == y && xfi_representable(format, difference));
}

/* When slot q is written, no finished target may open its gates. */
static void check_finished(const xfi_slots *slots, const double *y, int64_t n) {
    for (int64_t g = 0; g < n; g++)
        for (int64_t h = 0; h < n; h++)
            if (slots->place[h].slot < slots->place[g].slot)
                assert_true(slots->place[g].side * y[2 * h] <= slots->place[g].theta);
}

static void check_slots(const xfi_slots *slots, const double *y, int64_t n, const char *late) {
    int used[MAX_TARGETS][2] = {{0}}, late_first = 0;
    assert_int_equal(slots->n_slots, (n + 1) / 2);
    for (int64_t g = 0; g < n; g++) {
        const xfi_place *place = &slots->place[g];
        assert_in_range(place->slot, 0, (uint64_t)slots->n_slots - 1);
        assert_int_equal(used[place->slot][place->side > 0]++, 0);
        late_first |= late[g] && place->slot == 0;
        double floor_code = fabs(place->code) - slots->step;
        assert_true(floor_code >= fabs(y[2 * g + 1]) && floor_code >= 1.0 - slots->step);
        assert_true(place->code * place->side > 0);
    }
    assert_int_equal(slots->merges, !late_first);
}

static void every_gate_fits(void **state) {
    (void)state;
    xfi_rng rng;
    xfi_rng_seed(&rng, 7, 0);
    for (int round = 0; round < 3000; round++) {
        xf_build_options options = {.dtype = round % 2 ? XF_F32 : XF_F64};
        xfi_format format = xfi_format_of(options.dtype);
        int64_t n = 1 + xfi_rng_below(&rng, MAX_TARGETS);
        double y[2 * MAX_TARGETS];
        char late[MAX_TARGETS] = {0};
        for (int64_t g = 0; g < n; g++) {
            y[2 * g] = draw(&rng, &format);
            y[2 * g + 1] = xfi_round(&format, xfi_rng_normal(&rng));
            late[g] = xfi_rng_below(&rng, 10) == 0;
        }
        xf_dataset data = {.n_targets = n, .d = 2, .y = y};
        xfi_problem problem = {.data = &data, .options = &options, .format = format, .y = y};
        xfi_slots slots;
        assert_int_equal(xfi_slots_make(&slots, &problem, (xfi_axes){0, 1}, late, NULL), XF_OK);
        check_slots(&slots, y, n, late);
        check_finished(&slots, y, n);
        for (int64_t g = 0; g < n; g++)
            check_place(&slots.place[g], y[2 * g], &format);
        xfi_slots_clear(&slots);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_gate_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
