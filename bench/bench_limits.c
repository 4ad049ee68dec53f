/* What the machine can do at most:
 *
 *     xf_bench_limits THREADS [SECONDS]      JSON on standard output
 *
 * Memory bandwidth: a = b + s c over arrays of 32 MB each, 24 bytes a number counted (a triad; the
 * lines of `a` that have to be read before they are written are not counted). Arithmetic: dgemm of
 * 1024 x 1024 matrices by CBLAS. Both in binary64, repeated for SECONDS; the fastest counts. */
#include <cblas.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TRIAD = 4 << 20, SIDE = 1024 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void triad(double *restrict a, const double *restrict b, const double *restrict c) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < TRIAD; i++)
        a[i] = b[i] + 3.0 * c[i];
}

static void gemm(double *restrict a, const double *restrict b, const double *restrict c) {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDE, SIDE, SIDE, 1.0, b, SIDE, c, SIDE,
                0.0, a, SIDE);
}

typedef void (*work_fn)(double *restrict a, const double *restrict b, const double *restrict c);

static double shortest(work_fn work, double *a, const double *b, const double *c, double seconds) {
    double best = 1e300;
    for (double start = now(); now() - start < seconds;) {
        double begin = now();
        work(a, b, c);
        double taken = now() - begin;
        best = taken < best ? taken : best;
    }
    return best;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 2.0;
    if (threads < 1 || !(seconds > 0)) {
        fprintf(stderr, "usage: xf_bench_limits THREADS [SECONDS]\n");
        return 2;
    }
    double *a = malloc(TRIAD * sizeof *a), *b = malloc(TRIAD * sizeof *b);
    double *c = malloc(TRIAD * sizeof *c);
    if (a == NULL || b == NULL || c == NULL) {
        fprintf(stderr, "xf_bench_limits: out of memory\n");
        free(a);
        free(b);
        free(c);
        return 1;
    }
    omp_set_num_threads(threads);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < TRIAD; i++) {
        a[i] = 0.0;
        b[i] = 1.0 + i % 7;
        c[i] = 2.0 - i % 5;
    }
    double bandwidth = 24.0 * TRIAD / shortest(triad, a, b, c, seconds);
    double arithmetic = 2.0 * SIDE * SIDE * SIDE / shortest(gemm, a, b, c, seconds);
    printf("{\"threads\": %d, \"triad_gb_per_s\": %.2f, \"dgemm_gflop_per_s\": %.2f}\n", threads,
           1e-9 * bandwidth, 1e-9 * arithmetic);
    free(a);
    free(b);
    free(c);
    return 0;
}
