/* Choosing leaders and planning their moves on the integer grid. */
#include "construct/leaders.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/isolation.h"
#include "construct/neuron.h"
#include "construct/sequences.h"

#include <math.h>
#include <string.h>

enum { PROGRESS_EVERY = 64 };

/* Every partial sum has to stay below 2^53 G. */
static const double LIMIT = 0x1p53;

typedef struct selection {
    const xfi_problem *problem;
    const xfi_quantised *q;
    const xfi_places *places;
    xfi_leaders *out;
    xfi_isolation iso;
    int64_t *taken; /* [N] leaders so far */
    char *moved;    /* [T] */
    double *target; /* [d] */
    double largest; /* bounds |x_k| at all times */
    int64_t finest; /* largest r allowed */
    int64_t next;   /* move */
} selection;

static void selection_clear(selection *s) {
    xfi_isolation_clear(&s->iso);
    xfi_free(s->taken);
    xfi_free(s->moved);
    xfi_free(s->target);
}

void xfi_leaders_clear(xfi_leaders *leaders) {
    xfi_free(leaders->moves);
    xfi_free(leaders->u);
    xfi_free(leaders->w);
    xfi_free(leaders->x);
    *leaders = (xfi_leaders){0};
}

int64_t xfi_leaders_blocks(const xfi_leaders *leaders) {
    return leaders->n_moves + !leaders->fused;
}

static int leaders_init(xfi_leaders *out, const xfi_problem *problem, const xfi_quantised *q) {
    int64_t M = problem->data->n_targets, d = problem->data->d;
    *out = (xfi_leaders){.d = d, .n_moves = M};
    out->moves = xfi_calloc(M, sizeof *out->moves);
    out->u = xfi_calloc2(M, d, sizeof(int64_t));
    out->w = xfi_calloc2(M, d, sizeof(int64_t));
    out->x = xfi_calloc2(q->n, d, sizeof(int64_t));
    if (out->x != NULL)
        memcpy(out->x, q->x, (size_t)(q->n * d) * sizeof(int64_t));
    return out->moves && out->u && out->w && out->x;
}

static int selection_init(selection *s) {
    const xf_dataset *data = s->problem->data;
    int bits = xfi_places_bits(s->places);
    s->finest = bits <= s->q->g ? (int64_t)1 << (s->q->g - bits) : 0;
    s->largest = ldexp(16.0, s->q->g);
    s->taken = xfi_calloc(data->n_sequences, sizeof(int64_t));
    s->moved = xfi_calloc(data->n_tokens, 1);
    s->target = xfi_calloc(data->d, sizeof(double));
    return xfi_isolation_init(&s->iso, s->q->x, s->q->n, s->q->d) && s->taken && s->moved &&
           s->target;
}

static int64_t power_at_most(int64_t v) {
    int64_t power = 1;
    while (power <= v / 2)
        power *= 2;
    return v >= 1 ? power : 0;
}

static int64_t slab_radius(const selection *s, int64_t gap) {
    int64_t r = power_at_most(gap / 3);
    return r < s->finest ? r : s->finest;
}

/* The step from the token to its place, in multiples of r; returns the largest |w_k| / r. */
static double plan_step(selection *s, int64_t j, xfi_move *move, int64_t *w) {
    int64_t *x = s->out->x + move->token * s->out->d;
    double steepest = 0;
    xfi_places_at(s->target, s->places, j, s->taken[j]);
    for (int64_t k = 0; k < s->out->d; k++) {
        double steps = nearbyint((s->target[k] - (double)x[k]) / (double)move->r);
        w[k] = (int64_t)steps * move->r;
        steepest = fmax(steepest, fabs(steps));
    }
    return steepest;
}

static void carry_out(selection *s, int64_t j, const xfi_move *move, const int64_t *w) {
    int64_t *x = s->out->x + move->token * s->out->d;
    for (int64_t k = 0; k < s->out->d; k++)
        x[k] += w[k];
    xfi_isolation_move(&s->iso, move->token, x);
    s->moved[move->token] = 1;
    s->taken[j]++;
    s->next++;
}

/* An extreme token on an axis: sign, coordinate and gap to the next one. */
typedef struct extreme {
    int64_t token;
    int64_t gap;
    int64_t k;
    int64_t sign;
} extreme;

static extreme extreme_on(const selection *s, int64_t k, int64_t sign) {
    const int64_t *x = s->out->x;
    int64_t d = s->out->d, first = INT64_MIN, second = INT64_MIN;
    extreme found = {.k = k, .sign = sign};
    for (int64_t i = 0; i < s->q->n; i++) {
        int64_t value = sign * x[i * d + k];
        if (value > first) {
            second = first;
            first = value;
            found.token = i;
        } else if (value > second) {
            second = value;
        }
    }
    found.gap = first - second;
    return found;
}

/* Two neurons suffice for the outermost token of an axis. */
static void try_fused(selection *s) {
    extreme best = {.gap = 0};
    for (int64_t k = 0; k < s->out->d; k++)
        for (int64_t sign = -1; sign <= 1; sign += 2) {
            extreme found = extreme_on(s, k, sign);
            if (found.gap > best.gap)
                best = found;
        }
    int64_t r = slab_radius(s, best.gap);
    if (r < 2)
        return;
    s->out->fused = 1;
    xfi_move *move = s->out->moves;
    *move = (xfi_move){.token = best.token, .r = r};
    move->s = best.sign * s->out->x[best.token * s->out->d + best.k];
    s->out->u[best.k] = best.sign;
    int64_t j = xfi_sequence_of(s->problem->data, best.token);
    plan_step(s, j, move, s->out->w);
    carry_out(s, j, move, s->out->w);
}

/* The most isolated token of the sequences that still need leaders. */
static int64_t most_isolated(selection *s, int64_t *sequence, int *direction, double *isolation) {
    const xf_dataset *data = s->problem->data;
    int64_t best = -1;
    *isolation = -1.0;
    for (int64_t j = 0; j < data->n_sequences; j++) {
        if (s->taken[j] == xfi_targets_of(data, j))
            continue;
        for (int64_t i = data->x_offsets[j]; i < data->x_offsets[j + 1]; i++) {
            int c = 0;
            double iso = s->moved[i] ? -1.0 : xfi_isolation_of(&s->iso, i, &c);
            if (iso > *isolation) {
                *isolation = iso;
                *sequence = j;
                *direction = c;
                best = i;
            }
        }
    }
    return best;
}

/* The direction with the widest slab for its length: r is capped, so a short direction beats one
 * with a needlessly wide gap. */
static int slab_direction(const selection *s, int64_t token, int start) {
    const xfi_isolation *iso = &s->iso;
    int best = start;
    double widest =
        (double)slab_radius(s, iso->gap[start * iso->n + token]) / (double)iso->norms[start];
    for (int c = 0; c < iso->n_directions; c++) {
        double width = (double)slab_radius(s, iso->gap[c * iso->n + token]) / (double)iso->norms[c];
        if (width > widest) {
            widest = width;
            best = c;
        }
    }
    return best;
}

static void remember_miss(selection *s, int64_t j, int64_t token, int c, double isolation) {
    s->out->miss = (xfi_leader_miss){.sequence = j,
                                     .token = token,
                                     .other = xfi_isolation_neighbour(&s->iso, token, c),
                                     .found = ldexp(isolation, -s->q->g),
                                     .needed = ldexp(6.0, -s->q->g)};
}

/* A slab of the largest width allowed still does not do: it is the places that are too close. */
static int refuse_move(selection *s, const xfi_move *move) {
    s->out->miss.crowded = move->r == s->finest;
    return 0;
}

/* Turn the direction so that fewer units lie beyond the slab; returns how many. */
static double orient(const selection *s, int c, xfi_move *move, int64_t *u) {
    const xfi_place_on_line *line = s->iso.line + c * s->iso.n;
    int64_t above = line[s->iso.n - 1].value - move->s, below = move->s - line[0].value;
    for (int64_t k = 0; k < s->out->d && below < above; k++)
        u[k] = -u[k];
    if (below < above)
        move->s = -move->s;
    return (double)(below < above ? below : above) + 2.0 * (double)move->r;
}

static int next_move(selection *s) {
    int64_t j = 0, d = s->out->d;
    int c = 0;
    double isolation = 0;
    int64_t token = most_isolated(s, &j, &c, &isolation);
    remember_miss(s, j, token, c, isolation);
    c = slab_direction(s, token, c);
    xfi_move *move = &s->out->moves[s->next];
    int64_t *u = s->out->u + s->next * d, *w = s->out->w + s->next * d;
    memcpy(u, s->iso.directions + c * d, (size_t)d * sizeof *u);
    *move = (xfi_move){.token = token,
                       .s = s->iso.value[c * s->iso.n + token],
                       .r = slab_radius(s, s->iso.gap[c * s->iso.n + token])};
    if (move->r < 2 * s->iso.norms[c])
        return refuse_move(s, move);
    double reach = orient(s, c, move, u), steepest = plan_step(s, j, move, w);
    double inner = (double)s->iso.norms[c] * s->largest + fabs((double)move->s);
    double outer = s->largest + 2 * steepest * reach;
    if (!(inner + 2.0 * (double)move->r < LIMIT) || !(outer < LIMIT)) {
        s->out->miss.needed = s->out->miss.found * fmax(inner, outer) / LIMIT;
        return refuse_move(s, move);
    }
    carry_out(s, j, move, w);
    return 1;
}

static xf_status select_all(selection *s, int *feasible, xf_error *error) {
    int64_t M = s->out->n_moves;
    *feasible = 1;
    try_fused(s);
    while (*feasible && s->next < M) {
        if ((s->next - s->out->fused) % PROGRESS_EVERY == 0)
            XFI_TRY(
                xfi_problem_progress(s->problem, "leaders", (double)s->next / (double)M, error));
        *feasible = next_move(s);
    }
    return XF_OK;
}

xf_status xfi_leaders_choose(xfi_leaders *out, int *feasible, const xfi_quantised *q,
                             const xfi_places *places, const xfi_problem *problem,
                             xf_error *error) {
    selection s = {.problem = problem, .q = q, .places = places, .out = out};
    int ok = leaders_init(out, problem, q);
    ok = ok && selection_init(&s);
    xf_status status = ok ? select_all(&s, feasible, error) : xfi_fail_memory(error);
    selection_clear(&s);
    if (status != XF_OK)
        xfi_leaders_clear(out);
    return status;
}

/* Neuron `i` of a slab: relu(scale <u, x> + offset G), column side * w / r. */
static void emit_neuron(const xfi_leaders *leaders, int64_t move, double scale, double bias,
                        double side, xf_model *model, int64_t block) {
    int64_t d = leaders->d;
    int i = xfi_neuron_free(model, block);
    for (int64_t k = 0; k < d; k++) {
        double u = (double)leaders->u[move * d + k];
        model->ff_U[(block * model->width + i) * d + k] = u != 0.0 ? scale * u : 0.0;
        double step = (double)leaders->w[move * d + k] / (double)leaders->moves[move].r;
        xfi_neuron_out(model, block, i, (int)k, step != 0.0 ? side * step : 0.0);
    }
    model->ff_b[block * model->width + i] = bias;
}

/* The token's coordinate in front of the shift. */
static double projection_before_shift(const xfi_leaders *leaders, const xfi_quantised *q) {
    double s = ldexp((double)leaders->moves[0].s, q->exponent);
    for (int64_t k = 0; k < leaders->d; k++)
        if (leaders->u[k] != 0)
            s -= (double)leaders->u[k] * q->shift[k];
    return s;
}

static void emit_fused(const xfi_leaders *leaders, const xfi_quantised *q, xf_model *model,
                       int64_t block, double eta) {
    double s = projection_before_shift(leaders, q);
    double r = ldexp((double)leaders->moves[0].r, q->exponent);
    xfi_shift_emit(q, model, block);
    emit_neuron(leaders, 0, eta, 2 * r - s, 1.0, model, block);
    emit_neuron(leaders, 0, eta, r - s, -1.0, model, block);
}

static void emit_slab(const xfi_leaders *leaders, int64_t move, int exponent, xf_model *model,
                      int64_t block) {
    double s = ldexp((double)leaders->moves[move].s, exponent);
    double r = ldexp((double)leaders->moves[move].r, exponent);
    emit_neuron(leaders, move, 1.0, 2 * r - s, 1.0, model, block);
    emit_neuron(leaders, move, 1.0, r - s, -1.0, model, block);
    emit_neuron(leaders, move, 1.0, -r - s, -1.0, model, block);
    emit_neuron(leaders, move, 1.0, -2 * r - s, 1.0, model, block);
}

void xfi_leaders_emit(const xfi_leaders *leaders, const xfi_quantised *q, xf_model *model,
                      int64_t first, double eta) {
    if (leaders->fused)
        emit_fused(leaders, q, model, first, eta);
    else
        xfi_shift_emit(q, model, first);
    for (int64_t i = leaders->fused; i < leaders->n_moves; i++)
        emit_slab(leaders, i, q->exponent, model, first + i + !leaders->fused);
}
