/* Layers in turn. */
#include "certify/cert_follow.h"

#include "base/alloc.h"

static int64_t longest(const xf_dataset *data) {
    int64_t most = 1;
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t n = data->x_offsets[j + 1] - data->x_offsets[j];
        most = n > most ? n : most;
    }
    return most;
}

static int tokens_init(xfi_tokens *tokens, int64_t n, int64_t d) {
    *tokens = (xfi_tokens){0};
    tokens->low = xfi_calloc2(n, d, sizeof(double));
    tokens->high = xfi_calloc2(n, d, sizeof(double));
    tokens->exponent = xfi_calloc2(n, d, sizeof(int32_t));
    return tokens->low && tokens->high && tokens->exponent;
}

static void tokens_clear(xfi_tokens *tokens) {
    xfi_free(tokens->low);
    xfi_free(tokens->high);
    xfi_free(tokens->exponent);
}

static int64_t n_phases(const xf_model *model) {
    return model->n_phases > 0 ? model->n_phases : 1;
}

int xfi_follower_init(xfi_follower *f, const xfi_network *network, const xfi_sense *sense,
                      const xfi_heat *heat, const xf_dataset *data) {
    int64_t n = longest(data), d = data->d, phases = n_phases(network->model);
    *f = (xfi_follower){.network = network, .sense = sense, .data = data};
    int ok = xfi_piece_init(&f->piece, sense, network);
    ok = xfi_mix_init(&f->mix, sense, heat, network->model, n) && ok;
    ok = tokens_init(&f->tokens, n, d) && ok;
    ok = tokens_init(&f->next, n, d) && ok;
    f->spare = (xfi_box){xfi_calloc(d, sizeof(double)), xfi_calloc(d, sizeof(double)),
                         xfi_calloc(d, sizeof(int32_t))};
    f->least = xfi_calloc(phases, sizeof(xfi_least));
    for (int64_t i = 0; f->least != NULL && i < phases; i++)
        f->least[i] = (xfi_least){INFINITY, -1, -1, -1};
    return ok && f->spare.low && f->spare.high && f->spare.exponent && f->least;
}

void xfi_follower_clear(xfi_follower *f) {
    xfi_piece_clear(&f->piece);
    xfi_mix_clear(&f->mix);
    tokens_clear(&f->tokens);
    tokens_clear(&f->next);
    xfi_free(f->spare.low);
    xfi_free(f->spare.high);
    xfi_free(f->spare.exponent);
    xfi_free(f->least);
}

static void swap(xfi_tokens *a, xfi_tokens *b) {
    xfi_tokens keep = *a;
    *a = *b;
    *b = keep;
}

/* The data as points: as stored, or rounded to the format. */
static void begin(xfi_follower *f, int64_t j, xfi_log *log) {
    const xf_dataset *data = f->data;
    int64_t first = data->x_offsets[j], n = data->x_offsets[j + 1] - first, d = data->d;
    f->tokens.n = f->tokens.n_states = n;
    for (int64_t i = 0; i < n * d; i++) {
        double x = data->x[first * d + i];
        if (f->sense->ieee)
            x = xfi_round(&f->sense->format, x);
        f->tokens.low[i] = f->tokens.high[i] = x;
        f->tokens.exponent[i] = xfi_exponent_of(x);
        if (f->sense->ieee && f->tokens.exponent[i] < f->sense->format.emin)
            log->may_be_subnormal = 1;
    }
}

/* C-flush for the neurons of a layer that are left out. */
static void note_quiet(const xfi_follower *f, const xfi_ff *ff, const xfi_box *box, xfi_log *log) {
    int32_t least = XFI_EXPONENT_OF_ZERO;
    if (log->may_be_subnormal || ff->n_units == 0)
        return;
    for (int64_t k = 0; k < f->data->d; k++)
        least = box->exponent[k] < least ? box->exponent[k] : least;
    if (ff->exponent + (least < 0 ? least : 0) < f->sense->format.emin)
        log->may_be_subnormal = 1;
}

/* Does the layer leave the box as it is? */
static int is_quiet(const xfi_follower *f, const xfi_ff *ff, const xfi_box *box, xfi_log *log) {
    if (ff->eta != 1.0)
        return 0;
    for (int32_t i = 0; i < ff->n_units; i++)
        if (!xfi_unit_is_quiet(&ff->units[i], box, f->sense))
            return 0;
    for (int32_t i = 0; i < ff->n_units; i++)
        xfi_unit_margin(&ff->units[i], box, log);
    if (f->sense->ieee)
        note_quiet(f, ff, box, log);
    return 1;
}

static void feed_forward(xfi_follower *f, const xfi_ff *ff, xfi_log *log) {
    int64_t d = f->data->d;
    for (int64_t i = 0; i < f->tokens.n_states; i++) {
        xfi_box box = xfi_token_box(&f->tokens, i, d);
        log->token = i;
        if (is_quiet(f, ff, &box, log))
            continue;
        if (f->sense->ieee)
            note_quiet(f, ff, &box, log);
        xfi_piece_apply(&f->piece, f->spare, ff, box, NULL, log);
        xfi_box_copy(box, f->spare, d);
    }
}

/* One box for all tokens, if they are all the same. */
static void merge(xfi_tokens *t, int64_t d) {
    size_t reals = (size_t)d * sizeof(double), integers = (size_t)d * sizeof(int32_t);
    for (int64_t i = 1; i < t->n_states; i++)
        if (memcmp(t->low, t->low + i * d, reals) != 0 ||
            memcmp(t->high, t->high + i * d, reals) != 0 ||
            memcmp(t->exponent, t->exponent + i * d, integers) != 0)
            return;
    t->n_states = 1;
}

/* The attention of a block, and the feed-forward layer behind it where that has to see the
 * generators of C-pull; `behind` is NULL if no feed-forward layer follows. Returns whether the
 * latter was done. */
static int attend(xfi_follower *f, const xfi_sa *sa, const xfi_ff *behind, xfi_log *log) {
    int64_t d = f->data->d, n_out = f->tokens.n_states;
    if (!sa->V.is_zero && (f->mix.causal || !sa->A.is_zero))
        n_out = f->tokens.n;
    if (f->tokens.n_states == 1 && !f->mix.causal)
        n_out = 1;
    int joined =
        behind != NULL && f->mix.heat.attention == XF_SOFTMAX && !sa->A.is_zero && !sa->V.is_zero;
    xfi_mix_begin(&f->mix, sa, &f->tokens, log);
    f->next.n = f->tokens.n;
    f->next.n_states = n_out;
    int64_t block = log->block;
    for (int64_t i = 0; i < n_out; i++) {
        xfi_span span;
        xfi_box out = {f->next.low + i * d, f->next.high + i * d, f->next.exponent + i * d};
        log->token = i;
        log->block = block;
        xfi_mix_token(&f->mix, joined ? f->spare : out, &span, i, log);
        if (joined) {
            log->block = block + (f->network->model->order == XF_FF_SA);
            if (f->sense->ieee)
                note_quiet(f, behind, &f->spare, log);
            xfi_piece_apply(&f->piece, out, behind, f->spare, span.n_generators > 0 ? &span : NULL,
                            log);
        }
    }
    log->block = block;
    swap(&f->tokens, &f->next);
    merge(&f->tokens, d);
    return joined;
}

/* Phase of a block: margins of its decisions are collected there. */
static int64_t enter_phase(xfi_follower *f, int64_t phase, int64_t block, xfi_log *log) {
    const xf_model *m = f->network->model;
    int64_t now = phase;
    while (now + 1 < m->n_phases && block >= m->phases[now].first + m->phases[now].count)
        now++;
    if (now != phase) {
        f->least[phase] = log->least;
        log->least = f->least[now];
    }
    return now;
}

static void pass_layers(xfi_follower *f, xfi_log *log) {
    const xf_model *m = f->network->model;
    int64_t phase = 0;
    int done = 0; /* the layer at hand was done with the one before */
    log->least = f->least[0];
    for (int64_t layer = 0; layer < 2 * m->n_blocks && !log->is_lost; layer++) {
        int64_t b = log->block = layer / 2;
        int is_ff = (layer % 2 == 0) == (m->order == XF_FF_SA);
        const xfi_sa *sa = &f->network->sa[b];
        phase = enter_phase(f, phase, b, log);
        if (is_ff && !done)
            feed_forward(f, &f->network->ff[b], log);
        else if (!is_ff && (!sa->V.is_zero || sa->rho != 1.0)) {
            int64_t follows = (layer + 1) / 2;
            done = attend(f, sa, follows < m->n_blocks ? &f->network->ff[follows] : NULL, log);
            continue;
        }
        done = 0;
    }
    f->least[phase] = log->least;
}

/* Is y in the box; is it all of the box? */
static int holds(const xfi_box *box, const double *y, int64_t d) {
    for (int64_t k = 0; k < d; k++)
        if (!(box->low[k] <= y[k] && y[k] <= box->high[k]))
            return 0;
    return 1;
}

static int is_point(const xfi_box *box, int64_t d) {
    for (int64_t k = 0; k < d; k++)
        if (box->low[k] != box->high[k])
            return 0;
    return 1;
}

static void place(xfi_log *log, int64_t token, const char *what) {
    log->doubt_token = token;
    log->doubt_block = -1;
    strncpy(log->doubt, what, XFI_REASON_SIZE - 1);
}

/* C-sets. */
static xf_answer compare(const xfi_follower *f, int64_t j, xfi_log *log) {
    const xf_dataset *data = f->data;
    int64_t d = data->d, n_states = f->tokens.n_states;
    int64_t first = data->y_offsets[j], m = data->y_offsets[j + 1] - first;
    xf_answer answer = XF_YES;
    for (int64_t i = 0; i < n_states; i++) {
        xfi_box box = xfi_token_box(&f->tokens, i, d);
        int held = 0;
        for (int64_t t = 0; t < m; t++)
            held += holds(&box, data->y + (first + t) * d, d);
        if (held == 0) {
            place(log, i, "its output is none of the targets");
            return XF_NO;
        }
        if (!is_point(&box, d)) {
            if (answer == XF_YES && log->doubt_block < 0)
                place(log, i, "its output is not known exactly");
            answer = XF_UNKNOWN;
        }
    }
    for (int64_t t = 0; t < m; t++) {
        int met = 0, exactly = 0;
        for (int64_t i = 0; i < n_states; i++) {
            xfi_box box = xfi_token_box(&f->tokens, i, d);
            int here = holds(&box, data->y + (first + t) * d, d);
            met += here;
            exactly += here && is_point(&box, d);
        }
        if (met == 0) {
            place(log, -1, "a target is no token's output");
            return XF_NO;
        }
        if (exactly == 0)
            answer = XF_UNKNOWN;
    }
    return answer;
}

xf_answer xfi_follow(xfi_follower *f, int64_t j, xfi_log *log) {
    int subnormal = log->may_be_subnormal, used = log->used_exp, one = log->one_temperature;
    *log = (xfi_log){.sequence = j,
                     .may_be_subnormal = subnormal,
                     .used_exp = used,
                     .one_temperature = one,
                     .doubt_token = -1,
                     .doubt_block = -1};
    begin(f, j, log);
    pass_layers(f, log);
    if (log->is_lost) {
        log->doubt_token = log->token;
        log->doubt_block = log->block;
        strcpy(log->doubt, "an overflow cannot be excluded");
        return XF_UNKNOWN;
    }
    return compare(f, j, log);
}
