/* One data set through everything that the published construction promises about it. */
#ifndef XFT_PROPERTY_PUBLISHED_TRIAL_H
#define XFT_PROPERTY_PUBLISHED_TRIAL_H

#include <exactformer/exactformer.h>

#include "construct/published.h"

enum { XFT_PUBLISHED_TEXT = 1024 };

typedef struct xft_published_trial {
    xfi_stage first_stage; /* XFI_STAGE_NONE: as xf_build does */
    int may_refuse;
    int balanced;       /* neurons rescaled */
    int n_orders;       /* of summation, with and without FMA, by each attention */
    int n_temperatures; /* from 1e-8 tau_max to tau_max */
    int rational;       /* nonzero: exact arithmetic too */
    uint64_t seed;
} xft_published_trial;

typedef struct xft_published_verdict {
    int failed;
    int refused;
    char text[XFT_PUBLISHED_TEXT]; /* what went wrong, or the refusal */
    int64_t n_blocks;
    xf_build_report report;
} xft_published_verdict;

void xft_published_trial_run(xft_published_verdict *out, const xft_published_trial *trial,
                             const xf_dataset *data);

/* Build with the published construction from a stage on, metadata included. */
xf_status xft_build_published(xf_model *out, const xf_dataset *data,
                              const xf_build_options *options, xfi_stage first_stage,
                              xf_build_report *report, xf_error *error);

#endif
