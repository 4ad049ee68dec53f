/* What the stages of a log came to, by its records and by its description. */
#ifndef XFI_API_LOG_STAGES_H
#define XFI_API_LOG_STAGES_H

#include <exactformer/diagnose.h>

#include <jansson.h>

/* Compute J anew and fill the stages of a log whose records are there with J as printed. `said` is
 * the description's list of stages, or NULL; `objective` the precision of the column J. Errors:
 * XF_ERR_DATA (the printed J or the description does not fit). */
xf_status xfi_log_stages(xf_training_log *log, const json_t *said, const xf_precision *objective,
                         xf_error *error);

#endif
