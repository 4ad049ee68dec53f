/* Placing cells: random offsets in a bitmap of occupied bins. */
#include "construct/cell_bins.h"

#include "base/alloc.h"
#include "base/rng.h"

#include <stdlib.h>

enum { TRIES = 6000 };

typedef struct placer {
    const xfi_cell_bins *bins;
    int64_t reserved;
    uint64_t *map; /* one bit a bin, bin 0 at t = -span/2 */
    xfi_rng rng;
    int64_t filled[2]; /* groups above and below 0 */
    xfi_cell_run *done;
    int64_t n_done;
    xfi_cell_run *todo; /* a stack */
    int64_t n_todo;
} placer;

/* Bits low .. high of the map, at most 58 of them. */
static uint64_t look(const uint64_t *map, int64_t low, int64_t high) {
    int64_t word = low >> 6;
    int shift = (int)(low & 63);
    uint64_t bits = map[word] >> shift;
    if (shift != 0)
        bits |= map[word + 1] << (64 - shift);
    return bits & (((uint64_t)1 << (high - low + 1)) - 1);
}

static int is_free(const uint64_t *map, int64_t low, int64_t high) {
    for (; high - low >= 57; low += 57)
        if (look(map, low, low + 56) != 0)
            return 0;
    return look(map, low, high) == 0;
}

static int fits(const placer *p, const xfi_cell_run *run, int64_t offset) {
    const xfi_cell_bins *bins = p->bins;
    for (int64_t i = run->first; i < run->last; i++) {
        int64_t j = bins->order[i];
        for (int64_t g = bins->lines->first[j]; g < bins->lines->first[j + 1]; g++)
            if (!is_free(p->map, bins->low[g] + offset + bins->n / 2,
                         bins->high[g] + offset + bins->n / 2))
                return 0;
    }
    return 1;
}

static void occupy(placer *p, const xfi_cell_run *run) {
    const xfi_cell_bins *bins = p->bins;
    for (int64_t i = run->first; i < run->last; i++) {
        int64_t j = bins->order[i];
        for (int64_t g = bins->lines->first[j]; g < bins->lines->first[j + 1]; g++)
            for (int64_t b = bins->low[g]; b <= bins->high[g]; b++) {
                int64_t at = b + run->offset + bins->n / 2;
                p->map[at >> 6] |= (uint64_t)1 << (at & 63);
            }
    }
}

/* Ends of the run's groups on line b. */
static void find_ends(const placer *p, const xfi_cell_run *run, int64_t *low, int64_t *high) {
    const xfi_cell_bins *bins = p->bins;
    *low = INT32_MAX;
    *high = INT32_MIN;
    for (int64_t i = run->first; i < run->last; i++) {
        int64_t j = bins->order[i];
        for (int64_t g = bins->lines->first[j]; g < bins->lines->first[j + 1]; g++) {
            *low = bins->low[g] < *low ? bins->low[g] : *low;
            *high = bins->high[g] > *high ? bins->high[g] : *high;
        }
    }
}

/* Try one side of 0: 0 above, 1 below. */
static int place_on(placer *p, xfi_cell_run *run, int side) {
    int64_t low, high, half = p->bins->n / 2, step = p->bins->step;
    find_ends(p, run, &low, &high);
    int64_t least = side == 0 ? p->reserved - low : -half - low;
    int64_t most = side == 0 ? half - 1 - high : -p->reserved - 1 - high;
    least = least > 0 ? (least + step - 1) / step : least / step;
    most = most > 0 ? most / step : (most - step + 1) / step;
    if (least > most)
        return 0;
    for (int i = 0; i < TRIES; i++) {
        run->offset = step * (least + xfi_rng_below(&p->rng, most - least + 1));
        if (run->offset != 0 && fits(p, run, run->offset)) {
            occupy(p, run);
            p->filled[side] += run->groups;
            p->done[p->n_done++] = *run;
            return 1;
        }
    }
    return 0;
}

/* The permitted cut nearest to the middle; run->first if there is none. */
static int64_t find_middle(const xfi_cell_bins *bins, const xfi_cell_run *run) {
    int64_t middle = run->first + (run->last - run->first) / 2, best = run->first;
    for (int64_t i = run->first + 1; i < run->last; i++) {
        int64_t off = llabs(i - middle), least = llabs(best - middle);
        if (bins->cut[i] == i && (best == run->first || off < least))
            best = i;
    }
    return best;
}

static int64_t count_groups(const xfi_cell_bins *bins, int64_t first, int64_t last) {
    int64_t n = 0;
    for (int64_t i = first; i < last; i++)
        n += bins->lines->first[bins->order[i] + 1] - bins->lines->first[bins->order[i]];
    return n;
}

/* The side with fewer groups, else two halves, else the other side. */
static int place(placer *p, xfi_cell_run run) {
    int side = p->filled[1] < p->filled[0];
    if (place_on(p, &run, side))
        return 1;
    int64_t middle = find_middle(p->bins, &run);
    if (middle == run.first)
        return place_on(p, &run, !side);
    int64_t groups = count_groups(p->bins, run.first, middle);
    p->todo[p->n_todo++] = (xfi_cell_run){middle, run.last, run.groups - groups, 0};
    p->todo[p->n_todo++] = (xfi_cell_run){run.first, middle, groups, 0};
    return 1;
}

static int compare_groups(const void *left, const void *right) {
    const xfi_cell_run *a = left, *b = right;
    if (a->groups != b->groups)
        return a->groups < b->groups ? -1 : 1;
    return (a->first < b->first) - (a->first > b->first);
}

static int compare_first(const void *left, const void *right) {
    const xfi_cell_run *a = left, *b = right;
    return (a->first > b->first) - (a->first < b->first);
}

static void place_all(placer *p, xfi_cell_run *runs, int64_t *n_runs, int64_t *longer) {
    int ok = 1;
    qsort(p->todo, (size_t)p->n_todo, sizeof *p->todo, compare_groups); /* largest on top */
    while (ok && p->n_todo > 0)
        ok = place(p, p->todo[--p->n_todo]);
    *n_runs = ok ? p->n_done : 0;
    qsort(p->done, (size_t)p->n_done, sizeof *p->done, compare_first);
    for (int64_t i = 0; i < *n_runs; i++)
        runs[i] = p->done[i];
    *longer = p->filled[0] > p->filled[1] ? p->filled[0] : p->filled[1];
}

int xfi_cell_place(xfi_cell_run *runs, int64_t *n_runs, int64_t *longer, const xfi_cell_bins *bins,
                   const xfi_cell_plan_options *options) {
    int64_t n = bins->lines->n;
    placer p = {.bins = bins, .reserved = xfi_cell_reserved(bins, options->reserve)};
    xfi_rng_seed(&p.rng, options->seed, 0x700);
    p.map = xfi_calloc(bins->n / 64 + 3, sizeof(uint64_t));
    p.done = xfi_calloc(n, sizeof *p.done);
    p.todo = xfi_calloc(n + 1, sizeof *p.todo);
    int ok = p.map && p.done && p.todo;
    for (int64_t i = 0; ok && i < *n_runs; i++)
        p.todo[p.n_todo++] = runs[i];
    if (ok)
        place_all(&p, runs, n_runs, longer);
    xfi_free(p.map);
    xfi_free(p.done);
    xfi_free(p.todo);
    return ok;
}
