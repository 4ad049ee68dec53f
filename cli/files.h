/* Files that commands read and write. The functions report their failures themselves and
 * return the exit status, 0 for success. */
#ifndef CLI_FILES_H
#define CLI_FILES_H

#include "options.h"

/* Before any work: is every file to be written none of those to be read, and no other's, and can
 * it be written? Files that do not exist yet count by where they would be. */
int cli_check_outputs(const cli_options *options);

/* The same, and there must be an --output. */
int cli_check_output(const cli_options *options);

int cli_load_model(xf_model *out, const cli_options *options, const char *path);

/* For a model with a position coordinate the data get one on the same scale. */
int cli_load_data(xf_dataset *out, const cli_options *options, const char *path,
                  const xf_model *model, int inputs_only);

int cli_save_model(const xf_model *model, const cli_options *options);
int cli_save_data(const xf_dataset *data, const cli_options *options);
int cli_save_trace(const xf_snapshots *snapshots, const cli_options *options);
int cli_save_certificate(const xf_certificate *certificate, const cli_options *options);
int cli_save_outputs(const cli_options *options, int64_t n_sequences, int64_t d, const double *y,
                     const int64_t *y_offsets);

#endif
