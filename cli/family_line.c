/* A family of models in a report. */
#include "family_line.h"

#include "output.h"

void cli_family_line(const cli_options *options, const xf_family *f) {
    cli_line(options, "family",
             "%s, %lld blocks, width %lld, rank %lld, V %s%s%s, tau %.6g, %lld parameters",
             cli_order_names[f->order], (long long)f->n_blocks, (long long)f->width,
             (long long)f->rank, cli_value_form_names[f->value],
             f->scalar ? ", A with a multiple of the identity" : "", f->causal ? ", causal" : "",
             f->tau, (long long)xf_family_parameters(f));
}
