/* The progress line and signals. */
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t stop_requested;

static void request_stop(int number) {
    (void)number;
    stop_requested = 1;
}

void cli_progress_begin(cli_progress *progress, const cli_options *options) {
    *progress = (cli_progress){.last_percent = -1};
    progress->visible = !options->quiet && !options->json && isatty(STDERR_FILENO);
    struct sigaction action = {.sa_handler = request_stop, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &progress->old_interrupt);
    sigaction(SIGTERM, &action, &progress->old_terminate);
}

int cli_progress_report(void *context, const char *phase, double done) {
    cli_progress *progress = context;
    int percent = (int)(100.0 * done);
    if (progress->visible &&
        (percent != progress->last_percent ||
         strncmp(phase, progress->last_phase, sizeof progress->last_phase - 1) != 0)) {
        progress->last_percent = percent;
        snprintf(progress->last_phase, sizeof progress->last_phase, "%s", phase);
        fprintf(stderr, "\r%-23.23s %3d%%", phase, percent);
        fflush(stderr);
    }
    return stop_requested;
}

void cli_progress_end(cli_progress *progress) {
    if (progress->visible && progress->last_percent >= 0)
        fputs("\r\033[K", stderr);
    sigaction(SIGINT, &progress->old_interrupt, NULL);
    sigaction(SIGTERM, &progress->old_terminate, NULL);
}

void cli_signals_hold(sigset_t *old) {
    sigset_t all;
    sigemptyset(&all);
    sigaddset(&all, SIGINT);
    sigaddset(&all, SIGTERM);
    sigaddset(&all, SIGHUP);
    sigprocmask(SIG_BLOCK, &all, old);
}

void cli_signals_release(const sigset_t *old) {
    sigprocmask(SIG_SETMASK, old, NULL);
}
