/* What the fuzz targets share: the input as a file without a name, loaded as a data
 * set in two ways. What loads must pass the checks. */
#ifndef XF_FUZZ_INPUT_H
#define XF_FUZZ_INPUT_H

#include "io/dataset_io.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The descriptor of a file in memory that holds the input; close it. */
static inline int fuzz_file(const uint8_t *data, size_t size, char path[64]) {
    int descriptor = memfd_create("fuzz", 0);
    if (descriptor < 0 || write(descriptor, data, size) != (ssize_t)size)
        abort();
    snprintf(path, 64, "/proc/self/fd/%d", descriptor);
    return descriptor;
}

static inline void fuzz_note(void *context, const char *text) {
    (void)context;
    if (text[0] == '\0')
        abort();
}

static inline void fuzz_load(const char *path, xfi_container container,
                             const xf_dataset_options *options) {
    xf_dataset loaded;
    xf_error error;
    if (xfi_dataset_load_as(&loaded, path, container, options, &error) == XF_OK &&
        xf_dataset_check(&loaded, &error) != XF_OK)
        abort();
    xf_dataset_clear(&loaded);
}

static inline int fuzz_dataset(const uint8_t *data, size_t size, xfi_container container) {
    static const xf_dataset_options pairs = {.note = fuzz_note};
    static const xf_dataset_options inputs = {.inputs_only = 1, .append_positions = 1};
    char path[64];
    int descriptor = fuzz_file(data, size, path);
    fuzz_load(path, container, &pairs);
    fuzz_load(path, container, &inputs);
    close(descriptor);
    return 0;
}

#endif
