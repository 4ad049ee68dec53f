/* Shared tokens first, then every sequence's own; and the refusals. */
#include "construct/assignment.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/sequences.h"
#include "construct/shared_tokens.h"

void xfi_assignment_clear(xfi_assignment *assignment) {
    xfi_distinct_rows_clear(&assignment->tokens);
    xfi_free(assignment->target);
    *assignment = (xfi_assignment){0};
}

/* --- refusals --------------------------------------------------------------------------- */

static int share_a_target(const xfi_shared_tokens *s, int64_t i, int64_t j) {
    const int64_t *offsets = s->data->y_offsets;
    for (int64_t row = offsets[i]; row < offsets[i + 1]; row++)
        if (xfi_distinct_rows_within(s->targets, s->targets->value[row], offsets[j],
                                     offsets[j + 1]) >= 0)
            return 1;
    return 0;
}

/* Token value v must become two things at once. */
static xf_status refuse_token(const xfi_shared_tokens *s, int64_t v, xf_error *error) {
    const xf_dataset *data = s->data;
    const int64_t *rows = s->tokens->occurring + s->tokens->offsets[v];
    int64_t n = s->tokens->offsets[v + 1] - s->tokens->offsets[v];
    int64_t i = xfi_sequence_of(data, rows[0]), j = -1, other = 0;
    for (int64_t k = 1; k < n && j < 0; k++)
        if (!share_a_target(s, i, xfi_sequence_of(data, rows[k])))
            j = xfi_sequence_of(data, rows[other = k]);
    long long token = (long long)(rows[0] - data->x_offsets[i]);
    if (j < 0)
        return xfi_fail_at(error, XF_ERR_INFEASIBLE, i, (int64_t)token,
                           "token %lld of sequence %lld occurs in %lld sequences that have no "
                           "target in common: a network without attention cannot tell them apart; "
                           "use --construction pooled",
                           token, (long long)i, (long long)n);
    return xfi_fail_at(error, XF_ERR_INFEASIBLE, i, (int64_t)token,
                       "token %lld of sequence %lld is token %lld of sequence %lld, and the two "
                       "sequences have no target in common: a network without attention cannot "
                       "tell them apart; use --construction pooled",
                       token, (long long)i, (long long)(rows[other] - data->x_offsets[j]),
                       (long long)j);
}

static xf_status refuse_sequence(const xfi_shared_tokens *s, xf_error *error) {
    int64_t j = s->unreachable, m = xfi_targets_of(s->data, j), own = m - s->needed[j];
    return xfi_fail_at(error, XF_ERR_INFEASIBLE, j, -1,
                       "sequence %lld has %lld targets, %lld tokens of its own, and tokens shared "
                       "with other sequences that can become only %lld of the targets: a network "
                       "without attention cannot reach the rest; use --construction pooled",
                       (long long)j, (long long)m, (long long)own, (long long)s->most);
}

static xf_status refuse_search(xfi_search_end end, xf_error *error) {
    if (end == XFI_NONE_EXISTS)
        return xfi_fail(error, XF_ERR_INFEASIBLE,
                        "no way of giving every shared token one target reaches all targets of all "
                        "sequences, as an exhaustive search shows: a network without attention "
                        "cannot do it; use --construction pooled");
    return xfi_fail(
        error, XF_ERR_INFEASIBLE,
        "no way of giving every shared token one target was found that reaches all "
        "targets of all sequences, and the search was not exhaustive: whether a network "
        "without attention can do it is not known; use --construction pooled");
}

/* --- the tokens that occur once --------------------------------------------------------- */

/* One after the other takes a target that is still without token; the rest take the first. */
static void assign_own(xfi_assignment *out, const xfi_shared_tokens *s, int64_t j) {
    const xf_dataset *data = s->data;
    int64_t next = data->y_offsets[j], end = data->y_offsets[j + 1];
    for (int64_t row = data->x_offsets[j]; row < data->x_offsets[j + 1]; row++) {
        int64_t v = out->tokens.value[row];
        if (s->choice[v] >= 0)
            continue;
        while (next < end && s->reached[next] > 0)
            next++;
        out->target[v] = next < end ? next++ : data->y_offsets[j];
    }
}

static void assign_all(xfi_assignment *out, const xfi_shared_tokens *s) {
    for (int64_t v = 0; v < out->tokens.n; v++)
        if (s->choice[v] >= 0)
            out->target[v] = s->targets->occurring[s->targets->offsets[s->choice[v]]];
    for (int64_t j = 0; j < s->data->n_sequences; j++)
        assign_own(out, s, j);
}

static xf_status find(xfi_assignment *out, xfi_shared_tokens *s, const xf_dataset *data,
                      const xfi_distinct_rows *targets, xf_error *error) {
    int64_t stuck = -1;
    XFI_TRY(xfi_shared_tokens_init(s, &stuck, data, &out->tokens, targets, error));
    if (stuck >= 0)
        return refuse_token(s, stuck, error);
    xfi_search_end end;
    XFI_TRY(xfi_shared_tokens_choose(&end, s, error));
    if (s->unreachable >= 0)
        return refuse_sequence(s, error);
    if (end != XFI_FOUND)
        return refuse_search(end, error);
    assign_all(out, s);
    return XF_OK;
}

xf_status xfi_assignment_find(xfi_assignment *out, const xf_dataset *data, xf_error *error) {
    *out = (xfi_assignment){0};
    xfi_distinct_rows targets = {0};
    xfi_shared_tokens shared = {0};
    XFI_TRY(xfi_distinct_rows_find(&out->tokens, data->x, data->n_tokens, data->d, error));
    xf_status status = xfi_distinct_rows_find(&targets, data->y, data->n_targets, data->d, error);
    out->target = status == XF_OK ? xfi_calloc(out->tokens.n, sizeof(int64_t)) : NULL;
    if (status == XF_OK && out->target == NULL)
        status = xfi_fail_memory(error);
    if (status == XF_OK)
        status = find(out, &shared, data, &targets, error);
    xfi_shared_tokens_clear(&shared);
    xfi_distinct_rows_clear(&targets);
    return status;
}
