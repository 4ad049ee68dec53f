/* Delta debugging of data sets. */
#include "property/shrink.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What can be dropped. */
enum { SEQUENCES, TARGETS, TOKENS, COORDINATES, N_PARTS };

typedef struct shrinker {
    const xft_shrink *how;
    xf_dataset best;
    int64_t tried;
    double deadline;
} shrinker;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void *need(void *block) {
    if (block == NULL)
        abort();
    return block;
}

static int64_t count(const xf_dataset *data, int part) {
    switch (part) {
    case SEQUENCES:
        return data->n_sequences;
    case TARGETS:
        return data->n_targets;
    case TOKENS:
        return data->n_tokens;
    default:
        return data->d;
    }
}

/* Take over `candidate` if it is valid and fails, else clear it. */
static int accept(shrinker *s, xf_dataset *candidate) {
    if (now() < s->deadline && xf_dataset_check(candidate, NULL) == XF_OK) {
        s->tried++;
        if (s->how->fails(s->how->context, candidate)) {
            xf_dataset_clear(&s->best);
            s->best = *candidate;
            return 1;
        }
    }
    xf_dataset_clear(candidate);
    return 0;
}

/* Rows of one side that are kept, coordinates first_k .. last_k - 1 dropped. */
static int64_t copy_rows(double *out, const double *rows, int64_t first, int64_t last, int64_t d,
                         int64_t drop_first, int64_t drop_last, int64_t first_k, int64_t last_k) {
    int64_t n = 0, written = 0;
    for (int64_t i = first; i < last; i++) {
        if (i >= drop_first && i < drop_last)
            continue;
        for (int64_t k = 0; k < d; k++)
            if (k < first_k || k >= last_k)
                out[written++] = rows[i * d + k];
        n++;
    }
    return n;
}

/* A copy of the best data set without items first .. last-1 of a part. May be invalid. */
static xf_dataset without(const xf_dataset *from, int part, int64_t first, int64_t last) {
    int64_t d = from->d, first_k = part == COORDINATES ? first : d;
    int64_t last_k = part == COORDINATES ? last : d;
    xf_dataset out = {.d = d - (last_k - first_k), .positions = -1};
    out.x = need(xfi_calloc2(from->n_tokens, d, sizeof(double)));
    out.y = need(xfi_calloc2(from->n_targets, d, sizeof(double)));
    out.x_offsets = need(xfi_calloc(from->n_sequences + 1, sizeof(int64_t)));
    out.y_offsets = need(xfi_calloc(from->n_sequences + 1, sizeof(int64_t)));
    for (int64_t j = 0; j < from->n_sequences; j++) {
        if (part == SEQUENCES && j >= first && j < last)
            continue;
        out.n_tokens += copy_rows(out.x + out.n_tokens * out.d, from->x, from->x_offsets[j],
                                  from->x_offsets[j + 1], d, part == TOKENS ? first : 0,
                                  part == TOKENS ? last : 0, first_k, last_k);
        out.n_targets += copy_rows(out.y + out.n_targets * out.d, from->y, from->y_offsets[j],
                                   from->y_offsets[j + 1], d, part == TARGETS ? first : 0,
                                   part == TARGETS ? last : 0, first_k, last_k);
        out.n_sequences++;
        out.x_offsets[out.n_sequences] = out.n_tokens;
        out.y_offsets[out.n_sequences] = out.n_targets;
    }
    return out;
}

/* Halves first, then smaller and smaller runs. */
static int drop_part(shrinker *s, int part) {
    int changed = 0;
    for (int64_t run = count(&s->best, part) / 2; run >= 1; run /= 2) {
        for (int64_t first = 0; first + run <= count(&s->best, part);) {
            if (count(&s->best, part) <= run)
                break;
            xf_dataset candidate = without(&s->best, part, first, first + run);
            if (accept(s, &candidate))
                changed = 1;
            else
                first += run;
        }
    }
    return changed;
}

static double round_bits(double v, int bits) {
    int exponent = 0;
    double fraction = frexp(v, &exponent);
    return ldexp(rint(ldexp(fraction, bits)), exponent - bits);
}

/* Rounder and rounder values; the first is the roundest. */
enum { N_ROUNDINGS = 6 };

static double simpler(double v, int rounding) {
    switch (rounding) {
    case 0:
        return 0.0;
    case 1:
        return v < 0 ? -1.0 : 1.0;
    case 2:
        return rint(v) + 0.0;
    case 3:
        return round_bits(v, 3);
    case 4:
        return round_bits(v, 8);
    default:
        return round_bits(v, 24);
    }
}

/* One value at a time: is there a rounder one? */
static int is_simpler(double candidate, double v) {
    if (candidate == v || !isfinite(candidate))
        return 0;
    return v != 0.0 && !(candidate == -1.0 && v == 1.0) && !(candidate == 1.0 && v == -1.0);
}

/* Round values first .. last-1 of x or y; returns 0 if nothing changes. */
static int rounded(xf_dataset *out, const xf_dataset *from, int targets, int64_t first,
                   int64_t last, int rounding) {
    *out = without(from, N_PARTS, 0, 0);
    double *values = targets ? out->y : out->x;
    int changed = 0;
    for (int64_t i = first; i < last; i++) {
        double v = simpler(values[i], rounding);
        if (!is_simpler(v, values[i]))
            continue;
        values[i] = v;
        changed = 1;
    }
    if (!changed)
        xf_dataset_clear(out);
    return changed;
}

static int round_side(shrinker *s, int targets) {
    int changed = 0;
    int64_t n = (targets ? s->best.n_targets : s->best.n_tokens) * s->best.d;
    for (int64_t run = n; run >= 1; run = run > 1 ? (run + 3) / 4 : 0)
        for (int64_t first = 0; first < n; first += run)
            for (int rounding = 0; rounding < N_ROUNDINGS; rounding++) {
                xf_dataset candidate;
                int64_t last = first + run < n ? first + run : n;
                if (!rounded(&candidate, &s->best, targets, first, last, rounding))
                    continue;
                if (accept(s, &candidate)) {
                    changed = 1;
                    break;
                }
            }
    return changed;
}

int64_t xft_shrink_data(xf_dataset *data, const xft_shrink *how) {
    shrinker s = {.how = how, .best = *data};
    s.deadline = now() + (how->seconds > 0 ? how->seconds : 20.0);
    int changed = 1;
    while (changed && now() < s.deadline) {
        changed = 0;
        for (int part = 0; part < N_PARTS; part++)
            if (part != COORDINATES || !how->keep_coordinates)
                changed |= drop_part(&s, part);
        if (!how->keep_values) {
            changed |= round_side(&s, 1);
            changed |= round_side(&s, 0);
        }
    }
    *data = s.best;
    return s.tried;
}
