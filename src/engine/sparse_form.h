/* A stretch of local layers as the sparse engine reads it: nonzero weights, and indexes that find
 * the next layer that changes a token. Numbers are held as double; with a binary32 model all of
 * them are binary32 numbers. */
#ifndef XFI_ENGINE_SPARSE_FORM_H
#define XFI_ENGINE_SPARSE_FORM_H

#include "engine/threshold_index.h"

typedef struct xfi_term {
    double value;
    int64_t at; /* coordinate */
} xfi_term;

/* n_inputs or n_outputs WHOLE: mostly nonzero, to be read from U or W. */
enum { XFI_WHOLE = -1 };

typedef struct xfi_sparse_neuron {
    double bias;
    int64_t row;    /* block * width + place in the block */
    int64_t input;  /* its first term in `terms`, coordinates ascending */
    int64_t output; /* likewise */
    int32_t n_inputs;
    int32_t n_outputs;
} xfi_sparse_neuron;

/* A feed-forward layer, or an attention layer rho x with rho other than 1. Neurons that cannot
 * be active are left out. */
typedef struct xfi_step {
    int64_t layer;
    int64_t neuron; /* its first; those of the next step follow */
    double factor;  /* eta or rho */
    char always;    /* acts on every token */
    char cleans;    /* no coordinate is -0 behind it (docs/engines.md, E-zero) */
} xfi_step;

/* Neurons that read several coordinates: bounds of their weights over FAN neurons, FAN^2, ...
 * Weights are scaled by a power of two for each neuron, its largest to [1, 2). The boxes of FAN
 * neighbours lie side by side, one a vector lane: a group is [2 n_coordinates + 1][FAN], for each
 * coordinate the least weights, then the largest, and last the largest biases. */
typedef struct xfi_box_index {
    xfi_levels levels; /* levels from 1 on have boxes */
    int64_t n_coordinates;
    int64_t *coordinates;            /* ascending: those that any of the neurons reads */
    int64_t *step;                   /* [count[0]] */
    int64_t *neuron;                 /* [count[0]] */
    double *groups;                  /* those of level 1, then level 2, ... */
    int64_t first[XFI_INDEX_LEVELS]; /* group of a level among all */
    double smallest; /* boxes exclude nothing if a coordinate other than 0 is below this */
    double largest;  /* or above this, in absolute value */
} xfi_box_index;

/* The box of node i of a level: its numbers are FAN apart. */
static inline double *xfi_box_at(const xfi_box_index *boxes, int level, int64_t i) {
    int64_t group = boxes->first[level] + i / XFI_INDEX_FAN;
    return boxes->groups + group * (2 * boxes->n_coordinates + 1) * XFI_INDEX_FAN +
           i % XFI_INDEX_FAN;
}

typedef struct xfi_sparse {
    int64_t first; /* layers first .. last-1 */
    int64_t last;
    int64_t n_steps;
    xfi_step *steps;      /* [n_steps + 1], the last one is the end of the neurons */
    int64_t *next_always; /* [n_steps + 1] the first step from here on that acts on every token */
    xfi_sparse_neuron *neurons;
    xfi_term *terms;
    int64_t n_thresholds; /* coordinates with an index */
    xfi_threshold_index *thresholds;
    xfi_box_index boxes;
    char *is_boxed; /* [d] is the coordinate in the box index? */
    int64_t start;  /* steps before are left to the dense kernel (xfi_sparse_learn) */
    int learned;
    int64_t budget;  /* work for a tile at which the dense kernel is as fast */
    int64_t n_tiles; /* tiles seen, and those that cost more */
    int64_t n_dear;
    int given_up; /* these are many: the dense kernel takes the stretch from now on */
} xfi_sparse;

#endif
