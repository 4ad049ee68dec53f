/* Training: members of families, losses of exact models, Adam step by step, the published run and
 * an L-BFGS problem, resuming, logs, refusals.
 * Labels: slow */
#include "unit/file_support.h"

#include "api/train_checkpoint.h"
#include "support/toy.h"
#include "train/adam.h"
#include "train/lanes_exp.h"
#include "train/layout.h"

#include <exactformer/exactformer.h>

#include <jansson.h>
#include <math.h>

/* --- exp ------------------------------------------------------------------------------ */

static double ulps(double value, long double truth, double epsilon) {
    return (double)(fabsl((long double)value - truth) / (truth * (long double)epsilon));
}

static void exp_is_accurate(void **state) {
    (void)state;
    double worst32 = 0.0, worst64 = 0.0;
    for (int i = 0; i <= 200000; i++) {
        float x = -86.9f * (float)i / 200000;
        worst32 = fmax(worst32, ulps((double)xfi_exp_f32(x), expl((long double)x), 0x1p-23));
        double y = -707.9 * (double)i / 200000;
        worst64 = fmax(worst64, ulps(xfi_exp_f64(y), expl((long double)y), 0x1p-52));
    }
    assert_true(worst32 < 3.0 && worst64 < 2.0);
    assert_true(xfi_exp_f32(0.0f) == 1.0f && xfi_exp_f64(0.0) == 1.0);
    assert_true(xfi_exp_f32(-INFINITY) == 0.0f && xfi_exp_f64(-INFINITY) == 0.0);
    assert_true(isnan(xfi_exp_f32(NAN)) && isnan(xfi_exp_f64((double)NAN)));
}

/* --- families -------------------------------------------------------------------------- */

static double *embed(const xf_family *family, const xf_model *model) {
    xf_error error = {0};
    double *theta = xfi_calloc(xf_family_parameters(family), sizeof(double));
    assert_non_null(theta);
    if (xf_family_embed(theta, family, model, &error) != XF_OK)
        fail_msg("%s", error.message);
    return theta;
}

static void make_toy(xf_model *model, xf_dataset *data, uint64_t seed, int A, int V) {
    const xft_toy toy = {.n_blocks = 1 + (int64_t)(seed % 3),
                         .d = 3,
                         .width = 4,
                         .attention = XF_SOFTMAX,
                         .order = (xf_order)(seed >> 1 & 1),
                         .causal = (int)(seed >> 2 & 1),
                         .tau = 0.75,
                         .A = A,
                         .V = V,
                         .seed = seed};
    xft_toy_model(model, &toy);
    strcpy(model->construction, "trained");
    xft_toy_inputs(data, &toy, 5, 20);
}

/* A random model, its member of the family, and that as a model again compute the same. */
static void members_compute_what_models_compute(void **state) {
    (void)state;
    static const int parts[] = {0, XFT_ALPHA, XFT_RANK_ONE, XFT_ALPHA | XFT_RANK_ONE};
    for (uint64_t seed = 0; seed < 64; seed++) {
        xf_model model, again;
        xf_dataset data;
        xf_family family;
        int V = seed % 5 == 0 ? XFT_FULL : parts[seed / 4 % 4];
        make_toy(&model, &data, seed, parts[seed % 4], V);
        xf_family_of_model(&family, &model, 0.0);
        assert_true(family.tau == 0.75 && (family.value == XF_VALUE_FULL) == (V == XFT_FULL));
        double *theta = embed(&family, &model);
        assert_int_equal(xf_family_model(&again, &family, theta, XF_F64, NULL), XF_OK);
        double *out = xft_toy_output(&data), *same = xft_toy_output(&data), loss = 1.0;
        assert_int_equal(xf_run(out, &model, &data, NULL, NULL), XF_OK);
        assert_int_equal(xf_run(same, &again, &data, NULL, NULL), XF_OK);
        assert_true(xft_same_values(out, same, data.n_tokens * data.d));
        xft_toy_targets(&data, out); /* the family's own outputs differ by rounding only */
        assert_int_equal(xf_loss(&loss, NULL, &family, theta, &data, XF_F64, 1, NULL), XF_OK);
        assert_true(loss < 1e-24);
        xfi_free(out);
        xfi_free(same);
        xfi_free(theta);
        xf_model_clear(&again);
        xf_model_clear(&model);
        xft_toy_dataset_clear(&data);
    }
}

static xf_status try_embed(const xf_family *family, const xf_model *model, xf_error *error) {
    double *theta = xfi_calloc(xf_family_parameters(family), sizeof(double));
    assert_non_null(theta);
    xf_status status = xf_family_embed(theta, family, model, error);
    xfi_free(theta);
    return status;
}

static void assert_refused(const xf_family *family, const xf_model *model, const char *why) {
    xf_error error = {0};
    assert_int_equal(try_embed(family, model, &error), XF_ERR_INFEASIBLE);
    if (strstr(error.message, why) == NULL)
        fail_msg("'%s' does not say '%s'", error.message, why);
}

static void outsiders_are_refused(void **state) {
    (void)state;
    xf_model model;
    xf_dataset data;
    xf_family good, bad;
    make_toy(&model, &data, 1, XFT_ALPHA | XFT_RANK_ONE, XFT_ALPHA | XFT_RANK_ONE);
    xf_family_of_model(&good, &model, 0.0);
    assert_int_equal(try_embed(&good, &model, NULL), XF_OK);
    bad = good, bad.d = 4;
    assert_refused(&bad, &model, "its dimension is 3, the family has 4");
    bad = good, bad.n_blocks--;
    assert_refused(&bad, &model, "its blocks are 2, the family has 1");
    bad = good, bad.order = XF_SA_FF;
    assert_refused(&bad, &model, "its blocks are 3, the family has 2");
    bad.n_blocks++;
    assert_int_equal(try_embed(&bad, &model, NULL), XF_OK);
    bad = good, bad.width = 3;
    assert_refused(&bad, &model, "its width is 4");
    bad = good, bad.causal = !good.causal;
    assert_refused(&bad, &model, "causal");
    bad = good, bad.tau = 1.0;
    assert_refused(&bad, &model, "temperature");
    bad = good, bad.scalar = 0;
    assert_refused(&bad, &model, "multiple of the identity in block 0");
    bad = good, bad.rank = 0;
    assert_refused(&bad, &model, "A has rank one in block 0");
    bad = good, bad.value = XF_VALUE_FULL;
    assert_refused(&bad, &model, "V is not exactly a matrix of numbers");
    model.attention = XF_HARDMAX;
    assert_refused(&good, &model, "temperature");
    xf_model_clear(&model);
    xft_toy_dataset_clear(&data);
    make_toy(&model, &data, 1, XFT_FULL, XFT_FULL);
    assert_refused(&good, &model, "A is a full matrix in block 0");
    xf_model_clear(&model);
    xft_toy_dataset_clear(&data);
}

static void bad_families_are_refused(void **state) {
    (void)state;
    const xf_family good = {.n_blocks = 1, .d = 2, .width = 3, .tau = 1.0};
    xf_family bad[6];
    for (int i = 0; i < 6; i++)
        bad[i] = good;
    bad[0].n_blocks = 0;
    bad[1].d = 0;
    bad[2].width = INT64_MAX;
    bad[3].rank = -1;
    bad[4].tau = (double)NAN;
    bad[5].width = bad[5].d = 1 << 20;
    bad[5].n_blocks = 1 << 20;
    assert_int_equal(xf_family_check(&good, NULL), XF_OK);
    for (int i = 0; i < 6; i++)
        assert_int_equal(xf_family_check(&bad[i], NULL), XF_ERR_ARGUMENT);
}

/* --- exact models ---------------------------------------------------------------------- */

/* The loss of a constructed model is 0, and its gradient too, in both orders of layers. */
static void check_exact(const char *kind, xf_dtype dtype, const char *front) {
    const xf_generate_options how = {.kind = kind,
                                     .n_sequences = 12,
                                     .d = 4,
                                     .m_max = 2,
                                     .grid = XF_GRID_F32,
                                     .input_grid = XF_GRID_F32};
    const xf_build_options build = {.dtype = dtype, .front = front};
    xf_dataset data;
    xf_model model;
    xf_family family;
    xf_error error = {0};
    assert_int_equal(xf_generate(&data, &how, NULL), XF_OK);
    if (xf_build(&model, &data, &build, NULL, &error) != XF_OK)
        fail_msg("%s: %s", kind, error.message);
    xf_family_of_model(&family, &model, 0.0);
    for (int order = 0; order < 2; order++) {
        family.order = (xf_order)order;
        family.n_blocks = model.n_blocks + 1;
        int64_t n = xf_family_parameters(&family);
        double *theta = embed(&family, &model), *gradient = xfi_calloc(n, sizeof(double));
        double loss = 1.0;
        assert_int_equal(xf_loss(&loss, gradient, &family, theta, &data, dtype, 2, NULL), XF_OK);
        assert_true(loss == 0.0);
        for (int64_t k = 0; k < n; k++)
            assert_true(gradient[k] == 0.0);
        xfi_free(theta);
        xfi_free(gradient);
    }
    xf_model_clear(&model);
    xf_dataset_clear(&data);
}

static void exact_models_have_loss_zero(void **state) {
    (void)state;
    check_exact("gaussian", XF_F64, NULL);
    check_exact("gaussian", XF_F32, NULL);
    check_exact("vocabulary", XF_F64, NULL);
    check_exact("pairs", XF_F64, NULL);
    check_exact("gaussian", XF_F64, "kinks");
}

/* --- optimisers ------------------------------------------------------------------------- */

static void adam_is_adam(void **state) {
    (void)state;
    double theta = 2.0, m = 0.0, v = 0.0, x = 2.0, em = 0.0, ev = 0.0;
    for (int decoupled = 0; decoupled < 2; decoupled++)
        for (int t = 1; t <= 5; t++) {
            double g = 1.0 / t, gradient = g;
            const xfi_adam how = {0.1, 0.3, decoupled, t};
            xfi_adam_step(&theta, &m, &v, &gradient, 1, &how, XF_F64);
            if (decoupled)
                x -= 0.1 * 0.3 * x;
            else
                g += 0.3 * x;
            em = 0.9 * em + 0.1 * g;
            ev = 0.999 * ev + 0.001 * g * g;
            x -= 0.1 * (em / (1 - pow(0.9, t))) / (sqrt(ev / (1 - pow(0.999, t))) + 1e-8);
            assert_true(fabs(theta - x) < 1e-14);
        }
    assert_true(xfi_learning_rate(XF_COSINE, 0.5, 0, 10) == 0.5);
    assert_true(fabs(xfi_learning_rate(XF_COSINE, 0.5, 5, 10) - 0.25) < 1e-15);
    assert_true(fabs(xfi_learning_rate(XF_COSINE, 0.5, 10, 10)) < 1e-15);
    assert_true(xfi_learning_rate(XF_CONSTANT, 0.5, 5, 10) == 0.5);
}

static void load_published(xf_dataset *data, xf_family *family, double **theta) {
    xf_model model;
    assert_int_equal(xf_dataset_load(data, "data/tikhonov.npz", NULL, NULL), XF_OK);
    assert_int_equal(xf_model_load(&model, "data/tikhonov_initial.safetensors", NULL), XF_OK);
    xf_family_of_model(family, &model, 0.0);
    *theta = embed(family, &model);
    xf_model_clear(&model);
}

/* Reference losses of one run, loss[e] for epochs e = 1 .. n. */
static void load_losses(double *loss, int n, const char *run) {
    FILE *file = fopen("data/tikhonov_losses.csv", "r");
    char line[100];
    size_t length = strlen(run);
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        char *end = NULL;
        if (strncmp(line, run, length) != 0 || line[length] != ',')
            continue;
        long epoch = strtol(line + length + 1, &end, 10);
        assert_true(*end == ',' && epoch >= 1);
        if (epoch <= n)
            loss[epoch] = strtod(end + 1, NULL);
    }
    fclose(file);
}

/* The published runs at 0.1 and 1e-4 (as if with 5000 and 50000 epochs) for their first 400. */
static void published_run_is_reproduced(void **state) {
    (void)state;
    enum { EPOCHS = 400 };
    static const char *const names[] = {"wd1e-1", "wd1e-4"};
    static const double decays[] = {1e-1, 1e-4}, totals[] = {5000, 50000};
    xf_dataset data;
    xf_family family;
    double *theta = NULL, reference[EPOCHS + 1] = {0};
    load_published(&data, &family, &theta);
    assert_int_equal(xf_family_parameters(&family), 422);
    for (int i = 0; i < 2; i++) {
        /* over so few epochs the cosine is constant but for 2 % at the end; that is felt */
        double moment[2][422] = {{0}}, gradient[422], x[422], loss = 0.0;
        memcpy(x, theta, sizeof x);
        load_losses(reference, EPOCHS, names[i]);
        for (int e = 1; e <= EPOCHS; e++) {
            const xfi_adam how = {xfi_learning_rate(XF_COSINE, 1e-3, e - 1, (int64_t)totals[i]),
                                  decays[i], 0, e};
            assert_int_equal(xf_loss(&loss, gradient, &family, x, &data, XF_F32, 1, NULL), XF_OK);
            if (!(fabs(loss / reference[e] - 1.0) < 0.01))
                fail_msg("%s, epoch %d: loss %.9g, published %.9g", names[i], e, loss,
                         reference[e]);
            xfi_adam_step(x, moment[0], moment[1], gradient, 422, &how, XF_F32);
        }
    }
    xfi_free(theta);
    xf_dataset_clear(&data);
}

static void lbfgs_reaches_the_minimum(void **state) {
    (void)state;
    xf_dataset data;
    xf_family family;
    xf_training training;
    double *theta = NULL;
    const xf_stage stage = {0.1, 1000};
    load_published(&data, &family, &theta);
    const xf_train_options how = {
        .optimiser = XF_LBFGS, .stages = &stage, .n_stages = 1, .initial = theta};
    assert_int_equal(xf_train(&training, &family, &data, &how, NULL), XF_OK);
    if (!(training.stages[0].last.objective < 1.01 * 1.0917))
        fail_msg("J = %.6g", training.stages[0].last.objective);
    xf_training_clear(&training);
    xfi_free(theta);
    xf_dataset_clear(&data);
}

/* --- runs ------------------------------------------------------------------------------- */

/* Ends the work at the n-th question. */
static int stop_at(void *context, const char *phase, double done) {
    (void)phase;
    assert_true(done >= 0.0 && done <= 1.0);
    return --*(int *)context == 0;
}

static void small_problem(xf_dataset *data, xf_family *family) {
    const xf_generate_options how = {.kind = "gaussian", .n_sequences = 10, .d = 3};
    assert_int_equal(xf_generate(data, &how, NULL), XF_OK);
    *family = (xf_family){.n_blocks = 2, .d = 3, .width = 4, .rank = 2, .tau = 1.0};
}

static int same_training(const xf_training *a, const xf_training *b) {
    return a->n_records == b->n_records &&
           memcmp(a->theta, b->theta, (size_t)a->n_parameters * sizeof(double)) == 0 &&
           memcmp(a->records, b->records, (size_t)a->n_records * sizeof *a->records) == 0 &&
           memcmp(a->stages, b->stages, (size_t)a->n_stages * sizeof *a->stages) == 0;
}

/* Interrupted at many places, saved, resumed with other threads: the same bits. */
static void check_resume(xf_optimiser optimiser, xf_dtype dtype) {
    static const xf_stage stages[] = {{0.01, 30}, {0.001, 40}};
    xf_dataset data;
    xf_family family;
    xf_training whole, resumed;
    xf_error error = {0};
    small_problem(&data, &family);
    xf_train_options how = {.optimiser = optimiser,
                            .stages = stages,
                            .n_stages = 2,
                            .residual = 1.0,
                            .starts = 2,
                            .dtype = dtype,
                            .threads = 1,
                            .log_every = 3};
    assert_int_equal(xf_train(&whole, &family, &data, &how, NULL), XF_OK);
    assert_true(whole.n_stages == 2 &&
                whole.stages[1].last.objective < whole.stages[0].last.objective);
    int left = 0;
    how.checkpoint = temp_path("run.safetensors");
    how.progress = stop_at;
    how.progress_context = &left;
    for (int stop = 1; stop < 200; stop += 53) {
        left = stop;
        how.resume = 0;
        how.threads = 2;
        xf_status status = xf_train(&resumed, &family, &data, &how, &error);
        assert_true(status == XF_ERR_CANCELLED || status == XF_OK);
        left = 0;
        how.resume = 1;
        if (status == XF_ERR_CANCELLED && xf_train(&resumed, &family, &data, &how, &error) != XF_OK)
            fail_msg("%s", error.message);
        if (!same_training(&whole, &resumed))
            fail_msg("optimiser %d, dtype %d, stopped at %d", (int)optimiser, (int)dtype, stop);
        xf_training_clear(&resumed);
    }
    how.seed = 1;
    assert_int_equal(xf_train(&resumed, &family, &data, &how, &error), XF_ERR_DATA);
    assert_non_null(strstr(error.message, "another training: 'seed' differs"));
    xf_training_clear(&whole);
    xf_dataset_clear(&data);
}

static void resuming_changes_no_bit(void **state) {
    (void)state;
    check_resume(XF_ADAM, XF_F64);
    check_resume(XF_ADAMW, XF_F32);
    check_resume(XF_LBFGS, XF_F64);
    check_resume(XF_LBFGS, XF_F32);
}

/* Records say what the loss and the norm are; a stage starts where the one before ended, or anew.
 */
static void records_are_true(void **state) {
    (void)state;
    static const xf_stage stages[] = {{0.5, 5}, {0.25, 5}};
    for (int cold = 0; cold < 2; cold++) {
        xf_dataset data;
        xf_family family;
        xf_training t;
        double loss = 0.0;
        small_problem(&data, &family);
        xf_train_options how = {.stages = stages, .n_stages = 2, .cold = cold, .seed = 7};
        assert_int_equal(xf_train(&t, &family, &data, &how, NULL), XF_OK);
        assert_int_equal(t.n_records, 12);
        const xf_train_record *r = t.records;
        assert_true((r[6].loss == r[5].loss) == !cold && (r[6].loss == r[0].loss) == cold);
        assert_true(r[5].epoch == 6 && r[6].epoch == 1 && r[6].stage == 1);
        xf_loss(&loss, NULL, &family, t.theta, &data, XF_F64, 1, NULL);
        assert_true(loss == r[11].loss && r[11].objective == loss + 0.125 * r[11].norm2);
        xf_training_clear(&t);
        xf_dataset_clear(&data);
    }
}

/* --- logs ------------------------------------------------------------------------------- */

static void logs_are_read_back(void **state) {
    (void)state;
    static const xf_stage stages[] = {{0.5, 3}, {0.25, 4}};
    xf_dataset data;
    xf_family family;
    xf_training t;
    xf_error error;
    small_problem(&data, &family);
    const xf_train_options how = {.stages = stages, .n_stages = 2, .starts = 2};
    assert_int_equal(xf_train(&t, &family, &data, &how, NULL), XF_OK);
    const char *path = temp_path("log.json");
    assert_int_equal(xf_training_save_log(&t, &family, &how, path, NULL), XF_OK);
    json_t *log = json_load_file(path, 0, NULL);
    assert_non_null(log);
    assert_int_equal(json_array_size(json_object_get(log, "stages")), 2);
    const json_t *starts = json_object_get(log, "records");
    assert_int_equal(json_array_size(starts), 4);
    const json_t *last = json_array_get(json_object_get(json_array_get(starts, 3), "J"), 4);
    assert_true(json_number_value(last) == t.records[t.n_records - 1].objective);
    json_decref(log);
    path = temp_path("log.csv");
    assert_int_equal(xf_training_save_log(&t, &family, &how, path, NULL), XF_OK);
    FILE *file = fopen(path, "r");
    char line[4096];
    int64_t n_lines = 0;
    while (fgets(line, sizeof line, file) != NULL)
        n_lines++;
    fclose(file);
    assert_int_equal(n_lines, 2 + t.n_records);
    assert_int_equal(xf_training_save_log(&t, &family, &how, "log.txt", &error), XF_ERR_ARGUMENT);
    assert_int_equal(xf_training_save_log(&t, &family, &how, "/no/where.csv", &error), XF_ERR_IO);
    xf_training_clear(&t);
    xf_dataset_clear(&data);
}

/* --- refusals ----------------------------------------------------------------------------- */

static void wrong_arguments_are_refused(void **state) {
    (void)state;
    const xf_stage good = {0.1, 5}, negative = {-1.0, 5}, empty = {0.1, 0};
    const xf_train_options bad[] = {{.stages = &good, .n_stages = 0},
                                    {.stages = &negative, .n_stages = 1},
                                    {.stages = &empty, .n_stages = 1},
                                    {.stages = &good, .n_stages = 1, .learning_rate = -1.0},
                                    {.stages = &good, .n_stages = 1, .starts = -1},
                                    {.stages = &good, .n_stages = 1, .resume = 1}};
    xf_dataset data;
    xf_family family;
    xf_training t;
    xf_error error;
    small_problem(&data, &family);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(xf_train(&t, &family, &data, &bad[i], &error), XF_ERR_ARGUMENT);
    family.d = 4;
    const xf_train_options how = {.stages = &good, .n_stages = 1};
    assert_int_equal(xf_train(&t, &family, &data, &how, &error), XF_ERR_ARGUMENT);
    family.d = 3;
    const xf_train_options wild = {.stages = &good, .n_stages = 1, .learning_rate = 1e300};
    assert_int_equal(xf_train(&t, &family, &data, &wild, &error), XF_ERR_DATA);
    assert_non_null(strstr(error.message, "not finite at epoch 2"));
    xf_dataset_clear(&data);
}

static void assert_stops(xf_train_options how, double tau, const char *why) {
    xf_dataset data;
    xf_family family;
    xf_training t;
    xf_error error = {0};
    small_problem(&data, &family);
    family.tau = tau;
    how.n_stages = 1;
    assert_int_equal(xf_train(&t, &family, &data, &how, &error), XF_ERR_DATA);
    if (strstr(error.message, why) == NULL)
        fail_msg("'%s' does not say '%s'", error.message, why);
    assert_true(t.theta == NULL && t.records == NULL);
    xf_dataset_clear(&data);
}

/* What is not finite ends the run, and the error names the cause. */
static void states_out_of_range_are_blamed(void **state) {
    (void)state;
    static double huge[256];
    const xf_stage fine = {0.1, 5}, heavy = {1e308, 5}, big = {1e20, 5};
    for (int i = 0; i < 256; i++)
        huge[i] = 1e200;
    for (int kind = XF_ADAM; kind <= XF_LBFGS; kind++) {
        xf_optimiser optimiser = (xf_optimiser)kind;
        assert_stops((xf_train_options){.optimiser = optimiser, .stages = &heavy}, 1.0,
                     "the weight decay 1e+308 is too large");
        assert_stops((xf_train_options){.optimiser = optimiser, .stages = &fine}, 1e-320,
                     "the temperature 9.99989e-321 is too small");
        assert_stops((xf_train_options){.optimiser = optimiser, .stages = &fine, .initial = huge},
                     1.0, "their squared norm is not finite");
        assert_stops(
            (xf_train_options){
                .optimiser = optimiser, .stages = &fine, .residual = 1e30, .dtype = XF_F32},
            1.0, "the tokens outgrow binary32");
    }
    assert_stops((xf_train_options){.stages = &big, .dtype = XF_F32}, 1.0, "overflows in binary32");
    assert_stops((xf_train_options){.stages = &big, .optimiser = XF_ADAMW}, 1.0,
                 "try a smaller weight decay");
}

/* --- fingerprints ------------------------------------------------------------------------- */

static void digest_of(char *out, const xf_dataset *data) {
    xf_dataset_digest digest;
    xf_digest_dataset(&digest, data);
    assert_int_equal(strlen(digest.values_sha256), 64);
    assert_true(digest.n_sequences == data->n_sequences && digest.n_tokens == data->n_tokens &&
                digest.n_targets == data->n_targets && digest.positions == data->positions);
    memcpy(out, digest.values_sha256, sizeof digest.values_sha256);
}

/* Every number counts, and where one sequence ends. The first digest is from Python's hashlib. */
static void digests_tell_data_apart(void **state) {
    (void)state;
    double x[] = {1.0, -2.5, 0.1}, y[] = {3.0, 4.0};
    int64_t x_offsets[] = {0, 2, 3}, y_offsets[] = {0, 1, 2};
    xf_dataset data = {.n_sequences = 2,
                       .d = 1,
                       .n_tokens = 3,
                       .n_targets = 2,
                       .positions = -1,
                       .x = x,
                       .x_offsets = x_offsets,
                       .y = y,
                       .y_offsets = y_offsets};
    char first[65], other[65];
    digest_of(first, &data);
    assert_string_equal(first, "bc136315ae8288a6145ff2cfb83ae146d6e9ad2b4821395175d076cd2b16c4ae");
    x[2] = nextafter(x[2], 1.0);
    digest_of(other, &data);
    assert_string_not_equal(first, other);
    x[2] = 0.1;
    x_offsets[1] = 1;
    digest_of(other, &data);
    assert_string_not_equal(first, other);
    x_offsets[1] = 2;
    y[0] = 4.0;
    digest_of(other, &data);
    assert_string_not_equal(first, other);
    y[0] = 3.0;
    digest_of(other, &data);
    assert_string_equal(first, other);
    data.y = NULL;
    data.y_offsets = NULL;
    data.n_targets = 0;
    digest_of(other, &data);
    assert_string_not_equal(first, other);
}

/* Every allocation fails once. */
static void memory_may_run_out(void **state) {
    (void)state;
    const xf_stage stage = {0.1, 3};
    xf_dataset data;
    xf_family family;
    xf_training t;
    small_problem(&data, &family);
    const xf_train_options how = {.stages = &stage,
                                  .n_stages = 1,
                                  .threads = 1,
                                  .checkpoint = temp_path("memory.safetensors")};
    xf_status status = XF_ERR_MEMORY;
    int64_t k = 0;
    for (; status != XF_OK && k < 1000; k++) {
        xfi_alloc_limit(k);
        status = xf_train(&t, &family, &data, &how, NULL);
        xfi_alloc_limit(-1);
        assert_true(status == XF_OK || status == XF_ERR_MEMORY);
    }
    assert_true(status == XF_OK && k > 20);
    xf_training_clear(&t);
    xf_dataset_clear(&data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_accurate),
        cmocka_unit_test(members_compute_what_models_compute),
        cmocka_unit_test(outsiders_are_refused),
        cmocka_unit_test(bad_families_are_refused),
        cmocka_unit_test(exact_models_have_loss_zero),
        cmocka_unit_test(adam_is_adam),
        cmocka_unit_test(published_run_is_reproduced),
        cmocka_unit_test(lbfgs_reaches_the_minimum),
        FILE_TEST(resuming_changes_no_bit),
        cmocka_unit_test(records_are_true),
        FILE_TEST(logs_are_read_back),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(states_out_of_range_are_blamed),
        cmocka_unit_test(digests_tell_data_apart),
        FILE_TEST(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, make_temp_directory, remove_temp_directory);
}
