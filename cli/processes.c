/* One process. */
#include "processes.h"

#include <stddef.h>

const char cli_program_name[] = "exactformer";

const xf_peers *cli_peers(void) {
    return NULL;
}

int cli_writes_files(void) {
    return 1;
}
