/* Reading lanes out of blocks, and what they do to balls. */
#include "construct/stage.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

void xfi_stage_clear(xfi_stage *stage) {
    xfi_free(stage->item[0]);
    xfi_free(stage->item[1]);
    *stage = (xfi_stage){0};
}

/* A neuron relu(sign 2^-k x_from - bias) with its columns on `from` and `to`. */
typedef struct neuron {
    int side; /* 0 positive, 1 negative */
    int k;
    double bias;
    double on_from;
    double on_to;
} neuron;

/* What one lane does in one block. */
typedef struct job {
    int clamps;
    int writes;
    neuron clamp;
    neuron write;
} job;

typedef struct reader {
    const xf_model *model;
    xfi_format format;
    xfi_stage *stage;
    int waiting[2]; /* the last item of the lane is clamped and not written */
} reader;

/* The coordinates: the first neuron's input, and the first other coordinate that is written. */
static void find_coordinates(xfi_stage *stage, const xf_model *model, int64_t first,
                             int64_t count) {
    int64_t d = model->d, w = model->width;
    stage->from = stage->to = -1;
    for (int64_t i = first * w * d; i < (first + count) * w * d && stage->from < 0; i++)
        if (model->ff_U[i] != 0.0)
            stage->from = i % d;
    for (int64_t i = first * w * d; i < (first + count) * w * d && stage->to < 0; i++)
        if (model->ff_W[i] != 0.0 && i / w % d != stage->from)
            stage->to = i / w % d;
}

static int is_identity(const xf_model *model, int64_t block) {
    int64_t d = model->d;
    if (model->ff_eta[block] != 1.0 || model->sa_rho[block] != 1.0 ||
        model->sa_V.alpha[block] != 0.0 || model->sa_V.full != NULL || model->order != XF_FF_SA)
        return 0;
    for (int64_t k = 0; k < d; k++)
        if (model->sa_V.left[block * d + k] != 0.0)
            return 0;
    return 1;
}

/* 1: a neuron, 0: an unused one, -1: something else. */
static int read_neuron(neuron *out, const reader *r, int64_t block, int64_t i) {
    const xf_model *m = r->model;
    int64_t d = m->d, w = m->width;
    double weight = 0, b = m->ff_b[block * w + i];
    int used = b != 0.0;
    *out = (neuron){.bias = -b};
    for (int64_t k = 0; k < d; k++) {
        double u = m->ff_U[(block * w + i) * d + k], column = m->ff_W[(block * d + k) * w + i];
        used |= u != 0.0 || column != 0.0;
        if (k == r->stage->from) {
            weight = u;
            out->on_from = column;
        } else if (k == r->stage->to && u == 0.0) {
            out->on_to = column;
        } else if (u != 0.0 || column != 0.0) {
            return -1;
        }
    }
    if (!used)
        return 0;
    if (weight == 0.0 || xfi_lowest_bit(weight) != xfi_exponent(weight))
        return -1;
    out->side = weight < 0;
    out->k = -xfi_exponent(weight);
    return 1;
}

/* z - c, subtracted from z. */
static int is_clamp(const neuron *n) {
    return n->k == 0 && n->on_to == 0.0 && n->on_from == (n->side ? 1.0 : -1.0);
}

/* Sort the neurons of a block into the two lanes' jobs. */
static int read_jobs(job jobs[2], const reader *r, int64_t block) {
    jobs[0] = jobs[1] = (job){0};
    for (int64_t i = 0; i < r->model->width; i++) {
        neuron n;
        int kind = read_neuron(&n, r, block, i);
        if (kind <= 0) {
            if (kind < 0)
                return 0;
            continue;
        }
        job *lane = &jobs[n.side];
        if (is_clamp(&n) ? lane->clamps++ : lane->writes++)
            return 0; /* a second one */
        *(is_clamp(&n) ? &lane->clamp : &lane->write) = n;
    }
    return 1;
}

/* T-write for the target 0: every partial sum of c, -(c - q), -q is a multiple of 2^e, at most
 * 2^(p+e). */
static int sums_are_exact(double c, double q, const xfi_format *format) {
    int e = xfi_lowest_bit(c);
    if (q != 0.0 && xfi_lowest_bit(q) < e)
        e = xfi_lowest_bit(q);
    return c <= ldexp(1.0, format->p + e);
}

/* Is v an integer of at most p bits? */
static int is_integer(double v, const xfi_format *format) {
    return floor(v) == v && fabs(v) < ldexp(1.0, format->p);
}

/* The gate must be 1 at the waiting code, and leave 0 on `from`. `meets` is the code that the
 * same block clamps to (0: none). */
static int take_write(reader *r, int side, const neuron *n, double meets) {
    if (!r->waiting[side])
        return 0;
    xfi_stage_item *item = &r->stage->item[side][r->stage->n[side] - 1];
    double steps = ldexp(item->code, -n->k), code = meets != 0.0 ? meets : item->code;
    item->theta = ldexp(n->bias, n->k);
    item->offset = n->on_to;
    r->waiting[side] = 0;
    return is_integer(steps, &r->format) && is_integer(n->bias, &r->format) && n->bias >= 0.0 &&
           steps - n->bias == 1.0 && n->on_from == (side ? code : -code) &&
           sums_are_exact(item->code, meets, &r->format);
}

/* Codes descend, each at or below the threshold outside it. */
static int take_clamp(reader *r, int side, const neuron *n) {
    int64_t i = r->stage->n[side]++;
    xfi_stage_item *items = r->stage->item[side];
    items[i] = (xfi_stage_item){.code = n->bias};
    int ok = !r->waiting[side] && n->bias > 0.0 && (i == 0 || n->bias <= items[i - 1].theta);
    r->waiting[side] = 1;
    return ok;
}

static int read_block(reader *r, int64_t block) {
    job jobs[2];
    if (!is_identity(r->model, block) || !read_jobs(jobs, r, block))
        return 0;
    for (int side = 0; side < 2; side++) {
        const job *lane = &jobs[side];
        if (lane->writes &&
            !take_write(r, side, &lane->write, lane->clamps ? lane->clamp.bias : 0.0))
            return 0;
        if (lane->clamps && !take_clamp(r, side, &lane->clamp))
            return 0;
    }
    return 1;
}

xf_status xfi_stage_read(xfi_stage *out, int *known, const xf_model *model, int64_t first,
                         int64_t count, xf_error *error) {
    *out = (xfi_stage){0};
    *known = 0;
    find_coordinates(out, model, first, count);
    out->item[0] = xfi_calloc(count, sizeof(xfi_stage_item));
    out->item[1] = xfi_calloc(count, sizeof(xfi_stage_item));
    if (out->item[0] == NULL || out->item[1] == NULL) {
        xfi_stage_clear(out);
        return xfi_fail_memory(error);
    }
    reader r = {.model = model, .format = xfi_format_of(model->dtype), .stage = out};
    int ok = out->from >= 0 && out->to >= 0;
    for (int64_t b = first; ok && b < first + count; b++)
        ok = read_block(&r, b);
    *known = ok && !r.waiting[0] && !r.waiting[1];
    if (!*known)
        xfi_stage_clear(out);
    return XF_OK;
}

/* The outermost item with a code <= low; -1 if there is none. */
static int64_t find_item(const xfi_stage_item *items, int64_t n, double low) {
    int64_t first = 0, last = n;
    while (first < last) {
        int64_t middle = first + (last - first) / 2;
        if (items[middle].code <= low)
            last = middle;
        else
            first = middle + 1;
    }
    return first < n ? first : -1;
}

/* The cell of a ball, ascending along the line: the negative lane from outside, then the positive
 * one from inside. -1 if it is not certain (T-stage). */
static int64_t find_cell(const xfi_stage *stage, xfi_ball x, const xfi_format *format) {
    double low = xfi_ball_low(x), high = xfi_ball_high(x);
    int side = high < 0.0;
    if (!(low > 0.0 || high < 0.0) || !isfinite(low) || !isfinite(high))
        return -1;
    double z_low = side ? -high : low, z_high = side ? -low : high;
    const xfi_stage_item *items = stage->item[side];
    int64_t i = find_item(items, stage->n[side], z_low);
    if (i < 0 || (i > 0 && !(z_high <= items[i - 1].theta)) ||
        !(z_high < ldexp(1.0, format->emax)) ||
        ldexp(1.0, xfi_lowest_bit(items[i].code)) < xfi_ulp(format, z_high))
        return -1;
    return side ? i : stage->n[1] + stage->n[0] - 1 - i;
}

void xfi_narrowest_take(xfi_narrowest *narrowest, const xfi_narrowest *other) {
    if (!(narrowest->margin <= other->margin))
        *narrowest = *other;
}

/* One end of a cell: the token with the extreme c + m E, or c - m E. */
typedef struct end {
    double key;
    double centre;
    double error;
    int64_t sequence; /* -1: no token yet */
} end;

typedef struct extent {
    end low;
    end high;
} extent;

/* The cells at hand, and what is needed to measure the gaps between them. */
typedef struct gauge {
    const xf_dataset *data;
    const xfi_track *track;
    int from;
    const int64_t *cell; /* [T] */
    extent *extents;     /* [n] */
    int64_t n;
} gauge;

/* Ends of all cells with every interval inflated m times. */
static void find_extents(gauge *g, double m) {
    for (int64_t c = 0; c < g->n; c++)
        g->extents[c] = (extent){.low = {.sequence = -1}, .high = {.sequence = -1}};
    for (int64_t j = 0; j < g->data->n_sequences; j++)
        for (int64_t l = g->data->x_offsets[j]; l < g->data->x_offsets[j + 1]; l++) {
            xfi_ball x = g->track->ball[l * g->track->n_coordinates + g->from];
            double centre = xfi_dd_value(x.centre);
            extent *cell = &g->extents[g->cell[l]];
            end low = {centre - m * x.error, centre, x.error, j};
            end high = {centre + m * x.error, centre, x.error, j};
            if (cell->low.sequence < 0 || low.key < cell->low.key)
                cell->low = low;
            if (cell->high.sequence < 0 || high.key > cell->high.key)
                cell->high = high;
        }
}

static xfi_narrowest between(const end *below, const end *above) {
    double gap = above->centre - below->centre, bound = above->error + below->error;
    int64_t j = below->sequence, k = above->sequence;
    return (xfi_narrowest){.margin = gap > 0 ? gap / bound : 0.0,
                           .gap = gap,
                           .bound = bound,
                           .closest = {j < k ? j : k, j < k ? k : j}};
}

/* The narrowest passage between the ends found. */
static xfi_narrowest compare_extents(const gauge *g) {
    xfi_narrowest out = {.margin = INFINITY};
    const extent *before = NULL;
    for (int64_t c = 0; c < g->n; c++) {
        if (g->extents[c].low.sequence < 0)
            continue;
        if (before != NULL) {
            xfi_narrowest here = between(&before->high, &g->extents[c].low);
            xfi_narrowest_take(&out, &here);
        }
        before = &g->extents[c];
    }
    return out;
}

/* The least gap over bounds among pairs of tokens of neighbouring cells: the pair that limits m
 * limits it at its own ratio, and so on until no pair limits it further (Dinkelbach). */
static xfi_narrowest measure(gauge *g) {
    find_extents(g, 0.0);
    xfi_narrowest out = compare_extents(g);
    for (int round = 0; round < 64 && out.margin > 0 && isfinite(out.margin); round++) {
        find_extents(g, out.margin);
        xfi_narrowest next = compare_extents(g);
        if (!(next.margin < out.margin))
            break;
        out = next;
    }
    return out;
}

static double offset_of(const xfi_stage *stage, int64_t cell) {
    return cell < stage->n[1] ? stage->item[1][cell].offset
                              : stage->item[0][stage->n[1] + stage->n[0] - 1 - cell].offset;
}

/* The cells of all tokens. Returns a sequence whose cell is not certain, or -1. */
static int64_t find_cells(int64_t *cell, const xfi_track *track, int from, const xfi_stage *stage,
                          const xf_dataset *data, const xfi_format *format) {
    for (int64_t j = 0; j < data->n_sequences; j++)
        for (int64_t l = data->x_offsets[j]; l < data->x_offsets[j + 1]; l++) {
            cell[l] = find_cell(stage, track->ball[l * track->n_coordinates + from], format);
            if (cell[l] < 0)
                return j;
        }
    return -1;
}

static void displace(xfi_track *track, int from, int to, const int64_t *cell,
                     const xfi_stage *stage, int64_t n_tokens, const xfi_format *format) {
    for (int64_t l = 0; l < n_tokens; l++) {
        xfi_ball *x = track->ball + l * track->n_coordinates;
        x[to] = xfi_ball_add(x[to], offset_of(stage, cell[l]), format);
        x[from] = (xfi_ball){{0, 0}, 0};
    }
}

xf_status xfi_stage_apply(xfi_narrowest *out, xfi_track *track, const xfi_stage *stage,
                          const xf_dataset *data, const xfi_format *format, xf_error *error) {
    int64_t n = stage->n[0] + stage->n[1];
    int from = xfi_track_index(track, stage->from), to = xfi_track_index(track, stage->to);
    int64_t *cell = xfi_calloc(data->n_tokens, sizeof(int64_t));
    extent *extents = xfi_calloc(n, sizeof *extents);
    xf_status status = cell && extents ? XF_OK : xfi_fail_memory(error);
    if (status == XF_OK) {
        int64_t uncertain = find_cells(cell, track, from, stage, data, format);
        gauge g = {
            .data = data, .track = track, .from = from, .cell = cell, .extents = extents, .n = n};
        *out = (xfi_narrowest){.closest = {uncertain, uncertain}};
        if (uncertain < 0) {
            *out = measure(&g);
            displace(track, from, to, cell, stage, data->n_tokens, format);
        }
    }
    xfi_free(cell);
    xfi_free(extents);
    return status;
}
