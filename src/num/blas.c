/* CBLAS behind plain names. */
#include "num/blas.h"

#include <cblas.h>

int xfi_blas_set_threads(int threads) {
    int before = openblas_get_num_threads();
    openblas_set_num_threads(threads);
    return before;
}

double xfi_dot_f64(const double *a, const double *b, int64_t n) {
    return cblas_ddot((int)n, a, 1, b, 1);
}

float xfi_dot_f32(const float *a, const float *b, int64_t n) {
    return cblas_sdot((int)n, a, 1, b, 1);
}

void xfi_multiply_f64(double *C, double beta, const double *A, const double *B, int64_t m,
                      int64_t n, int64_t k) {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)m, (int)n, (int)k, 1.0, A, (int)k, B,
                (int)k, beta, C, (int)n);
}

void xfi_multiply_f32(float *C, float beta, const float *A, const float *B, int64_t m, int64_t n,
                      int64_t k) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)m, (int)n, (int)k, 1.0f, A, (int)k, B,
                (int)k, beta, C, (int)n);
}

void xfi_apply_f64(double *y, const double *A, const double *x, int64_t m, int64_t n) {
    cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)m, (int)n, 1.0, A, (int)n, x, 1, 0.0, y, 1);
}

void xfi_apply_f32(float *y, const float *A, const float *x, int64_t m, int64_t n) {
    cblas_sgemv(CblasRowMajor, CblasNoTrans, (int)m, (int)n, 1.0f, A, (int)n, x, 1, 0.0f, y, 1);
}

void xfi_apply_transposed_f64(double *y, const double *A, const double *x, int64_t m, int64_t n) {
    cblas_dgemv(CblasRowMajor, CblasTrans, (int)m, (int)n, 1.0, A, (int)n, x, 1, 0.0, y, 1);
}

void xfi_apply_transposed_f32(float *y, const float *A, const float *x, int64_t m, int64_t n) {
    cblas_sgemv(CblasRowMajor, CblasTrans, (int)m, (int)n, 1.0f, A, (int)n, x, 1, 0.0f, y, 1);
}
