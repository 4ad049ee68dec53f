/* From certified numbers to groups. */
#include "construct/groups.h"

#include "base/alloc.h"
#include "base/error.h"
#include "num/sort.h"

#include <stdlib.h>
#include <string.h>

void xfi_groups_clear(xfi_groups *groups) {
    xfi_free(groups->at);
    *groups = (xfi_groups){0};
}

/* Scratch for one sequence: tokens by t, gaps by size, and where the cuts are. */
typedef struct cutter {
    double *keys;    /* [n_max] */
    int64_t *order;  /* [n_max] */
    int64_t *by_gap; /* [n_max] */
    char *cut;       /* [n_max] cut[i]: between the i-th and the next token */
} cutter;

static void cutter_clear(cutter *room) {
    xfi_free(room->keys);
    xfi_free(room->order);
    xfi_free(room->by_gap);
    xfi_free(room->cut);
}

static int cutter_init(cutter *room, const xf_dataset *data) {
    int64_t n_max = 1;
    for (int64_t j = 0; j < data->n_sequences; j++)
        n_max = data->x_offsets[j + 1] - data->x_offsets[j] > n_max
                    ? data->x_offsets[j + 1] - data->x_offsets[j]
                    : n_max;
    room->keys = xfi_calloc(n_max, sizeof(double));
    room->order = xfi_calloc(n_max, sizeof(int64_t));
    room->by_gap = xfi_calloc(n_max, sizeof(int64_t));
    room->cut = xfi_calloc(n_max, 1);
    if (room->keys && room->order && room->by_gap && room->cut)
        return 1;
    cutter_clear(room);
    return 0;
}

/* Mark the m - 1 largest gaps of the n tokens with numbers t. */
static int find_cuts(cutter *room, const double *t, int64_t n, int64_t m) {
    memset(room->cut, 0, (size_t)n);
    if (m == 1)
        return 1;
    if (!xfi_sort_index(room->order, t, n))
        return 0;
    for (int64_t i = 0; i + 1 < n; i++)
        room->keys[i] = t[room->order[i]] - t[room->order[i + 1]]; /* minus the gap */
    if (m < n && !xfi_sort_index(room->by_gap, room->keys, n - 1))
        return 0;
    for (int64_t i = 0; i < m - 1; i++)
        room->cut[m < n ? room->by_gap[i] : i] = 1;
    return 1;
}

static void begin_group(xfi_group *group, int64_t sequence, int64_t target) {
    *group =
        (xfi_group){.t_low = INFINITY, .t_high = -INFINITY, .sequence = sequence, .target = target};
}

static void add_token(xfi_group *group, double t, double E) {
    if (!isfinite(t) || !isfinite(E)) /* not fmax's way of dropping a NaN */
        group->error = INFINITY;
    group->t_low = fmin(group->t_low, t);
    group->t_high = fmax(group->t_high, t);
    group->error = fmax(group->error, E);
}

static void end_group(xfi_group *group) {
    group->low = nextafter(group->t_low - group->error, -INFINITY);
    group->high = nextafter(group->t_high + group->error, INFINITY);
}

static int cut_sequence(xfi_group *out, cutter *room, const xf_dataset *data, int64_t j,
                        const double *t, const double *E) {
    int64_t first = data->x_offsets[j], n = data->x_offsets[j + 1] - first;
    int64_t target = data->y_offsets[j], m = data->y_offsets[j + 1] - target;
    if (!find_cuts(room, t + first, n, m))
        return 0;
    xfi_group *group = out + target;
    begin_group(group, j, target);
    for (int64_t i = 0; i < n; i++) {
        int64_t l = first + (m == 1 ? i : room->order[i]);
        add_token(group, t[l], E[l]);
        if (!room->cut[i])
            continue;
        end_group(group++);
        begin_group(group, j, ++target);
    }
    end_group(group);
    return 1;
}

static int compare_groups(const void *left, const void *right) {
    const xfi_group *a = left, *b = right;
    if (a->t_low != b->t_low)
        return a->t_low < b->t_low ? -1 : 1;
    return (a->target > b->target) - (a->target < b->target);
}

static void measure_margin(xfi_groups *groups) {
    groups->margin = INFINITY;
    groups->closest[0] = groups->closest[1] = groups->at[0].sequence;
    for (int64_t i = 0; i + 1 < groups->n; i++) {
        const xfi_group *a = &groups->at[i], *b = a + 1;
        double gap = b->t_low - a->t_high, bound = a->error + b->error;
        double margin = gap > 0 ? gap / bound : 0.0; /* gap / 0 is INFINITY */
        if (!(margin < groups->margin))
            continue;
        groups->margin = margin;
        groups->gap = gap;
        groups->bound = bound;
        groups->closest[0] = a->sequence < b->sequence ? a->sequence : b->sequence;
        groups->closest[1] = a->sequence < b->sequence ? b->sequence : a->sequence;
    }
}

/* The intervals themselves decide, not their ratio. */
static void confirm_disjoint(xfi_groups *groups) {
    for (int64_t i = 0; i + 1 < groups->n; i++)
        if (!(groups->at[i].high < groups->at[i + 1].low))
            groups->margin = fmin(groups->margin, 1.0);
    for (int64_t i = 0; i < groups->n; i++)
        if (!isfinite(groups->at[i].low) || !isfinite(groups->at[i].high))
            groups->margin = 0.0;
}

xf_status xfi_groups_make(xfi_groups *out, const xf_dataset *data, const double *t, const double *E,
                          xf_error *error) {
    *out = (xfi_groups){.n = data->n_targets};
    out->at = xfi_calloc(out->n, sizeof *out->at);
    cutter room = {0};
    if (out->at == NULL || !cutter_init(&room, data)) {
        xfi_groups_clear(out);
        return xfi_fail_memory(error);
    }
    int ok = 1;
    for (int64_t j = 0; ok && j < data->n_sequences; j++)
        ok = cut_sequence(out->at, &room, data, j, t, E);
    cutter_clear(&room);
    if (!ok) {
        xfi_groups_clear(out);
        return xfi_fail_memory(error);
    }
    qsort(out->at, (size_t)out->n, sizeof *out->at, compare_groups);
    measure_margin(out);
    confirm_disjoint(out);
    return XF_OK;
}
