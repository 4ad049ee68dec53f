/* The script goes to an unnamed file that becomes gnuplot's standard input, the picture comes from
 * its standard output into a temporary file beside the one to be written: no pipe can block and no
 * file name is ever part of a script. */
#include "gnuplot.h"

#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int ends_with(const char *path, const char *extension) {
    size_t length = strlen(path), n = strlen(extension);
    return length > n && strcasecmp(path + length - n, extension) == 0;
}

static int complain(const cli_options *options, const char *path, const char *message) {
    xf_error error = {.status = XF_ERR_IO, .sequence = -1, .token = -1};
    snprintf(error.message, sizeof error.message, "%s", message);
    return cli_fail(options, path, &error);
}

/* Run gnuplot with these files (-1: none); its exit status, or -1 if it cannot be run. */
static int run_gnuplot(char *const arguments[], int input, int output, int errors) {
    posix_spawn_file_actions_t files;
    pid_t child;
    int status = -1;
    if (posix_spawn_file_actions_init(&files) != 0)
        return -1;
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    const int from[3] = {input, output, errors};
    for (int i = 0; i < 3; i++)
        if (from[i] >= 0)
            posix_spawn_file_actions_adddup2(&files, from[i], i);
    if (posix_spawnp(&child, "gnuplot", &files, NULL, arguments, environ) == 0)
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
    posix_spawn_file_actions_destroy(&files);
    return status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int cli_check_figure(const cli_options *options, const char *path) {
    static char name[] = "gnuplot", version[] = "--version";
    char *const arguments[] = {name, version, NULL};
    if (!ends_with(path, ".svg") && !ends_with(path, ".png"))
        return cli_usage(options, "%s: a figure is a file .svg or .png", path);
    if (run_gnuplot(arguments, -1, -1, -1) == 0)
        return 0;
    return complain(options, path,
                    "figures are drawn by the program gnuplot, which is not there: install "
                    "gnuplot-nox (Debian)");
}

static FILE *write_script(const char *path, cli_draw_fn draw, const void *context) {
    FILE *script = tmpfile();
    if (script == NULL)
        return NULL;
    fprintf(script, "set encoding utf8\nset terminal %s\n",
            ends_with(path, ".png")
                ? "pngcairo noenhanced size 800,520 font 'sans,12' background rgb 'white'"
                : "svg noenhanced size 800,520 font 'sans,14' background rgb 'white'");
    draw(script, context);
    if (fflush(script) != 0 || ferror(script) || lseek(fileno(script), 0, SEEK_SET) != 0) {
        fclose(script);
        return NULL;
    }
    return script;
}

/* The picture into `output`; gnuplot tells of errors in its script by its exit status. */
static int draw_into(int output, const char *path, cli_draw_fn draw, const void *context) {
    static char name[] = "gnuplot", defaults[] = "-d", from_input[] = "-";
    char *const arguments[] = {name, defaults, from_input, NULL};
    struct stat drawn;
    FILE *script = write_script(path, draw, context);
    if (script == NULL)
        return 0;
    int status = run_gnuplot(arguments, fileno(script), output, -1);
    fclose(script);
    return status == 0 && fstat(output, &drawn) == 0 && drawn.st_size > 0 && fsync(output) == 0;
}

/* As a new file would have; the old one's, if there is one. */
static void set_mode(int output, const char *target) {
    struct stat old;
    mode_t mask = umask(0);
    umask(mask);
    mode_t mode = stat(target, &old) == 0 ? old.st_mode & 0777 : 0666 & ~mask;
    if (fchmod(output, mode) != 0)
        return; /* the file stays private */
}

int cli_draw(const cli_options *options, const char *path, cli_draw_fn draw, const void *context) {
    char target[PATH_MAX], temporary[PATH_MAX + 8];
    if (realpath(path, target) == NULL)
        snprintf(target, sizeof target, "%s", path);
    snprintf(temporary, sizeof temporary, "%s.XXXXXX", target);
    int output = mkstemp(temporary);
    if (output < 0)
        return complain(options, path, strerror(errno));
    int ok = draw_into(output, path, draw, context);
    set_mode(output, target);
    ok = close(output) == 0 && ok && rename(temporary, target) == 0;
    if (ok)
        return 0;
    unlink(temporary);
    return complain(options, path, "gnuplot could not draw the figure");
}
