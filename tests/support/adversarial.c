/* Families of subsets of a vocabulary, and vocabularies of many shapes. */
#include "support/adversarial.h"

#include "base/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TOKENS = 4096, MOST_SEQUENCES = 512, MOST_D = 64 };

/* A data set being written. */
typedef struct writer {
    const xft_adversary *self;
    int64_t d;
    int64_t n_sequences;
    double x[MOST_TOKENS * 8];
    double vocabulary[256][MOST_D];
    int64_t x_offsets[MOST_SEQUENCES + 1];
    xfi_rng rng;
} writer;

static writer *begin(const xft_adversary *self) {
    writer *w = calloc(1, sizeof *w);
    if (w == NULL)
        abort();
    w->self = self;
    w->d = self->d;
    xfi_rng_seed(&w->rng, 77, (uint64_t)(self->d * 1000 + self->n));
    return w;
}

static void add(writer *w, const double *token, double factor) {
    int64_t *end = &w->x_offsets[w->n_sequences + 1];
    if (*end < w->x_offsets[w->n_sequences])
        *end = w->x_offsets[w->n_sequences];
    if ((*end + 1) * w->d > MOST_TOKENS * 8)
        abort();
    for (int64_t k = 0; k < w->d; k++)
        w->x[*end * w->d + k] = factor * token[k];
    ++*end;
}

static void close_sequence(writer *w) {
    w->n_sequences++;
}

static int64_t targets_for(const writer *w, int64_t n) {
    switch (w->self->targets & 3) {
    case XFT_TARGETS_ONE:
        return 1;
    case XFT_TARGETS_HALF:
        return (n + 1) / 2;
    default:
        return n;
    }
}

/* Random targets; frees the writer. */
static void finish(xf_dataset *out, writer *w) {
    static double y[MOST_TOKENS * 8];
    static int64_t y_offsets[MOST_SEQUENCES + 1];
    for (int64_t j = 0; j < w->n_sequences; j++)
        y_offsets[j + 1] = y_offsets[j] + targets_for(w, w->x_offsets[j + 1] - w->x_offsets[j]);
    for (int64_t i = 0; i < y_offsets[w->n_sequences] * w->d; i++) {
        double v = xfi_rng_normal(&w->rng);
        y[i] = w->self->targets & XFT_TARGETS_GRID ? nearbyint(v * 4096) / 4096 : v;
    }
    xf_error error;
    if (xf_dataset_from_arrays(out, w->n_sequences, w->d, w->x, w->x_offsets, y, y_offsets, NULL,
                               &error) != XF_OK) {
        fprintf(stderr, "%s: %s\n", w->self->name, error.message);
        abort();
    }
    free(w);
}

static void draw_vocabulary(writer *w, int n) {
    for (int i = 0; i < n; i++)
        for (int64_t k = 0; k < w->d; k++)
            w->vocabulary[i][k] = xfi_rng_normal(&w->rng);
}

static void make_pairs(xf_dataset *out, const xft_adversary *self) {
    writer *w = begin(self);
    draw_vocabulary(w, self->n);
    for (int a = 0; a < self->n; a++)
        for (int b = a + 1; b < self->n; b++) {
            add(w, w->vocabulary[a], 1);
            add(w, w->vocabulary[b], 1);
            close_sequence(w);
        }
    finish(out, w);
}

static void make_triples(xf_dataset *out, const xft_adversary *self) {
    writer *w = begin(self);
    draw_vocabulary(w, self->n);
    for (int a = 0; a < self->n; a++)
        for (int b = a + 1; b < self->n; b++)
            for (int c = b + 1; c < self->n; c++) {
                add(w, w->vocabulary[a], 1);
                add(w, w->vocabulary[b], 1);
                add(w, w->vocabulary[c], 1);
                close_sequence(w);
            }
    finish(out, w);
}

/* {a}, {a, b}, {a, b, c}, ... */
static void make_nested(xf_dataset *out, const xft_adversary *self) {
    writer *w = begin(self);
    draw_vocabulary(w, self->n);
    for (int j = 0; j < self->n; j++) {
        for (int i = 0; i <= j; i++)
            add(w, w->vocabulary[i], 1);
        close_sequence(w);
    }
    finish(out, w);
}

/* {-k v, k v}, plus the shared token 0. */
static void make_equal_means(xf_dataset *out, const xft_adversary *self) {
    writer *w = begin(self);
    double v[MOST_D], zero[MOST_D] = {0};
    for (int64_t k = 0; k < w->d; k++)
        v[k] = k == 0 ? 1.0 : (double)(k % 3) - 1.0;
    for (int j = 1; j <= self->n; j++) {
        add(w, v, j);
        add(w, v, -j);
        add(w, zero, 1);
        close_sequence(w);
    }
    finish(out, w);
}

/* X and -X, and a token 0 that all share. */
static void make_mirrored(xf_dataset *out, const xft_adversary *self) {
    writer *w = begin(self);
    double zero[MOST_D] = {0};
    draw_vocabulary(w, 3 * self->n);
    for (int j = 0; j < 2 * self->n; j++) {
        for (int i = 0; i < 3; i++)
            add(w, w->vocabulary[3 * (j / 2) + i], j % 2 ? -1 : 1);
        add(w, zero, 1);
        close_sequence(w);
    }
    finish(out, w);
}

/* Random subsets of a small vocabulary of integers. */
static void make_vocabulary(xf_dataset *out, const xft_adversary *self) {
    writer *w = begin(self);
    for (int i = 0; i < 30; i++)
        for (int64_t k = 0; k < w->d; k++)
            w->vocabulary[i][k] = (double)(k == 0 ? i : i * (k + 3) % 11);
    for (int j = 0; j < self->n; j++) {
        int used[30] = {0}, picks[5] = {j % 30, (j + 1) % 30, (7 * j + 3) % 30, (j + 13) % 30, 0};
        for (int i = 0; i < 5; i++)
            if (!used[picks[i]]++)
                add(w, w->vocabulary[picks[i]], 1);
        close_sequence(w);
    }
    finish(out, w);
}

static void make_random(xf_dataset *out, const xft_adversary *self) {
    writer *w = begin(self);
    for (int j = 0; j < self->n; j++) {
        for (int64_t i = 0; i < 1 + xfi_rng_below(&w->rng, 8); i++) {
            draw_vocabulary(w, 1);
            add(w, w->vocabulary[0], 1);
        }
        close_sequence(w);
    }
    finish(out, w);
}

static void make_one_sequence(xf_dataset *out, const xft_adversary *self) {
    writer *w = begin(self);
    draw_vocabulary(w, self->n);
    for (int i = 0; i < self->n; i++)
        add(w, w->vocabulary[i], 1);
    close_sequence(w);
    finish(out, w);
}

static void make_single_tokens(xf_dataset *out, const xft_adversary *self) {
    writer *w = begin(self);
    draw_vocabulary(w, self->n);
    for (int j = 0; j < self->n; j++) {
        add(w, w->vocabulary[j], 1);
        close_sequence(w);
    }
    finish(out, w);
}

/* On one line, sharing tokens. */
static void make_collinear(xf_dataset *out, const xft_adversary *self) {
    writer *w = begin(self);
    double v[MOST_D];
    for (int64_t k = 0; k < w->d; k++)
        v[k] = 1.0 / (double)(k + 3);
    for (int j = 0; j < self->n; j++) {
        add(w, v, j);
        add(w, v, j + 1);
        add(w, v, 2 * j + 1.5);
        close_sequence(w);
    }
    finish(out, w);
}

/* Shares of a vocabulary, shifted or scaled. */
static void make_transformed(xf_dataset *out, const xft_adversary *self, double scale,
                             double offset, double last) {
    writer *w = begin(self);
    draw_vocabulary(w, 2 * self->n);
    for (int i = 0; i < 2 * self->n; i++)
        for (int64_t k = 0; k < w->d; k++)
            w->vocabulary[i][k] =
                offset + scale * w->vocabulary[i][k] * (k + 1 == w->d ? last : 1.0);
    for (int j = 0; j < self->n; j++) {
        add(w, w->vocabulary[j], 1);
        add(w, w->vocabulary[(j + 1) % self->n], 1);
        add(w, w->vocabulary[self->n + j], 1);
        close_sequence(w);
    }
    finish(out, w);
}

static void make_offset(xf_dataset *out, const xft_adversary *self) {
    make_transformed(out, self, 1, 1e6, 1);
}

static void make_huge(xf_dataset *out, const xft_adversary *self) {
    make_transformed(out, self, 1e60, 0, 1);
}

static void make_tiny(xf_dataset *out, const xft_adversary *self) {
    make_transformed(out, self, 1e-100, 0, 1);
}

static void make_anisotropic(xf_dataset *out, const xft_adversary *self) {
    make_transformed(out, self, 1, 0, 1e-6);
}

/* Three sequences in the plane: m = 2, 1, 1, sharing tokens. */
static void make_figure(xf_dataset *out, const xft_adversary *self) {
    static const double a[MOST_D] = {0, 0}, b[MOST_D] = {1, 0}, c[MOST_D] = {0, 1};
    writer *w = begin(self);
    add(w, a, 1);
    add(w, b, 1);
    close_sequence(w);
    add(w, b, 1);
    add(w, c, 1);
    close_sequence(w);
    add(w, a, 1);
    add(w, c, 1);
    close_sequence(w);
    finish(out, w);
}

static const xft_adversary list[] = {
    {"triangle", 2, 0, XFT_TARGETS_ALL, make_figure},
    {"triangle, one target", 2, 0, XFT_TARGETS_ONE, make_figure},
    {"all pairs of 6", 2, 6, XFT_TARGETS_ALL, make_pairs},
    {"all pairs of 8, grid", 3, 8, XFT_TARGETS_ALL | XFT_TARGETS_GRID, make_pairs},
    {"all 3-subsets of 6", 2, 6, XFT_TARGETS_ALL, make_triples},
    {"all 3-subsets of 7", 5, 7, XFT_TARGETS_HALF, make_triples},
    {"nested 4", 2, 4, XFT_TARGETS_ALL, make_nested},
    {"nested 9", 3, 9, XFT_TARGETS_HALF, make_nested},
    {"equal means 2", 2, 2, XFT_TARGETS_ALL, make_equal_means},
    {"equal means 12", 2, 12, XFT_TARGETS_ALL, make_equal_means},
    {"equal means 20, grid", 4, 20, XFT_TARGETS_ONE | XFT_TARGETS_GRID, make_equal_means},
    {"mirrored 6", 2, 6, XFT_TARGETS_ALL, make_mirrored},
    {"mirrored 5", 7, 5, XFT_TARGETS_HALF, make_mirrored},
    {"small vocabulary", 4, 30, XFT_TARGETS_HALF, make_vocabulary},
    {"random", 3, 12, XFT_TARGETS_HALF, make_random},
    {"random, grid", 16, 20, XFT_TARGETS_ALL | XFT_TARGETS_GRID, make_random},
    {"random in 64 dimensions", 64, 6, XFT_TARGETS_HALF, make_random},
    {"one sequence of 7", 5, 7, XFT_TARGETS_ALL, make_one_sequence},
    {"one sequence of 8", 2, 8, XFT_TARGETS_ALL, make_one_sequence},
    {"one sequence of 2", 2, 2, XFT_TARGETS_ALL, make_one_sequence},
    {"one token", 2, 1, XFT_TARGETS_ALL, make_one_sequence},
    {"two sequences of one token", 2, 2, XFT_TARGETS_ALL, make_single_tokens},
    {"40 sequences of one token", 2, 40, XFT_TARGETS_ALL, make_single_tokens},
    {"40 sequences of one token, grid", 3, 40, XFT_TARGETS_ALL | XFT_TARGETS_GRID,
     make_single_tokens},
    {"collinear", 3, 10, XFT_TARGETS_HALF, make_collinear},
    {"offset 1e6", 3, 8, XFT_TARGETS_ALL, make_offset},
    {"scale 1e60", 3, 8, XFT_TARGETS_HALF, make_huge},
    {"scale 1e-100", 2, 8, XFT_TARGETS_ALL, make_tiny},
    {"anisotropy 1e-6", 3, 8, XFT_TARGETS_HALF, make_anisotropic},
};

const xft_adversary *xft_adversaries(int *n) {
    *n = sizeof list / sizeof list[0];
    return list;
}

void xft_adversary_make(xf_dataset *out, int i) {
    list[i].make(out, &list[i]);
}
