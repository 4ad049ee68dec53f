/* The processes that run a command together. The program has one; exactformer-mpi (mpi/) puts its
 * own definitions in the place of processes.c. */
#ifndef CLI_PROCESSES_H
#define CLI_PROCESSES_H

#include <exactformer/peers.h>

/* What the program is called. */
extern const char cli_program_name[];

/* NULL for one process. */
const xf_peers *cli_peers(void);

/* Is this the process that writes files for all? */
int cli_writes_files(void);

#endif
