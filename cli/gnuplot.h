/* Figures drawn by the program gnuplot, as SVG or PNG. */
#ifndef CLI_GNUPLOT_H
#define CLI_GNUPLOT_H

#include "options.h"

#include <stdio.h>

/* Before any work: does the name end in .svg or .png, and is gnuplot there? Returns the exit
 * status, 0 for yes. */
int cli_check_figure(const cli_options *options, const char *path);

/* Writes gnuplot commands to `script`, which has a terminal and no output yet. */
typedef void (*cli_draw_fn)(FILE *script, const void *context);

/* Draw to `path`, which appears complete or not at all. Reports its failures and returns the exit
 * status. */
int cli_draw(const cli_options *options, const char *path, cli_draw_fn draw, const void *context);

#endif
