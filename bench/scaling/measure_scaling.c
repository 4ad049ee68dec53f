/* Times construction against one sequential pass over the tokens.
 *
 *     xf_scaling N n m d [WRITER [THREADS]]      one line of CSV on standard output
 *
 * N Gaussian sequences of n tokens with m targets of 24 bits in R^d. The pass adds all values up
 * with the same threads. Both are repeated until they have taken BUDGET seconds, at most REPEATS
 * times; the least counts, since everything else is the machine's. */
#include <exactformer/exactformer.h>

#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 7 };
static const double BUDGET = 6.0;

static double now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
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

static double time_pass(const xf_dataset *data) {
    double best = 1e300;
    for (int i = 0; i < REPEATS; i++) {
        double start = now();
        sink = add_up(data->x, data->n_tokens * data->d);
        double seconds = now() - start;
        best = seconds < best ? seconds : best;
    }
    return best;
}

static xf_status time_build(double *best, xf_model *model, xf_build_report *report,
                            const xf_dataset *data, const xf_build_options *options,
                            xf_error *error) {
    double total = 0.0;
    *best = 1e300;
    for (int i = 0; i < REPEATS && (i == 0 || total < BUDGET); i++) {
        xf_model_clear(model);
        double start = now();
        xf_status status = xf_build(model, data, options, report, error);
        if (status != XF_OK)
            return status;
        double seconds = now() - start;
        total += seconds;
        *best = seconds < *best ? seconds : *best;
    }
    return XF_OK;
}

static xf_status generate(xf_dataset *data, char *const *sizes, xf_error *error) {
    xf_generate_options options = {.kind = "gaussian", .grid = XF_GRID_F32, .seed = 1};
    options.n_sequences = atoll(sizes[0]);
    options.n_min = options.n_max = atoll(sizes[1]);
    options.m_min = options.m_max = atoll(sizes[2]);
    options.d = atoll(sizes[3]);
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
        options.threads = atoi(argv[6]);
    omp_set_num_threads(options.threads);
    xf_dataset_init(&data);
    xf_model_init(&model);
    double build = 0;
    xf_status status = generate(&data, argv + 1, error);
    double pass = status == XF_OK ? time_pass(&data) : 0;
    if (status == XF_OK)
        status = time_build(&build, &model, &report, &data, &options, error);
    if (status == XF_OK)
        printf("%s,%s,%s,%s,%s,%d,%.5f,%.4f,%.1f,%.4f,%" PRId64 ",%.3g\n", argv[1], argv[2], argv[3],
               argv[4], report.writer, options.threads, pass, build, build / pass,
               report.seconds_construct, model.n_blocks, report.margin);
    xf_model_clear(&model);
    xf_dataset_clear(&data);
    return status;
}

int main(int argc, char **argv) {
    xf_error error;
    if (argc < 5) {
        fprintf(stderr, "usage: xf_scaling N n m d [WRITER [THREADS]]\n");
        return 2;
    }
    xf_status status = measure(argc, argv, &error);
    if (status != XF_OK)
        fprintf(stderr, "xf_scaling: %s\n", error.message);
    return status == XF_OK ? 0 : 1;
}
