/* Pairing targets into slots, binade by binade. */
#include "construct/slots.h"

#include "base/alloc.h"
#include "base/error.h"

#include <limits.h>
#include <stdlib.h>

enum { CLASS_ZERO = INT_MIN };

/* A target waiting for a slot. */
typedef struct entry {
    int class; /* CLASS_ZERO, emin - 1 for subnormals, else the exponent of y_k1 */
    int late;
    int64_t target;
    double y;
} entry;

/* A queue of entries of one sign in one class. */
typedef struct queue {
    const entry **at;
    int64_t n;
} queue;

typedef struct pairing {
    const xfi_format *format;
    xfi_slots *slots;
    const entry *carried; /* left over from a lower class, or NULL */
    int64_t next;         /* next slot */
    int late_in_first;
} pairing;

void xfi_slots_clear(xfi_slots *slots) {
    xfi_free(slots->place);
    *slots = (xfi_slots){0};
}

static int compare_entries(const void *left, const void *right) {
    const entry *a = left, *b = right;
    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    if (a->late != b->late)
        return a->late - b->late;
    return (a->target > b->target) - (a->target < b->target);
}

static double sign_of(double y) {
    return y < 0 ? -1.0 : 1.0;
}

/* Is y an odd multiple of its unit in the last place? */
static int last_bit(double y, const xfi_format *format) {
    return ldexp(1.0, xfi_lowest_bit(y)) == xfi_ulp(format, y);
}

/* The gate on the target's own side: f = 3 2^e, theta = 2^(e+1). */
static void natural_gate(xfi_place *place, const entry *e) {
    place->k = e->class;
    place->f = place->side * ldexp(3.0, e->class);
    place->theta = ldexp(1.0, e->class + 1);
}

/* The gate on the other side: |f| = 2^(e+1), one ulp less if y is odd, so that y - f is
 * a number of the format. */
static void opposite_gate(xfi_place *place, const entry *e, const xfi_format *format) {
    double F = ldexp(1.0, e->class + 1);
    if (last_bit(e->y, format))
        F -= xfi_ulp(format, e->y);
    place->k = e->class - 1;
    place->f = place->side * F;
    place->theta = F - ldexp(1.0, place->k);
}

static void subnormal_gate(xfi_place *place, const entry *e, const xfi_format *format) {
    double F = ldexp(1.0, format->emin + 1);
    if (place->side != sign_of(e->y) && last_bit(e->y, format))
        F -= format->smallest;
    place->k = format->emin;
    place->f = place->side * F;
    place->theta = F - ldexp(1.0, format->emin);
}

static void put(pairing *p, const entry *e, double side) {
    xfi_place *place = &p->slots->place[e->target];
    *place = (xfi_place){.slot = p->next, .side = side};
    if (p->next == 0)
        p->late_in_first |= e->late;
    if (e->class == CLASS_ZERO)
        place->f = side; /* theta = 0, k = 0 */
    else if (e->class < p->format->emin)
        subnormal_gate(place, e, p->format);
    else if (side == sign_of(e->y))
        natural_gate(place, e);
    else
        opposite_gate(place, e, p->format);
}

/* One slot for `first` on its natural side and `second` (may be NULL) on the other. */
static void put_pair(pairing *p, const entry *first, const entry *second) {
    double side = sign_of(first->y);
    put(p, first, side);
    if (second != NULL)
        put(p, second, -side);
    p->next++;
}

static const entry *take(queue *q) {
    q->n--;
    return *q->at++;
}

/* (i) the one carried over, (ii) pairs of the surplus sign, (iii) opposite signs, (iv) carry the
 * last. */
static void pair_class(pairing *p, queue plus, queue minus) {
    if (p->carried != NULL) {
        queue *from = plus.n >= minus.n ? &plus : &minus;
        const entry *partner = take(from);
        if (p->carried->class == CLASS_ZERO)
            put_pair(p, partner, p->carried);
        else
            put_pair(p, p->carried, partner);
        p->carried = NULL;
    }
    queue *more = plus.n >= minus.n ? &plus : &minus, *fewer = more == &plus ? &minus : &plus;
    while (more->n - fewer->n >= 2) {
        const entry *first = take(more);
        put_pair(p, first, take(more));
    }
    while (fewer->n > 0) {
        const entry *first = take(more);
        put_pair(p, first, take(fewer));
    }
    if (more->n > 0)
        p->carried = take(more);
}

/* entries [n] sorted; queue_room [n] is scratch. */
static void pair_all(pairing *p, const entry *entries, int64_t n, const entry **queue_room) {
    for (int64_t first = 0, last = 0; first < n; first = last) {
        int64_t n_plus = 0, n_minus = 0;
        while (last < n && entries[last].class == entries[first].class)
            n_plus += sign_of(entries[last++].y) > 0;
        queue plus = {queue_room, n_plus}, minus = {queue_room + n_plus, last - first - n_plus};
        n_plus = 0;
        for (int64_t i = first; i < last; i++) {
            if (sign_of(entries[i].y) > 0)
                plus.at[n_plus++] = &entries[i];
            else
                minus.at[n_minus++] = &entries[i];
        }
        pair_class(p, plus, minus);
    }
    if (p->carried != NULL)
        put_pair(p, p->carried, NULL);
}

static void set_codes(xfi_slots *slots, const xfi_problem *problem, xfi_axes axes) {
    const xf_dataset *data = problem->data;
    double largest = 0;
    for (int64_t g = 0; g < data->n_targets; g++)
        largest = fmax(largest, fabs(problem->y[g * data->d + axes.k2]));
    double base = fmax(1.0, xfi_power_above(largest));
    int bits = 0;
    while (((int64_t)1 << bits) < slots->n_slots + 1)
        bits++;
    slots->step = ldexp(base, -bits);
    for (int64_t g = 0; g < data->n_targets; g++) {
        xfi_place *place = &slots->place[g];
        place->code = place->side * (base + slots->step * (double)(slots->n_slots - place->slot));
    }
}

xf_status xfi_slots_make(xfi_slots *out, const xfi_problem *problem, xfi_axes axes,
                         const char *late, xf_error *error) {
    const xf_dataset *data = problem->data;
    int64_t n = data->n_targets;
    *out = (xfi_slots){0};
    out->place = xfi_calloc(n, sizeof *out->place);
    entry *entries = xfi_calloc(n, sizeof *entries);
    const entry **room = xfi_calloc(n, sizeof(const entry *));
    if (!out->place || !entries || !room) {
        xfi_free(entries);
        xfi_free(room);
        xfi_slots_clear(out);
        return xfi_fail_memory(error);
    }
    for (int64_t g = 0; g < n; g++) {
        double y = problem->y[g * data->d + axes.k1];
        int class = y == 0.0 ? (int)CLASS_ZERO : xfi_exponent(y);
        if (y != 0.0 && class < problem->format.emin)
            class = problem->format.emin - 1;
        entries[g] = (entry){class, late[g], g, y};
    }
    qsort(entries, (size_t)n, sizeof *entries, compare_entries);
    pairing p = {.format = &problem->format, .slots = out};
    pair_all(&p, entries, n, room);
    out->n_slots = p.next;
    out->merges = !p.late_in_first;
    set_codes(out, problem, axes);
    xfi_free(entries);
    xfi_free(room);
    return XF_OK;
}
