/* How far displacement reaches: the table of docs/reach.md, section 7.
 *
 *     xf_bench_reach [KIND...]      Markdown rows on standard output (default: all three kinds)
 *
 * Construction is timed without its self-check. Where evaluating everything takes minutes only the
 * certificate is made: the margin of the stored weights, which is the proof. */
#include <exactformer/exactformer.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef struct line {
    int64_t n_sequences;
    int64_t m_min, m_max;
    xf_dtype dtype;
    const char *front; /* NULL: as the library chooses */
    int verified;
} line;

static const line lines[] = {
    {5000, 1, 1, XF_F32, NULL, 1},  {20000, 1, 1, XF_F32, NULL, 1},
    {50000, 1, 1, XF_F32, NULL, 0}, {5000, 8, 8, XF_F32, NULL, 1},
    {5000, 1, 8, XF_F32, NULL, 1},  {50000, 8, 8, XF_F64, "displacement", 0}};

static const char *const all_kinds[] = {"gaussian", "uniform", "vocabulary"};

typedef struct result {
    xf_model model;
    xf_build_report report;
    double seconds_verify;
} result;

static double now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Blocks of the phase; 0 if there is none. */
static int64_t count(const xf_model *model, const char *phase) {
    for (int64_t i = 0; i < model->n_phases; i++)
        if (strcmp(model->phases[i].name, phase) == 0)
            return model->phases[i].count;
    return 0;
}

static const char *shape_of(const xf_model *model) {
    if (count(model, "displace") == 0)
        return "–";
    if (count(model, "windows") > 0)
        return "windows";
    if (count(model, "pooling") > 1)
        return "shared";
    return model->sa_V.alpha[0] != 0.0 ? "single" : "each";
}

static void print_row(const char *kind, const line *l, const result *r) {
    const xf_model *model = &r->model;
    char counts[32] = "m = n";
    if (l->m_min == 1)
        snprintf(counts, sizeof counts, l->m_max == 1 ? "m = 1" : "m = 1…%" PRId64, l->m_max);
    printf("| %s, %s%s | %s | %" PRId64 " | %" PRId64 " | %" PRId64 " | %" PRId64 " | %" PRId64
           " | %.2g | %.2f s | ",
           kind, counts, l->dtype == XF_F64 ? ", binary64" : "", shape_of(model),
           model->n_sequences, model->n_targets, count(model, "displace") + count(model, "windows"),
           model->n_blocks, r->report.bound, r->report.margin, r->report.seconds_construct);
    if (l->verified)
        printf("%.1f s |\n", r->seconds_verify);
    else
        printf("– |\n");
    fflush(stdout);
}

static xf_status verify(result *r, const xf_dataset *data, xf_error *error) {
    xf_verify_report report;
    double start = now();
    xf_status status = xf_verify(&report, &r->model, data, NULL, error);
    r->seconds_verify = now() - start;
    return status;
}

static xf_status measure(const char *kind, const line *l, const xf_dataset *data, xf_error *error) {
    result r;
    xf_build_options options = {.dtype = l->dtype, .front = l->front, .no_self_check = 1};
    xf_status status = xf_build(&r.model, data, &options, &r.report, error);
    if (status == XF_OK && l->verified)
        status = verify(&r, data, error);
    if (status == XF_OK)
        print_row(kind, l, &r);
    xf_model_clear(&r.model);
    return status;
}

static xf_status bench(const char *kind, const line *l, xf_error *error) {
    xf_generate_options options = {.kind = kind,
                                   .n_sequences = l->n_sequences,
                                   .d = 16,
                                   .n_min = 8,
                                   .n_max = 8,
                                   .m_min = l->m_min,
                                   .m_max = l->m_max,
                                   .vocabulary = 200,
                                   .grid = XF_GRID_F32,
                                   .input_grid = XF_GRID_F32,
                                   .seed = 1};
    xf_dataset data;
    xf_status status = xf_generate(&data, &options, error);
    if (status != XF_OK)
        return status;
    status = measure(kind, l, &data, error);
    xf_dataset_clear(&data);
    return status;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? argc - 1 : 3;
    puts("| data | shape | N | M | steps | L | published bound | margin | construct | verify |");
    puts("|---|---|---|---|---|---|---|---|---|---|");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        for (int k = 0; k < n; k++) {
            const char *kind = argc > 1 ? argv[1 + k] : all_kinds[k];
            xf_error error = {.message = "failed"};
            xf_status status = bench(kind, &lines[i], &error);
            if (status != XF_OK) {
                fprintf(stderr, "%s: %s\n", kind, error.message);
                return xf_status_exit_code(status);
            }
        }
    return 0;
}
