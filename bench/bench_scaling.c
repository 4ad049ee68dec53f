/* Times construction and evaluation against one sequential pass over the tokens.
 *
 *     xf_bench_scaling N n m d [WRITER [THREADS]]      one line of CSV on standard output
 *
 * N Gaussian sequences of n tokens with m targets of 24 bits in R^d. The pass adds all values up
 * with the same threads. Both are repeated, construction until it has taken BUDGET seconds, at most
 * REPEATS times; the least counts, since everything else is the machine's. Columns: N, n, m, d,
 * writer, threads; seconds of the pass, of xf_build without its self-check, and their ratio, by
 * the wall clock and in processor time; blocks, margin; seconds of xf_verify on the sparse engine,
 * the model made ready included, by the wall clock and in processor time. */
#include <exactformer/exactformer.h>

#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 7 };
static const double BUDGET = 6.0;

/* Wall clock, and processor time of all threads. */
typedef struct moment {
    double wall;
    double processor;
} moment;

static double read_clock(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static moment now(void) {
    return (moment){read_clock(CLOCK_MONOTONIC), read_clock(CLOCK_PROCESS_CPUTIME_ID)};
}

/* The least of both since `start`. */
static void keep_least(moment *best, moment start) {
    moment end = now();
    double wall = end.wall - start.wall, processor = end.processor - start.processor;
    best->wall = wall < best->wall ? wall : best->wall;
    best->processor = processor < best->processor ? processor : best->processor;
}

/* Eight sums, so that the additions do not wait for each other. */
static double add_up(const double *x, int64_t n) {
    double total = 0.0;
#pragma omp parallel for reduction(+ : total) schedule(static)
    for (int64_t first = 0; first < n; first += 4096) {
        double sum[8] = {0};
        int64_t last = first + 4096 < n ? first + 4096 : n;
        for (int64_t i = first; i + 8 <= last; i += 8)
            for (int k = 0; k < 8; k++)
                sum[k] += x[i + k];
        for (int k = 0; k < 8; k++)
            total += sum[k];
    }
    return total;
}

static volatile double sink;

static moment time_pass(const xf_dataset *data) {
    moment best = {INFINITY, INFINITY};
    for (int i = 0; i < 5 * REPEATS; i++) {
        moment start = now();
        sink = add_up(data->x, data->n_tokens * data->d);
        keep_least(&best, start);
    }
    return best;
}

static xf_status time_build(moment *best, xf_model *model, xf_build_report *report,
                            const xf_dataset *data, const xf_build_options *options,
                            xf_error *error) {
    moment first = now();
    *best = (moment){INFINITY, INFINITY};
    for (int i = 0; i < REPEATS && (i == 0 || now().wall - first.wall < BUDGET); i++) {
        xf_model_clear(model);
        moment start = now();
        xf_status status = xf_build(model, data, options, report, error);
        if (status != XF_OK)
            return status;
        keep_least(best, start);
    }
    return XF_OK;
}

static xf_status time_verify(moment *best, const xf_model *model, const xf_dataset *data,
                             int threads, xf_error *error) {
    xf_run_options options = {.threads = threads};
    xf_verify_report report;
    moment first = now();
    *best = (moment){INFINITY, INFINITY};
    for (int i = 0; i < REPEATS && (i == 0 || now().wall - first.wall < BUDGET); i++) {
        moment start = now();
        xf_status status = xf_verify(&report, model, data, &options, error);
        if (status != XF_OK)
            return status;
        keep_least(best, start);
    }
    return XF_OK;
}

static xf_status generate(xf_dataset *data, char *const *sizes, xf_error *error) {
    xf_generate_options options = {.kind = "gaussian", .grid = XF_GRID_F32, .seed = 1};
    options.n_sequences = strtoll(sizes[0], NULL, 10);
    options.n_min = options.n_max = strtoll(sizes[1], NULL, 10);
    options.m_min = options.m_max = strtoll(sizes[2], NULL, 10);
    options.d = strtoll(sizes[3], NULL, 10);
    return xf_generate(data, &options, error);
}

static xf_status measure(int argc, char **argv, xf_error *error) {
    xf_dataset data;
    xf_model model;
    xf_build_report report = {0};
    xf_build_options options = {.no_self_check = 1, .threads = omp_get_max_threads()};
    if (argc > 5 && strcmp(argv[5], "any") != 0)
        options.writer = argv[5];
    if (argc > 6)
        options.threads = (int)strtol(argv[6], NULL, 10);
    omp_set_num_threads(options.threads);
    xf_dataset_init(&data);
    xf_model_init(&model);
    moment build = {0, 0}, pass = {0, 0}, verify = {0, 0};
    xf_status status = generate(&data, argv + 1, error);
    if (status == XF_OK)
        pass = time_pass(&data);
    if (status == XF_OK)
        status = time_build(&build, &model, &report, &data, &options, error);
    if (status == XF_OK)
        status = time_verify(&verify, &model, &data, options.threads, error);
    if (status == XF_OK)
        printf("%s,%s,%s,%s,%s,%d,%.5f,%.4f,%.1f,%.5f,%.4f,%.1f,%" PRId64 ",%.3g,%.4f,%.4f\n",
               argv[1], argv[2], argv[3], argv[4], report.writer, options.threads, pass.wall,
               build.wall, build.wall / pass.wall, pass.processor, build.processor,
               build.processor / pass.processor, model.n_blocks, report.margin, verify.wall,
               verify.processor);
    xf_model_clear(&model);
    xf_dataset_clear(&data);
    return status;
}

int main(int argc, char **argv) {
    xf_error error;
    if (argc < 5) {
        fprintf(stderr, "usage: xf_bench_scaling N n m d [WRITER [THREADS]]\n");
        return 2;
    }
    xf_status status = measure(argc, argv, &error);
    if (status != XF_OK)
        fprintf(stderr, "xf_bench_scaling: %s\n", error.message);
    return status == XF_OK ? 0 : 1;
}
