/* core/agreement.h: processes that were given different things all refuse alike. Here they are
 * threads, each with an xf_peers of its own. */
#include "core/agreement.h"

#include <exactformer/exactformer.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 2, N = 40, LENGTH = 3, D = 4, T = N * LENGTH };

/* Where the threads meet. */
typedef struct meeting {
    pthread_barrier_t barrier;
    char *bytes[SIZE];
    int64_t total[SIZE];
} meeting;

typedef struct process {
    meeting *place;
    xf_peers peers;
    xf_dataset data;
    xf_build_options build;
    xf_model *model; /* NULL: build */
    xf_run_options run;
    xf_status status;
    xf_error error;
} process;

/* Everyone copies the parts of the others. */
static int gather(void *context, void *bytes, const int64_t *starts) {
    process *self = context;
    meeting *place = self->place;
    place->bytes[self->peers.rank] = bytes;
    place->total[self->peers.rank] = starts[SIZE];
    pthread_barrier_wait(&place->barrier);
    int fits = place->total[0] == place->total[1];
    for (int r = 0; r < SIZE && fits; r++)
        if (r != self->peers.rank)
            memcpy((char *)bytes + starts[r], place->bytes[r] + starts[r],
                   (size_t)(starts[r + 1] - starts[r]));
    pthread_barrier_wait(&place->barrier);
    return fits ? 1 : -1;
}

static void *work(void *argument) {
    process *self = argument;
    xf_verify_report report;
    xf_model model;
    if (self->model != NULL) {
        self->status = xf_verify(&report, self->model, &self->data, &self->run, &self->error);
        return NULL;
    }
    self->status = xf_build(&model, &self->data, &self->build, NULL, &self->error);
    xf_model_clear(&model);
    return NULL;
}

static void begin(process pair[SIZE], meeting *place) {
    xf_generate_options options = {
        .kind = "gaussian", .n_sequences = N, .n_min = LENGTH, .n_max = LENGTH, .d = D};
    pthread_barrier_init(&place->barrier, NULL, SIZE);
    for (int r = 0; r < SIZE; r++) {
        pair[r] = (process){.place = place, .peers = {r, SIZE, gather, &pair[r]}};
        assert_int_equal(xf_generate(&pair[r].data, &options, NULL), XF_OK);
        pair[r].build = (xf_build_options){.threads = 1, .peers = &pair[r].peers};
        pair[r].run = (xf_run_options){.threads = 1, .peers = &pair[r].peers};
    }
}

static void run_pair(process pair[SIZE]) {
    pthread_t threads[SIZE];
    for (int r = 0; r < SIZE; r++)
        assert_int_equal(pthread_create(&threads[r], NULL, work, &pair[r]), 0);
    for (int r = 0; r < SIZE; r++)
        assert_int_equal(pthread_join(threads[r], NULL), 0);
}

static void end(process pair[SIZE], meeting *place) {
    for (int r = 0; r < SIZE; r++)
        xf_dataset_clear(&pair[r].data);
    pthread_barrier_destroy(&place->barrier);
}

static void expect_refusal(process pair[SIZE], const char *what) {
    run_pair(pair);
    for (int r = 0; r < SIZE; r++) {
        assert_int_equal(pair[r].status, XF_ERR_ARGUMENT);
        assert_non_null(strstr(pair[r].error.message, what));
    }
}

static void equals_agree(void **state) {
    (void)state;
    process pair[SIZE];
    meeting place;
    begin(pair, &place);
    run_pair(pair);
    assert_int_equal(pair[0].status, XF_OK);
    assert_int_equal(pair[1].status, XF_OK);
    end(pair, &place);
}

static void data_sets_differ(void **state) {
    (void)state;
    for (int what = 0; what < 4; what++) {
        process pair[SIZE];
        meeting place;
        begin(pair, &place);
        xf_dataset *data = &pair[1].data;
        if (what == 0)
            data->x[0] += 1.0;
        else if (what == 1)
            data->x[(T - 1) * D] += 1.0;
        else if (what == 2)
            data->y[data->n_targets / 2 * D] += 1.0;
        else
            data->x_offsets[N / 2]++;
        expect_refusal(pair, "data sets");
        end(pair, &place);
    }
}

static void one_sequence_is_missing(void **state) {
    (void)state;
    process pair[SIZE];
    meeting place;
    begin(pair, &place);
    xf_dataset *data = &pair[1].data;
    data->n_sequences--;
    data->n_tokens = data->x_offsets[N - 1];
    data->n_targets = data->y_offsets[N - 1];
    expect_refusal(pair, "data sets");
    end(pair, &place);
}

static void options_differ(void **state) {
    (void)state;
    for (int what = 0; what < 10; what++) {
        process pair[SIZE];
        meeting place;
        begin(pair, &place);
        xf_build_options *options = &pair[1].build;
        if (what == 0)
            options->seed = 1;
        else if (what == 1)
            options->writer = "sorted";
        else if (what == 2)
            options->front = "plain";
        else if (what == 3)
            options->dtype = XF_F32;
        else if (what == 4)
            options->tau = 0.5;
        else if (what == 5)
            options->attention = XF_SOFTMAX;
        else if (what == 6)
            options->optimise = XF_OPTIMISE_NORM;
        else if (what == 7)
            options->construction = XF_PUBLISHED;
        else if (what == 8)
            options->balanced = 1;
        else
            options->hardmax_only = 1;
        expect_refusal(pair, "options");
        end(pair, &place);
    }
}

static void models_and_evaluations_differ(void **state) {
    (void)state;
    for (int what = 0; what < 4; what++) {
        process pair[SIZE];
        meeting place;
        xf_model models[SIZE];
        begin(pair, &place);
        for (int r = 0; r < SIZE; r++) {
            xf_build_options options = {.threads = 1};
            assert_int_equal(xf_build(&models[r], &pair[r].data, &options, NULL, NULL), XF_OK);
            pair[r].model = &models[r];
        }
        if (what == 0)
            models[1].ff_b[3] = -1.0;
        else if (what == 1)
            models[1].dtype = XF_F32;
        else if (what == 2)
            pair[1].run.engine = XF_ENGINE_DENSE;
        else
            pair[1].run.tau = 0.5;
        expect_refusal(pair, what < 2 ? "models" : "options");
        end(pair, &place);
        xf_model_clear(&models[0]);
        xf_model_clear(&models[1]);
    }
}

static void commands_differ(void **state) {
    (void)state;
    process pair[SIZE];
    meeting place;
    xf_model model;
    begin(pair, &place);
    assert_int_equal(xf_build(&model, &pair[0].data, NULL, NULL, NULL), XF_OK);
    pair[1].model = &model;
    expect_refusal(pair, "commands");
    end(pair, &place);
    xf_model_clear(&model);
}

/* Every length and every bit counts, and NULL is not the empty text. */
static void hashes_tell_apart(void **state) {
    (void)state;
    unsigned char bytes[20] = {0};
    uint64_t all = xfi_digest(0, bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        assert_true(xfi_digest(0, bytes, i) != all);
        bytes[i] = 128;
        assert_true(xfi_digest(0, bytes, sizeof bytes) != all);
        bytes[i] = 0;
    }
    assert_true(xfi_digest_text(0, NULL) != xfi_digest_text(0, ""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_agree),
        cmocka_unit_test(data_sets_differ),
        cmocka_unit_test(one_sequence_is_missing),
        cmocka_unit_test(options_differ),
        cmocka_unit_test(models_and_evaluations_differ),
        cmocka_unit_test(commands_differ),
        cmocka_unit_test(hashes_tell_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
