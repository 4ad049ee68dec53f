/* xf_mutants DIRECTORY COUNT [SEED]: write COUNT spoiled models and their data, NUMBER.safetensors
 * and NUMBER.npz, and print one JSON object a line that says what is known about each: subject,
 * mutation   its history inexact             was an admissible evaluation found that is not exact
 *     always              was every order of summation found to be exact
 *     rational            exact in real arithmetic; null if not known
 *     real, ieee          the certifier's answers
 *     absent              does it say that subnormal numbers are absent
 *     flushed             exact where they are flushed to zero, as far as is known
 * Every eleventh is not spoiled. Exit status 0, or 1 if a file cannot be written. */
#include "mutation/judges.h"
#include "mutation/mutants.h"
#include "mutation/subjects.h"

#include <stdio.h>
#include <stdlib.h>

enum { ORDERS = 24, PATH_SIZE = 1024, NOT_SPOILED = 11 };

static const char *const answers[] = {"unknown", "yes", "no"};

static int save(const char *directory, long long number, const xf_model *model,
                const xf_dataset *data) {
    char path[PATH_SIZE];
    xf_error error = {0};
    snprintf(path, sizeof path, "%s/%lld.safetensors", directory, number);
    int ok = xf_model_save(model, path, &error) == XF_OK;
    snprintf(path, sizeof path, "%s/%lld.npz", directory, number);
    ok = ok && xf_dataset_save(data, path, &error) == XF_OK;
    if (!ok)
        fprintf(stderr, "xf_mutants: %s\n", error.message);
    return ok;
}

static void say(long long number, const char *subject, const char *mutation,
                const xft_opinions *o) {
    printf("{\"number\": %lld, \"subject\": \"%s\", \"mutation\": \"%s\", \"inexact\": %s, "
           "\"always\": %s, \"rational\": %s, \"real\": \"%s\", \"ieee\": \"%s\", "
           "\"absent\": %s, \"flushed\": %s}\n",
           number, subject, mutation, xft_is_inexact(o) ? "true" : "false",
           o->search == XFT_ALWAYS_EXACT ? "true" : "false",
           o->rational < 0 ? "null" : (o->rational ? "true" : "false"), answers[o->real],
           answers[o->ieee], o->is_subnormal_free ? "true" : "false",
           o->flushed != 0 ? "true" : "false");
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: xf_mutants DIRECTORY COUNT [SEED]\n");
        return 1;
    }
    long long count = strtoll(argv[2], NULL, 10), number = 0;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    for (uint64_t i = 0; number < count; i++) {
        int subject = (int)(i % (uint64_t)xft_n_subjects());
        xf_model model;
        xf_dataset data;
        xfi_rng rng;
        xfi_rng_seed(&rng, seed, i);
        if (!xft_subject_build(&model, &data, subject, seed + i))
            continue;
        xft_mutation how = (xft_mutation)xfi_rng_below(&rng, XFT_N_MUTATIONS);
        int spoil = i % NOT_SPOILED != 0;
        int ok = 1;
        if (!spoil || xft_mutate(&model, &data, how, &rng)) {
            xft_opinions o;
            xft_ask(&o, &model, &data, ORDERS, xfi_rng_bits(&rng));
            say(number, xft_subject_name(subject), spoil ? xft_mutation_name(how) : "none", &o);
            ok = save(argv[1], number++, &model, &data);
        }
        xf_model_clear(&model);
        xf_dataset_clear(&data);
        if (!ok)
            return 1;
    }
    return 0;
}
