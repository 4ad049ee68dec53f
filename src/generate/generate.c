/* The frame around the kinds: sizes, drawing again on a clash, scale and grid.
 *
 * Invariant: sequence j is complete, with distinct tokens and a set that no earlier
 * sequence has, before sequence j + 1 begins. */
#include "generate/generator.h"

#include "base/alloc.h"
#include "base/error.h"
#include "generate/distinct.h"

#include <math.h>

/* Streams of random numbers, so that one choice does not shift another. */
enum { STREAM_SIZES = 1, STREAM_INPUTS, STREAM_TARGETS, STREAM_VOCABULARY, STREAM_POOL };

/* Tries for one sequence; a token that cannot be found costs many of them. */
enum { TRIES_PER_SEQUENCE = 10000, TRIES_PER_LOST_TOKEN = 500, TRIES_PER_TOKEN = 1000 };

enum { SIZE_MAX_EACH = INT32_MAX };

/* Nearest multiple of the grid's unit at v; binary16 saturates. */
static double round_f16(double v) {
    double limit = 65504.0;
    if (fabs(v) > limit)
        return copysign(limit, v);
    int exponent = v == 0.0 ? 0 : ilogb(v);
    double unit = ldexp(1.0, (exponent < -14 ? -14 : exponent) - 10);
    return rint(v / unit) * unit;
}

/* To the grid, and without negative zeros. */
static double on_grid(double v, xf_grid grid) {
    switch (grid) {
    case XF_GRID_F32:
        return (double)(float)v + 0.0;
    case XF_GRID_F16:
        return round_f16(v) + 0.0;
    case XF_GRID_INTEGER:
        return rint(v) + 0.0;
    case XF_GRID_FULL:
        break;
    }
    return v + 0.0;
}

/* How raw values become final ones. */
typedef struct finish {
    double scale, offset;
    xf_grid grid;
} finish;

/* Returns 0 if a value is not finite. */
static int finish_token(double *out, const double *raw, int64_t d, const finish *how) {
    int ok = 1;
    for (int64_t c = 0; c < d; c++) {
        out[c] = on_grid(how->scale * raw[c] + how->offset, how->grid);
        ok &= isfinite(out[c]) != 0;
    }
    return ok;
}

/* Draw `count` tokens, distinct in their final form, into raw [count][d] and
 * final [count][d] (which may be the same). Returns 0 if one could not be found. */
static int draw_distinct(xfi_generator *generator, xfi_token_fn draw, int64_t j, int64_t count,
                         double *raw, double *final, const finish *how, xfi_hash_set *seen) {
    int64_t d = generator->options.d;
    xfi_hash_set_empty(seen);
    for (int64_t i = 0; i < count; i++) {
        int64_t tries = TRIES_PER_TOKEN + 64 * count;
        int found = 0;
        while (!found && tries-- > 0) {
            draw(generator, j, i, raw);
            found = finish_token(final + i * d, raw + i * d, d, how) &&
                    xfi_hash_set_add(seen, xfi_hash_token(final + i * d, d));
        }
        if (!found)
            return 0;
    }
    return 1;
}

static finish input_finish(const xfi_generator *generator) {
    const xf_generate_options *o = &generator->options;
    return (finish){o->scale, o->offset, o->input_grid};
}

static finish target_finish(const xfi_generator *generator) {
    return (finish){1.0, 0.0, generator->options.grid};
}

static xf_status fail_sequence(const xfi_generator *generator, int64_t j, const char *what,
                               xf_error *error) {
    return xfi_fail_at(error, XF_ERR_ARGUMENT, j, -1,
                       "kind '%s': found no new %s for sequence %lld of %lld; ask for fewer or for "
                       "a finer grid or larger scale",
                       generator->kind->name, what, (long long)j,
                       (long long)generator->options.n_sequences);
}

static xf_status draw_inputs(xfi_generator *generator, int64_t j, xfi_hash_set *tokens,
                             xfi_hash_set *sets, xf_error *error) {
    xf_dataset *data = generator->data;
    int64_t first = data->x_offsets[j] * data->d;
    int64_t n = data->x_offsets[j + 1] - data->x_offsets[j];
    finish how = input_finish(generator);
    const char *missing = "input";
    for (int64_t tries = TRIES_PER_SEQUENCE; tries > 0;) {
        if (!draw_distinct(generator, generator->kind->input, j, n, generator->raw + first,
                           data->x + first, &how, tokens)) {
            tries -= TRIES_PER_LOST_TOKEN;
            missing = "token";
        } else if (xfi_hash_set_add(sets, xfi_hash_tokens(data->x + first, n, data->d))) {
            return XF_OK;
        } else {
            tries--;
            missing = "set of tokens";
        }
    }
    return fail_sequence(generator, j, missing, error);
}

static xf_status draw_targets(xfi_generator *generator, int64_t j, xfi_hash_set *tokens,
                              xf_error *error) {
    xf_dataset *data = generator->data;
    double *y = data->y + data->y_offsets[j] * data->d;
    int64_t m = data->y_offsets[j + 1] - data->y_offsets[j];
    finish how = target_finish(generator);
    if (!draw_distinct(generator, generator->kind->target, j, m, y, y, &how, tokens))
        return fail_sequence(generator, j, "target", error);
    return XF_OK;
}

/* Raw tokens whose final forms are distinct. */
static xf_status draw_vocabulary(xfi_generator *generator, xfi_hash_set *tokens, xf_error *error) {
    const xf_generate_options *o = &generator->options;
    finish how = input_finish(generator);
    double *final = xfi_calloc2(o->vocabulary, o->d, sizeof *final);
    generator->vocabulary = xfi_calloc2(o->vocabulary, o->d, sizeof *final);
    xf_status status = XF_OK;
    xfi_rng_seed(&generator->input_rng, o->seed, STREAM_VOCABULARY);
    if (final == NULL || generator->vocabulary == NULL)
        status = xfi_fail_memory(error);
    else if (!draw_distinct(generator, xfi_input_gaussian, 0, o->vocabulary, generator->vocabulary,
                            final, &how, tokens))
        status = fail_sequence(generator, 0, "token of the vocabulary", error);
    xfi_free(final);
    return status;
}

static xf_status draw_pool(xfi_generator *generator, xfi_hash_set *tokens, xf_error *error) {
    finish how = target_finish(generator);
    generator->pool = xfi_calloc2(generator->n_pool, generator->options.d, sizeof(double));
    if (generator->pool == NULL)
        return xfi_fail_memory(error);
    xfi_rng_seed(&generator->target_rng, generator->options.seed, STREAM_POOL);
    if (!draw_distinct(generator, xfi_target_gaussian, 0, generator->n_pool, generator->pool,
                       generator->pool, &how, tokens))
        return fail_sequence(generator, 0, "target of the pool", error);
    return XF_OK;
}

static xf_status draw_all(xfi_generator *generator, xfi_hash_set *tokens, xfi_hash_set *sets,
                          xf_error *error) {
    const xf_generate_options *o = &generator->options;
    if (generator->kind->flags & XFI_KIND_VOCABULARY)
        XFI_TRY(draw_vocabulary(generator, tokens, error));
    if (generator->kind->flags & XFI_KIND_POOL)
        XFI_TRY(draw_pool(generator, tokens, error));
    xfi_rng_seed(&generator->input_rng, o->seed, STREAM_INPUTS);
    xfi_rng_seed(&generator->target_rng, o->seed, STREAM_TARGETS);
    for (int64_t j = 0; j < o->n_sequences; j++)
        XFI_TRY(draw_inputs(generator, j, tokens, sets, error));
    for (int64_t j = 0; j < o->n_sequences; j++)
        XFI_TRY(draw_targets(generator, j, tokens, error));
    return XF_OK;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* The number of rows and their offsets: n_j first, then m_j <= n_j. */
static xf_status draw_sizes(xfi_generator *generator, xf_error *error) {
    const xf_generate_options *o = &generator->options;
    const xfi_kind *kind = generator->kind;
    xf_dataset *data = generator->data;
    int64_t n = o->n_sequences;
    data->x_offsets = xfi_calloc(n + 1, sizeof *data->x_offsets);
    data->y_offsets = xfi_calloc(n + 1, sizeof *data->y_offsets);
    if (data->x_offsets == NULL || data->y_offsets == NULL)
        return xfi_fail_memory(error);
    xfi_rng_seed(&generator->size_rng, o->seed, STREAM_SIZES);
    for (int64_t j = 0; j < n; j++) {
        int64_t n_j = kind->size
                          ? kind->size(generator, j)
                          : o->n_min + xfi_rng_below(&generator->size_rng, o->n_max - o->n_min + 1);
        int64_t low = least(o->m_min, n_j), high = least(o->m_max, n_j);
        int64_t m_j = low + xfi_rng_below(&generator->size_rng, high - low + 1);
        if (kind->flags & XFI_KIND_M_IS_N)
            m_j = n_j;
        data->x_offsets[j + 1] = data->x_offsets[j] + n_j;
        data->y_offsets[j + 1] = data->y_offsets[j] + m_j;
    }
    data->n_tokens = data->x_offsets[n];
    data->n_targets = data->y_offsets[n];
    return XF_OK;
}

static int64_t longest(const xfi_generator *generator) {
    const xf_generate_options *o = &generator->options;
    return most(most(o->n_max, generator->n_pool), o->vocabulary);
}

static xf_status fill(xfi_generator *generator, xf_error *error) {
    const xf_generate_options *o = &generator->options;
    xf_dataset *data = generator->data;
    data->n_sequences = o->n_sequences;
    data->d = o->d;
    XFI_TRY(draw_sizes(generator, error));
    data->x = xfi_calloc2(data->n_tokens, o->d, sizeof *data->x);
    data->y = xfi_calloc2(data->n_targets, o->d, sizeof *data->y);
    generator->raw = xfi_calloc2(data->n_tokens, o->d, sizeof *generator->raw);
    xfi_hash_set tokens = {0}, sets = {0};
    xf_status status = xfi_fail_memory(error);
    if (data->x != NULL && data->y != NULL && generator->raw != NULL &&
        xfi_hash_set_init(&tokens, longest(generator)) && xfi_hash_set_init(&sets, o->n_sequences))
        status = draw_all(generator, &tokens, &sets, error);
    xfi_hash_set_clear(&tokens);
    xfi_hash_set_clear(&sets);
    return status;
}

static xf_status check_size(int64_t value, const char *name, xf_error *error) {
    if (value >= 0 && value <= SIZE_MAX_EACH)
        return XF_OK;
    return xfi_fail(error, XF_ERR_ARGUMENT, "%s is %lld, outside 0 .. %lld (0: the kind's default)",
                    name, (long long)value, (long long)SIZE_MAX_EACH);
}

static int is_grid(xf_grid grid) {
    return (int)grid >= XF_GRID_FULL && (int)grid <= XF_GRID_INTEGER;
}

static xf_status check_given(const xf_generate_options *given, xf_error *error) {
    XFI_TRY(check_size(given->n_sequences, "the number of sequences", error));
    XFI_TRY(check_size(given->d, "the dimension", error));
    XFI_TRY(check_size(given->n_min, "the smallest number of tokens", error));
    XFI_TRY(check_size(given->n_max, "the largest number of tokens", error));
    XFI_TRY(check_size(given->m_min, "the smallest number of targets", error));
    XFI_TRY(check_size(given->m_max, "the largest number of targets", error));
    XFI_TRY(check_size(given->vocabulary, "the vocabulary", error));
    if (given->n_max != 0 && given->n_min > given->n_max)
        return xfi_fail(error, XF_ERR_ARGUMENT,
                        "the smallest number of tokens exceeds the largest");
    if (given->m_max != 0 && given->m_min > given->m_max)
        return xfi_fail(error, XF_ERR_ARGUMENT,
                        "the smallest number of targets exceeds the largest");
    if (!isfinite(given->scale) || !isfinite(given->offset))
        return xfi_fail(error, XF_ERR_ARGUMENT, "scale and offset must be finite");
    if (!is_grid(given->grid) || !is_grid(given->input_grid))
        return xfi_fail(error, XF_ERR_ARGUMENT, "unknown grid");
    return XF_OK;
}

/* A range of which both ends may be left to the default. */
static void resolve_range(int64_t *low, int64_t *high, int64_t default_low, int64_t default_high) {
    if (*low == 0)
        *low = *high == 0 ? default_low : least(default_low, *high);
    if (*high == 0)
        *high = most(default_high, *low);
}

static xf_status resolve(xfi_generator *generator, const xf_generate_options *given,
                         xf_error *error) {
    const xfi_kind *kind = generator->kind;
    xf_generate_options *o = &generator->options;
    *o = *given;
    o->n_sequences = given->n_sequences ? given->n_sequences : kind->n_sequences;
    o->d = given->d ? given->d : 4;
    o->scale = given->scale != 0.0 ? given->scale : 1.0;
    resolve_range(&o->n_min, &o->n_max, kind->n_min, kind->n_max);
    resolve_range(&o->m_min, &o->m_max, kind->m_min, kind->m_max);
    generator->n_pool = most(8, 2 * o->m_max);
    if (kind->sizes != NULL)
        XFI_TRY(kind->sizes(generator, given, error));
    if (given->m_min > o->n_max)
        return xfi_fail(error, XF_ERR_ARGUMENT,
                        "%lld targets a sequence do not fit into at most %lld tokens",
                        (long long)given->m_min, (long long)o->n_max);
    o->m_max = least(o->m_max, o->n_max);
    o->m_min = least(o->m_min, o->m_max);
    return XF_OK;
}

static xf_status run(xfi_generator *generator, const xf_generate_options *given, xf_error *error) {
    XFI_TRY(check_given(given, error));
    XFI_TRY(resolve(generator, given, error));
    XFI_TRY(fill(generator, error));
    return xf_dataset_check(generator->data, error);
}

xf_status xf_generate(xf_dataset *out, const xf_generate_options *options, xf_error *error) {
    xf_dataset_init(out);
    xfi_generator generator = {.data = out};
    if (options == NULL || (generator.kind = xfi_kind_find(options->kind)) == NULL)
        return xfi_fail(error, XF_ERR_ARGUMENT, "unknown kind of data '%s'",
                        options && options->kind ? options->kind : "");
    xf_status status = run(&generator, options, error);
    xfi_free(generator.raw);
    xfi_free(generator.vocabulary);
    xfi_free(generator.pool);
    if (status != XF_OK)
        xf_dataset_clear(out);
    return status;
}
