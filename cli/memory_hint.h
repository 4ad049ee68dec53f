/* The way out where memory ran out. */
#ifndef CLI_MEMORY_HINT_H
#define CLI_MEMORY_HINT_H

#include "options.h"

#include <stddef.h>

/* What this command could be asked for that takes less, as the end of a message that says no more
 * than "out of memory"; "" if nothing is known to help. */
void cli_memory_hint(char *out, size_t size, const cli_options *options, const char *message);

#endif
