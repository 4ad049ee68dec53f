/* The only user of CBLAS, which is loaded when the first one asks for it: nobody else waits for
 * the library or for the threads that it starts. Matrices are row-major; sums are taken in whatever
 * order the library likes, so the numeric class of everything here is approximate. Sizes beyond int
 * are cut by the callers (tiles). */
#ifndef XFI_NUM_BLAS_H
#define XFI_NUM_BLAS_H

#include <exactformer/status.h>

#include <stdint.h>

/* Load the library, OpenBLAS or another one with the C interface, for so many threads of ours that
 * call it at once. To be called, by any thread, before anything else here; does nothing where an
 * earlier call had as many. Errors: XF_ERR_IO, XF_ERR_MEMORY. */
xf_status xfi_blas_load(int callers, xf_error *error);

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
