/* What takes less memory than what was asked for. */
#include "memory_hint.h"

#include "commands.h"

#include <stdio.h>
#include <string.h>

static int ends_with(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static int has_threads(const cli_options *options) {
    const cli_command *command = cli_find_command(cli_all_commands, options->command);
    for (const cli_option_id *id = command ? command->option_ids : NULL; id && *id; id++)
        if (*id == CLI_THREADS)
            return 1;
    return 0;
}

/* Tokens of other formats need not stay in memory. */
static int reads_lines(const cli_options *options) {
    for (int i = 0; i < options->n_arguments; i++)
        if (ends_with(options->arguments[i], ".jsonl"))
            return 1;
    return 0;
}

static int chooses_writer(const cli_options *options) {
    return options->command != NULL && strcmp(options->command, "build") == 0 &&
           options->construction == XF_POOLED && options->writer == NULL;
}

static void add(char *out, size_t size, const char *way) {
    size_t used = strlen(out);
    snprintf(out + used, size - used, "%s%s", used ? ", " : "; what may help: ", way);
}

void cli_memory_hint(char *out, size_t size, const cli_options *options, const char *message) {
    out[0] = '\0';
    if (!ends_with(message, "out of memory"))
        return;
    if (has_threads(options) && options->threads != 1)
        add(out, size, "--threads 1");
    if (chooses_writer(options))
        add(out, size, "--writer grid");
    if (reads_lines(options))
        add(out, size, "the data as .npz or .safetensors");
}
