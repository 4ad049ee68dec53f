/* From certified numbers to groups. */
#include "construct/groups.h"

#include "base/alloc.h"
#include "base/error.h"
#include "core/tiles.h"
#include "num/sort.h"

#include <string.h>

void xfi_groups_clear(xfi_groups *groups) {
    xfi_free(groups->at);
    *groups = (xfi_groups){0};
}

/* Scratch for one sequence: tokens by t, gaps by size, and where the cuts are. */
typedef struct xfi_cutter {
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

static int cutter_init(cutter *room, int64_t n_max) {
    room->keys = xfi_calloc(n_max, sizeof(double));
    room->order = xfi_calloc(n_max, sizeof(int64_t));
    room->by_gap = xfi_calloc(n_max, sizeof(int64_t));
    room->cut = xfi_calloc(n_max, 1);
    return room->keys && room->order && room->by_gap && room->cut;
}

/* Mark the m - 1 largest gaps of the n tokens with numbers t, m > 1. */
static int find_cuts(cutter *room, const double *t, int64_t n, int64_t m) {
    memset(room->cut, 0, (size_t)n);
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
    if (!isfinite(t) || !isfinite(E)) /* a comparison would pass over a NaN */
        group->error = INFINITY;
    group->t_low = t < group->t_low ? t : group->t_low;
    group->t_high = t > group->t_high ? t : group->t_high;
    group->error = E > group->error ? E : group->error;
}

static void end_group(xfi_group *group) {
    group->low = nextafter(group->t_low - group->error, -INFINITY);
    group->high = nextafter(group->t_high + group->error, INFINITY);
}

/* t, E of the tokens of sequence j. */
static int cut_sequence(xfi_group *out, cutter *room, const xf_dataset *data, int64_t j,
                        const double *t, const double *E) {
    int64_t n = data->x_offsets[j + 1] - data->x_offsets[j];
    int64_t target = data->y_offsets[j], m = data->y_offsets[j + 1] - target;
    if (m > 1 && !find_cuts(room, t, n, m))
        return 0;
    xfi_group *group = out + target;
    begin_group(group, j, target);
    for (int64_t i = 0; i < n; i++) {
        int64_t l = m == 1 ? i : room->order[i];
        add_token(group, t[l], E[l]);
        if (m == 1 || !room->cut[i])
            continue;
        end_group(group++);
        begin_group(group, j, ++target);
    }
    end_group(group);
    return 1;
}

/* By t_low, then by target: until now group g stands at its target. */
static int sort_groups(xfi_groups *groups) {
    int64_t n = groups->n;
    double *keys = xfi_calloc(n, sizeof *keys);
    int64_t *order = xfi_calloc(n, sizeof *order);
    xfi_group *sorted = xfi_calloc(n, sizeof *sorted);
    int ok = keys && order && sorted;
    for (int64_t g = 0; ok && g < n; g++)
        keys[g] = groups->at[g].t_low;
    ok = ok && xfi_sort_index(order, keys, n);
    for (int64_t g = 0; ok && g < n; g++)
        sorted[g] = groups->at[order[g]];
    if (ok) {
        xfi_free(groups->at);
        groups->at = sorted;
    } else {
        xfi_free(sorted);
    }
    xfi_free(keys);
    xfi_free(order);
    return ok;
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

static void maker_clear(xfi_groups_maker *maker) {
    for (int i = 0; maker->cutters != NULL && i < maker->threads; i++)
        cutter_clear(&maker->cutters[i]);
    xfi_free(maker->cutters);
    maker->cutters = NULL;
}

xf_status xfi_groups_begin(xfi_groups_maker *maker, xfi_groups *out, const xf_dataset *data,
                           const xf_peers *peers, int threads, xf_error *error) {
    int64_t n_max = xfi_longest_sequence(data);
    *out = (xfi_groups){.n = data->n_targets};
    *maker = (xfi_groups_maker){out, data, peers, threads, NULL};
    out->at = xfi_calloc(out->n, sizeof *out->at);
    maker->cutters = xfi_calloc(threads, sizeof *maker->cutters);
    int ok = out->at != NULL && maker->cutters != NULL;
    for (int i = 0; ok && i < threads; i++)
        ok = cutter_init(&maker->cutters[i], n_max);
    if (ok)
        return XF_OK;
    maker_clear(maker);
    xfi_groups_clear(out);
    return xfi_fail_memory(error);
}

int xfi_groups_cut(void *context, int thread, int64_t first, int64_t last, const double *t,
                   const double *E) {
    const xfi_groups_maker *maker = context;
    const int64_t *offsets = maker->data->x_offsets;
    for (int64_t j = first; j < last; j++) {
        int64_t at = offsets[j] - offsets[first];
        if (!cut_sequence(maker->groups->at, &maker->cutters[thread], maker->data, j, t + at,
                          E + at))
            return 0;
    }
    return 1;
}

xf_status xfi_groups_end(xfi_groups_maker *maker, xf_status status, xf_error *error) {
    xfi_groups *groups = maker->groups;
    const xf_dataset *data = maker->data;
    maker_clear(maker);
    if (status == XF_OK)
        status = xfi_share_gather(maker->peers, data->x_offsets, data->n_sequences, groups->at,
                                  sizeof *groups->at, data->y_offsets, error);
    if (status == XF_OK && !sort_groups(groups))
        status = xfi_fail_memory(error);
    if (status != XF_OK) {
        xfi_groups_clear(groups);
        return status;
    }
    measure_margin(groups);
    confirm_disjoint(groups);
    return XF_OK;
}

xf_status xfi_groups_make(xfi_groups *out, const xf_dataset *data, const double *t, const double *E,
                          xf_error *error) {
    xfi_groups_maker maker;
    XFI_TRY(xfi_groups_begin(&maker, out, data, NULL, 1, error));
    xf_status status =
        xfi_groups_cut(&maker, 0, 0, data->n_sequences, t, E) ? XF_OK : xfi_fail_memory(error);
    return xfi_groups_end(&maker, status, error);
}
