/* Sets of values through the formula of the model. */
#include "support/all_orders.h"

#include "base/alloc.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TERMS = 7, MAX_VALUES = 24, MAX_STATES = 96, MAX_CHOICES = 160, MAX_PARTS = 64 };

typedef struct values {
    int n;
    double v[MAX_VALUES];
} values;

typedef struct term {
    double a, b;
} term;

typedef struct states {
    int n;
    double *x; /* [MAX_STATES][d] */
} states;

typedef struct search {
    const xf_model *model;
    xfi_rng rng;
    int is_f32;
    int is_exhaustive;
    int is_mixed; /* tokens of different evaluations stand beside each other */
    values reach[1 << MAX_TERMS];
    values r[MAX_PARTS]; /* of the neurons */
    values y[MAX_PARTS]; /* of the coordinates */
    values m[MAX_PARTS]; /* of the mean */
    double *row;         /* [d] */
} search;

static double as(const search *s, double v) {
    return s->is_f32 ? (double)(float)v : v;
}

static double add(const search *s, double a, double b) {
    return s->is_f32 ? (double)((float)a + (float)b) : a + b;
}

static double multiply(const search *s, double a, double b) {
    return s->is_f32 ? (double)((float)a * (float)b) : a * b;
}

static double divide(const search *s, double a, double b) {
    return s->is_f32 ? (double)((float)a / (float)b) : a / b;
}

static double fused(const search *s, double a, double b, double c) {
    return s->is_f32 ? (double)fmaf((float)a, (float)b, (float)c) : fma(a, b, c);
}

static int same(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

static void insert(search *s, values *set, double v) {
    for (int i = 0; i < set->n; i++)
        if (same(set->v[i], v))
            return;
    if (set->n < MAX_VALUES) {
        set->v[set->n++] = v;
        return;
    }
    s->is_exhaustive = 0;
    set->v[xfi_rng_below(&s->rng, MAX_VALUES)] = v;
}

static void join(search *s, values *out, const values *a, const values *b) {
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < b->n; j++)
            insert(s, out, add(s, a->v[i], b->v[j]));
}

/* Results of the terms in the bits of mask; those of its subsets are known. */
static void reach_subset(search *s, const term *terms, int mask) {
    values *out = &s->reach[mask];
    int lowest = mask & -mask;
    out->n = 0;
    for (int part = (mask - 1) & mask; part > 0; part = (part - 1) & mask)
        if (part & lowest)
            join(s, out, &s->reach[part], &s->reach[mask ^ part]);
    for (int i = 0; i < MAX_TERMS; i++) {
        const values *rest = &s->reach[mask & ~(1 << i)];
        if (mask == 1 << i)
            insert(s, out, multiply(s, terms[i].a, terms[i].b));
        else if (mask & 1 << i)
            for (int j = 0; j < rest->n; j++)
                insert(s, out, fused(s, terms[i].a, terms[i].b, rest->v[j]));
    }
}

/* One random order, for sums that are too long. */
static double random_sum(search *s, term *terms, int n) {
    int fuse = (int)xfi_rng_below(&s->rng, 2);
    for (int i = n - 1; i > 0; i--) {
        int64_t j = xfi_rng_below(&s->rng, i + 1);
        term old = terms[i];
        terms[i] = terms[j];
        terms[j] = old;
    }
    double sum = multiply(s, terms[0].a, terms[0].b);
    for (int i = 1; i < n; i++)
        sum = fuse ? fused(s, terms[i].a, terms[i].b, sum)
                   : add(s, sum, multiply(s, terms[i].a, terms[i].b));
    return sum;
}

/* May the term be left out? An infinity times 0 may not. */
static int is_nothing(term t) {
    return (t.a == 0.0 && isfinite(t.b)) || (t.b == 0.0 && isfinite(t.a));
}

/* Everything that a sum of products can give. terms [n] are reordered. */
static void sum(search *s, values *out, term *terms, int n) {
    int k = 0;
    for (int i = 0; i < n; i++)
        if (!is_nothing(terms[i]))
            terms[k++] = terms[i];
    out->n = 0;
    if (k == 0) {
        insert(s, out, 0.0);
    } else if (k > MAX_TERMS) {
        s->is_exhaustive = 0;
        for (int i = 0; i < MAX_VALUES; i++)
            insert(s, out, random_sum(s, terms, k));
    } else {
        for (int mask = 1; mask < 1 << k; mask++)
            reach_subset(s, terms, mask);
        *out = s->reach[(1 << k) - 1];
    }
}

/* Number of ways to choose from n sets, and the choice number `index`, or a random one if there are
 * too many. */
static int64_t count_choices(const int *sizes, int n) {
    int64_t total = 1;
    for (int i = 0; i < n && total <= MAX_CHOICES; i++)
        total *= sizes[i];
    return total;
}

static void choose(search *s, int *choice, const int *sizes, int n, int64_t index) {
    int all = count_choices(sizes, n) <= MAX_CHOICES;
    s->is_exhaustive &= all;
    for (int i = 0; i < n; i++) {
        int64_t size = sizes[i] > 0 ? sizes[i] : 1;
        choice[i] = (int)(all ? index % size : xfi_rng_below(&s->rng, size));
        index /= size;
    }
}

static int64_t rounds(const int *sizes, int n) {
    int64_t total = count_choices(sizes, n);
    return total <= MAX_CHOICES ? total : MAX_CHOICES;
}

static void add_state(search *s, states *out, const double *x) {
    int64_t d = s->model->d;
    for (int i = 0; i < out->n; i++) {
        int64_t c = 0;
        while (c < d && same(out->x[i * d + c], x[c]))
            c++;
        if (c == d)
            return;
    }
    int64_t slot = out->n;
    if (out->n < MAX_STATES) {
        out->n++;
    } else {
        s->is_exhaustive = 0;
        slot = xfi_rng_below(&s->rng, MAX_STATES);
    }
    memcpy(out->x + slot * d, x, (size_t)d * sizeof(double));
}

/* All states whose coordinates are in s->y. */
static void add_states(search *s, states *out) {
    int sizes[MAX_PARTS] = {0}, choice[MAX_PARTS] = {0}, d = (int)s->model->d;
    for (int c = 0; c < d; c++)
        sizes[c] = s->y[c].n;
    for (int64_t i = 0; i < rounds(sizes, d); i++) {
        choose(s, choice, sizes, d, i);
        for (int c = 0; c < d; c++)
            s->row[c] = s->y[c].v[choice[c]];
        add_state(s, out, s->row);
    }
}

static void feed_forward(search *s, states *out, int64_t block, const double *x) {
    const xf_model *m = s->model;
    int d = (int)m->d, w = (int)m->width, sizes[MAX_PARTS] = {0}, choice[MAX_PARTS] = {0};
    term terms[MAX_PARTS];
    for (int i = 0; i < w; i++) {
        for (int k = 0; k < d; k++)
            terms[k] = (term){m->ff_U[(block * w + i) * d + k], x[k]};
        terms[d] = (term){m->ff_b[block * w + i], 1.0};
        sum(s, &s->r[i], terms, d + 1);
        values relu = {0};
        for (int j = 0; j < s->r[i].n; j++)
            insert(s, &relu, s->r[i].v[j] <= 0.0 ? 0.0 : s->r[i].v[j]);
        s->r[i] = relu;
        sizes[i] = relu.n;
    }
    for (int64_t round = 0; round < rounds(sizes, w); round++) {
        choose(s, choice, sizes, w, round);
        for (int c = 0; c < d; c++) {
            for (int i = 0; i < w; i++)
                terms[i] = (term){m->ff_W[(block * d + c) * w + i], s->r[i].v[choice[i]]};
            terms[w] = (term){m->ff_eta[block], x[c]};
            sum(s, &s->y[c], terms, w + 1);
        }
        add_states(s, out);
    }
}

/* s->m: the mean of coordinate c of the chosen states of n tokens. */
static void mean(search *s, const states *tokens, const int *choice, int64_t n, int64_t c) {
    int64_t d = s->model->d;
    term terms[MAX_PARTS];
    values sums, *out = &s->m[c];
    double count = (double)n, inverse = divide(s, 1.0, count);
    for (int64_t l = 0; l < n; l++)
        terms[l] = (term){1.0, tokens[l].x[choice[l] * d + c]};
    sum(s, &sums, terms, (int)n);
    for (int64_t l = 0; l < n; l++)
        terms[l] = (term){inverse, tokens[l].x[choice[l] * d + c]};
    sum(s, out, terms, (int)n);
    for (int i = 0; i < sums.n; i++) {
        insert(s, out, divide(s, sums.v[i], count));
        insert(s, out, multiply(s, sums.v[i], inverse));
    }
}

/* The states of a token at x when the mean is mu [d]. */
static void attend(search *s, states *out, int64_t block, const double *x, const double *mu) {
    const xf_low_rank *V = &s->model->sa_V;
    const double *left = V->left + block * s->model->d, *right = V->right + block * s->model->d;
    int d = (int)s->model->d;
    double rho = s->model->sa_rho[block], alpha = V->alpha[block];
    term terms[MAX_PARTS];
    values projection, more;
    for (int k = 0; k < d; k++)
        terms[k] = (term){right[k], mu[k]};
    sum(s, &projection, terms, d);
    for (int c = 0; c < d; c++) {
        for (int k = 0; k < d; k++) {
            double entry = as(s, multiply(s, left[c], right[k]));
            terms[k] = (term){c == k ? add(s, entry, alpha) : entry, mu[k]};
        }
        terms[d] = (term){rho, x[c]};
        sum(s, &s->y[c], terms, d + 1);
        for (int i = 0; i < projection.n; i++) {
            term factored[3] = {{rho, x[c]}, {alpha, mu[c]}, {left[c], projection.v[i]}};
            sum(s, &more, factored, 3);
            for (int j = 0; j < more.n; j++)
                insert(s, &s->y[c], more.v[j]);
        }
    }
    add_states(s, out);
}

static int is_zero(const xf_low_rank *m, int64_t block, int64_t d) {
    int left = 0, right = 0;
    for (int64_t c = 0; c < d; c++) {
        left |= m->left[block * d + c] != 0.0;
        right |= m->right[block * d + c] != 0.0;
    }
    return m->alpha[block] == 0.0 && !(left && right) && m->full == NULL;
}

/* Token i of the sequence attends to all states of the first n. */
static void attend_all(search *s, states *out, int64_t block, const states *tokens, int64_t i,
                       int64_t n) {
    int64_t d = s->model->d;
    int sizes[MAX_PARTS] = {0}, choice[MAX_PARTS] = {0}, coordinates[MAX_PARTS] = {0},
        which[MAX_PARTS] = {0};
    for (int64_t l = 0; l < n; l++)
        sizes[l] = tokens[l].n;
    double *mu = xfi_calloc(d, sizeof *mu);
    if (mu == NULL)
        abort();
    for (int64_t round = 0; round < rounds(sizes, (int)n); round++) {
        choose(s, choice, sizes, (int)n, round);
        for (int64_t c = 0; c < d; c++) {
            mean(s, tokens, choice, n, c);
            coordinates[c] = s->m[c].n;
        }
        for (int64_t k = 0; k < rounds(coordinates, (int)d); k++) {
            choose(s, which, coordinates, (int)d, k);
            for (int64_t c = 0; c < d; c++)
                mu[c] = s->m[c].v[which[c]];
            attend(s, out, block, tokens[i].x + choice[i] * d, mu);
        }
    }
    xfi_free(mu);
}

/* Returns 0 if this layer is beyond what can be searched. */
static int attention(search *s, states *out, int64_t block, const states *tokens, int64_t n) {
    const xf_model *m = s->model;
    int many = 0;
    for (int64_t l = 0; l < n; l++)
        many |= tokens[l].n > 1;
    if (is_zero(&m->sa_V, block, m->d)) {
        for (int64_t l = 0; l < n; l++)
            for (int i = 0; i < tokens[l].n; i++) {
                for (int64_t c = 0; c < m->d; c++)
                    s->row[c] = multiply(s, m->sa_rho[block], tokens[l].x[i * m->d + c]);
                add_state(s, &out[l], s->row);
            }
        return 1;
    }
    if (!is_zero(&m->sa_A, block, m->d) || m->sa_V.full != NULL || (many && s->is_mixed))
        return 0;
    for (int64_t i = 0; i < n; i++)
        attend_all(s, &out[i], block, tokens, i, m->causal ? i + 1 : n);
    s->is_mixed = 1;
    return 1;
}

/* tokens [n] in, and out; other [n] is room. Returns 0 if a layer cannot be searched. */
static int layers(search *s, states *tokens, states *other, int64_t n) {
    int64_t d = s->model->d;
    for (int64_t layer = 0; layer < 2 * s->model->n_blocks; layer++) {
        int is_attention = (layer & 1) == (s->model->order == XF_FF_SA);
        for (int64_t l = 0; l < n; l++)
            other[l].n = 0;
        if (is_attention && !attention(s, other, layer / 2, tokens, n))
            return 0;
        for (int64_t l = 0; l < n; l++) {
            for (int i = 0; i < tokens[l].n && !is_attention; i++)
                feed_forward(s, &other[l], layer / 2, tokens[l].x + i * d);
            states old = tokens[l];
            tokens[l] = other[l];
            other[l] = old;
        }
    }
    return 1;
}

static int equals_target(const double *x, const double *y, int64_t d) {
    for (int64_t c = 0; c < d; c++)
        if (x[c] != y[c])
            return 0;
    return 1;
}

/* Compare the states of n tokens with the targets y [m][d]. */
static xft_search judge(const search *s, const states *tokens, int64_t n, const double *y,
                        int64_t m) {
    int64_t d = s->model->d;
    xft_search verdict = s->is_exhaustive ? XFT_ALWAYS_EXACT : XFT_NOTHING_FOUND;
    for (int64_t l = 0; l < n; l++)
        for (int i = 0; i < tokens[l].n; i++) {
            int64_t k = 0;
            while (k < m && !equals_target(tokens[l].x + i * d, y + k * d, d))
                k++;
            if (k == m)
                return XFT_COUNTEREXAMPLE;
        }
    for (int64_t k = 0; k < m; k++) {
        int sure = 0, possible = 0;
        for (int64_t l = 0; l < n; l++)
            for (int i = 0; i < tokens[l].n; i++)
                if (equals_target(tokens[l].x + i * d, y + k * d, d)) {
                    possible = 1;
                    sure |= tokens[l].n == 1;
                }
        if (!possible && s->is_exhaustive)
            return XFT_COUNTEREXAMPLE;
        if (!sure)
            verdict = XFT_NOTHING_FOUND;
    }
    return verdict;
}

static states *new_states(int64_t n, int64_t d) {
    states *out = xfi_calloc(n, sizeof *out);
    for (int64_t l = 0; l < n && out != NULL; l++)
        if ((out[l].x = xfi_calloc2(MAX_STATES, d, sizeof(double))) == NULL)
            abort();
    if (out == NULL)
        abort();
    return out;
}

static void free_states(states *all, int64_t n) {
    for (int64_t l = 0; l < n; l++)
        xfi_free(all[l].x);
    xfi_free(all);
}

static xft_search search_sequence(search *s, const xf_dataset *data, int64_t j) {
    int64_t d = data->d, first = data->x_offsets[j], n = data->x_offsets[j + 1] - first;
    states *tokens = new_states(n, d), *other = new_states(n, d);
    s->is_exhaustive = 1;
    s->is_mixed = 0;
    for (int64_t l = 0; l < n; l++) {
        tokens[l].n = 1;
        for (int64_t c = 0; c < d; c++)
            tokens[l].x[c] = as(s, data->x[(first + l) * d + c]);
    }
    xft_search verdict = XFT_NOTHING_FOUND;
    if (layers(s, tokens, other, n))
        verdict = judge(s, tokens, n, data->y + data->y_offsets[j] * d,
                        data->y_offsets[j + 1] - data->y_offsets[j]);
    free_states(tokens, n);
    free_states(other, n);
    return verdict;
}

xft_search xft_all_orders(int64_t *sequence, const xf_model *model, const xf_dataset *data,
                          uint64_t seed) {
    xft_search worst = XFT_ALWAYS_EXACT;
    *sequence = -1;
    search *s = xfi_calloc(1, sizeof *s);
    if (s == NULL || (s->row = xfi_calloc(model->d, sizeof(double))) == NULL)
        abort();
    s->model = model;
    s->is_f32 = model->dtype == XF_F32;
    xfi_rng_seed(&s->rng, seed, 0xa11);
    for (int64_t j = 0; j < data->n_sequences && worst != XFT_COUNTEREXAMPLE; j++) {
        int64_t n = data->x_offsets[j + 1] - data->x_offsets[j];
        int fits = n < MAX_PARTS && model->d + 1 < MAX_PARTS && model->width + 1 < MAX_PARTS;
        xft_search one = fits ? search_sequence(s, data, j) : XFT_NOTHING_FOUND;
        if (one == XFT_COUNTEREXAMPLE)
            *sequence = j;
        if (one != XFT_ALWAYS_EXACT)
            worst = one;
    }
    xfi_free(s->row);
    xfi_free(s);
    return worst;
}
