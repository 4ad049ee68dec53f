/* Depth-first search over the shared tokens of tight sequences. A choice is taken back at once if
 * some sequence can no longer be satisfied even when its other shared tokens are free: this is
 * a bipartite matching of tokens to targets. */
#include "construct/shared_tokens.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/index_sort.h"
#include "construct/sequences.h"

enum { BUDGET = 200000000 };

static int64_t n_occurrences(const xfi_distinct_rows *tokens, int64_t v) {
    return tokens->offsets[v + 1] - tokens->offsets[v];
}

static int is_shared(const xfi_distinct_rows *tokens, int64_t v) {
    return n_occurrences(tokens, v) > 1;
}

/* The sequence of the i-th occurrence of a token value. */
static int64_t home(const xfi_shared_tokens *s, int64_t v, int64_t i) {
    return xfi_sequence_of(s->data, s->tokens->occurring[s->tokens->offsets[v] + i]);
}

/* The row of y where sequence j has this target value, or -1. */
static int64_t row_of(const xfi_shared_tokens *s, int64_t target, int64_t j) {
    return xfi_distinct_rows_within(s->targets, target, s->data->y_offsets[j],
                                    s->data->y_offsets[j + 1]);
}

/* --- domains -------------------------------------------------------------------------- */

static int is_common(const xfi_shared_tokens *s, int64_t v, int64_t target) {
    for (int64_t i = 0; i < n_occurrences(s->tokens, v); i++)
        if (row_of(s, target, home(s, v, i)) < 0)
            return 0;
    return 1;
}

/* Targets of the first sequence that the others have too. */
static int64_t fill_domain(const xfi_shared_tokens *s, int64_t v, int64_t *domain) {
    int64_t n = 0, j = home(s, v, 0);
    for (int64_t row = s->data->y_offsets[j]; row < s->data->y_offsets[j + 1]; row++)
        if (is_common(s, v, s->targets->value[row]))
            domain[n++] = s->targets->value[row];
    return n;
}

static int64_t room_for_domains(const xfi_shared_tokens *s) {
    int64_t room = 0;
    for (int64_t v = 0; v < s->tokens->n; v++)
        if (is_shared(s->tokens, v))
            room += xfi_targets_of(s->data, home(s, v, 0));
    return room;
}

static int64_t fill_domains(xfi_shared_tokens *s) {
    int64_t stuck = -1;
    for (int64_t v = 0; v < s->tokens->n; v++) {
        int64_t start = s->domain_offsets[v], n = 0;
        if (is_shared(s->tokens, v))
            n = fill_domain(s, v, s->domain + start);
        s->domain_offsets[v + 1] = start + n;
        s->choice[v] = -1;
        if (is_shared(s->tokens, v) && n == 0 && stuck < 0)
            stuck = v;
    }
    return stuck;
}

/* Targets less the sequence's own tokens. */
static void find_needs(xfi_shared_tokens *s) {
    const xf_dataset *data = s->data;
    for (int64_t j = 0; j < data->n_sequences; j++) {
        s->needed[j] = xfi_targets_of(data, j);
        for (int64_t row = data->x_offsets[j]; row < data->x_offsets[j + 1]; row++)
            s->needed[j] -= !is_shared(s->tokens, s->tokens->value[row]);
    }
}

xf_status xfi_shared_tokens_init(xfi_shared_tokens *out, int64_t *stuck, const xf_dataset *data,
                                 const xfi_distinct_rows *tokens, const xfi_distinct_rows *targets,
                                 xf_error *error) {
    *out = (xfi_shared_tokens){
        .data = data, .tokens = tokens, .targets = targets, .budget = BUDGET, .unreachable = -1};
    out->domain_offsets = xfi_calloc(tokens->n + 1, sizeof(int64_t));
    out->domain = xfi_calloc(room_for_domains(out), sizeof(int64_t));
    out->choice = xfi_calloc(tokens->n, sizeof(int64_t));
    out->needed = xfi_calloc(data->n_sequences, sizeof(int64_t));
    out->reached = xfi_calloc(data->n_targets, sizeof(int64_t));
    out->scratch = xfi_calloc(2 * tokens->n + 2 * data->n_targets, sizeof(int64_t));
    if (!out->domain_offsets || !out->domain || !out->choice || !out->needed || !out->reached ||
        !out->scratch)
        return xfi_fail_memory(error);
    *stuck = fill_domains(out);
    find_needs(out);
    return XF_OK;
}

void xfi_shared_tokens_clear(xfi_shared_tokens *shared) {
    xfi_free(shared->domain_offsets);
    xfi_free(shared->domain);
    xfi_free(shared->choice);
    xfi_free(shared->needed);
    xfi_free(shared->reached);
    xfi_free(shared->scratch);
    *shared = (xfi_shared_tokens){0};
}

/* --- what a sequence can still reach ---------------------------------------------------- */

/* An augmenting path search in one sequence: tokens to rows of y. */
typedef struct matching {
    xfi_shared_tokens *s;
    int64_t j;
    int64_t first;    /* row of y */
    int64_t *matched; /* [m_j] token value that holds the target, or -1 */
    int64_t *via;     /* [m_j] token value from which the target was found, or -1 */
    int64_t *held;    /* [tokens->n] target (from `first`) that the token holds, or -1 */
    int64_t *queue;   /* [tokens->n] */
} matching;

static void augment(matching *m, int64_t slot) {
    while (slot >= 0) {
        int64_t token = m->via[slot], next = m->held[token];
        m->matched[slot] = token;
        m->held[token] = slot;
        slot = next;
    }
}

/* Give one more token a target not yet reached; breadth first. */
static int match_token(matching *m, int64_t token, int64_t n_slots) {
    xfi_shared_tokens *s = m->s;
    int64_t head = 0, tail = 0;
    for (int64_t i = 0; i < n_slots; i++)
        m->via[i] = -1;
    m->queue[tail++] = token;
    while (head < tail) {
        int64_t v = m->queue[head++];
        for (int64_t i = s->domain_offsets[v]; i < s->domain_offsets[v + 1]; i++, s->budget--) {
            int64_t slot = row_of(s, s->domain[i], m->j) - m->first;
            if (m->via[slot] >= 0 || s->reached[m->first + slot] > 0)
                continue;
            m->via[slot] = v;
            if (m->matched[slot] < 0) {
                augment(m, slot);
                return 1;
            }
            m->queue[tail++] = m->matched[slot];
        }
    }
    return 0;
}

/* How many targets of sequence j its shared tokens can reach, given the choices made; counting
 * stops at what is needed. */
static int64_t reachable(xfi_shared_tokens *s, int64_t j) {
    const xf_dataset *data = s->data;
    int64_t n = 0, n_slots = xfi_targets_of(data, j);
    matching m = {.s = s, .j = j, .first = data->y_offsets[j]};
    m.held = s->scratch;
    m.queue = m.held + s->tokens->n;
    m.matched = m.queue + s->tokens->n;
    m.via = m.matched + data->n_targets;
    for (int64_t i = 0; i < n_slots; i++) {
        m.matched[i] = -1;
        n += s->reached[m.first + i] > 0;
    }
    for (int64_t row = data->x_offsets[j]; row < data->x_offsets[j + 1]; row++)
        m.held[s->tokens->value[row]] = -1;
    for (int64_t row = data->x_offsets[j]; row < data->x_offsets[j + 1]; row++) {
        int64_t v = s->tokens->value[row];
        if (n >= s->needed[j])
            break;
        if (is_shared(s->tokens, v) && s->choice[v] < 0)
            n += match_token(&m, v, n_slots);
    }
    return n;
}

static int all_reachable(xfi_shared_tokens *s, int64_t v) {
    for (int64_t i = 0; i < n_occurrences(s->tokens, v); i++)
        if (reachable(s, home(s, v, i)) < s->needed[home(s, v, i)])
            return 0;
    return 1;
}

/* Is some sequence beyond help before anything is chosen? */
static int root_fails(xfi_shared_tokens *s) {
    for (int64_t j = 0; j < s->data->n_sequences; j++) {
        if (s->needed[j] <= 0)
            continue;
        int64_t most = reachable(s, j);
        if (most >= s->needed[j])
            continue;
        s->unreachable = j;
        s->most = most;
        return 1;
    }
    return 0;
}

/* --- the search ------------------------------------------------------------------------- */

/* Sequences in need that do not yet have this target. */
static int64_t gain_of(const xfi_shared_tokens *s, int64_t v, int64_t target) {
    int64_t gain = 0;
    for (int64_t i = 0; i < n_occurrences(s->tokens, v); i++) {
        int64_t j = home(s, v, i);
        gain += s->needed[j] > 0 && s->reached[row_of(s, target, j)] == 0;
    }
    return gain;
}

/* The most useful of the targets from `from` on comes first. */
static void promote_best(xfi_shared_tokens *s, int64_t v, int64_t from) {
    int64_t best = from, most = -1;
    for (int64_t i = from; i < s->domain_offsets[v + 1]; i++) {
        int64_t gain = gain_of(s, v, s->domain[i]);
        if (gain > most) {
            best = i;
            most = gain;
        }
    }
    int64_t target = s->domain[best];
    s->domain[best] = s->domain[from];
    s->domain[from] = target;
}

static void choose(xfi_shared_tokens *s, int64_t v, int64_t target, int64_t sign) {
    for (int64_t i = 0; i < n_occurrences(s->tokens, v); i++)
        s->reached[row_of(s, target, home(s, v, i))] += sign;
    s->choice[v] = sign > 0 ? target : -1;
}

/* Try the next targets of token v; *next is the first not yet tried. */
static int advance(xfi_shared_tokens *s, int64_t v, int64_t *next) {
    while (*next < s->domain_offsets[v + 1] && s->budget > 0) {
        promote_best(s, v, *next);
        choose(s, v, s->domain[(*next)++], 1);
        if (all_reachable(s, v))
            return 1;
        choose(s, v, s->choice[v], -1);
    }
    return 0;
}

static xfi_search_end descend(xfi_shared_tokens *s, const int64_t *order, int64_t n,
                              int64_t *next) {
    int64_t depth = 0;
    if (n > 0)
        next[0] = s->domain_offsets[order[0]];
    while (depth < n) {
        int64_t v = order[depth];
        if (advance(s, v, &next[depth])) {
            if (++depth < n)
                next[depth] = s->domain_offsets[order[depth]];
            continue;
        }
        if (s->budget <= 0)
            return XFI_GAVE_UP;
        if (depth-- == 0)
            return XFI_NONE_EXISTS;
        choose(s, order[depth], s->choice[order[depth]], -1);
    }
    return XFI_FOUND;
}

static int matters(const xfi_shared_tokens *s, int64_t v) {
    for (int64_t i = 0; is_shared(s->tokens, v) && i < n_occurrences(s->tokens, v); i++)
        if (s->needed[home(s, v, i)] > 0)
            return 1;
    return 0;
}

/* Fewest possibilities first. */
static int token_before(const void *context, int64_t a, int64_t b) {
    const xfi_shared_tokens *s = context;
    int64_t left = s->domain_offsets[a + 1] - s->domain_offsets[a];
    int64_t right = s->domain_offsets[b + 1] - s->domain_offsets[b];
    return left != right ? left < right : a < b;
}

/* The tokens that no sequence depends on take their first possibility. */
static int64_t collect(xfi_shared_tokens *s, int64_t *order) {
    int64_t n = 0;
    for (int64_t v = 0; v < s->tokens->n; v++) {
        if (matters(s, v))
            order[n++] = v;
        else if (is_shared(s->tokens, v))
            choose(s, v, s->domain[s->domain_offsets[v]], 1);
    }
    xfi_index_sort(order, n, token_before, s);
    return n;
}

xf_status xfi_shared_tokens_choose(xfi_search_end *end, xfi_shared_tokens *shared,
                                   xf_error *error) {
    *end = XFI_NONE_EXISTS;
    if (root_fails(shared))
        return XF_OK;
    int64_t *order = xfi_calloc2(2, shared->tokens->n, sizeof *order);
    if (order == NULL)
        return xfi_fail_memory(error);
    int64_t n = collect(shared, order);
    *end = descend(shared, order, n, order + shared->tokens->n);
    xfi_free(order);
    return XF_OK;
}
