/* Lemmas on one sum. */
#include "certify/cert_sum.h"

#include "base/alloc.h"

int xfi_sum_init(xfi_sum *sum, const xfi_sense *sense, int capacity, int free_capacity) {
    int row = free_capacity + 1;
    *sum = (xfi_sum){.sense = sense, .capacity = capacity, .free_capacity = free_capacity};
    arf_init(sum->error);
    arf_init(sum->positive);
    arf_init(sum->negative);
    arf_init(sum->size);
    arf_init(sum->scratch_low);
    arf_init(sum->scratch_high);
    sum->terms = xfi_calloc(capacity, sizeof(xfi_term));
    for (int i = 0; sum->terms != NULL && i < capacity; i++) {
        arf_init(sum->terms[i].low);
        arf_init(sum->terms[i].high);
    }
    sum->forms = xfi_arf_new((int64_t)XFI_SUBSET_TERMS * row);
    sum->partial = xfi_arf_new((int64_t)(XFI_SUBSET_TERMS + 1) * row);
    sum->loose_low = xfi_arf_new(XFI_SUBSET_TERMS);
    sum->loose_high = xfi_arf_new(XFI_SUBSET_TERMS);
    sum->partial_low = xfi_arf_new(XFI_SUBSET_TERMS + 1);
    sum->partial_high = xfi_arf_new(XFI_SUBSET_TERMS + 1);
    return sum->terms && sum->forms && sum->partial && sum->loose_low && sum->loose_high &&
           sum->partial_low && sum->partial_high;
}

void xfi_sum_clear(xfi_sum *sum) {
    int row = sum->free_capacity + 1;
    arf_clear(sum->error);
    arf_clear(sum->positive);
    arf_clear(sum->negative);
    arf_clear(sum->size);
    arf_clear(sum->scratch_low);
    arf_clear(sum->scratch_high);
    for (int i = 0; sum->terms != NULL && i < sum->capacity; i++) {
        arf_clear(sum->terms[i].low);
        arf_clear(sum->terms[i].high);
    }
    xfi_free(sum->terms);
    xfi_arf_free(sum->forms, (int64_t)XFI_SUBSET_TERMS * row);
    xfi_arf_free(sum->partial, (int64_t)(XFI_SUBSET_TERMS + 1) * row);
    xfi_arf_free(sum->loose_low, XFI_SUBSET_TERMS);
    xfi_arf_free(sum->loose_high, XFI_SUBSET_TERMS);
    xfi_arf_free(sum->partial_low, XFI_SUBSET_TERMS + 1);
    xfi_arf_free(sum->partial_high, XFI_SUBSET_TERMS + 1);
}

void xfi_sum_begin(xfi_sum *sum, const xfi_span *span) {
    sum->span = span;
    sum->n_terms = 0;
    sum->extra_roundings = 0;
    sum->extra_underflow = 0.0;
}

xfi_term *xfi_sum_append(xfi_sum *sum, arf_ptr *form, arf_ptr *loose_low, arf_ptr *loose_high) {
    int i = sum->n_terms++;
    *form = *loose_low = *loose_high = NULL;
    if (i < XFI_SUBSET_TERMS) {
        *form = sum->forms + (int64_t)i * (sum->free_capacity + 1);
        for (int f = 0; f <= sum->span->n_free; f++)
            arf_zero(*form + f);
        *loose_low = sum->loose_low + i;
        *loose_high = sum->loose_high + i;
        arf_zero(*loose_low);
        arf_zero(*loose_high);
    }
    return &sum->terms[i];
}

/* |[low, high]| <= 2^e? */
static int within(const arf_t low, const arf_t high, slong e) {
    return arf_cmpabs_2exp_si(low, e) <= 0 && arf_cmpabs_2exp_si(high, e) <= 0;
}

int xfi_product_is_exact(const xfi_sense *sense, const xfi_term *term, int power_of_two) {
    if (!sense->ieee)
        return 1;
    if (term->exponent < sense->least)
        return 0;
    return power_of_two || within(term->low, term->high, sense->format.p + (slong)term->exponent);
}

/* The sums of the positive and of the negative parts of all terms but one, and their exponent. */
static int32_t add_up(xfi_sum *sum, int without) {
    int32_t e = XFI_EXPONENT_OF_ZERO;
    arf_zero(sum->positive);
    arf_zero(sum->negative);
    for (int i = 0; i < sum->n_terms; i++) {
        const xfi_term *term = &sum->terms[i];
        if (i == without)
            continue;
        e = term->exponent < e ? term->exponent : e;
        if (arf_sgn(term->high) > 0)
            xfi_arf_plus(sum->positive, sum->positive, term->high);
        if (arf_sgn(term->low) < 0)
            xfi_arf_plus(sum->negative, sum->negative, term->low);
    }
    return e;
}

/* C-grid for all terms but one. */
static int on_grid(xfi_sum *sum, int without) {
    int32_t e = add_up(sum, without);
    slong limit = sum->sense->format.p + (slong)e;
    return e >= sum->sense->least && within(sum->negative, sum->positive, limit) &&
           arf_cmpabs_2exp_si(sum->positive, sum->sense->format.emax) < 0 &&
           arf_cmpabs_2exp_si(sum->negative, sum->sense->format.emax) < 0;
}

/* Is the partial sum at `depth`, with exponent e, a number of the format on the whole span? */
static int partial_fits(xfi_sum *sum, int depth, int32_t e) {
    int row = sum->free_capacity + 1;
    if (e < sum->sense->least)
        return 0;
    xfi_span_range(sum->scratch_low, sum->scratch_high, sum->span,
                   sum->partial + (int64_t)depth * row);
    xfi_arf_plus(sum->scratch_low, sum->scratch_low, sum->partial_low + depth);
    xfi_arf_plus(sum->scratch_high, sum->scratch_high, sum->partial_high + depth);
    slong limit = sum->sense->format.p + (slong)e;
    slong top = sum->sense->format.emax;
    return within(sum->scratch_low, sum->scratch_high, limit < top ? limit : top);
}

/* C-subset, depth first: the partial sum at `depth` has `count` of the terms before `next`. */
static int subsets_fit(xfi_sum *sum, int next, int without, int depth, int count, int32_t e) {
    int row = sum->free_capacity + 1;
    for (int i = next; i < sum->n_terms; i++) {
        if (i == without)
            continue;
        arf_srcptr below = sum->partial + (int64_t)depth * row,
                   form = sum->forms + (int64_t)i * row;
        arf_ptr here = sum->partial + (int64_t)(depth + 1) * row;
        for (int f = 0; f <= sum->span->n_free; f++)
            xfi_arf_plus(here + f, below + f, form + f);
        xfi_arf_plus(sum->partial_low + depth + 1, sum->partial_low + depth, sum->loose_low + i);
        xfi_arf_plus(sum->partial_high + depth + 1, sum->partial_high + depth, sum->loose_high + i);
        int32_t both = sum->terms[i].exponent < e ? sum->terms[i].exponent : e;
        if (count >= 1 && !partial_fits(sum, depth + 1, both))
            return 0;
        if (!subsets_fit(sum, i + 1, without, depth + 1, count + 1, both))
            return 0;
    }
    return 1;
}

static int all_subsets_fit(xfi_sum *sum, int without) {
    if (sum->n_terms > XFI_SUBSET_TERMS)
        return 0;
    for (int f = 0; f <= sum->span->n_free; f++)
        arf_zero(sum->partial + f);
    arf_zero(sum->partial_low);
    arf_zero(sum->partial_high);
    return subsets_fit(sum, 0, without, 0, 0, XFI_EXPONENT_OF_ZERO);
}

static int count_inexact(const xfi_sum *sum) {
    int count = 0;
    for (int i = 0; i < sum->n_terms; i++)
        count += sum->terms[i].inexact;
    return count;
}

/* C-error. */
static void bound_error(xfi_sum *sum, int n_inexact) {
    const xfi_sense *sense = sum->sense;
    int roundings = (sum->n_terms > 0 ? sum->n_terms - 1 : 0) + (n_inexact > 0);
    double underflows = sum->extra_underflow;
    for (int i = 0; i < sum->n_terms; i++)
        underflows += sum->terms[i].inexact && sum->terms[i].exponent < sense->least;
    double gamma = xfi_gamma(&sense->format, (double)roundings + sum->extra_roundings);
    arf_set_d(sum->error, gamma);
    arf_mul(sum->error, sum->error, sum->size, 64, ARF_RND_UP);
    arf_set_d(sum->scratch_low, underflows * sense->format.smallest);
    arf_add(sum->error, sum->error, sum->scratch_low, 64, ARF_RND_UP);
}

void xfi_sum_judge(xfi_sum *sum) {
    const xfi_sense *sense = sum->sense;
    sum->exact = sum->once = sum->finite = 1;
    sum->exponent = XFI_EXPONENT_OF_ZERO;
    arf_zero(sum->error);
    if (!sense->ieee)
        return;
    arf_zero(sum->size);
    for (int i = 0; i < sum->n_terms; i++) {
        const xfi_term *term = &sum->terms[i];
        sum->exponent = term->exponent < sum->exponent ? term->exponent : sum->exponent;
        xfi_arf_add_size(sum->size, term->low, term->high);
    }
    int n_inexact = count_inexact(sum), m = sum->n_terms;
    int plain = n_inexact == 0 && sum->extra_roundings == 0 && sum->extra_underflow == 0.0;
    sum->finite = arf_cmpabs_2exp_si(sum->size, sense->format.emax) < 0;
    sum->exact = sum->finite && plain && (m <= 1 || on_grid(sum, -1) || all_subsets_fit(sum, -1));
    sum->once = sum->finite && sum->extra_roundings == 0 && sum->extra_underflow == 0.0 &&
                (m <= 1 || (m == 2 && n_inexact == 0));
    if (!sum->exact)
        bound_error(sum, n_inexact);
}

/* Are all terms but one exact among themselves? */
static int others_exact(xfi_sum *sum, int loose) {
    for (int i = 0; i < sum->n_terms; i++) {
        const xfi_term *term = &sum->terms[i];
        if (i != loose &&
            (term->inexact || !within(term->low, term->high, sum->sense->format.emax)))
            return 0;
    }
    return sum->n_terms <= 2 || on_grid(sum, loose) || all_subsets_fit(sum, loose);
}

int xfi_sum_keeps_sign(xfi_sum *sum) {
    if (sum->extra_roundings > 0 || sum->extra_underflow > 0.0)
        return 0;
    if (sum->n_terms <= 1)
        return 1;
    if (sum->n_terms <= XFI_SUBSET_TERMS) {
        for (int i = 0; i < sum->n_terms; i++)
            if (others_exact(sum, i))
                return 1;
        return 0;
    }
    int loose = 0;
    for (int i = 1; i < sum->n_terms; i++) {
        const xfi_term *a = &sum->terms[i], *b = &sum->terms[loose];
        if (a->inexact > b->inexact || (a->inexact == b->inexact && a->exponent < b->exponent))
            loose = i;
    }
    return others_exact(sum, loose);
}
