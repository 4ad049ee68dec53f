/* exactformer golden: handed to the program exactformer-golden of the Python package. */
#include "commands.h"
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char program[] = "exactformer-golden";

static const cli_option_id option_ids[] = {CLI_JSON, CLI_QUIET, CLI_HELP, CLI_NONE};

/* Report why the program could not be started. */
static int refuse(const cli_options *options, int reason) {
    xf_error error = {.status = XF_ERR_IO, .sequence = -1, .token = -1};
    if (reason == ENOENT)
        snprintf(error.message, sizeof error.message,
                 "%s is not on the PATH; it comes with the Python package: pip install "
                 "'./python[golden]' in the source tree",
                 program);
    else
        snprintf(error.message, sizeof error.message, "%s: %s", program, strerror(reason));
    return cli_fail(options, NULL, &error);
}

static int run(const cli_options *options) {
    const char *arguments[6] = {program};
    int n = 1;
    if (options->json)
        arguments[n++] = "--json";
    if (options->quiet)
        arguments[n++] = "--quiet";
    arguments[n++] = "--";
    arguments[n++] = options->arguments[0];
    arguments[n] = NULL;
    execvp(program, (char *const *)arguments);
    return refuse(options, errno);
}

const cli_command cli_golden = {
    .name = "golden",
    .summary = "write a conformance kit for inference engines",
    .usage = "DIR",
    .description = "Write models from one block to 10,000 in ONNX and safetensors, inputs, the "
                   "expected bits and a checker to DIR, which is made and must otherwise be empty. "
                   "Needs the program exactformer-golden of the Python package.",
    .option_ids = option_ids,
    .n_required = 1,
    .n_allowed = 1,
    .argument_names = {"DIR"},
    .run = run,
};
