/* The only user of CBLAS. Matrices are row-major; sums are taken in whatever order the library
 * likes, so the numeric class of everything here is approximate. Sizes beyond int are cut by
 * the callers (tiles). */
#ifndef XFI_NUM_BLAS_H
#define XFI_NUM_BLAS_H

#include <stdint.h>

/* Set the number of threads of the library (one for the whole process; no effect on other
 * libraries than OpenBLAS); returns the number so far. */
int xfi_blas_set_threads(int threads);

double xfi_dot_f64(const double *a, const double *b, int64_t n);
float xfi_dot_f32(const float *a, const float *b, int64_t n);

/* C [m][n] = A [m][k] B^T + beta C, B [n][k]. Nothing is read from C if beta is 0. */
void xfi_multiply_f64(double *C, double beta, const double *A, const double *B, int64_t m,
                      int64_t n, int64_t k);
void xfi_multiply_f32(float *C, float beta, const float *A, const float *B, int64_t m, int64_t n,
                      int64_t k);

/* y [m] = A x, A [m][n]. */
void xfi_apply_f64(double *y, const double *A, const double *x, int64_t m, int64_t n);
void xfi_apply_f32(float *y, const float *A, const float *x, int64_t m, int64_t n);

/* y [n] = A^T x, A [m][n]. */
void xfi_apply_transposed_f64(double *y, const double *A, const double *x, int64_t m, int64_t n);
void xfi_apply_transposed_f32(float *y, const float *A, const float *x, int64_t m, int64_t n);

#endif
