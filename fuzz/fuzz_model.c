/* Fuzz target: model files. What loads must pass the check. */
#include "fuzz_input.h"

#include <exactformer/model.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    int descriptor = fuzz_file(data, size, path);
    xf_model model;
    xf_error error;
    if (xf_model_load(&model, path, &error) == XF_OK && xf_model_check(&model, &error) != XF_OK)
        abort();
    xf_model_clear(&model);
    close(descriptor);
    return 0;
}
