/* Loading and saving with error reports. */
#include "files.h"

#include "output.h"
#include "processes.h"
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int cli_is_same_file(const char *a, const char *b) {
    struct stat stat_a, stat_b;
    if (a == NULL || b == NULL)
        return 0;
    if (strcmp(a, b) == 0)
        return 1;
    return stat(a, &stat_a) == 0 && stat(b, &stat_b) == 0 && stat_a.st_dev == stat_b.st_dev &&
           stat_a.st_ino == stat_b.st_ino;
}

/* The directory part of a path, "." if it has none; NULL if memory runs out. */
static char *directory_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

int cli_check_output(const cli_options *options) {
    if (options->output == NULL)
        return cli_usage(options, "no output file: use -o FILE");
    return cli_check_writable(options, options->output);
}

int cli_check_writable(const cli_options *options, const char *path) {
    for (int i = 0; i < options->n_arguments; i++)
        if (cli_is_same_file(path, options->arguments[i]))
            return cli_usage(options, "%s: the output would overwrite an input", path);
    char *directory = directory_of(path);
    int writable = directory != NULL && access(directory, W_OK | X_OK) == 0;
    free(directory);
    if (writable)
        return 0;
    xf_error error = {.status = XF_ERR_IO, .sequence = -1, .token = -1};
    snprintf(error.message, sizeof error.message, "its directory is missing or not writable");
    return cli_fail(options, path, &error);
}

int cli_load_model(xf_model *out, const cli_options *options, const char *path) {
    xf_error error;
    return xf_model_load(out, path, &error) == XF_OK ? 0 : cli_fail(options, NULL, &error);
}

int cli_load_data(xf_dataset *out, const cli_options *options, const char *path,
                  const xf_model *model, int inputs_only) {
    xf_dataset_options how = {.inputs_only = inputs_only,
                              .append_positions = cli_given(options, CLI_APPEND_POSITIONS),
                              .note = cli_note,
                              .note_context = (void *)options,
                              .peers = cli_peers(),
                              .threads = (int)options->threads};
    if (model != NULL && model->positions >= 0) {
        how.append_positions = 1;
        how.position_bits = model->positions + 1;
    }
    xf_error error;
    return xf_dataset_load(out, path, &how, &error) == XF_OK ? 0 : cli_fail(options, NULL, &error);
}

int cli_save_model(const xf_model *model, const cli_options *options) {
    xf_error error;
    sigset_t old;
    if (!cli_writes_files())
        return 0;
    cli_signals_hold(&old);
    xf_status status = xf_model_save_as(model, options->output, (xf_layout)options->layout, &error);
    cli_signals_release(&old);
    return status == XF_OK ? 0 : cli_fail(options, NULL, &error);
}

int cli_save_data(const xf_dataset *data, const cli_options *options) {
    xf_error error;
    sigset_t old;
    cli_signals_hold(&old);
    xf_status status = xf_dataset_save(data, options->output, &error);
    cli_signals_release(&old);
    return status == XF_OK ? 0 : cli_fail(options, NULL, &error);
}

int cli_save_trace(const xf_snapshots *snapshots, const cli_options *options) {
    xf_error error;
    sigset_t old;
    cli_signals_hold(&old);
    xf_status status = xf_snapshots_save(snapshots, options->output, &error);
    cli_signals_release(&old);
    return status == XF_OK ? 0 : cli_fail(options, NULL, &error);
}

int cli_save_certificate(const xf_certificate *certificate, const cli_options *options) {
    xf_error error;
    sigset_t old;
    cli_signals_hold(&old);
    xf_status status = xf_certificate_save(certificate, options->output, &error);
    cli_signals_release(&old);
    return status == XF_OK ? 0 : cli_fail(options, NULL, &error);
}

int cli_save_outputs(const cli_options *options, int64_t n_sequences, int64_t d, const double *y,
                     const int64_t *y_offsets) {
    xf_error error;
    sigset_t old;
    cli_signals_hold(&old);
    xf_status status = xf_outputs_save(options->output, n_sequences, d, y, y_offsets, &error);
    cli_signals_release(&old);
    return status == XF_OK ? 0 : cli_fail(options, NULL, &error);
}
