/* Loading and saving with error reports. */
#include "files.h"

#include "output.h"
#include "processes.h"
#include "progress.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- which file is meant ------------------------------------------------------------------ */

/* Where a file is or would be once it is written: its directory, and its name there. */
typedef struct place {
    dev_t device;
    ino_t directory;
    char path[PATH_MAX]; /* without symbolic links at its end */
    char folder[PATH_MAX];
    const char *name; /* in `path` */
} place;

/* The directory part of a path, "." if it has none. */
static void split(place *p) {
    char *slash = strrchr(p->path, '/');
    size_t length = slash == NULL ? 1 : slash == p->path ? 1 : (size_t)(slash - p->path);
    memcpy(p->folder, slash == NULL ? "." : p->path, length);
    p->folder[length] = '\0';
    p->name = slash == NULL ? p->path : slash + 1;
}

/* Replace a symbolic link by what it leads to, which need not exist. */
static int follow(place *p) {
    char link[PATH_MAX], next[PATH_MAX];
    ssize_t length = readlink(p->path, link, sizeof link - 1);
    if (length < 0)
        return 0;
    link[length] = '\0';
    int size = link[0] == '/' ? snprintf(next, sizeof next, "%s", link)
                              : snprintf(next, sizeof next, "%s/%s", p->folder, link);
    if (size >= (int)sizeof next)
        return 0;
    memcpy(p->path, next, (size_t)size + 1);
    return 1;
}

/* 0 if there is no such directory. */
static int find_place(place *p, const char *path) {
    enum { MOST_LINKS = 40 };
    struct stat info;
    if (snprintf(p->path, sizeof p->path, "%s", path) >= (int)sizeof p->path)
        return 0;
    split(p);
    for (int i = 0; i < MOST_LINKS && follow(p); i++)
        split(p);
    if (stat(p->folder, &info) != 0)
        return 0;
    p->device = info.st_dev;
    p->directory = info.st_ino;
    return 1;
}

static int is_same_place(const char *a, const char *b) {
    place at_a, at_b;
    return find_place(&at_a, a) && find_place(&at_b, b) && at_a.device == at_b.device &&
           at_a.directory == at_b.directory && strcmp(at_a.name, at_b.name) == 0;
}

/* Do both paths lead to one file, existing or to be written? A NULL is no file. */
static int is_same_file(const char *a, const char *b) {
    struct stat stat_a, stat_b;
    if (a == NULL || b == NULL)
        return 0;
    if (strcmp(a, b) == 0)
        return 1;
    if (stat(a, &stat_a) == 0 && stat(b, &stat_b) == 0)
        return stat_a.st_dev == stat_b.st_dev && stat_a.st_ino == stat_b.st_ino;
    return is_same_place(a, b);
}

/* --- before any work ---------------------------------------------------------------------- */

/* Why the file cannot be written, or NULL. */
static const char *why_not_writable(const char *path) {
    place p;
    struct stat info;
    if (path[0] == '\0')
        return "the file name is empty";
    if (!find_place(&p, path) || access(p.folder, W_OK | X_OK) != 0)
        return "its directory is missing or not writable";
    if (stat(p.path, &info) != 0)
        return NULL;
    if (S_ISDIR(info.st_mode))
        return "cannot write: it is a directory";
    if (!S_ISREG(info.st_mode))
        return "cannot write: it is not a regular file";
    return access(p.path, W_OK) == 0 ? NULL : "cannot write: permission denied";
}

static int check_writable(const cli_options *options, const char *path) {
    xf_error error = {.status = XF_ERR_IO, .sequence = -1, .token = -1};
    const char *why = path != NULL ? why_not_writable(path) : NULL;
    if (why == NULL)
        return 0;
    snprintf(error.message, sizeof error.message, "%s", why);
    return cli_fail(options, path, &error);
}

int cli_check_outputs(const cli_options *o) {
    enum { N_INPUTS = CLI_MAX_ARGUMENTS + 3, N_OUTPUTS = 5 };
    const char *const inputs[N_INPUTS] = {o->arguments[0], o->arguments[1], o->initial,
                                          o->exact_model, o->data};
    const char *const outputs[N_OUTPUTS] = {o->output, o->log, o->checkpoint, o->figure_epochs,
                                            o->figure_scaling};
    for (int i = 0; i < N_OUTPUTS; i++)
        for (int k = 0; k < N_INPUTS; k++)
            if (is_same_file(outputs[i], inputs[k]))
                return cli_usage(o, "%s: the output would overwrite an input", outputs[i]);
    for (int i = 0; i < N_OUTPUTS; i++)
        for (int k = 0; k < i; k++)
            if (is_same_file(outputs[i], outputs[k]))
                return cli_usage(o, "%s: two outputs would be the same file", outputs[i]);
    int status = 0;
    for (int i = 0; status == 0 && i < N_OUTPUTS; i++)
        status = check_writable(o, outputs[i]);
    return status;
}

int cli_check_output(const cli_options *options) {
    if (options->output == NULL)
        return cli_usage(options, "no output file: use -o FILE");
    return cli_check_outputs(options);
}

/* --- loading and saving ------------------------------------------------------------------- */

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
