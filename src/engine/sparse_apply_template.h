/* The sparse engine on one token after the other, for one precision; included by sparse_apply.c
 * with REAL, REAL_MAX and XFI_NAME(base) defined.
 *
 * All sums have the order of the dense kernels, terms that are zero left out; docs/engines.md
 * shows that this changes no bit as long as the tokens are finite and hold no -0. Tokens with -0
 * take every layer until it is gone; for those that overflow the tile is given back. */

/* A token on its way. */
typedef struct XFI_NAME(walk) {
    xfi_sparse *form;
    const xfi_weights *weights;
    REAL *x;       /* [d] */
    REAL *r;       /* [w] */
    REAL *boxed;   /* [n_coordinates] coordinates of the box index */
    int64_t *next; /* [n_thresholds + 1] step that each index proposes, the box index last */
    int64_t *from; /* [n_thresholds + 1] entry from which it has to look */
    char *changed; /* [d] since the indexes were asked */
    int negative_zero;
    int64_t work;
    int32_t *visits; /* [n_steps] how often each step was taken; NULL: not wanted */
} XFI_NAME(walk);

/* The pre-activation of a neuron. */
XFI_INLINE REAL XFI_NAME(drive)(const XFI_NAME(walk) * walk, const xfi_sparse_neuron *n) {
    const REAL *x = walk->x;
    if (n->n_inputs == XFI_WHOLE) {
        int64_t d = walk->weights->d;
        const REAL *u = (const REAL *)walk->weights->U + n->row * d;
        REAL a = u[0] * x[0];
        for (int64_t k = 1; k < d; k++)
            a += u[k] * x[k];
        return a + (REAL)n->bias;
    }
    if (n->n_inputs == 0)
        return (REAL)n->bias;
    const xfi_term *terms = walk->form->terms + n->input;
    REAL a = (REAL)terms[0].value * x[terms[0].at];
    for (int64_t k = 1; k < n->n_inputs; k++)
        a += (REAL)terms[k].value * x[terms[k].at];
    return a + (REAL)n->bias;
}

static int XFI_NAME(is_finite)(REAL value) {
    return value >= -REAL_MAX && value <= REAL_MAX;
}

/* Are all coordinates finite? Notes whether one is -0. */
static int XFI_NAME(look)(XFI_NAME(walk) * walk) {
    int finite = 1, negative = 0;
    for (int64_t c = 0; c < walk->weights->d; c++) {
        finite &= XFI_NAME(is_finite)(walk->x[c]);
        negative |= walk->x[c] == 0 && signbit(walk->x[c]);
    }
    walk->negative_zero = negative;
    return finite;
}

/* --- one step ---------------------------------------------------------------------------- */

/* x += r times the output of the neuron. */
static int XFI_NAME(add_output)(XFI_NAME(walk) * walk, const xfi_sparse_neuron *n, REAL r) {
    REAL *x = walk->x;
    int finite = 1;
    if (n->n_outputs != XFI_WHOLE) {
        const xfi_term *terms = walk->form->terms + n->output;
        for (int64_t k = 0; k < n->n_outputs; k++) {
            int64_t c = terms[k].at;
            x[c] += (REAL)terms[k].value * r;
            finite &= XFI_NAME(is_finite)(x[c]);
            walk->changed[c] = 1;
        }
        return finite;
    }
    int64_t d = walk->weights->d, w = walk->weights->width;
    const REAL *column = (const REAL *)walk->weights->W + n->row / w * d * w + n->row % w;
    for (int64_t c = 0; c < d; c++) {
        x[c] += column[c * w] * r;
        finite &= XFI_NAME(is_finite)(x[c]);
    }
    mark_all(walk->changed, d);
    return finite;
}

/* A feed-forward layer as the dense kernel does it: for what leaving out zeros would change. */
static void XFI_NAME(literal)(XFI_NAME(walk) * walk, int64_t block, REAL eta) {
    int64_t d = walk->weights->d, w = walk->weights->width;
    const REAL *W = (const REAL *)walk->weights->W + block * d * w;
    const REAL *U = (const REAL *)walk->weights->U + block * w * d;
    const REAL *b = (const REAL *)walk->weights->b + block * w;
    for (int64_t i = 0; i < w; i++) {
        REAL a = U[i * d] * walk->x[0];
        for (int64_t k = 1; k < d; k++)
            a += U[i * d + k] * walk->x[k];
        a += b[i];
        walk->r[i] = a <= 0 ? 0 : a;
    }
    for (int64_t c = 0; c < d; c++) {
        REAL sum = eta * walk->x[c];
        for (int64_t i = 0; i < w; i++)
            sum += W[c * w + i] * walk->r[i];
        walk->x[c] = sum;
    }
}

/* A layer that multiplies, meets a -0, or both. */
static int XFI_NAME(whole_step)(XFI_NAME(walk) * walk, const xfi_step *step) {
    int64_t d = walk->weights->d;
    REAL factor = (REAL)step->factor;
    walk->work += d;
    mark_all(walk->changed, d);
    if (step->cleans) {
        for (int64_t c = 0; c < d; c++)
            walk->x[c] = factor * walk->x[c] + 0; /* -0 becomes +0 */
    } else if (!xfi_layer_is_attention(walk->weights, step->layer)) {
        walk->work += 2 * d * walk->weights->width;
        XFI_NAME(literal)(walk, step->layer / 2, factor);
    } else {
        for (int64_t c = 0; c < d; c++)
            walk->x[c] *= factor;
    }
    return XFI_NAME(look)(walk);
}

/* Returns 0 if a number is not finite. */
static int XFI_NAME(take)(XFI_NAME(walk) * walk, int64_t s) {
    const xfi_step *step = &walk->form->steps[s];
    const xfi_sparse_neuron *first = walk->form->neurons + step->neuron,
                            *end = walk->form->neurons + step[1].neuron;
    int whole = step->factor != 1 || walk->negative_zero;
    walk->work += 4;
    if (walk->visits != NULL)
        walk->visits[s]++;
    for (const xfi_sparse_neuron *n = first; n < end; n++) {
        REAL a = XFI_NAME(drive)(walk, n);
        if (!(a <= REAL_MAX))
            return 0;
        walk->r[n - first] = a <= 0 ? 0 : a;
        walk->work += 1 + (n->n_inputs == XFI_WHOLE ? walk->weights->d : n->n_inputs);
    }
    if (whole && !step->cleans)
        return XFI_NAME(whole_step)(walk, step);
    if (whole && !XFI_NAME(whole_step)(walk, step))
        return 0;
    for (const xfi_sparse_neuron *n = first; n < end; n++) {
        REAL r = walk->r[n - first];
        if (!(r > 0))
            continue;
        walk->work += 1 + (n->n_outputs == XFI_WHOLE ? walk->weights->d : n->n_outputs);
        if (!XFI_NAME(add_output)(walk, n, r))
            return 0;
    }
    return 1;
}

/* --- the next step ----------------------------------------------------------------------- */

/* Of which nodes of a group may a neuron be active? Bit i for node i. No neuron of a node has a
 * larger pre-activation, as computed and after scaling, than what is summed here (E-box). */
XFI_CLONES static unsigned XFI_NAME(active_nodes)(const double *group, const REAL *x, int64_t m) {
    REAL sum[XFI_INDEX_FAN];
    for (int64_t c = 0; c < m; c++) {
        const double *row = group + (2 * c + (x[c] >= 0)) * XFI_INDEX_FAN;
#pragma omp simd
        for (int i = 0; i < XFI_INDEX_FAN; i++)
            sum[i] = c == 0 ? (REAL)row[i] * x[c] : sum[i] + (REAL)row[i] * x[c];
    }
    const double *bias = group + 2 * m * XFI_INDEX_FAN;
    unsigned active = 0;
    for (int i = 0; i < XFI_INDEX_FAN; i++)
        active |= (unsigned)!(sum[i] + (REAL)bias[i] <= 0) << i;
    return active;
}

/* Copy the coordinates of the box index; may boxes exclude anything for this token? */
static int XFI_NAME(gather)(XFI_NAME(walk) * walk) {
    const xfi_box_index *boxes = &walk->form->boxes;
    int in_range = boxes->largest >= 0;
    for (int64_t c = 0; c < boxes->n_coordinates; c++) {
        REAL x = walk->x[boxes->coordinates[c]], size = x < 0 ? -x : x;
        walk->boxed[c] = x;
        in_range &= x == 0 || ((double)size >= boxes->smallest && (double)size <= boxes->largest);
    }
    return in_range;
}

/* May a neuron under node i of a level be active? The answers for its group are kept. */
static int XFI_NAME(may_act)(XFI_NAME(walk) * walk, xfi_answer *answers, int level, int64_t i) {
    const xfi_box_index *boxes = &walk->form->boxes;
    int64_t m = boxes->n_coordinates;
    if (level == 0) {
        walk->work += m + 1;
        return !(XFI_NAME(drive)(walk, &walk->form->neurons[boxes->neuron[i]]) <= 0);
    }
    xfi_answer *answer = &answers[level];
    if (answer->group != i / XFI_INDEX_FAN) {
        walk->work += 2 * m + 1;
        answer->group = i / XFI_INDEX_FAN;
        answer->active = XFI_NAME(active_nodes)(
            xfi_box_at(boxes, level, answer->group * XFI_INDEX_FAN), walk->boxed, m);
    }
    return answer->active >> i % XFI_INDEX_FAN & 1;
}

/* The first entry of the box index from `from` on that is active, if its step is before `limit`;
 * else one that is not before, or the number of entries. */
static int64_t XFI_NAME(next_boxed)(XFI_NAME(walk) * walk, int64_t from, int64_t limit) {
    const xfi_box_index *boxes = &walk->form->boxes;
    const xfi_levels *levels = &boxes->levels;
    xfi_answer answers[XFI_INDEX_LEVELS];
    int64_t i = from, width = 1; /* entries under a node */
    if (i >= levels->count[0] || boxes->step[i] >= limit)
        return i;
    int in_range = XFI_NAME(gather)(walk), level = 0;
    for (int l = 0; l < levels->n; l++)
        answers[l].group = -1;
    while (i < levels->count[level] && walk->work <= walk->form->budget) {
        if (boxes->step[i * width] >= limit)
            return i * width;
        walk->work++;
        int active = (level > 0 && !in_range) || XFI_NAME(may_act)(walk, answers, level, i);
        if (active && level == 0)
            return i;
        if (active) {
            level--;
            i *= XFI_INDEX_FAN;
            width /= XFI_INDEX_FAN;
            continue;
        }
        i++;
        while (i % XFI_INDEX_FAN == 0 && level + 1 < levels->n) {
            i /= XFI_INDEX_FAN;
            width *= XFI_INDEX_FAN;
            level++;
        }
    }
    return levels->count[0];
}

static int XFI_NAME(box_changed)(const XFI_NAME(walk) * walk) {
    const xfi_box_index *boxes = &walk->form->boxes;
    int changed = 0;
    for (int64_t c = 0; c < boxes->n_coordinates; c++)
        changed |= walk->changed[boxes->coordinates[c]];
    return changed;
}

static int64_t XFI_NAME(ask_thresholds)(XFI_NAME(walk) * walk, int64_t t, int64_t s) {
    const xfi_threshold_index *index = &walk->form->thresholds[t];
    int64_t count = index->levels.count[0];
    double x = (double)walk->x[index->coordinate];
    walk->from[t] = xfi_first_at_step(index->step, walk->from[t], count, s);
    int64_t e = xfi_threshold_index_next(index, x, walk->from[t], &walk->work);
    return e < count ? index->step[e] : walk->form->n_steps;
}

static int64_t XFI_NAME(ask_boxes)(XFI_NAME(walk) * walk, int64_t s, int64_t limit) {
    const xfi_box_index *boxes = &walk->form->boxes;
    int64_t count = boxes->levels.count[0], *from = &walk->from[walk->form->n_thresholds];
    *from = xfi_first_at_step(boxes->step, *from, count, s);
    int64_t e = XFI_NAME(next_boxed)(walk, *from, limit);
    return e < count ? boxes->step[e] : walk->form->n_steps;
}

/* Ask the indexes whose coordinates changed, or whose proposal is behind, for a step from `s` on.
 * The box index, which costs most, is asked last and only about the steps before those proposed. A
 * step that is proposed need not do anything; one that does is never passed over. Returns the first
 * that any of them, or a layer for all tokens, proposes. */
static int64_t XFI_NAME(find_step)(XFI_NAME(walk) * walk, int64_t s) {
    const xfi_sparse *form = walk->form;
    int64_t best = form->next_always[s], n = form->n_thresholds;
    for (int64_t t = 0; t < n; t++) {
        if (walk->next[t] < s || walk->changed[form->thresholds[t].coordinate])
            walk->next[t] = XFI_NAME(ask_thresholds)(walk, t, s);
        best = walk->next[t] < best ? walk->next[t] : best;
    }
    if (form->boxes.levels.n > 0) {
        if (walk->next[n] < s || XFI_NAME(box_changed)(walk))
            walk->next[n] = XFI_NAME(ask_boxes)(walk, s, best);
        best = walk->next[n] < best ? walk->next[n] : best;
    }
    memset(walk->changed, 0, (size_t)walk->weights->d);
    return best;
}

/* All steps on one token. Returns 0 if the tile is to be given back. */
static int XFI_NAME(run_token)(XFI_NAME(walk) * walk) {
    const xfi_sparse *form = walk->form;
    if (!XFI_NAME(look)(walk))
        return 0;
    mark_all(walk->changed, walk->weights->d);
    memset(walk->from, 0, (size_t)(form->n_thresholds + 1) * sizeof *walk->from);
    for (int64_t s = form->start; s < form->n_steps; s++) {
        if (!walk->negative_zero)
            s = XFI_NAME(find_step)(walk, s);
        if (walk->work > form->budget)
            return 0;
        if (s < form->n_steps && !XFI_NAME(take)(walk, s))
            return 0;
    }
    return 1;
}

static int XFI_NAME(run_tile)(xfi_sparse *form, const xfi_weights *weights, REAL *rows, int64_t n,
                              char *scratch, int32_t *visits) {
    XFI_NAME(walk) walk = {.form = form, .weights = weights};
    int64_t d = weights->d, n_indexes = form->n_thresholds + 1;
    REAL *saved = carve(&scratch, n * d, sizeof(REAL));
    walk.visits = visits;
    walk.next = carve(&scratch, n_indexes, sizeof *walk.next);
    walk.from = carve(&scratch, n_indexes, sizeof *walk.from);
    walk.r = carve(&scratch, weights->width, sizeof(REAL));
    walk.boxed = carve(&scratch, form->boxes.n_coordinates, sizeof(REAL));
    walk.changed = carve(&scratch, d, 1);
    memcpy(saved, rows, (size_t)(n * d) * sizeof(REAL));
    for (int64_t i = 0; i < n; i++) {
        walk.x = rows + i * d;
        if (XFI_NAME(run_token)(&walk))
            continue;
        memcpy(rows, saved, (size_t)(n * d) * sizeof(REAL));
        count_tile(form, walk.work > form->budget);
        return 0;
    }
    count_tile(form, 0);
    return 1;
}
