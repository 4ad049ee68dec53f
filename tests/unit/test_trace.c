/* Traces: the moments asked for, the bits of a run in one piece, the file, refusals. */
#include "unit/file_support.h"

#include "core/model_shape.h"
#include "support/toy.h"

#include <exactformer/exactformer.h>

#include <math.h>

static double *run(const xf_model *model, const xf_dataset *input, const xf_run_options *options) {
    double *out = xft_toy_output(input);
    assert_int_equal(xf_run(out, model, input, options, NULL), XF_OK);
    return out;
}

static void trace(xf_snapshots *out, const xf_model *model, const xf_dataset *input,
                  const xf_trace_options *options) {
    xf_error error = {0};
    if (xf_trace(out, model, input, options, &error) != XF_OK)
        fail_msg("%s", error.message);
}

static int64_t size_of(const xf_snapshots *s) {
    return s->n_tokens * s->d;
}

static const double *last_of(const xf_snapshots *s) {
    return s->tokens + (s->n_snapshots - 1) * size_of(s);
}

/* The moment after `count` blocks is the output of a model that has no others. */
static void check_moment(const xf_snapshots *s, int64_t moment, const xf_model *model,
                         const xf_dataset *input, const xf_run_options *options) {
    xf_model head = *model;
    head.n_blocks = s->blocks_done[moment];
    if (head.n_blocks == 0)
        return;
    double *out = run(&head, input, options);
    assert_true(xft_same_values(out, s->tokens + moment * size_of(s), size_of(s)));
    xfi_free(out);
}

static void check_toy(const xft_toy *toy, const xf_run_options *options) {
    xf_model model;
    xf_dataset input;
    xf_snapshots s;
    xf_trace_options how = {.every = 1 + (int64_t)(toy->seed % 3), .run = *options};
    xft_toy_model(&model, toy);
    xft_toy_inputs(&input, toy, 6, 5);
    trace(&s, &model, &input, &how);
    assert_int_equal(s.blocks_done[0], 0);
    assert_int_equal(s.blocks_done[s.n_snapshots - 1], model.n_blocks);
    assert_memory_equal(s.x_offsets, input.x_offsets, 7 * sizeof(int64_t));
    for (int64_t i = 0; i < s.n_snapshots; i++)
        check_moment(&s, i, &model, &input, options);
    xf_snapshots_clear(&s);
    xft_toy_dataset_clear(&input);
    xf_model_clear(&model);
}

static void same_bits_as_a_run(void **state) {
    (void)state;
    static const int matrices[] = {0, XFT_ALPHA, XFT_RANK_ONE, XFT_FULL};
    for (int bits = 0; bits < 32; bits++)
        for (int a = 0; a < 4; a++) {
            const xft_toy toy = {.n_blocks = 7,
                                 .d = 1 + bits % 5,
                                 .width = bits % 4,
                                 .dtype = (xf_dtype)(bits & 1),
                                 .attention = (xf_attention)(bits >> 1 & 1),
                                 .order = (xf_order)(bits >> 2 & 1),
                                 .causal = bits >> 3 & 1,
                                 .A = matrices[a],
                                 .V = matrices[(a + bits) % 4],
                                 .seed = (uint64_t)(4 * bits + a)};
            const xf_run_options run = {.engine = (xf_engine)((bits >> 4) % 3),
                                        .threads = 1 + a % 2};
            check_toy(&toy, &run);
        }
}

static void other_attention_and_tau(void **state) {
    (void)state;
    const xft_toy toy = {.n_blocks = 5, .d = 3, .width = 3, .A = XFT_ALPHA, .V = XFT_FULL};
    const xf_run_options warm = {.override_attention = 1, .attention = XF_SOFTMAX, .tau = 0.5};
    check_toy(&toy, &warm);
}

/* Three phases, one of them in two pieces: a a b b b c a. */
static void make_phases(xf_model *model, xf_dataset *input) {
    const xft_toy toy = {.n_blocks = 7, .d = 2, .width = 2, .A = XFT_ALPHA, .V = XFT_ALPHA};
    xft_toy_model(model, &toy);
    xft_toy_inputs(input, &toy, 3, 4);
    assert_int_equal(xfi_model_add_phase(model, "a", 2, NULL), XF_OK);
    assert_int_equal(xfi_model_add_phase(model, "fifteen-letters", 3, NULL), XF_OK);
    assert_int_equal(xfi_model_add_phase(model, "c", 1, NULL), XF_OK);
    assert_int_equal(xfi_model_add_phase(model, "a", 1, NULL), XF_OK);
}

/* blocks_done as digits and the first letters of the phases. */
static void assert_moments(int64_t every, const char *phase, const char *done, const char *phases) {
    xf_model model;
    xf_dataset input;
    xf_snapshots s, whole;
    const xf_trace_options options = {.every = every, .phase = phase};
    make_phases(&model, &input);
    trace(&s, &model, &input, &options);
    trace(&whole, &model, &input, NULL);
    assert_int_equal(s.n_snapshots, strlen(done));
    for (int64_t i = 0; i < s.n_snapshots; i++) {
        int64_t b = done[i] - '0';
        assert_int_equal(s.blocks_done[i], b);
        assert_int_equal(s.phase[i][0], phases[i]);
        assert_true(xft_same_values(s.tokens + i * size_of(&s), whole.tokens + b * size_of(&s),
                                    size_of(&s)));
    }
    xf_snapshots_clear(&s);
    xf_snapshots_clear(&whole);
    xft_toy_dataset_clear(&input);
    xf_model_clear(&model);
}

static void moments(void **state) {
    (void)state;
    assert_moments(0, NULL, "01234567", "iaafffca");
    assert_moments(1, NULL, "01234567", "iaafffca");
    assert_moments(3, NULL, "0367", "ifca");
    assert_moments(7, NULL, "07", "ia");
    assert_moments(INT64_MAX, NULL, "07", "ia");
    assert_moments(1, "a", "01267", "iaaca");
    assert_moments(2, "a", "0267", "iaca");
    assert_moments(2, "fifteen-letters", "245", "aff");
    assert_moments(1, "c", "56", "fc");
}

static void a_model_without_phases(void **state) {
    (void)state;
    const xft_toy toy = {.n_blocks = 2, .d = 2, .width = 1};
    xf_model model;
    xf_dataset input;
    xf_snapshots s;
    xf_error error;
    const xf_trace_options options = {.phase = "write"};
    xft_toy_model(&model, &toy);
    xft_toy_inputs(&input, &toy, 2, 3);
    trace(&s, &model, &input, NULL);
    assert_string_equal(s.phase[0], "input");
    assert_string_equal(s.phase[2], "");
    xf_snapshots_clear(&s);
    assert_int_equal(xf_trace(&s, &model, &input, &options, &error), XF_ERR_ARGUMENT);
    assert_contains(error.message, "does not say what its phases are");
    xft_toy_dataset_clear(&input);
    xf_model_clear(&model);
}

/* The input in the model's own precision comes first; what overflows there goes on. */
static void narrow_models(void **state) {
    (void)state;
    xf_model model;
    xf_snapshots s;
    xf_error error;
    const int64_t offsets[2] = {0, 1};
    double x[1] = {0.1};
    xf_dataset input = {.n_sequences = 1, .d = 1, .n_tokens = 1, .x = x};
    input.x_offsets = (int64_t *)(uintptr_t)offsets;
    assert_int_equal(xf_model_new(&model, 2, 1, 0, NULL), XF_OK);
    model.dtype = XF_F32;
    model.ff_eta[0] = 0x1p127;
    model.ff_eta[1] = 0x1p10;
    trace(&s, &model, &input, NULL);
    assert_true(s.tokens[0] == (double)0.1f && isfinite(s.tokens[1]) && isinf(s.tokens[2]));
    xf_snapshots_clear(&s);
    model.ff_eta[0] = 0x1p127f;
    x[0] = 16;
    trace(&s, &model, &input, NULL);
    double *out = run(&model, &input, NULL);
    assert_true(isinf(s.tokens[1]) && xft_same_values(out, last_of(&s), 1));
    xfi_free(out);
    xf_snapshots_clear(&s);
    x[0] = 1e39;
    assert_int_equal(xf_trace(&s, &model, &input, NULL, &error), XF_ERR_DATA);
    assert_contains(error.message, "beyond the range of binary32");
    xf_model_clear(&model);
}

static void assert_refused(const xf_model *model, const xf_dataset *input,
                           const xf_trace_options *options, const char *message) {
    xf_snapshots s;
    xf_error error;
    assert_int_equal(xf_trace(&s, model, input, options, &error), XF_ERR_ARGUMENT);
    assert_contains(error.message, message);
    assert_null(s.tokens);
    assert_int_equal(xf_trace(&s, model, input, options, NULL), XF_ERR_ARGUMENT);
}

static void refusals(void **state) {
    (void)state;
    xf_model model;
    xf_dataset input;
    make_phases(&model, &input);
    assert_refused(&model, &input, &(xf_trace_options){.phase = "b\n"},
                   "the model has no phase 'b?': use one of a, fifteen-letters, c");
    assert_refused(&model, &input, &(xf_trace_options){.every = -1}, "every must not be negative");
    assert_refused(&model, &input, &(xf_trace_options){.run.threads = -1}, "threads must not be");
    assert_refused(&model, &input, &(xf_trace_options){.run.tau = -1}, "tau must be");
    int64_t bytes = 8 * 8 * input.n_tokens * input.d;
    assert_refused(&model, &input, &(xf_trace_options){.max_bytes = bytes - 1},
                   "keep fewer with --every, or one phase with --phase");
    xf_snapshots s;
    trace(&s, &model, &input, &(xf_trace_options){.max_bytes = bytes});
    xf_snapshots_clear(&s);
    input.d = 3;
    assert_refused(&model, &input, NULL, "the model has dimension 2, the data set has dimension 3");
    input.d = 2;
    xft_toy_dataset_clear(&input);
    xf_model_clear(&model);
}

/* Counted before anything is allocated or computed: these sizes do not exist. */
static void absurd_sizes(void **state) {
    (void)state;
    xf_model model;
    xf_dataset input;
    make_phases(&model, &input);
    int64_t n = input.n_tokens;
    input.n_tokens = INT64_MAX / 2;
    assert_refused(&model, &input, NULL, "would take");
    input.n_tokens = n;
    xft_toy_dataset_clear(&input);
    xf_model_clear(&model);
}

typedef struct watch {
    double last;
    int stop;
} watch;

static int watch_progress(void *context, const char *phase, double done) {
    watch *w = context;
    assert_string_equal(phase, "trace");
    assert_true(done >= w->last && done <= 1.0);
    w->last = done;
    return w->stop;
}

static void progress(void **state) {
    (void)state;
    xf_model model;
    xf_dataset input;
    xf_snapshots s;
    xf_error error;
    watch w = {0};
    xf_trace_options options = {.run = {.progress = watch_progress, .progress_context = &w}};
    make_phases(&model, &input);
    trace(&s, &model, &input, &options);
    assert_true(w.last == 1.0);
    xf_snapshots_clear(&s);
    w = (watch){.stop = 1};
    assert_int_equal(xf_trace(&s, &model, &input, &options, &error), XF_ERR_CANCELLED);
    assert_null(s.tokens);
    xft_toy_dataset_clear(&input);
    xf_model_clear(&model);
}

static void put_member(byte_buffer *out, const char *descr, const char *shape, const void *data,
                       size_t size) {
    char dictionary[128];
    int length = snprintf(dictionary, sizeof dictionary,
                          "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
    int padded = (length + 1 + 10 + 63) / 64 * 64 - 10;
    snprintf(dictionary + length, sizeof dictionary - (size_t)length, "%*s\n", padded - length - 1,
             "");
    make_npy(out, dictionary, data, size);
}

/* Is the member, header and data, in the file as it should be? */
static void assert_member(const char *bytes, size_t size, const byte_buffer *member) {
    for (size_t i = 0; i + member->size <= size; i++)
        if (memcmp(bytes + i, member->data, member->size) == 0)
            return;
    fail_msg("no such member");
}

static void the_file(void **state) {
    (void)state;
    static byte_buffer member;
    xf_model model;
    xf_dataset input;
    xf_snapshots s;
    xf_error error;
    char shape[48];
    size_t size;
    make_phases(&model, &input);
    trace(&s, &model, &input, NULL);
    assert_int_equal(xf_snapshots_save(&s, temp_path("t.npz"), &error), XF_OK);
    char *bytes = read_file(temp_path("t.npz"), &size);
    snprintf(shape, sizeof shape, "(8, %lld, 2)", (long long)s.n_tokens);
    put_member(&member, "<f8", shape, s.tokens, (size_t)(8 * size_of(&s)) * sizeof(double));
    assert_member(bytes, size, &member);
    put_member(&member, "<i8", "(8,)", s.blocks_done, 64);
    assert_member(bytes, size, &member);
    put_member(&member, "|S16", "(8,)", s.phase, 128);
    assert_member(bytes, size, &member);
    put_member(&member, "<i8", "(4,)", s.x_offsets, 32);
    assert_member(bytes, size, &member);
    free(bytes);
    assert_int_equal(xf_snapshots_save(&s, temp_path("again.npz"), &error), XF_OK);
    assert_files_equal(temp_path("t.npz"), temp_path("again.npz"));
    xf_snapshots_clear(&s);
    xft_toy_dataset_clear(&input);
    xf_model_clear(&model);
}

static void saving_fails_cleanly(void **state) {
    (void)state;
    xf_model model;
    xf_dataset input;
    xf_snapshots s;
    xf_error error;
    xf_snapshots_init(&s);
    assert_int_equal(xf_snapshots_save(&s, temp_path("t.npz"), &error), XF_ERR_ARGUMENT);
    make_phases(&model, &input);
    trace(&s, &model, &input, NULL);
    assert_int_equal(xf_snapshots_save(&s, temp_path("t.jsonl"), &error), XF_ERR_ARGUMENT);
    assert_contains(error.message, "t.jsonl: a trace is written as .npz");
    assert_int_equal(xf_snapshots_save(&s, temp_path("t.dat"), &error), XF_ERR_ARGUMENT);
    assert_int_equal(xf_snapshots_save(&s, temp_path("no/t.npz"), &error), XF_ERR_IO);
    assert_int_equal(count_files(), 0);
    xf_snapshots_clear(&s);
    xft_toy_dataset_clear(&input);
    xf_model_clear(&model);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    xf_model model;
    xf_dataset input;
    xf_snapshots s;
    xf_error error;
    make_phases(&model, &input);
    model.dtype = XF_F32;
    xf_status status = XF_ERR_MEMORY;
    for (int64_t k = 0; status != XF_OK; k++) {
        xfi_alloc_limit(k);
        status = xf_trace(&s, &model, &input, NULL, &error);
        if (status == XF_OK)
            status = xf_snapshots_save(&s, temp_path("t.npz"), &error);
        xfi_alloc_limit(-1);
        assert_true(status == XF_OK || status == XF_ERR_MEMORY);
        assert_int_equal(count_files(), status == XF_OK);
        xf_snapshots_clear(&s);
    }
    xft_toy_dataset_clear(&input);
    xf_model_clear(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_as_a_run),
        cmocka_unit_test(other_attention_and_tau),
        cmocka_unit_test(moments),
        cmocka_unit_test(a_model_without_phases),
        cmocka_unit_test(narrow_models),
        cmocka_unit_test(refusals),
        cmocka_unit_test(absurd_sizes),
        cmocka_unit_test(progress),
        FILE_TEST(the_file),
        FILE_TEST(saving_fails_cleanly),
        FILE_TEST(every_allocation_may_fail),
    };
    return RUN_FILE_TESTS(tests);
}
