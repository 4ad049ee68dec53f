/* Fuzz target: data sets in .jsonl files. */
#include "fuzz_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return fuzz_dataset(data, size, XFI_JSONL);
}
