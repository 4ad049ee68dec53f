/* Data sets that once went wrong or are hard to the point, tests/property/known/NAME.jsonl, each
 * in both formats with every writer, several seeds and many orders of summation. Refusals are
 * fine.
 * Labels: exact slow */
#include "property/trial.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const char directory[] = "tests/property/known";

static void try(const char *name, const xf_dataset *data, xf_dtype dtype, uint64_t seed,
                const char *writer) {
    xft_trial trial = {.build = {.dtype = dtype, .seed = seed, .writer = writer},
                       .may_refuse = 1,
                       .n_orders = writer == NULL ? 200 : 20,
                       .order_seed = seed,
                       .rebuild = 1};
    xft_verdict verdict;
    xft_trial_run(&verdict, &trial, data);
    if (xft_is_failure(&verdict))
        fail_msg("%s, %s, seed %d, writer %s: %s", name, dtype == XF_F32 ? "binary32" : "binary64",
                 (int)seed, writer != NULL ? writer : "any", verdict.text);
}

static void check(const char *name) {
    char path[XFT_PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    xf_dataset data;
    xf_error error = {0};
    if (xf_dataset_load(&data, path, NULL, &error) != XF_OK)
        fail_msg("%s: %s", path, error.message);
    for (int dtype = 0; dtype < 2; dtype++)
        for (uint64_t seed = 0; seed < 4; seed++) {
            try(name, &data, (xf_dtype)dtype, seed, NULL);
            for (const char *const *writer = xf_build_writers(); *writer != NULL; writer++)
                try(name, &data, (xf_dtype)dtype, seed, *writer);
        }
    xf_dataset_clear(&data);
}

static void known_data(void **state) {
    (void)state;
    DIR *files = opendir(directory);
    int n = 0;
    assert_non_null(files);
    for (const struct dirent *file = readdir(files); file != NULL; file = readdir(files)) {
        const char *end = strrchr(file->d_name, '.');
        if (end == NULL || strcmp(end, ".jsonl") != 0)
            continue;
        check(file->d_name);
        n++;
    }
    closedir(files);
    assert_true(n > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_data)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
