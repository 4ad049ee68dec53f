/* Affine pieces, with what rounding may add. */
#include "certify/cert_piece.h"

#include "base/alloc.h"

/* C-binade: at most so many cuts inside one another, and binades that an interval may meet. */
enum { MOST_CUTS = 2, BOXES_PER_CUT = 3 };

int xfi_piece_init(xfi_piece *piece, const xfi_sense *sense, const xfi_network *network) {
    int64_t d = network->model->d;
    int n_most = network->n_most;
    *piece = (xfi_piece){.sense = sense, .d = d, .n_most = n_most};
    int most = (int)(d > n_most ? d : n_most) + 2;
    int ok = xfi_sum_init(&piece->sum, sense, most, (int)d);
    arf_init(piece->low);
    arf_init(piece->high);
    arf_init(piece->value);
    arf_init(piece->weight);
    arf_init(piece->spread_low);
    arf_init(piece->spread_high);
    piece->live = xfi_calloc(n_most, sizeof(xfi_live));
    piece->live_forms = xfi_arf_new(n_most * (d + 1));
    piece->form = xfi_arf_new(d + 1);
    piece->free_of = xfi_calloc(d, sizeof(int32_t));
    piece->coordinate = xfi_calloc(d, sizeof(int32_t));
    piece->written = xfi_calloc(d, sizeof(int32_t));
    piece->is_written = xfi_calloc(d, 1);
    piece->room = xfi_calloc2((MOST_CUTS + 1) * BOXES_PER_CUT, 2 * d, sizeof(double));
    piece->room_exponents = xfi_calloc2((MOST_CUTS + 1) * BOXES_PER_CUT, d, sizeof(int32_t));
    for (int i = 0; piece->live != NULL && piece->live_forms != NULL && i < n_most; i++) {
        xfi_live *live = &piece->live[i];
        live->form = piece->live_forms + i * (d + 1);
        arf_init(live->low);
        arf_init(live->high);
        arf_init(live->error);
        arf_init(live->most);
    }
    return ok && piece->live && piece->live_forms && piece->form && piece->free_of &&
           piece->coordinate && piece->written && piece->is_written && piece->room &&
           piece->room_exponents;
}

void xfi_piece_clear(xfi_piece *piece) {
    xfi_sum_clear(&piece->sum);
    arf_clear(piece->low);
    arf_clear(piece->high);
    arf_clear(piece->value);
    arf_clear(piece->weight);
    arf_clear(piece->spread_low);
    arf_clear(piece->spread_high);
    for (int i = 0; piece->live != NULL && piece->live_forms != NULL && i < piece->n_most; i++) {
        arf_clear(piece->live[i].low);
        arf_clear(piece->live[i].high);
        arf_clear(piece->live[i].error);
        arf_clear(piece->live[i].most);
    }
    xfi_free(piece->live);
    xfi_arf_free(piece->live_forms, piece->n_most * (piece->d + 1));
    xfi_arf_free(piece->form, piece->d + 1);
    xfi_free(piece->free_of);
    xfi_free(piece->coordinate);
    xfi_free(piece->written);
    xfi_free(piece->is_written);
    xfi_free(piece->room);
    xfi_free(piece->room_exponents);
}

/* One application to one box. */
typedef struct job {
    xfi_piece *piece;
    const xfi_ff *ff;
    xfi_box in;
    xfi_span span;
    xfi_log *log;
    int n_live;
    int n_written;
    int is_exact; /* nothing was rounded or uncertain so far */
} job;

static void add_free(job *j, int32_t k) {
    xfi_piece *p = j->piece;
    if (p->free_of[k] >= 0 || j->in.low[k] == j->in.high[k])
        return;
    p->free_of[k] = j->span.n_free;
    p->coordinate[j->span.n_free++] = k;
}

/* The neurons that may act, and the coordinates that they read. */
static void find_live(job *j) {
    xfi_piece *p = j->piece;
    for (int64_t k = 0; k < p->d; k++)
        p->free_of[k] = -1;
    for (int32_t i = 0; i < j->ff->n_units; i++) {
        const xfi_unit *unit = &j->ff->units[i];
        if (xfi_unit_is_quiet(unit, &j->in, p->sense)) {
            xfi_unit_margin(unit, &j->in, j->log);
            continue;
        }
        p->live[j->n_live++].unit = unit;
        for (int32_t k = 0; k < unit->n_in; k++)
            add_free(j, unit->in[k].at);
        for (int32_t k = 0; k < unit->n_out && j->ff->eta != 0.0; k++)
            add_free(j, unit->out[k].at);
    }
}

static void note_exponent(const job *j, const xfi_sum *sum) {
    if (sum->sense->ieee && sum->exponent < sum->sense->format.emin)
        j->log->may_be_subnormal = 1;
}

/* Append weight * x_k. */
static void append_input(job *j, double weight, int32_t weight_exponent, int32_t k) {
    xfi_piece *p = j->piece;
    double low = j->in.low[k], high = j->in.high[k];
    if (low == 0.0 && high == 0.0)
        return;
    arf_ptr form = NULL, loose_low = NULL, loose_high = NULL;
    xfi_term *term = xfi_sum_append(&p->sum, &form, &loose_low, &loose_high);
    arf_set_d(p->weight, weight);
    arf_zero(term->low);
    arf_zero(term->high);
    xfi_add_range(term->low, term->high, p->weight, low, high);
    if (form != NULL && p->free_of[k] >= 0)
        arf_set(form + p->free_of[k], p->weight);
    else if (form != NULL)
        arf_set(form + j->span.n_free, term->low);
    term->exponent = weight_exponent + j->in.exponent[k];
    term->inexact = !xfi_product_is_exact(p->sense, term, xfi_is_power_of_two(weight));
}

static void append_bias(job *j, double bias) {
    if (bias == 0.0)
        return;
    arf_ptr form = NULL, loose_low = NULL, loose_high = NULL;
    xfi_term *term = xfi_sum_append(&j->piece->sum, &form, &loose_low, &loose_high);
    arf_set_d(term->low, bias);
    arf_set_d(term->high, bias);
    if (form != NULL)
        arf_set_d(form + j->span.n_free, bias);
    term->exponent = xfi_lowest_bit(bias);
    term->inexact = 0;
}

/* live->form = <U_i, x> + b. */
static void make_form(job *j, xfi_live *live) {
    xfi_piece *p = j->piece;
    const xfi_unit *unit = live->unit;
    arf_ptr constant = live->form + j->span.n_free;
    for (int f = 0; f < j->span.n_free; f++)
        arf_zero(live->form + f);
    arf_set_d(constant, unit->bias);
    for (int32_t i = 0; i < unit->n_in; i++) {
        int32_t k = unit->in[i].at;
        arf_set_d(p->weight, unit->in[i].weight);
        if (p->free_of[k] >= 0) {
            arf_set(live->form + p->free_of[k], p->weight);
            continue;
        }
        arf_set_d(p->value, j->in.low[k]);
        xfi_arf_addmul(constant, p->weight, p->value);
    }
    xfi_span_range(live->low, live->high, &j->span, live->form);
}

/* Does the computed pre-activation have the sign of the exact one, where this is at most (sign -1)
 * or at least (sign 1) 0 on the box? `trusted`: exact, or C-sign. */
static int decides(xfi_piece *p, const xfi_live *live, int sign, int trusted) {
    const arf_struct *end = sign < 0 ? live->high : live->low;
    if (arf_sgn(end) * sign < 0)
        return 0;
    if (trusted)
        return 1;
    if (sign < 0)
        arf_add(p->value, end, live->error, ARF_PREC_EXACT, ARF_RND_DOWN);
    else
        arf_sub(p->value, end, live->error, ARF_PREC_EXACT, ARF_RND_DOWN);
    return arf_sgn(p->value) * sign >= 0;
}

/* The computed pre-activation is a multiple of two to this exponent. */
static int32_t value_exponent(const xfi_piece *p, const xfi_live *live) {
    int32_t e = p->sum.exponent > p->sense->least ? p->sum.exponent : p->sense->least;
    if (!p->sense->ieee || !p->sum.exact || arf_cmp(live->low, live->high) != 0)
        return e;
    if (arf_is_zero(live->low))
        return XFI_EXPONENT_OF_ZERO;
    fmpz_t bottom;
    fmpz_init(bottom);
    arf_bot(bottom, live->low);
    e = (int32_t)fmpz_get_si(bottom);
    fmpz_clear(bottom);
    return e;
}

/* C-piece: the sign of a neuron, and the error of its value. */
static void judge_neuron(job *j, xfi_live *live) {
    xfi_piece *p = j->piece;
    const xfi_sense *sense = p->sense;
    make_form(j, live);
    xfi_sum_begin(&p->sum, &j->span);
    if (sense->ieee) {
        for (int32_t i = 0; i < live->unit->n_in; i++)
            append_input(j, live->unit->in[i].weight, live->unit->in[i].exponent,
                         live->unit->in[i].at);
        append_bias(j, live->unit->bias);
    }
    xfi_sum_judge(&p->sum);
    note_exponent(j, &p->sum);
    arf_set(live->error, p->sum.error);
    live->exponent = value_exponent(p, live);
    int needs_sign = !p->sum.exact && arf_sgn(live->low) * arf_sgn(live->high) >= 0;
    int trusted = p->sum.exact || (needs_sign && xfi_sum_keeps_sign(&p->sum));
    live->state = decides(p, live, -1, trusted)  ? XFI_INACTIVE
                  : decides(p, live, 1, trusted) ? XFI_ACTIVE
                                                 : XFI_UNCERTAIN;
    /* A sum that may overflow is harmless only if it has one product, which then is -infinity. */
    int one_product = live->unit->n_in == 1;
    if (!p->sum.finite && !(live->state == XFI_INACTIVE && one_product))
        j->log->is_lost = 1;
    if (live->state != XFI_INACTIVE && !p->sum.exact)
        j->is_exact = 0;
    arf_add(live->most, live->high, live->error, ARF_PREC_EXACT, ARF_RND_DOWN);
    if (arf_sgn(live->most) < 0)
        arf_zero(live->most);
    if (live->state == XFI_UNCERTAIN)
        j->is_exact = 0;
    else if (arf_cmp(live->low, live->high) < 0)
        xfi_log_decision(j->log, arf_get_d(live->low, ARF_RND_NEAR),
                         arf_get_d(live->high, ARF_RND_NEAR));
}

static void find_written(job *j) {
    xfi_piece *p = j->piece;
    memset(p->is_written, 0, (size_t)p->d);
    for (int i = 0; i < j->n_live; i++) {
        const xfi_live *live = &p->live[i];
        for (int32_t k = 0; k < live->unit->n_out && live->state != XFI_INACTIVE; k++) {
            int32_t c = live->unit->out[k].at;
            if (!p->is_written[c])
                p->written[j->n_written++] = c;
            p->is_written[c] = 1;
        }
    }
}

static const xfi_link *output_at(const xfi_unit *unit, int32_t c) {
    int32_t low = 0, high = unit->n_out;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (unit->out[middle].at < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low < unit->n_out && unit->out[low].at == c ? &unit->out[low] : NULL;
}

/* [a, b] times the weight, which may be negative. */
static void scale_range(arf_t low, arf_t high, const arf_t weight, const arf_t a, const arf_t b) {
    xfi_arf_times(low, weight, arf_sgn(weight) >= 0 ? a : b);
    xfi_arf_times(high, weight, arf_sgn(weight) >= 0 ? b : a);
}

/* What of the neuron's value the affine form does not hold: [0, most], or [-error, error]. */
static void loose_part(xfi_piece *p, const xfi_live *live, arf_t low, arf_t high) {
    if (live->state == XFI_UNCERTAIN) {
        arf_zero(p->low);
        scale_range(low, high, p->weight, p->low, live->most);
        return;
    }
    arf_neg(p->low, live->error);
    scale_range(low, high, p->weight, p->low, live->error);
}

/* Append W_ci r_i, and add its affine part to piece->form and the rest to the spread. */
static void append_neuron(job *j, const xfi_live *live, const xfi_link *out) {
    xfi_piece *p = j->piece;
    arf_ptr form = NULL, loose_low = NULL, loose_high = NULL;
    xfi_term *term = xfi_sum_append(&p->sum, &form, &loose_low, &loose_high);
    arf_set_d(p->weight, out->weight);
    loose_part(p, live, term->low, term->high);
    xfi_arf_plus(p->spread_low, p->spread_low, term->low);
    xfi_arf_plus(p->spread_high, p->spread_high, term->high);
    if (form != NULL) {
        arf_set(loose_low, term->low);
        arf_set(loose_high, term->high);
    }
    if (live->state == XFI_ACTIVE) {
        scale_range(p->low, p->high, p->weight, live->low, live->high);
        xfi_arf_plus(term->low, term->low, p->low);
        xfi_arf_plus(term->high, term->high, p->high);
        for (int f = 0; f <= j->span.n_free; f++) {
            xfi_arf_addmul(p->form + f, p->weight, live->form + f);
            if (form != NULL)
                xfi_arf_times(form + f, p->weight, live->form + f);
        }
    }
    term->exponent = out->exponent + live->exponent;
    term->inexact = !xfi_product_is_exact(p->sense, term, xfi_is_power_of_two(out->weight));
}

/* Put the interval of a computed sum, whose exact value is in piece->low .. high, into the box. */
static void settle(job *j, xfi_box out, int64_t c) {
    xfi_piece *p = j->piece;
    const xfi_sense *sense = p->sense;
    if (sense->ieee && !p->sum.exact) {
        j->is_exact = 0;
        if (p->sum.once) {
            xfi_arf_to_format(p->low, sense, p->low);
            xfi_arf_to_format(p->high, sense, p->high);
        } else {
            arf_sub(p->low, p->low, p->sum.error, ARF_PREC_EXACT, ARF_RND_DOWN);
            xfi_arf_plus(p->high, p->high, p->sum.error);
        }
    }
    note_exponent(j, &p->sum);
    out.low[c] = xfi_lower_end(sense, p->low) + 0.0;
    out.high[c] = xfi_upper_end(sense, p->high) + 0.0;
    if (!p->sum.finite || !isfinite(out.low[c]) || !isfinite(out.high[c]) ||
        out.low[c] > out.high[c]) {
        j->log->is_lost = 1;
        out.low[c] = out.high[c] = 0.0;
    }
    if (!sense->ieee)
        return;
    int32_t known = xfi_interval_exponent(sense, out.low[c], out.high[c]);
    int32_t kept = p->sum.exponent > sense->least ? p->sum.exponent : sense->least;
    out.exponent[c] = known > kept ? known : kept;
}

static void write_coordinate(job *j, xfi_box out, int32_t c) {
    xfi_piece *p = j->piece;
    xfi_sum_begin(&p->sum, &j->span);
    arf_zero(p->spread_low);
    arf_zero(p->spread_high);
    for (int f = 0; f <= j->span.n_free; f++)
        arf_zero(p->form + f);
    if (j->ff->eta != 0.0) {
        append_input(j, j->ff->eta, xfi_lowest_bit(j->ff->eta), c);
        if (p->free_of[c] >= 0)
            arf_set_d(p->form + p->free_of[c], j->ff->eta);
        else if (p->sum.n_terms > 0)
            arf_set(p->form + j->span.n_free, p->sum.terms[0].low);
    }
    for (int i = 0; i < j->n_live; i++) {
        const xfi_link *to =
            p->live[i].state == XFI_INACTIVE ? NULL : output_at(p->live[i].unit, c);
        if (to != NULL)
            append_neuron(j, &p->live[i], to);
    }
    xfi_sum_judge(&p->sum);
    xfi_span_range(p->low, p->high, &j->span, p->form);
    xfi_arf_plus(p->low, p->low, p->spread_low);
    xfi_arf_plus(p->high, p->high, p->spread_high);
    settle(j, out, c);
}

/* eta x_c, when nothing else is added. */
static void scale_coordinate(job *j, xfi_box out, int32_t c) {
    xfi_piece *p = j->piece;
    double eta = j->ff->eta;
    if (eta == 1.0 || (j->in.low[c] == 0.0 && j->in.high[c] == 0.0)) {
        out.low[c] = j->in.low[c];
        out.high[c] = j->in.high[c];
        out.exponent[c] = j->in.exponent[c];
        return;
    }
    if (eta == 0.0) {
        out.low[c] = out.high[c] = 0.0;
        out.exponent[c] = XFI_EXPONENT_OF_ZERO;
        return;
    }
    xfi_sum_begin(&p->sum, &j->span);
    append_input(j, eta, xfi_lowest_bit(eta), c);
    xfi_sum_judge(&p->sum);
    arf_set(p->low, p->sum.terms[0].low);
    arf_set(p->high, p->sum.terms[0].high);
    settle(j, out, c);
}

static void apply_once(job *j, xfi_box out) {
    xfi_piece *p = j->piece;
    find_live(j);
    for (int i = 0; i < j->n_live; i++)
        judge_neuron(j, &p->live[i]);
    find_written(j);
    for (int32_t c = 0; c < p->d; c++)
        if (!p->is_written[c])
            scale_coordinate(j, out, c);
    for (int i = 0; i < j->n_written; i++)
        write_coordinate(j, out, p->written[i]);
}

/* A power of two inside (low, high], with the number of the format before it in [low, high): the
 * place for a cut of a free coordinate; 0.0 if there is none, or too many. */
static double cut_of(const xfi_sense *sense, double low, double high, double *before) {
    double sign = low < 0.0 ? -1.0 : 1.0, a = low < 0.0 ? -high : low, b = low < 0.0 ? -low : high;
    if (!(a > 0.0) || xfi_exponent(b) == xfi_exponent(a) || xfi_exponent(b) > xfi_exponent(a) + 3)
        return 0.0;
    double at = ldexp(1.0, xfi_exponent(a) + 1);
    double below = sense->format.p == 24 ? (double)nextafterf((float)at, 0.0f) : nextafter(at, 0.0);
    *before = sign * below;
    return sign * at;
}

/* Which free coordinate to cut, or -1. */
static int32_t coordinate_to_cut(const job *j, double *at, double *before) {
    for (int f = 0; f < j->span.n_free && f < 2; f++) {
        int32_t k = j->piece->coordinate[f];
        *at = cut_of(j->piece->sense, j->in.low[k], j->in.high[k], before);
        if (*at != 0.0)
            return k;
    }
    return -1;
}

static xfi_box room_box(const xfi_piece *p, int depth, int i) {
    int64_t at = depth * BOXES_PER_CUT + i;
    return (xfi_box){p->room + 2 * at * p->d, p->room + (2 * at + 1) * p->d,
                     p->room_exponents + at * p->d};
}

static void hull(xfi_box a, xfi_box b, int64_t d, const xfi_sense *sense) {
    for (int64_t c = 0; c < d; c++) {
        int32_t e = a.exponent[c] < b.exponent[c] ? a.exponent[c] : b.exponent[c];
        a.low[c] = fmin(a.low[c], b.low[c]);
        a.high[c] = fmax(a.high[c], b.high[c]);
        int32_t known = xfi_interval_exponent(sense, a.low[c], a.high[c]);
        a.exponent[c] = known > e ? known : e;
    }
}

static void apply(xfi_piece *p, xfi_box out, const xfi_ff *ff, xfi_box in, const xfi_span *span,
                  xfi_log *log, int depth);

/* C-binade. */
static void apply_in_halves(xfi_piece *p, xfi_box out, const xfi_ff *ff, xfi_box in, int32_t k,
                            const double ends[2], xfi_log *log, int depth) {
    xfi_box half = room_box(p, depth, 0), image = room_box(p, depth, 1);
    for (int side = 0; side < 2; side++) {
        xfi_box_copy(half, in, p->d);
        if (in.low[k] > 0.0)
            (side == 0 ? half.high : half.low)[k] = ends[side];
        else
            (side == 0 ? half.low : half.high)[k] = ends[side];
        int32_t known = xfi_interval_exponent(p->sense, half.low[k], half.high[k]);
        if (known > half.exponent[k])
            half.exponent[k] = known;
        apply(p, side == 0 ? out : image, ff, half, NULL, log, depth + 1);
    }
    hull(out, image, p->d, p->sense);
}

static void apply(xfi_piece *p, xfi_box out, const xfi_ff *ff, xfi_box in, const xfi_span *span,
                  xfi_log *log, int depth) {
    job j = {.piece = p, .ff = ff, .in = in, .log = log, .is_exact = 1};
    if (span != NULL)
        j.span = *span;
    else
        j.span = (xfi_span){.low = in.low, .high = in.high};
    j.span.n_free = 0;
    j.span.coordinate = p->coordinate;
    xfi_log before = *log;
    apply_once(&j, out);
    if (j.is_exact)
        return;
    double ends[2] = {0.0, 0.0};
    int may_cut = p->sense->ieee && span == NULL && depth < MOST_CUTS;
    int32_t k = may_cut ? coordinate_to_cut(&j, &ends[1], &ends[0]) : -1;
    if (k >= 0) {
        *log = before;
        apply_in_halves(p, out, ff, in, k, ends, log, depth);
    } else {
        xfi_log_doubt(log, "a sum is rounded or the sign of a neuron is open");
    }
}

void xfi_piece_apply(xfi_piece *piece, xfi_box out, const xfi_ff *ff, xfi_box in,
                     const xfi_span *span, xfi_log *log) {
    apply(piece, out, ff, in, span, log, 0);
}
