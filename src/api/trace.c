/* xf_trace: the blocks between two moments are a model of their own, whose arrays start further
 * on in those of the whole. Values between blocks are numbers of the model's dtype, so
 * stopping and going on changes no bit. */
#include <exactformer/trace.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

void xf_snapshots_init(xf_snapshots *snapshots) {
    *snapshots = (xf_snapshots){0};
}

void xf_snapshots_clear(xf_snapshots *snapshots) {
    if (snapshots == NULL)
        return;
    xfi_free(snapshots->tokens);
    xfi_free(snapshots->blocks_done);
    xfi_free(snapshots->phase);
    xfi_free(snapshots->x_offsets);
    xf_snapshots_init(snapshots);
}

/* --- which moments ------------------------------------------------------------------- */

static int is_named(const xf_phase *phase, const char *name) {
    return strncmp(phase->name, name, sizeof phase->name) == 0;
}

static int is_repeated(const xf_model *model, int64_t i) {
    for (int64_t k = 0; k < i; k++)
        if (is_named(&model->phases[k], model->phases[i].name))
            return 1;
    return 0;
}

/* The names of the model's first phases, each once. */
static void list_phases(char *out, size_t size, const xf_model *model) {
    enum { MOST = 24 };
    size_t used = 0;
    out[0] = '\0';
    for (int64_t i = 0; i < model->n_phases && i < MOST && used < size; i++)
        if (!is_repeated(model, i))
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "",
                                     model->phases[i].name);
}

static xf_status refuse_phase(const xf_model *model, const char *name, xf_error *error) {
    char shown[40], names[480];
    xfi_printable(shown, sizeof shown, name);
    list_phases(names, sizeof names, model);
    if (model->n_phases == 0)
        return xfi_fail(error, XF_ERR_ARGUMENT,
                        "there is no phase '%s': the model does not say what its phases are",
                        shown);
    return xfi_fail(error, XF_ERR_ARGUMENT, "the model has no phase '%s': use one of %s", shown,
                    names);
}

/* Mark first, first + every, ..., and the end. */
static void mark_range(unsigned char *kept, int64_t first, int64_t count, int64_t every) {
    for (int64_t done = 0; done < count; done += every <= count - done ? every : count - done)
        kept[first + done] = 1;
    kept[first + count] = 1;
}

/* kept[b] for b = 0 .. L: are the tokens behind b blocks kept? */
static xf_status mark(unsigned char *kept, const xf_model *model, const xf_trace_options *options,
                      xf_error *error) {
    int64_t every = options->every > 0 ? options->every : 1;
    int found = 0;
    if (options->phase == NULL) {
        mark_range(kept, 0, model->n_blocks, every);
        return XF_OK;
    }
    for (int64_t i = 0; i < model->n_phases; i++) {
        const xf_phase *phase = &model->phases[i];
        if (!is_named(phase, options->phase))
            continue;
        mark_range(kept, phase->first, phase->count, every);
        found = 1;
    }
    return found ? XF_OK : refuse_phase(model, options->phase, error);
}

/* The phase of the last of `blocks_done` blocks; *at moves on from call to call. */
static const char *phase_of(const xf_model *model, int64_t blocks_done, int64_t *at) {
    if (blocks_done == 0)
        return "input";
    while (*at < model->n_phases &&
           model->phases[*at].first + model->phases[*at].count < blocks_done)
        ++*at;
    return *at < model->n_phases ? model->phases[*at].name : "";
}

/* --- room ------------------------------------------------------------------------------ */

static xf_status check_size(const xf_snapshots *s, int64_t max_bytes, xf_error *error) {
    double limit = (double)(max_bytes > 0 ? max_bytes : XF_TRACE_MAX_BYTES);
    double bytes = 8.0 * (double)s->n_snapshots * (double)s->n_tokens * (double)s->d;
    if (bytes <= limit)
        return XF_OK;
    return xfi_fail(error, XF_ERR_ARGUMENT,
                    "%lld times %lld tokens of dimension %lld would take %.3g GB, more than %.3g "
                    "GB: keep fewer with --every, or one phase with --phase",
                    (long long)s->n_snapshots, (long long)s->n_tokens, (long long)s->d, bytes / 1e9,
                    limit / 1e9);
}

static xf_status take_room(xf_snapshots *s, xf_error *error) {
    int64_t S = s->n_snapshots, row = 0;
    s->blocks_done = xfi_calloc(S, sizeof *s->blocks_done);
    s->phase = xfi_calloc(S, sizeof *s->phase);
    s->x_offsets = xfi_calloc(s->n_sequences + 1, sizeof *s->x_offsets);
    if (!__builtin_mul_overflow(s->n_tokens, s->d, &row))
        s->tokens = xfi_calloc2(S, row, sizeof *s->tokens);
    int ok =
        s->tokens != NULL && s->blocks_done != NULL && s->phase != NULL && s->x_offsets != NULL;
    return ok ? XF_OK : xfi_fail_memory(error);
}

static xf_status lay_out(xf_snapshots *out, const unsigned char *kept, const xf_model *model,
                         const xf_dataset *input, int64_t max_bytes, xf_error *error) {
    out->n_sequences = input->n_sequences;
    out->n_tokens = input->n_tokens;
    out->d = input->d;
    for (int64_t done = 0; done <= model->n_blocks; done++)
        out->n_snapshots += kept[done];
    XFI_TRY(check_size(out, max_bytes, error));
    XFI_TRY(take_room(out, error));
    memcpy(out->x_offsets, input->x_offsets, (size_t)(input->n_sequences + 1) * sizeof(int64_t));
    int64_t s = 0, at = 0;
    for (int64_t done = 0; done <= model->n_blocks; done++) {
        if (!kept[done])
            continue;
        snprintf(out->phase[s], sizeof out->phase[s], "%s", phase_of(model, done, &at));
        out->blocks_done[s++] = done;
    }
    return XF_OK;
}

/* --- running --------------------------------------------------------------------------- */

static xf_low_rank matrix_from(const xf_low_rank *m, int64_t first, int64_t d) {
    return (xf_low_rank){.alpha = m->alpha + first,
                         .left = m->left + first * d,
                         .right = m->right + first * d,
                         .full = m->full != NULL ? m->full + first * d * d : NULL};
}

/* Blocks first .. last-1 as a model that borrows the arrays of the whole; not to be cleared. */
static xf_model view_of(const xf_model *model, int64_t first, int64_t last) {
    int64_t d = model->d, w = model->width;
    xf_model view = *model;
    view.n_blocks = last - first;
    view.ff_eta += first;
    view.ff_W += first * d * w;
    view.ff_U += first * w * d;
    view.ff_b += first * w;
    view.sa_rho += first;
    view.sa_A = matrix_from(&model->sa_A, first, d);
    view.sa_V = matrix_from(&model->sa_V, first, d);
    return view;
}

/* Progress of a part seen as progress of the whole. */
typedef struct share {
    const xf_run_options *options;
    double start, width;
} share;

static int report_share(void *context, const char *phase, double done) {
    const share *s = context;
    (void)phase;
    return s->options->progress(s->options->progress_context, "trace", s->start + s->width * done);
}

/* out [T][d] = the tokens x [T][d] after blocks first .. last-1. */
static xf_status run_blocks(double *out, double *x, const xf_model *model, int64_t first,
                            int64_t last, const xf_dataset *input, const xf_run_options *options,
                            xf_error *error) {
    const double total = (double)model->n_blocks;
    share part = {options, (double)first / total, (double)(last - first) / total};
    xf_run_options run = *options;
    xf_model blocks = view_of(model, first, last);
    xf_dataset tokens = *input;
    tokens.x = x;
    if (options->progress != NULL) {
        run.progress = report_share;
        run.progress_context = &part;
    }
    return xf_run(out, &blocks, &tokens, &run, error);
}

/* The first moment comes from the input, every other one from the moment before. */
static xf_status fill(xf_snapshots *out, const xf_model *model, const xf_dataset *input,
                      const xf_run_options *options, xf_error *error) {
    int64_t size = out->n_tokens * out->d, done = 0;
    double *x = input->x;
    for (int64_t s = 0; s < out->n_snapshots; s++) {
        double *next = out->tokens + s * size;
        XFI_TRY(run_blocks(next, x, model, done, out->blocks_done[s], input, options, error));
        done = out->blocks_done[s];
        x = next;
    }
    return XF_OK;
}

static xf_status trace(xf_snapshots *out, const xf_model *model, const xf_dataset *input,
                       const xf_trace_options *options, xf_error *error) {
    unsigned char *kept = xfi_calloc(model->n_blocks + 1, 1);
    if (kept == NULL)
        return xfi_fail_memory(error);
    xf_status status = mark(kept, model, options, error);
    if (status == XF_OK)
        status = lay_out(out, kept, model, input, options->max_bytes, error);
    xfi_free(kept);
    return status == XF_OK ? fill(out, model, input, &options->run, error) : status;
}

xf_status xf_trace(xf_snapshots *out, const xf_model *model, const xf_dataset *input,
                   const xf_trace_options *options, xf_error *error) {
    static const xf_trace_options defaults = {0};
    xf_snapshots_init(out);
    xfi_error_clear(error);
    options = options != NULL ? options : &defaults;
    if (options->every < 0)
        return xfi_fail(error, XF_ERR_ARGUMENT, "every must not be negative, got %lld",
                        (long long)options->every);
    if (model->d != input->d)
        return xfi_fail(error, XF_ERR_ARGUMENT,
                        "the model has dimension %lld, the data set has dimension %lld",
                        (long long)model->d, (long long)input->d);
    xf_status status = trace(out, model, input, options, error);
    if (status != XF_OK)
        xf_snapshots_clear(out);
    return status;
}
