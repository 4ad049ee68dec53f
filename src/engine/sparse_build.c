/* Preparing stretches for the sparse engine: what is not zero, and the indexes. */
#include "engine/sparse.h"

#include "base/alloc.h"
#include "base/error.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define REAL double
#define REAL_BITS int64_t
#define REAL_MAX DBL_MAX
#define XFI_NAME(base) base##_f64
#include "engine/sparse_build_template.h"
#undef REAL
#undef REAL_BITS
#undef REAL_MAX
#undef XFI_NAME

#define REAL float
#define REAL_BITS int32_t
#define REAL_MAX FLT_MAX
#define XFI_NAME(base) base##_f32
#include "engine/sparse_build_template.h"
#undef REAL
#undef REAL_BITS
#undef REAL_MAX
#undef XFI_NAME

enum { LONG_STRETCH = 16, MANY_BLOCKS = 256 };

static int is_binary32(const xfi_weights *weights) {
    return weights->dtype == XF_F32;
}

void xfi_sparse_scan(xfi_block_shape *shapes, const xfi_weights *weights, int threads) {
    int binary32 = is_binary32(weights);
#pragma omp parallel for schedule(static) num_threads(threads) if (weights->n_blocks > MANY_BLOCKS)
    for (int64_t block = 0; block < weights->n_blocks; block++) {
        if (binary32)
            scan_block_f32(&shapes[block], weights, block);
        else
            scan_block_f64(&shapes[block], weights, block);
    }
}

/* Is the layer there to do something? An attention layer with rho = 1 is not. */
static int is_step(const xfi_weights *weights, int64_t layer) {
    if (!xfi_layer_is_attention(weights, layer))
        return 1;
    int64_t block = layer / 2;
    return is_binary32(weights) ? ((const float *)weights->rho)[block] != 1
                                : ((const double *)weights->rho)[block] != 1;
}

/* End of the layers from `first` on that are as heavy as the first feed-forward layer. */
static int64_t alike(const xfi_weights *weights, const xfi_block_shape *shapes, int64_t first,
                     int64_t last) {
    int heavy = -1;
    int64_t layer = first;
    for (; layer < last; layer++) {
        if (xfi_layer_is_attention(weights, layer))
            continue;
        if (heavy < 0)
            heavy = shapes[layer / 2].heavy != 0;
        else if ((shapes[layer / 2].heavy != 0) != heavy)
            break;
    }
    return layer;
}

int64_t xfi_sparse_stretch(const xfi_weights *weights, const xfi_block_shape *shapes, int64_t first,
                           int64_t last) {
    int64_t end = alike(weights, shapes, first, last), length = end - first;
    while (end < last) {
        int64_t next = alike(weights, shapes, end, last);
        if (next - end >= LONG_STRETCH && length >= LONG_STRETCH)
            break;
        length = next - end > length ? next - end : length;
        end = next;
    }
    return end;
}

/* --- steps, neurons and terms ------------------------------------------------------------ */

typedef struct place {
    int64_t neuron;
    int64_t term;
} place;

static double factor_of(const xfi_weights *weights, int64_t layer) {
    const void *factors = xfi_layer_is_attention(weights, layer) ? weights->rho : weights->eta;
    int64_t block = layer / 2;
    return is_binary32(weights) ? (double)((const float *)factors)[block]
                                : ((const double *)factors)[block];
}

/* Steps with the places of their neurons and terms; places [n_steps + 1]. */
static void lay_out_steps(xfi_sparse *out, place *places, const xfi_weights *weights,
                          const xfi_block_shape *shapes) {
    place at = {0};
    int64_t s = 0;
    for (int64_t layer = out->first; layer < out->last; layer++) {
        if (!is_step(weights, layer))
            continue;
        out->steps[s] = (xfi_step){
            .layer = layer, .neuron = at.neuron, .factor = factor_of(weights, layer), .always = 1};
        places[s] = at;
        if (!xfi_layer_is_attention(weights, layer)) {
            const xfi_block_shape *shape = &shapes[layer / 2];
            out->steps[s].always = shape->always;
            out->steps[s].cleans = shape->cleans;
            at.neuron += shape->n_neurons;
            at.term += shape->n_inputs + shape->n_outputs;
        }
        s++;
    }
    out->steps[s] = (xfi_step){.layer = out->last, .neuron = at.neuron};
    places[s] = at;
    out->next_always[s] = s;
    while (s-- > 0)
        out->next_always[s] = out->steps[s].always ? s : out->next_always[s + 1];
}

static void fill_steps(xfi_sparse *out, const place *places, const xfi_weights *weights,
                       double *above, double *below, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads) if (out->n_steps > MANY_BLOCKS)
    for (int64_t s = 0; s < out->n_steps; s++) {
        int64_t block = out->steps[s].layer / 2;
        if (xfi_layer_is_attention(weights, out->steps[s].layer))
            continue;
        if (is_binary32(weights))
            fill_layer_f32(out, weights, block, places[s].neuron, places[s].term, above, below);
        else
            fill_layer_f64(out, weights, block, places[s].neuron, places[s].term, above, below);
    }
}

/* --- the indexes ------------------------------------------------------------------------- */

/* Does the neuron take part in no index: its layer acts on every token, or it reads nothing? */
static int is_silent(const xfi_sparse *form, int64_t s, int64_t neuron) {
    return form->steps[s].always || form->neurons[neuron].n_inputs == 0;
}

/* Entries of every coordinate [d]; returns those of the box index, whose coordinates are marked. */
static int64_t count_entries(int64_t *of_coordinate, const xfi_sparse *form,
                             const xfi_weights *weights) {
    int64_t n_boxed = 0;
    for (int64_t s = 0; s < form->n_steps; s++)
        for (int64_t i = form->steps[s].neuron; i < form->steps[s + 1].neuron; i++) {
            const xfi_sparse_neuron *n = &form->neurons[i];
            if (is_silent(form, s, i))
                continue;
            if (n->n_inputs == 1)
                of_coordinate[form->terms[n->input].at]++;
            else
                n_boxed++;
            if (n->n_inputs == XFI_WHOLE)
                memset(form->is_boxed, 1, (size_t)weights->d);
            for (int64_t k = 0; n->n_inputs > 1 && k < n->n_inputs; k++)
                form->is_boxed[form->terms[n->input + k].at] = 1;
        }
    return n_boxed;
}

/* Number the groups of the levels; returns how many there are. */
static int64_t count_groups(xfi_box_index *boxes) {
    int64_t n = 0;
    for (int level = 1; level < boxes->levels.n; level++) {
        boxes->first[level] = n;
        n += (boxes->levels.count[level] + XFI_INDEX_FAN - 1) / XFI_INDEX_FAN;
    }
    return n;
}

static int allocate_indexes(xfi_sparse *out, const int64_t *of_coordinate, int64_t n_boxed,
                            int64_t d) {
    xfi_box_index *boxes = &out->boxes;
    for (int64_t k = 0; k < d; k++) {
        out->n_thresholds += of_coordinate[k] > 0;
        boxes->n_coordinates += out->is_boxed[k];
    }
    out->thresholds = xfi_calloc(out->n_thresholds, sizeof *out->thresholds);
    if (out->thresholds == NULL)
        return 0;
    for (int64_t k = 0, t = 0; k < d; k++)
        if (of_coordinate[k] > 0 &&
            !xfi_threshold_index_new(&out->thresholds[t++], k, of_coordinate[k]))
            return 0;
    xfi_levels_lay_out(&boxes->levels, n_boxed);
    boxes->coordinates = xfi_calloc(boxes->n_coordinates, sizeof *boxes->coordinates);
    boxes->step = xfi_calloc(n_boxed, sizeof *boxes->step);
    boxes->neuron = xfi_calloc(n_boxed, sizeof *boxes->neuron);
    boxes->groups = xfi_calloc2(count_groups(boxes), (2 * boxes->n_coordinates + 1) * XFI_INDEX_FAN,
                                sizeof *boxes->groups);
    for (int64_t k = 0, c = 0; boxes->coordinates != NULL && k < d; k++)
        if (out->is_boxed[k])
            boxes->coordinates[c++] = k;
    return boxes->coordinates && boxes->step && boxes->neuron && boxes->groups;
}

/* Hand the neurons to their indexes in order; filled, index_of [d] are scratch, `filled` all 0. */
static void fill_indexes(xfi_sparse *out, int64_t *filled, int64_t *index_of, const double *above,
                         const double *below) {
    int64_t n_boxed = 0;
    for (int64_t t = 0; t < out->n_thresholds; t++)
        index_of[out->thresholds[t].coordinate] = t;
    for (int64_t s = 0; s < out->n_steps; s++)
        for (int64_t i = out->steps[s].neuron; i < out->steps[s + 1].neuron; i++) {
            if (is_silent(out, s, i))
                continue;
            if (out->neurons[i].n_inputs != 1) {
                out->boxes.step[n_boxed] = s;
                out->boxes.neuron[n_boxed++] = i;
                continue;
            }
            int64_t k = out->terms[out->neurons[i].input].at;
            xfi_threshold_index *index = &out->thresholds[index_of[k]];
            index->step[filled[k]] = s;
            index->above[filled[k]] = above[i];
            index->below[filled[k]++] = below[i];
        }
    for (int64_t t = 0; t < out->n_thresholds; t++)
        xfi_threshold_index_close(&out->thresholds[t]);
}

/* --- boxes ------------------------------------------------------------------------------- */

/* The numbers that a bound is computed from, over all neurons, before and after scaling. */
typedef struct extent {
    double smallest; /* absolute value other than 0 */
    double largest;
    int lost; /* did scaling make something 0? */
} extent;

static const extent nothing = {INFINITY, 0.0, 0};

static void widen(extent *e, double value) {
    double size = fabs(value);
    if (size > e->largest)
        e->largest = size;
    if (size < e->smallest && size > 0.0)
        e->smallest = size;
}

static void join_extent(extent *e, const extent *part) {
    e->smallest = part->smallest < e->smallest ? part->smallest : e->smallest;
    e->largest = part->largest > e->largest ? part->largest : e->largest;
    e->lost |= part->lost;
}

/* `value` times a power of two for a box. */
static double rescale(extent *e, double value, double factor) {
    double scaled = value * factor;
    widen(e, value);
    widen(e, scaled);
    e->lost |= value != 0.0 && scaled == 0.0;
    return scaled;
}

static double weight_at(const xfi_sparse *form, const xfi_weights *weights,
                        const xfi_sparse_neuron *n, int64_t k, int64_t *term) {
    if (n->n_inputs == XFI_WHOLE)
        return is_binary32(weights) ? weight_at_f32(weights, n->row, k)
                                    : weight_at_f64(weights, n->row, k);
    if (*term < n->n_inputs && form->terms[n->input + *term].at == k)
        return form->terms[n->input + (*term)++].value;
    return 0.0;
}

/* 2^-e for the largest weight in [2^e, 2^(e+1)), if that is a normal number; else 1. */
static double scale_of(double largest) {
    int exponent = ilogb(largest);
    return abs(exponent) < DBL_MAX_EXP - 1 ? ldexp(1.0, -exponent) : 1.0;
}

/* Take `low`, `high` into row c of a box. */
static void stretch_box(double *box, int64_t c, double low, double high) {
    double *least = box + 2 * c * XFI_INDEX_FAN, *largest = least + XFI_INDEX_FAN;
    *least = low < *least ? low : *least;
    *largest = high > *largest ? high : *largest;
}

static void raise_bias(double *box, int64_t m, double bias) {
    double *largest = box + 2 * m * XFI_INDEX_FAN;
    *largest = bias > *largest ? bias : *largest;
}

/* Put one neuron, scaled by a power of two, into a box; `e` sees all its numbers. */
static void add_to_box(double *box, const xfi_sparse *form, const xfi_weights *weights,
                       const xfi_sparse_neuron *n, extent *e) {
    const xfi_box_index *boxes = &form->boxes;
    int64_t m = boxes->n_coordinates, term = 0;
    double largest = 0.0;
    for (int64_t c = 0; c < m; c++) {
        double size = fabs(weight_at(form, weights, n, boxes->coordinates[c], &term));
        largest = size > largest ? size : largest;
    }
    double factor = scale_of(largest);
    term = 0;
    for (int64_t c = 0; c < m; c++) {
        double u = weight_at(form, weights, n, boxes->coordinates[c], &term);
        u = rescale(e, u, factor);
        stretch_box(box, c, u, u);
    }
    raise_bias(box, m, rescale(e, n->bias, factor));
}

static void empty_box(double *box, int64_t m) {
    for (int64_t c = 0; c < m; c++) {
        box[2 * c * XFI_INDEX_FAN] = INFINITY;
        box[(2 * c + 1) * XFI_INDEX_FAN] = -INFINITY;
    }
    box[2 * m * XFI_INDEX_FAN] = -INFINITY;
}

static void join_box(double *box, const double *part, int64_t m) {
    for (int64_t c = 0; c < m; c++)
        stretch_box(box, c, part[2 * c * XFI_INDEX_FAN], part[(2 * c + 1) * XFI_INDEX_FAN]);
    raise_bias(box, m, part[2 * m * XFI_INDEX_FAN]);
}

/* Within these bounds of |x| no product or sum leaves the normal numbers, before or after the
 * scaling, so that scaling changes no sign (docs/engines.md, E-box). */
static void set_range(xfi_box_index *boxes, const extent *e, int binary32) {
    int emin = binary32 ? FLT_MIN_EXP - 1 : DBL_MIN_EXP - 1;
    int emax = binary32 ? FLT_MAX_EXP - 1 : DBL_MAX_EXP - 1;
    int p = binary32 ? FLT_MANT_DIG : DBL_MANT_DIG;
    int terms = ilogb((double)boxes->n_coordinates + 1.0) + 1;
    boxes->largest = -1.0; /* nothing may be excluded */
    if (e->lost || !(e->largest > 0.0 && e->largest <= DBL_MAX))
        return;
    int lowest = ilogb(e->smallest), highest = ilogb(e->largest);
    if (lowest < emin + p || highest > emax - 2 - terms)
        return;
    boxes->smallest = ldexp(1.0, emin + p - lowest);
    boxes->largest = ldexp(1.0, emax - 2 - terms - highest);
}

/* Box i of a level from what is under it. */
static void make_box(xfi_sparse *out, const xfi_weights *weights, int level, int64_t i, extent *e) {
    xfi_box_index *boxes = &out->boxes;
    const xfi_levels *levels = &boxes->levels;
    int64_t m = boxes->n_coordinates, first = i * XFI_INDEX_FAN, end = first + XFI_INDEX_FAN;
    double *box = xfi_box_at(boxes, level, i);
    end = end < levels->count[level - 1] ? end : levels->count[level - 1];
    empty_box(box, m);
    for (int64_t k = first; k < end; k++)
        if (level == 1)
            add_to_box(box, out, weights, &out->neurons[boxes->neuron[k]], e);
        else
            join_box(box, xfi_box_at(boxes, level - 1, k), m);
}

static void make_boxes(xfi_sparse *out, const xfi_weights *weights, int threads) {
    const xfi_levels *levels = &out->boxes.levels;
    extent all = nothing;
    for (int level = 1; level < levels->n; level++) {
#pragma omp parallel num_threads(threads) if (levels->count[level] > MANY_BLOCKS)
        {
            extent own = nothing;
#pragma omp for schedule(static)
            for (int64_t i = 0; i < levels->count[level]; i++)
                make_box(out, weights, level, i, &own);
#pragma omp critical(xfi_make_boxes)
            join_extent(&all, &own);
        }
    }
    if (levels->n > 1)
        set_range(&out->boxes, &all, is_binary32(weights));
}

/* --- everything -------------------------------------------------------------------------- */

static int build_indexes(xfi_sparse *out, const xfi_weights *weights, const double *above,
                         const double *below, int threads) {
    int64_t d = weights->d, *counts = xfi_calloc2(3, d, sizeof *counts);
    int ok = counts != NULL;
    if (ok) {
        int64_t n_boxed = count_entries(counts, out, weights);
        ok = allocate_indexes(out, counts, n_boxed, d);
    }
    if (ok) {
        fill_indexes(out, counts + d, counts + 2 * d, above, below);
        make_boxes(out, weights, threads);
    }
    xfi_free(counts);
    return ok;
}

static int build(xfi_sparse *out, const xfi_weights *weights, const xfi_block_shape *shapes,
                 place *places, int threads) {
    lay_out_steps(out, places, weights, shapes);
    int64_t n_neurons = places[out->n_steps].neuron;
    double *above = xfi_calloc(n_neurons, sizeof *above);
    double *below = xfi_calloc(n_neurons, sizeof *below);
    out->neurons = xfi_calloc(n_neurons, sizeof *out->neurons);
    out->terms = xfi_calloc(places[out->n_steps].term, sizeof *out->terms);
    int ok = above && below && out->neurons && out->terms;
    if (ok) {
        fill_steps(out, places, weights, above, below, threads);
        ok = build_indexes(out, weights, above, below, threads);
    }
    xfi_free(above);
    xfi_free(below);
    return ok;
}

xf_status xfi_sparse_new(xfi_sparse *out, const xfi_weights *weights, const xfi_block_shape *shapes,
                         int64_t first, int64_t last, int threads, xf_error *error) {
    *out = (xfi_sparse){.first = first, .last = last};
    for (int64_t layer = first; layer < last; layer++)
        out->n_steps += is_step(weights, layer);
    /* The dense kernel does 2 d w multiplications a layer and token, several at a time. */
    out->budget = 16 * out->n_steps * weights->d * (weights->width + 1);
    place *places = xfi_calloc(out->n_steps + 1, sizeof *places);
    out->steps = xfi_calloc(out->n_steps + 1, sizeof *out->steps);
    out->next_always = xfi_calloc(out->n_steps + 1, sizeof *out->next_always);
    out->is_boxed = xfi_calloc(weights->d, 1);
    int ok = places && out->steps && out->next_always && out->is_boxed &&
             build(out, weights, shapes, places, threads);
    xfi_free(places);
    if (ok)
        return XF_OK;
    xfi_sparse_clear(out);
    return xfi_fail_memory(error);
}

void xfi_sparse_clear(xfi_sparse *sparse) {
    for (int64_t t = 0; sparse->thresholds != NULL && t < sparse->n_thresholds; t++)
        xfi_threshold_index_clear(&sparse->thresholds[t]);
    xfi_free(sparse->thresholds);
    xfi_free(sparse->boxes.coordinates);
    xfi_free(sparse->boxes.step);
    xfi_free(sparse->boxes.neuron);
    xfi_free(sparse->boxes.groups);
    xfi_free(sparse->is_boxed);
    xfi_free(sparse->steps);
    xfi_free(sparse->next_always);
    xfi_free(sparse->neurons);
    xfi_free(sparse->terms);
    *sparse = (xfi_sparse){0};
}
