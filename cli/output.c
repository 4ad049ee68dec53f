/* Results, JSON, errors and notes. */
#include "output.h"

#include "memory_hint.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2, EXIT_OUTPUT = 4 };

/* Control characters in file names or arguments must not reach a terminal. */
static void print_line(const char *text) {
    for (const char *c = text; *c; c++)
        fputc((unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c, stderr);
    fputc('\n', stderr);
}

json_t *cli_json_real(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *cli_json_position(int64_t position) {
    return position < 0 ? json_null() : json_integer(position);
}

json_t *cli_json_margin(double margin, const int64_t sequence[2]) {
    if (!isfinite(margin))
        return json_pack("{s:n,s:n}", "margin", "margin_sequences");
    return json_pack("{s:f,s:[o,o]}", "margin", margin, "margin_sequences",
                     cli_json_position(sequence[0]), cli_json_position(sequence[1]));
}

json_t *cli_json_text(const char *text) {
    json_t *string = json_string(text);
    if (string != NULL)
        return string;
    char *ascii = strdup(text);
    for (char *c = ascii; c != NULL && *c; c++)
        *c = (char)(*c & 0x80 ? '?' : *c);
    string = ascii ? json_string(ascii) : NULL;
    free(ascii);
    return string;
}

json_t *cli_json_join(json_t *first, json_t *second) {
    if (first != NULL && json_object_update(first, second) != 0) {
        json_decref(first);
        first = NULL;
    }
    json_decref(second);
    return first;
}

static int print_json(json_t *object) {
    int failed = object == NULL || json_dumpf(object, stdout, JSON_COMPACT) != 0;
    failed |= fputc('\n', stdout) == EOF;
    json_decref(object);
    return failed;
}

static void print_json_error(const xf_error *error, const char *message) {
    int status = xf_status_exit_code(error->status);
    print_json(json_pack("{s:{s:i,s:s,s:o,s:o,s:o}}", "error", "status", status, "kind",
                         xf_status_string(error->status), "message", cli_json_text(message),
                         "sequence", cli_json_position(error->sequence), "token",
                         cli_json_position(error->token)));
}

int cli_fail(const cli_options *options, const char *file, const xf_error *error) {
    char hint[128] = "";
    if (error->status == XF_ERR_MEMORY)
        cli_memory_hint(hint, sizeof hint, options, error->message);
    size_t room = strlen(error->message) + strlen(hint) + (file ? strlen(file) : 0) + 64;
    char *line = malloc(room);
    const char *command = options->command ? options->command : "";
    int prefix = 0;
    if (line != NULL) {
        prefix = snprintf(line, room, "exactformer: %s%s", command, *command ? ": " : "");
        snprintf(line + prefix, room - (size_t)prefix, "%s%s%s%s", file ? file : "",
                 file ? ": " : "", error->message, hint);
    }
    if (!options->json || !options->quiet)
        print_line(line ? line : error->message);
    if (options->json)
        print_json_error(error, line ? line + prefix : error->message);
    free(line);
    fflush(stdout);
    return xf_status_exit_code(error->status);
}

int cli_usage(const cli_options *options, const char *format, ...) {
    xf_error error = {.status = XF_ERR_ARGUMENT, .sequence = -1, .token = -1};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error.message, sizeof error.message, format, arguments);
    va_end(arguments);
    cli_fail(options, NULL, &error);
    return EXIT_USAGE;
}

void cli_note(void *context, const char *text) {
    const cli_options *options = context;
    if (options->quiet)
        return;
    fputs("exactformer: note: ", stderr);
    print_line(text);
}

void cli_line(const cli_options *options, const char *label, const char *format, ...) {
    if (options->json || options->quiet)
        return;
    va_list arguments;
    va_start(arguments, format);
    printf("%-14s", label);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
}

void cli_margin_line(const cli_options *options, double margin, const int64_t sequence[2]) {
    if (!isfinite(margin))
        return;
    if (sequence[0] == sequence[1])
        cli_line(options, "margin", "%.3g, in sequence %lld", margin, (long long)sequence[0]);
    else
        cli_line(options, "margin", "%.3g, between sequences %lld and %lld", margin,
                 (long long)sequence[0], (long long)sequence[1]);
}

void cli_blocks_line(const cli_options *options, const xf_model *model, int64_t bound) {
    if (strcmp(model->construction, "resnet") == 0)
        cli_line(options, "blocks", "%lld", (long long)model->n_blocks);
    else
        cli_line(options, "blocks", "%lld, published bound %lld", (long long)model->n_blocks,
                 (long long)bound);
}

int cli_finish(const cli_options *options, json_t *object, int exit_status) {
    int failed = 0;
    if (options->json)
        failed = print_json(object);
    else
        json_decref(object);
    failed |= fflush(stdout) != 0 || ferror(stdout);
    if (!failed)
        return exit_status;
    print_line("exactformer: cannot write to standard output");
    return EXIT_OUTPUT;
}
