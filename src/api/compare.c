/* xf_compare: outputs at hand against the targets. */
#include <exactformer/run.h>

#include "base/error.h"
#include "engine/set_compare.h"

#include <stddef.h>

xf_status xf_compare(xf_verify_report *report, const double *out, const xf_dataset *data,
                     xf_error *error) {
    xfi_error_clear(error);
    *report = (xf_verify_report){.first_mismatch = -1, .worst_sequence = -1};
    if (data->y == NULL || data->y_offsets == NULL)
        return xfi_fail(error, XF_ERR_DATA, "the data set has no targets to compare with");
    return xfi_compare_sets(report, out, data, error);
}
