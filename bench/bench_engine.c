/* Times one engine on one model and one input, the preparation apart from the runs:
 *
 *     xf_bench_engine MODEL INPUT ENGINE THREADS SECONDS      JSON on standard output
 *
 * ENGINE is sparse, dense or blas. Runs are repeated for SECONDS, at least three times. */
#include <exactformer/exactformer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int fail(const xf_error *error) {
    fprintf(stderr, "xf_bench_engine: %s\n", error->message);
    return 1;
}

/* Prepare and run over and over; the shortest times count. */
static int measure(const xf_model *model, const xf_dataset *input, const xf_run_options *options,
                   double seconds) {
    enum { LEAST = 3 };
    double *out = calloc((size_t)input->n_tokens, (size_t)input->d * sizeof *out);
    double prepare = 1e300, run = 1e300, start = now();
    xf_error error = {0};
    xf_status status = out != NULL ? XF_OK : XF_ERR_MEMORY;
    int64_t count = 0;
    for (; status == XF_OK && (count < LEAST || now() - start < seconds); count++) {
        xf_runner *runner = NULL;
        double begin = now();
        status = xf_runner_new(&runner, model, options, &error);
        double ready = now();
        prepare = ready - begin < prepare ? ready - begin : prepare;
        for (int i = 0; i < LEAST && status == XF_OK; i++) {
            begin = now();
            status = xf_runner_run(out, runner, input, &error);
            double taken = now() - begin;
            run = taken < run ? taken : run;
        }
        xf_runner_free(runner);
    }
    free(out);
    if (status != XF_OK)
        return fail(&error);
    printf(
        "{\"tokens\": %lld, \"blocks\": %lld, \"prepare\": %.9g, \"run\": %.9g, \"runs\": %lld}\n",
        (long long)input->n_tokens, (long long)model->n_blocks, prepare, run,
        (long long)(LEAST * count));
    return 0;
}

int main(int argc, char **argv) {
    static const char *const names[] = {"sparse", "dense", "blas"};
    xf_run_options options = {0};
    xf_dataset input;
    xf_model model;
    xf_error error;
    int engine = 0;
    while (argc == 6 && engine < 3 && strcmp(argv[3], names[engine]) != 0)
        engine++;
    if (argc != 6 || engine == 3) {
        fprintf(stderr, "usage: xf_bench_engine MODEL INPUT sparse|dense|blas THREADS SECONDS\n");
        return 2;
    }
    options.engine = (xf_engine)engine;
    options.threads = (int)strtol(argv[4], NULL, 10);
    const xf_dataset_options inputs = {.inputs_only = 1};
    xf_dataset_init(&input);
    if (xf_model_load(&model, argv[1], &error) != XF_OK)
        return fail(&error);
    int status = xf_dataset_load(&input, argv[2], &inputs, &error) == XF_OK
                     ? measure(&model, &input, &options, strtod(argv[5], NULL))
                     : fail(&error);
    xf_dataset_clear(&input);
    xf_model_clear(&model);
    return status;
}
