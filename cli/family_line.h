/* A family of models in a report. */
#ifndef CLI_FAMILY_LINE_H
#define CLI_FAMILY_LINE_H

#include "options.h"

/* The line "family": everything on which the squared norm of a member depends. */
void cli_family_line(const cli_options *options, const xf_family *family);

#endif
