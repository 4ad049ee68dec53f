/* The options of all commands. */
#include "option_table.h"

const char *const cli_attention_names[] = {"hardmax", "softmax", NULL};
const char *const cli_dtype_names[] = {"f64", "f32", NULL};
const char *const cli_engine_names[] = {"sparse", "dense", "blas", NULL};
static const char *const layout_names[] = {"dense", "compact", NULL};
static const char *const construction_names[] = {"pooled", "published", NULL};
static const char *const optimise_names[] = {"depth", "norm", NULL};
static const char *const norm_names[] = {"plain", "balanced", NULL};
static const char *const position_names[] = {"append", NULL};
static const char *const grid_names[] = {"full", "f32", "f16", "integer", NULL};

#define FIELD(name) offsetof(cli_options, name)

const cli_option cli_option_table[CLI_N_OPTIONS] = {
    [CLI_HELP] = {"help", 'h', NULL, "print this help", .kind = CLI_VALUE_FLAG},
    [CLI_JSON] = {"json", 0, NULL,
                  "print one JSON object on standard output and nothing else there", CLI_VALUE_FLAG,
                  FIELD(json), NULL, 0},
    [CLI_QUIET] = {"quiet", 'q', NULL, "print no report, notes or progress", CLI_VALUE_FLAG,
                   FIELD(quiet), NULL, 0},
    [CLI_VERSION] = {"version", 'V', NULL, "print the version", .kind = CLI_VALUE_FLAG},
    [CLI_OUTPUT_MODEL] = {"output", 'o', "MODEL", "the model file to write (.safetensors)",
                          CLI_VALUE_TEXT, FIELD(output), NULL, 0},
    [CLI_OUTPUT_DATA] = {"output", 'o', "FILE", "the file to write: .npz, .safetensors or .jsonl",
                         CLI_VALUE_TEXT, FIELD(output), NULL, 0},
    [CLI_OUTPUT_TRACE] = {"output", 'o', "TRACE", "the file to write (.npz)", CLI_VALUE_TEXT,
                          FIELD(output), NULL, 0},
    [CLI_OUTPUT_CERTIFICATE] = {"output", 'o', "CERT", "the certificate to write (JSON)",
                                CLI_VALUE_TEXT, FIELD(output), NULL, 0},
    [CLI_EXP_ULP] = {"exp-ulp", 0, "K", "allow the machine's exp an error of K ulp (default 4)",
                     CLI_VALUE_INTEGER, FIELD(exp_ulp), NULL, 1024},
    [CLI_CONSTRUCTION] = {"construction", 0, "NAME", "pooled (the default) or published",
                          CLI_VALUE_CHOICE, FIELD(construction), construction_names, 0},
    [CLI_ATTENTION] = {"attention", 0, "NAME", "hardmax (the default) or softmax", CLI_VALUE_CHOICE,
                       FIELD(attention), cli_attention_names, 0},
    [CLI_ATTENTION_OVERRIDE] = {"attention", 0, "NAME",
                                "hardmax or softmax, in place of the model's own", CLI_VALUE_CHOICE,
                                FIELD(attention), cli_attention_names, 0},
    [CLI_TAU] = {"tau", 0, "TAU", "softmax temperature, above 0 (default 1)", CLI_VALUE_POSITIVE,
                 FIELD(tau), NULL, 0},
    [CLI_TAU_OVERRIDE] = {"tau", 0, "TAU", "softmax temperature, in place of the model's own",
                          CLI_VALUE_POSITIVE, FIELD(tau), NULL, 0},
    [CLI_DTYPE] = {"dtype", 0, "TYPE", "f64 (the default) or f32: the precision of the model",
                   CLI_VALUE_CHOICE, FIELD(dtype), cli_dtype_names, 0},
    [CLI_FRONT] =
        {"front", 0, "NAME",
         "use this front end: plain, kinks, folds, displacement or tree (default: choose)",
         CLI_VALUE_TEXT, FIELD(front), NULL, 0},
    [CLI_WRITER] =
        {"writer", 0, "NAME",
         "use this writer: grid, sorted, diamond, diamond-sorted, cube, cubeoff, offgrid or argmax "
         "(default: choose; argmax only so)",
         CLI_VALUE_TEXT, FIELD(writer), NULL, 0},
    [CLI_OPTIMISE] = {"optimise", 0, "GOAL", "depth (the default) or norm: what to make small",
                      CLI_VALUE_CHOICE, FIELD(optimise), optimise_names, 0},
    [CLI_NORM] = {"norm", 0, "HOW",
                  "balanced: rescale every neuron by a power of two to the least norm (default: "
                  "plain; --optimise norm implies balanced)",
                  CLI_VALUE_CHOICE, FIELD(balanced), norm_names, 0},
    [CLI_BUILD_SEED] = {"seed", 0, "S", "seed of the random candidate directions (default 0)",
                        CLI_VALUE_SEED, FIELD(seed), NULL, 0},
    [CLI_THREADS] = {"threads", 0, "K", "threads to use (default: one a core)", CLI_VALUE_INTEGER,
                     FIELD(threads), NULL, 1024},
    [CLI_APPEND_POSITIONS] = {"positions", 0, "append",
                              "append a coordinate that holds a token's place in its sequence",
                              CLI_VALUE_CHOICE, FIELD(append_positions), position_names, 0},
    [CLI_LAYOUT] = {"layout", 0, "NAME",
                    "dense (the default: the interchange layout) or compact (no zeros stored)",
                    CLI_VALUE_CHOICE, FIELD(layout), layout_names, 0},
    [CLI_ENGINE] =
        {"engine", 0, "NAME",
         "sparse (the default: the bits of dense, fast), dense (defines the bits) or blas "
         "(sums by CBLAS)",
         CLI_VALUE_CHOICE, FIELD(engine), cli_engine_names, 0},
    [CLI_DISTINCT] = {"distinct", 0, NULL,
                      "each output set without repetitions, in order of first appearance",
                      CLI_VALUE_FLAG, FIELD(distinct), NULL, 0},
    [CLI_STRIP_POSITIONS] = {"positions", 0, NULL,
                             "leave out the position coordinate that build appended",
                             CLI_VALUE_FLAG, FIELD(strip_positions), NULL, 0},
    [CLI_EVERY] = {"every", 0, "K", "keep every K-th block only (default 1), and the last",
                   CLI_VALUE_INTEGER, FIELD(every), NULL, INT32_MAX},
    [CLI_PHASE] = {"phase", 0, "NAME", "trace this phase of the model only; inspect lists them",
                   CLI_VALUE_TEXT, FIELD(phase), NULL, 0},
    [CLI_LIST] = {"list", 0, NULL, "list the kinds of data", CLI_VALUE_FLAG, FIELD(list), NULL, 0},
    [CLI_SEQUENCES] = {"sequences", 'N', "N", "number of sequences", CLI_VALUE_INTEGER,
                       FIELD(n_sequences), NULL, INT32_MAX},
    [CLI_DIMENSION] = {"dimension", 'd', "D", "dimension of a token (default 4)", CLI_VALUE_INTEGER,
                       FIELD(d), NULL, INT32_MAX},
    [CLI_TOKENS] = {"tokens", 'n', "A[:B]", "tokens a sequence, between A and B", CLI_VALUE_RANGE,
                    FIELD(tokens), NULL, INT32_MAX},
    [CLI_TARGETS] = {"targets", 'm', "A[:B]", "targets a sequence, capped by its tokens",
                     CLI_VALUE_RANGE, FIELD(targets), NULL, INT32_MAX},
    [CLI_VOCABULARY] = {"vocabulary", 0, "V", "tokens in the shared vocabulary", CLI_VALUE_INTEGER,
                        FIELD(vocabulary), NULL, INT32_MAX},
    [CLI_GRID] = {"grid", 0, "GRID", "values of the targets: full (the default), f32, f16, integer",
                  CLI_VALUE_CHOICE, FIELD(grid), grid_names, 0},
    [CLI_INPUT_GRID] = {"input-grid", 0, "GRID", "values of the inputs, likewise", CLI_VALUE_CHOICE,
                        FIELD(input_grid), grid_names, 0},
    [CLI_SCALE] = {"scale", 0, "S", "multiply the inputs by S, not 0 (default 1)", CLI_VALUE_REAL,
                   FIELD(scale), NULL, 0},
    [CLI_OFFSET] = {"offset", 0, "C", "then add C to the inputs (default 0)", CLI_VALUE_REAL,
                    FIELD(offset), NULL, 0},
    [CLI_SEED] = {"seed", 0, "S", "seed of the random numbers (default 0)", CLI_VALUE_SEED,
                  FIELD(seed), NULL, 0},
};
