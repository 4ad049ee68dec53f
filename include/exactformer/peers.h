/* Several processes that do one job together, each for its own sequences. */
#ifndef EXACTFORMER_PEERS_H
#define EXACTFORMER_PEERS_H

#include <exactformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The other processes, as the library sees them. All make the same calls with the same data set,
 * model and options, and all get the same result, the one that a single process gets, to the last
 * bit. Where they were given different ones all get XF_ERR_ARGUMENT; of input tokens, of which a
 * process reads its own only, samples are compared.
 * The library itself knows no message passing: `gather` is the caller's (exactformer-mpi has one
 * of MPI). */
typedef struct xf_peers {
    int rank; /* of this process, 0 .. size - 1 */
    int size;
    /* Rank r has filled bytes starts[r] .. starts[r+1]-1 of `bytes`; on return everyone has all
     * of them. `starts` [size + 1] is the same everywhere. Returns 1; 0 if that failed, also when
     * another process has given up: the call in progress then ends with XF_ERR_IO; or -1 if another
     * process called with other `starts`, XF_ERR_ARGUMENT. */
    int (*gather)(void *context, void *bytes, const int64_t *starts);
    void *context;
} xf_peers;

#ifdef __cplusplus
}
#endif
#endif
