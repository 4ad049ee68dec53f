/* exactformer export: a model in the interchange layout, or in the compact one. */
#include "commands.h"
#include "files.h"
#include "output.h"

static const cli_option_id option_ids[] = {CLI_OUTPUT_MODEL, CLI_LAYOUT, CLI_JSON,
                                           CLI_QUIET,        CLI_HELP,   CLI_NONE};

static int report(const xf_model *model, const cli_options *options) {
    cli_line(options, "blocks", "%lld", (long long)model->n_blocks);
    cli_line(options, "written", "%s", options->output);
    json_t *json =
        json_pack("{s:I,s:I,s:I,s:s,s:o}", "blocks", (json_int_t)model->n_blocks, "d",
                  (json_int_t)model->d, "width", (json_int_t)model->width, "dtype",
                  cli_dtype_names[model->dtype], "output", cli_json_text(options->output));
    return cli_finish(options, json, 0);
}

static int run(const cli_options *options) {
    int status = cli_check_output(options);
    if (status != 0)
        return status;
    xf_model model;
    xf_model_init(&model);
    status = cli_load_model(&model, options, options->arguments[0]);
    if (status == 0)
        status = cli_save_model(&model, options);
    if (status == 0)
        status = report(&model, options);
    xf_model_clear(&model);
    return status;
}

const cli_command cli_export = {
    .name = "export",
    .summary = "write a model in another layout",
    .usage = "MODEL -o FILE",
    .description = "Read MODEL, in whichever layout, check it, and write it in the interchange "
                   "layout, which any safetensors library reads, or with --layout compact "
                   "without its zeros.",
    .option_ids = option_ids,
    .n_required = 1,
    .n_allowed = 1,
    .argument_names = {"MODEL"},
    .run = run,
};
