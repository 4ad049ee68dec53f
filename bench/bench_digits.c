/* Times construction and verification of the two digits sets.
 *
 *     xf_bench DATASET...       CSV on standard output
 *
 * Verification on the sparse engine is set against the dense one, whose sums are our own loops in
 * index order, and the same formula with the sums left to CBLAS, in the same run. A step is
 * repeated until it has taken BUDGET seconds, at most REPEATS times; the median counts. */
#include <exactformer/exactformer.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 5 };
static const double BUDGET = 4.0;

typedef struct subject {
    const char *name;
    xf_dataset data;
    xf_model model;
} subject;

typedef xf_status (*step_fn)(subject *s, xf_error *error);

static double now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Construction alone: verification is measured apart. */
static xf_status step_build(subject *s, xf_error *error) {
    xf_build_options options = {.no_self_check = 1};
    xf_model_clear(&s->model);
    return xf_build(&s->model, &s->data, &options, NULL, error);
}

static xf_status verify(const subject *s, xf_engine engine, xf_error *error) {
    xf_run_options options = {.engine = engine};
    xf_verify_report report;
    xf_status status = xf_verify(&report, &s->model, &s->data, &options, error);
    if (status == XF_NOT_EXACT && error != NULL) {
        snprintf(error->message, sizeof error->message, "%" PRId64 " of %" PRId64 " exact",
                 report.n_exact, report.n_sequences);
    }
    return status;
}

static xf_status step_verify_sparse(subject *s, xf_error *error) {
    return verify(s, XF_ENGINE_SPARSE, error);
}

static xf_status step_verify_dense(subject *s, xf_error *error) {
    return verify(s, XF_ENGINE_DENSE, error);
}

static xf_status step_verify_blas(subject *s, xf_error *error) {
    return verify(s, XF_ENGINE_BLAS, error);
}

/* Run a step several times and print its row. */
static xf_status measure(subject *s, const char *label, step_fn step, xf_error *error) {
    double seconds[REPEATS];
    double total = 0.0;
    int n = 0;
    while (n < REPEATS && (n == 0 || total < BUDGET)) {
        double start = now();
        xf_status status = step(s, error);
        if (status != XF_OK) {
            return status;
        }
        seconds[n] = now() - start;
        total += seconds[n++];
    }
    qsort(seconds, (size_t)n, sizeof seconds[0], compare_doubles);
    printf("%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%d,%.3f,%.3f\n", s->name, s->data.n_sequences,
           s->data.n_targets, s->model.n_blocks, label, n, seconds[n / 2], seconds[0]);
    fflush(stdout);
    return XF_OK;
}

static xf_status bench(const char *path, xf_error *error) {
    const char *slash = strrchr(path, '/');
    subject s = {.name = slash != NULL ? slash + 1 : path};
    xf_model_init(&s.model);
    xf_status status = xf_dataset_load(&s.data, path, NULL, error);
    if (status == XF_OK) {
        status = measure(&s, "build", step_build, error);
    }
    if (status == XF_OK) {
        status = measure(&s, "verify sparse", step_verify_sparse, error);
    }
    if (status == XF_OK) {
        status = measure(&s, "verify dense", step_verify_dense, error);
    }
    if (status == XF_OK) {
        status = measure(&s, "verify blas", step_verify_blas, error);
    }
    xf_model_clear(&s.model);
    xf_dataset_clear(&s.data);
    return status;
}

int main(int argc, char **argv) {
    puts("data,sequences,targets,blocks,step,repeats,seconds_median,seconds_min");
    for (int i = 1; i < argc; i++) {
        xf_error error = {.message = "failed"};
        xf_status status = bench(argv[i], &error);
        if (status != XF_OK) {
            fprintf(stderr, "%s: %s\n", argv[i], error.message);
            return xf_status_exit_code(status);
        }
    }
    return 0;
}
