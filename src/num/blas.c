/* CBLAS behind plain names, found by the dynamic loader at the first use. */
#include "num/blas.h"

#include "base/error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

/* The names that OpenBLAS and the reference library have in distributions, best first. */
static const char *const libraries[] = {"libopenblas.so.0", "libopenblas.so", "libcblas.so.3",
                                        "libblas.so.3"};

/* The C interface, whose enumerations are ints. */
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

enum { CODE_MB = 40 }; /* the library itself */

typedef double ddot_fn(int, const double *, int, const double *, int);
typedef float sdot_fn(int, const float *, int, const float *, int);
typedef void dgemv_fn(int, int, int, int, double, const double *, int, const double *, int, double,
                      double *, int);
typedef void sgemv_fn(int, int, int, int, float, const float *, int, const float *, int, float,
                      float *, int);
typedef void dgemm_fn(int, int, int, int, int, int, double, const double *, int, const double *,
                      int, double, double *, int);
typedef void sgemm_fn(int, int, int, int, int, int, float, const float *, int, const float *, int,
                      float, float *, int);

static struct blas {
    int callers; /* that there is room for; 0: not loaded */
    ddot_fn *ddot;
    sdot_fn *sdot;
    dgemv_fn *dgemv;
    sgemv_fn *sgemv;
    dgemm_fn *dgemm;
    sgemm_fn *sgemm;
    int (*get_threads)(void); /* OpenBLAS alone has these two, else NULL */
    void (*set_threads)(int);
} blas;

/* ISO C has no cast from an object pointer to a function's; POSIX says that the bits agree. */
static int find(void *library, const char *name, void *function, size_t size) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, size);
    return symbol != NULL;
}

#define FIND(member, name) find(library, name, &found->member, sizeof found->member)

static int find_all(struct blas *found, void *library) {
    if (!FIND(get_threads, "openblas_get_num_threads") ||
        !FIND(set_threads, "openblas_set_num_threads"))
        found->get_threads = NULL;
    return FIND(ddot, "cblas_ddot") && FIND(sdot, "cblas_sdot") && FIND(dgemv, "cblas_dgemv") &&
           FIND(sgemv, "cblas_sgemv") && FIND(dgemm, "cblas_dgemm") && FIND(sgemm, "cblas_sgemm");
}

/* The first failure goes to `error`. */
static xf_status load_any(struct blas *found, xf_error *error) {
    xf_status status = XF_OK;
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        void *library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
        if (library != NULL && find_all(found, library))
            return XF_OK;
        if (status == XF_OK) {
            const char *why = dlerror();
            status = xfi_fail(error, XF_ERR_IO,
                              "the blas engine needs the library OpenBLAS, which cannot be loaded "
                              "(%s): install it (Debian: libopenblas0) or use another engine",
                              why != NULL ? why : libraries[i]);
        }
        if (library != NULL)
            dlclose(library);
    }
    return status;
}

/* Where OpenBLAS cannot map a buffer (128 MB for each caller on x86-64), it tries again for ever.
 * So see beforehand whether it can. */
static xf_status check_room(int callers, xf_error *error) {
    size_t bytes = ((size_t)callers * 128 + CODE_MB) << 20;
    void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return xfi_fail(error, XF_ERR_MEMORY,
                        "out of memory: the library of the blas engine asks for 128 MB a thread; "
                        "use another engine or fewer threads");
    munmap(room, bytes);
    return XF_OK;
}

static xf_status load(int callers, xf_error *error) {
    if (callers <= blas.callers)
        return XF_OK;
    XFI_TRY(check_room(callers, error));
    if (blas.callers == 0) {
        struct blas found = {0};
        XFI_TRY(load_any(&found, error));
        blas = found;
    }
    blas.callers = callers;
    return XF_OK;
}

xf_status xfi_blas_load(int callers, xf_error *error) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    xf_status status = load(callers, error);
    pthread_mutex_unlock(&lock);
    return status;
}

int xfi_blas_set_threads(int threads) {
    if (blas.get_threads == NULL)
        return 1;
    int before = blas.get_threads();
    blas.set_threads(threads);
    return before;
}

double xfi_dot_f64(const double *a, const double *b, int64_t n) {
    return blas.ddot((int)n, a, 1, b, 1);
}

float xfi_dot_f32(const float *a, const float *b, int64_t n) {
    return blas.sdot((int)n, a, 1, b, 1);
}

void xfi_multiply_f64(double *C, double beta, const double *A, const double *B, int64_t m,
                      int64_t n, int64_t k) {
    blas.dgemm(ROW_MAJOR, NO_TRANS, TRANS, (int)m, (int)n, (int)k, 1.0, A, (int)k, B, (int)k, beta,
               C, (int)n);
}

void xfi_multiply_f32(float *C, float beta, const float *A, const float *B, int64_t m, int64_t n,
                      int64_t k) {
    blas.sgemm(ROW_MAJOR, NO_TRANS, TRANS, (int)m, (int)n, (int)k, 1.0f, A, (int)k, B, (int)k, beta,
               C, (int)n);
}

void xfi_apply_f64(double *y, const double *A, const double *x, int64_t m, int64_t n) {
    blas.dgemv(ROW_MAJOR, NO_TRANS, (int)m, (int)n, 1.0, A, (int)n, x, 1, 0.0, y, 1);
}

void xfi_apply_f32(float *y, const float *A, const float *x, int64_t m, int64_t n) {
    blas.sgemv(ROW_MAJOR, NO_TRANS, (int)m, (int)n, 1.0f, A, (int)n, x, 1, 0.0f, y, 1);
}

void xfi_apply_transposed_f64(double *y, const double *A, const double *x, int64_t m, int64_t n) {
    blas.dgemv(ROW_MAJOR, TRANS, (int)m, (int)n, 1.0, A, (int)n, x, 1, 0.0, y, 1);
}

void xfi_apply_transposed_f32(float *y, const float *A, const float *x, int64_t m, int64_t n) {
    blas.sgemv(ROW_MAJOR, TRANS, (int)m, (int)n, 1.0f, A, (int)n, x, 1, 0.0f, y, 1);
}
