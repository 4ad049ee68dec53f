/* Long work seen from outside: a progress line on a terminal, and Ctrl-C. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "options.h"

#include <signal.h>

/* One stretch of long work. */
typedef struct cli_progress {
    int visible;
    int last_percent;
    char last_phase[24];
    struct sigaction old_interrupt, old_terminate;
} cli_progress;

/* From here to cli_progress_end the first SIGINT or SIGTERM makes cli_progress_report ask for
 * the end of the work; the second ends the program at once. */
void cli_progress_begin(cli_progress *progress, const cli_options *options);

/* An xf_progress_fn whose context is the cli_progress. */
int cli_progress_report(void *context, const char *phase, double done);

/* Clear the line. */
void cli_progress_end(cli_progress *progress);

/* Let signals wait while a file is being written, so that no half file is left. */
void cli_signals_hold(sigset_t *old);
void cli_signals_release(const sigset_t *old);

#endif
