/* How many threads. */
#include "base/threads.h"

#include <omp.h>

int xfi_threads(int asked) {
    return asked > 0 ? asked : omp_get_max_threads();
}
