/* All that the program prints: results, JSON, errors, notes. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "options.h"

#include <jansson.h>

#define CLI_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))

/* Report a failure: `exactformer: COMMAND: [FILE: ]message` on standard error, and with
 * --json an object on standard output. `file` may be NULL. Returns the exit status. */
int cli_fail(const cli_options *options, const char *file, const xf_error *error);

/* The same for wrong usage; returns 2. */
int cli_usage(const cli_options *options, const char *format, ...) CLI_PRINTF(2, 3);

/* An xf_note_fn whose context is the cli_options: prints unless --quiet. */
void cli_note(void *context, const char *text);

/* A line `label  text` of a report; nothing with --json or --quiet. */
void cli_line(const cli_options *options, const char *label, const char *format, ...)
    CLI_PRINTF(3, 4);

/* The line "margin": nothing if it is infinite, when there is nothing to tell apart. */
void cli_margin_line(const cli_options *options, double margin, const int64_t sequence[2]);

/* The line "blocks". The published bound is one for attention, and says nothing of a ResNet. */
void cli_blocks_line(const cli_options *options, const xf_model *model, int64_t bound);

/* With --json print `object`, which is released in any case. Then flush. Returns `exit_status`,
 * or 4 if standard output failed or memory ran out. */
int cli_finish(const cli_options *options, json_t *object, int exit_status);

/* JSON values: null for numbers that are not finite and for negative positions, and
 * strings that need not be UTF-8. */
json_t *cli_json_real(double value);
json_t *cli_json_position(int64_t position);
json_t *cli_json_margin(double margin, const int64_t sequence[2]); /* two members */
json_t *cli_json_text(const char *text);

/* The members of both objects; consumes both. */
json_t *cli_json_join(json_t *first, json_t *second);

#endif
