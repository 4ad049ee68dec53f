/* Projections, vectorised over the directions. */
#include "num/project.h"

#include "num/target_clones.h"

/* Tokens first .. last-1; `directions` is [BATCH][d]. */
XFI_CLONES static void project_range(double *restrict out, const double *restrict x, int64_t first,
                                     int64_t last, int64_t n_tokens, int64_t d,
                                     const double *restrict directions) {
    for (int64_t i = first; i < last; i++) {
        const double *token = x + i * d;
        double sum[XFI_PROJECT_BATCH] = {0};
        for (int64_t k = 0; k < d; k++)
            for (int c = 0; c < XFI_PROJECT_BATCH; c++)
                sum[c] += token[k] * directions[c * d + k];
        for (int c = 0; c < XFI_PROJECT_BATCH; c++)
            out[c * n_tokens + i] = sum[c];
    }
}

void xfi_project(double *out, const double *x, int64_t n_tokens, int64_t d,
                 const double *directions, int threads) {
    enum { CHUNK = 1024 };
#pragma omp parallel for num_threads(threads) schedule(static) if (n_tokens > CHUNK)
    for (int64_t first = 0; first < n_tokens; first += CHUNK) {
        int64_t last = first + CHUNK < n_tokens ? first + CHUNK : n_tokens;
        project_range(out, x, first, last, n_tokens, d, directions);
    }
}
