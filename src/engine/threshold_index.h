/* For the neurons that read one coordinate alone: from the value of the coordinate to the next
 * neuron, in the order of the layers, that is active on it. Neuron e is active iff
 * x > above[e] or x < below[e] (docs/engines.md, E-threshold); the values at a node are the least
 * `above` and the largest `below` of the FAN entries under it. */
#ifndef XFI_ENGINE_THRESHOLD_INDEX_H
#define XFI_ENGINE_THRESHOLD_INDEX_H

#include <stdint.h>

enum { XFI_INDEX_FAN = 8, XFI_INDEX_LEVELS = 21 };

/* Node i of a level has the nodes FAN i .. FAN i + FAN - 1 of the level below under it. */
typedef struct xfi_levels {
    int n;                           /* levels, 0 if there are no entries */
    int64_t count[XFI_INDEX_LEVELS]; /* nodes of a level; level 0 are the entries */
    int64_t start[XFI_INDEX_LEVELS]; /* its first node among all */
    int64_t total;
} xfi_levels;

typedef struct xfi_threshold_index {
    int64_t coordinate;
    xfi_levels levels;
    int64_t *step; /* [count[0]] ascending: where the neuron is */
    double *above; /* [total] */
    double *below; /* [total] */
} xfi_threshold_index;

/* Levels over `entries` entries. */
void xfi_levels_lay_out(xfi_levels *out, int64_t entries);

/* Allocate for so many entries, to be filled in order: step, above, below of level 0. Then
 * xfi_threshold_index_close. Returns 0 if memory runs out; clear in either case. */
int xfi_threshold_index_new(xfi_threshold_index *out, int64_t coordinate, int64_t entries);
void xfi_threshold_index_close(xfi_threshold_index *index);
void xfi_threshold_index_clear(xfi_threshold_index *index);

/* The first entry from `from` on that is active at the finite value x, or count[0]; *visits
 * grows by the nodes looked at. Cost: logarithmic in the distance. */
int64_t xfi_threshold_index_next(const xfi_threshold_index *index, double x, int64_t from,
                                 int64_t *visits);

/* The first entry from `from` on (entries ascending) whose step is at least `step`. */
int64_t xfi_first_at_step(const int64_t *steps, int64_t from, int64_t n, int64_t step);

#endif
