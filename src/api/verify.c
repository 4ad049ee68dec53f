/* xf_verify: run, then compare, a part of the sequences at a time. */
#include <exactformer/run.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file_memory.h"
#include "core/agreement.h"
#include "core/share.h"

#include <stddef.h>

/* Outputs of so many values are held at a time, or those of one sequence: engines prepare
 * themselves anew for every part, so parts are large where there is memory. */
static int64_t part_size(void) {
    enum { LARGE = 1 << 23, SMALL = 1 << 18 };
    return xfi_memory_is_scarce(LARGE * (int64_t)sizeof(double), 1) ? SMALL : LARGE;
}

/* Some sequences as a data set of their own; borrows all but the offsets. */
typedef struct part {
    xf_dataset data;
    int64_t *x_offsets; /* [capacity + 1], owned */
    int64_t *y_offsets;
    int64_t size;
    double *out; /* [n_tokens of the largest part][d], owned */
} part;

/* The end of the part that begins at `first`. */
static int64_t part_end(const xf_dataset *data, int64_t size, int64_t first, int64_t last) {
    int64_t j = first + 1;
    while (j < last && (data->x_offsets[j + 1] - data->x_offsets[first]) * data->d <= size)
        j++;
    return j;
}

static void part_clear(part *p) {
    xfi_free(p->x_offsets);
    xfi_free(p->y_offsets);
    xfi_free(p->out);
}

static xf_status part_init(part *p, const xf_dataset *data, xfi_share share, xf_error *error) {
    int64_t sequences = 0, tokens = 0;
    *p = (part){.size = part_size()};
    for (int64_t first = share.first, last; first < share.last; first = last) {
        last = part_end(data, p->size, first, share.last);
        int64_t n = data->x_offsets[last] - data->x_offsets[first];
        tokens = n > tokens ? n : tokens;
        sequences = last - first > sequences ? last - first : sequences;
    }
    p->x_offsets = xfi_calloc(sequences + 1, sizeof *p->x_offsets);
    p->y_offsets = xfi_calloc(sequences + 1, sizeof *p->y_offsets);
    p->out = xfi_calloc2(tokens, data->d, sizeof *p->out);
    if (p->x_offsets && p->y_offsets && p->out)
        return XF_OK;
    part_clear(p);
    return xfi_fail_memory(error);
}

static void part_set(part *p, const xf_dataset *data, int64_t first, int64_t last) {
    int64_t x = data->x_offsets[first], y = data->y_offsets[first];
    for (int64_t j = first; j <= last; j++) {
        p->x_offsets[j - first] = data->x_offsets[j] - x;
        p->y_offsets[j - first] = data->y_offsets[j] - y;
    }
    p->data = (xf_dataset){.n_sequences = last - first,
                           .d = data->d,
                           .n_tokens = data->x_offsets[last] - x,
                           .n_targets = data->y_offsets[last] - y,
                           .positions = data->positions,
                           .x = data->x + x * data->d,
                           .x_offsets = p->x_offsets,
                           .y = data->y + y * data->d,
                           .y_offsets = p->y_offsets};
}

/* Add what was found in sequences first, first + 1, ..., which come after all others. */
static void join(xf_verify_report *all, const xf_verify_report *some, int64_t first) {
    all->n_exact += some->n_exact;
    if (some->first_mismatch >= 0 && all->first_mismatch < 0)
        all->first_mismatch = first + some->first_mismatch;
    if (some->worst_sequence >= 0 &&
        (all->worst_sequence < 0 || some->hausdorff_max > all->hausdorff_max)) {
        all->hausdorff_max = some->hausdorff_max;
        all->worst_sequence = first + some->worst_sequence;
    }
}

static xf_status verify_share(xf_verify_report *report, const xf_model *model,
                              const xf_dataset *data, xfi_share share,
                              const xf_run_options *options, xf_error *error) {
    part p;
    XFI_TRY(part_init(&p, data, share, error));
    xf_status status = XF_OK;
    for (int64_t first = share.first, last; first < share.last && status == XF_OK; first = last) {
        xf_verify_report found = {0};
        last = part_end(data, p.size, first, share.last);
        part_set(&p, data, first, last);
        status = xf_run(p.out, model, &p.data, options, error);
        if (status == XF_OK)
            status = xf_compare(&found, p.out, &p.data, error);
        if (status != XF_OK && status != XF_NOT_EXACT)
            break;
        join(report, &found, first);
        status = XF_OK;
    }
    part_clear(&p);
    return status;
}

/* Everyone's reports, in order of rank. */
static xf_status gather_reports(xf_verify_report *report, const xf_peers *peers, xf_error *error) {
    xf_verify_report *all = xfi_calloc(peers->size, sizeof *all);
    int64_t *starts = xfi_calloc(peers->size + 1, sizeof *starts);
    xf_status status = all && starts ? XF_OK : xfi_fail_memory(error);
    for (int r = 0; status == XF_OK && r <= peers->size; r++)
        starts[r] = r * (int64_t)sizeof *all;
    if (status == XF_OK) {
        all[peers->rank] = *report;
        status = xfi_share_exchange(peers, all, starts, error);
    }
    if (status == XF_OK)
        *report = all[0];
    for (int r = 1; status == XF_OK && r < peers->size; r++)
        join(report, &all[r], 0);
    xfi_free(all);
    xfi_free(starts);
    return status;
}

static xf_status conclude(const xf_verify_report *report, xf_error *error) {
    int64_t j = report->first_mismatch;
    if (j < 0)
        return XF_OK;
    return xfi_fail_at(error, XF_NOT_EXACT, j, -1,
                       "sequence %lld: the output differs from the target (%lld of %lld sequences "
                       "are exact, largest Hausdorff distance %.6g)",
                       (long long)j, (long long)report->n_exact, (long long)report->n_sequences,
                       report->hausdorff_max);
}

/* All that decides the outputs must be the same for everyone. */
static xf_status agree(const xf_model *model, const xf_dataset *data, const xf_run_options *options,
                       xf_error *error) {
    if (options == NULL || options->peers == NULL)
        return XF_OK;
    const int64_t choices[] = {(int64_t)options->engine, options->override_attention != 0,
                               options->override_attention ? (int64_t)options->attention : 0};
    uint64_t hash = xfi_digest(0, choices, sizeof choices);
    hash = xfi_digest(hash, &options->tau, sizeof options->tau);
    XFI_TRY(xfi_agree_model(options->peers, model, error));
    XFI_TRY(xfi_agree(options->peers, "options", hash, error));
    return xfi_agree_dataset(options->peers, data, error);
}

xf_status xf_verify(xf_verify_report *report, const xf_model *model, const xf_dataset *data,
                    const xf_run_options *options, xf_error *error) {
    const xf_peers *peers = options != NULL ? options->peers : NULL;
    xfi_error_clear(error);
    *report = (xf_verify_report){
        .n_sequences = data->n_sequences, .first_mismatch = -1, .worst_sequence = -1};
    if (data->y == NULL || data->y_offsets == NULL)
        return xfi_fail(error, XF_ERR_DATA, "the data set has no targets to compare with");
    XFI_TRY(agree(model, data, options, error));
    xfi_share share = xfi_share_of(peers, data->x_offsets, data->n_sequences);
    XFI_TRY(verify_share(report, model, data, share, options, error));
    if (peers != NULL && peers->size > 1)
        XFI_TRY(gather_reports(report, peers, error));
    return conclude(report, error);
}
