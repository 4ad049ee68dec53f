/* How an option looks and where its value goes. */
#ifndef CLI_OPTION_TABLE_H
#define CLI_OPTION_TABLE_H

#include "options.h"

#include <stddef.h>

typedef enum cli_value_kind {
    CLI_VALUE_FLAG,
    CLI_VALUE_TEXT,
    CLI_VALUE_CHOICE,
    CLI_VALUE_INTEGER,
    CLI_VALUE_RANGE,
    CLI_VALUE_SEED,
    CLI_VALUE_POSITIVE,
    CLI_VALUE_REAL,
} cli_value_kind;

typedef struct cli_option {
    const char *name;
    int short_name;
    const char *value; /* its name in the help, NULL for flags */
    const char *help;
    cli_value_kind kind;
    size_t field;               /* offset into cli_options */
    const char *const *choices; /* of a CLI_VALUE_CHOICE */
    int64_t highest;            /* of an CLI_VALUE_INTEGER or CLI_VALUE_RANGE, from 1 */
} cli_option;

extern const cli_option cli_option_table[CLI_N_OPTIONS];

#endif
