/* exactformer-mpi: build and verify by several processes, each for its own sequences.
 *
 *     mpirun -n P exactformer-mpi build|verify ...
 *
 * The commands are those of exactformer. Every process runs the whole command; what its passes over
 * tokens find is exchanged (xf_peers). What a process prints is held back until all are through,
 * and one of them speaks for all: the lowest rank that failed, or rank 0.
 *
 * Before every exchange the processes tell each other whether they are still well and what they are
 * about to exchange, and a process that gives up or is through tells it once, at its end. So all
 * notice in the same exchange, none waits for another that has left, and none receives what it does
 * not expect. */
#include "../cli/commands.h"
#include "../cli/processes.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 30, DISAGREEMENT = 2, INPUT_OUTPUT = 4 };

typedef struct world {
    xf_peers peers;
    int over;     /* some process has given up, or all are through, or they disagree */
    int disagree; /* and why */
    int speaker;  /* who speaks then */
    int status;   /* and its exit status */
} world;

static world the_world;

const char cli_program_name[] = "exactformer-mpi";

const xf_peers *cli_peers(void) {
    return &the_world.peers;
}

int cli_writes_files(void) {
    return the_world.peers.rank == 0;
}

/* What a process tells the others. */
typedef struct news {
    int64_t status;   /* 0: well */
    int64_t exchange; /* a number for what it is about to exchange, 0: nothing, it is through */
} news;

static void end_with(world *all, int speaker, int status) {
    all->over = 1;
    all->speaker = speaker;
    all->status = status;
}

/* The lowest rank that has given up speaks; if all are well but about to exchange different
 * things, the lowest that is not through. */
static void judge(world *all, const news *told) {
    int size = all->peers.size;
    for (int r = size - 1; r >= 0; r--)
        if (told[r].status != 0)
            end_with(all, r, (int)told[r].status);
    for (int r = 0; r < size && !all->over; r++)
        all->disagree |= told[r].exchange != told[0].exchange;
    for (int r = size - 1; r >= 0; r--)
        if (all->disagree && told[r].exchange != 0)
            end_with(all, r, DISAGREEMENT);
}

/* Tell everyone how this process fares. Returns whether all go on together. */
static int all_well(world *all, int status, int64_t exchange) {
    news mine = {status, exchange}, *told = calloc((size_t)all->peers.size, sizeof *told);
    if (told == NULL) {
        MPI_Abort(MPI_COMM_WORLD, INPUT_OUTPUT);
        return 0;
    }
    MPI_Allgather(&mine, 2, MPI_INT64_T, told, 2, MPI_INT64_T, MPI_COMM_WORLD);
    judge(all, told);
    free(told);
    return !all->over;
}

/* A number for the sizes that are exchanged, not 0. */
static int64_t number_of(const int64_t *starts, int size) {
    uint64_t number = 0;
    for (int r = 0; r <= size; r++) {
        number = (number ^ (uint64_t)starts[r]) * 0x9e3779b97f4a7c15u;
        number ^= number >> 32;
    }
    return (int64_t)(number >> 1 | 1);
}

/* An xf_peers gather: everyone's part from its owner, in pieces that MPI can count. */
static int gather(void *context, void *bytes, const int64_t *starts) {
    world *all = context;
    if (all->over || !all_well(all, 0, number_of(starts, all->peers.size)))
        return all->disagree ? -1 : 0;
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
        all_well(all, status, 0);
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
