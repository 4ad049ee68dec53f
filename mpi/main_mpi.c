/* exactformer-mpi: build and verify by several processes, each for its own sequences.
 *
 *     mpirun -n P exactformer-mpi build|verify ...
 *
 * The commands are those of exactformer. Every process runs the whole command; what its passes over
 * tokens find is exchanged (xf_peers). What a process prints is held back until all are through,
 * and one of them speaks for all: the lowest rank that failed, or rank 0.
 *
 * Before every exchange the processes tell each other whether they are still well, and a process
 * that gives up tells it once, at its end. So all notice in the same exchange, and none waits for
 * another that has left. */
#include "../cli/commands.h"
#include "../cli/processes.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 30, INPUT_OUTPUT = 4 };

typedef struct world {
    xf_peers peers;
    int over;    /* some process has given up, or all are through */
    int speaker; /* who speaks then */
    int status;  /* and its exit status */
} world;

static world the_world;

const char cli_program_name[] = "exactformer-mpi";

const xf_peers *cli_peers(void) {
    return &the_world.peers;
}

int cli_writes_files(void) {
    return the_world.peers.rank == 0;
}

/* Tell everyone the status of this process, 0 for well. Returns whether all are well. */
static int all_well(world *all, int status) {
    int *statuses = calloc((size_t)all->peers.size, sizeof *statuses);
    if (statuses == NULL) {
        MPI_Abort(MPI_COMM_WORLD, INPUT_OUTPUT);
        return 0;
    }
    MPI_Allgather(&status, 1, MPI_INT, statuses, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = all->peers.size - 1; r >= 0; r--) {
        if (statuses[r] == 0)
            continue;
        all->over = 1;
        all->speaker = r;
        all->status = statuses[r];
    }
    free(statuses);
    return !all->over;
}

/* An xf_peers gather: everyone's part from its owner, in pieces that MPI can count. */
static int gather(void *context, void *bytes, const int64_t *starts) {
    world *all = context;
    if (all->over || !all_well(all, 0))
        return 0;
    for (int r = 0; r < all->peers.size; r++)
        for (int64_t at = starts[r]; at < starts[r + 1]; at += PIECE) {
            int64_t left = starts[r + 1] - at;
            MPI_Bcast((char *)bytes + at, left < PIECE ? (int)left : PIECE, MPI_BYTE, r,
                      MPI_COMM_WORLD);
        }
    return 1;
}

/* Standard output and error go to nameless files until it is known who speaks. */
typedef struct held {
    FILE *stream;
    FILE *file;
    int original; /* descriptor */
} held;

static int hold(held *out, FILE *stream) {
    *out = (held){stream, tmpfile(), dup(fileno(stream))};
    if (out->file == NULL || out->original < 0)
        return 0;
    fflush(stream);
    return dup2(fileno(out->file), fileno(stream)) >= 0;
}

/* Restore the stream and, if this process speaks, print what was held. Returns 0 on failure. */
static int release(held *out, int speaks) {
    char buffer[4096];
    size_t n;
    if (out->file == NULL)
        return 0;
    int ok = fflush(out->stream) == 0 && dup2(out->original, fileno(out->stream)) >= 0;
    rewind(out->file);
    while (ok && speaks && (n = fread(buffer, 1, sizeof buffer, out->file)) > 0)
        ok = fwrite(buffer, 1, n, out->stream) == n;
    fclose(out->file);
    close(out->original);
    return ok && fflush(out->stream) == 0;
}

static int run_command(int argc, char **argv) {
    static const cli_command *const commands[] = {&cli_build, &cli_verify, NULL};
    static const cli_program program = {
        .about = "Builds and verifies exact transformers by several processes, each with its own "
                 "share of the sequences; model and report are those of one process, to the last "
                 "bit. Call it through mpirun, all processes with the same arguments:\n\n"
                 "  mpirun -n P exactformer-mpi COMMAND [ARGUMENT...]\n",
        .commands = commands,
        .elsewhere = "exactformer-mpi has build and verify, exactformer has the others"};
    return cli_run_program(&program, argc, argv);
}

/* Run the command, agree on who speaks, and speak. */
static int run_together(world *all, int argc, char **argv) {
    held out = {0}, err = {0};
    if (!hold(&out, stdout) || !hold(&err, stderr))
        MPI_Abort(MPI_COMM_WORLD, INPUT_OUTPUT);
    int status = run_command(argc, argv);
    if (!all->over)
        all_well(all, status);
    int speaks = all->peers.rank == all->speaker;
    int ok = release(&err, speaks);
    ok = release(&out, speaks) && ok;
    if (ok || !speaks)
        return all->status;
    fputs("exactformer: cannot write to standard output\n", stderr);
    return INPUT_OUTPUT;
}

int main(int argc, char **argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    the_world = (world){.peers = {.gather = gather, .context = &the_world}};
    MPI_Comm_rank(MPI_COMM_WORLD, &the_world.peers.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &the_world.peers.size);
    int status = run_together(&the_world, argc, argv);
    MPI_Finalize();
    return status;
}
