/* Files that commands read and write. The functions report their failures themselves and
 * return the exit status, 0 for success. */
#ifndef CLI_FILES_H
#define CLI_FILES_H

#include "options.h"

/* Do both paths lead to one file, or read alike where there is none yet? A NULL is no file. */
int cli_is_same_file(const char *a, const char *b);

/* Before any work: is there an --output, is it none of the arguments, and can its
 * directory be written? */
int cli_check_output(const cli_options *options);

/* The same of any other file to be written. */
int cli_check_writable(const cli_options *options, const char *path);

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
