# exactformer-mpi: the bits of one process, and one message when something fails.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" # Open MPI leaves memory behind
mpi="$(dirname "$EXACTFORMER")/exactformer-mpi"

# together STATUS P ARGUMENT...
together() {
    local wanted=$1 n=$2 status=0
    shift 2
    mpirun -n "$n" "$mpi" "$@" >out 2>err </dev/null || status=$?
    [ $status = "$wanted" ] || complain "mpirun -n $n $*: exit status $status, not $wanted"
}
one_message() { [ "$(grep -c '^exactformer: ' err)" = 1 ] || complain "not one message"; }

same() {
    xf generate "$@" -o data.npz --quiet
    xf build data.npz -o one.safetensors $how --quiet
    for n in 1 2 3; do
        together 0 $n build data.npz -o many.safetensors $how --quiet
        cmp one.safetensors many.safetensors || complain "$* by $n processes"
        together 0 $n verify many.safetensors data.npz --json
        json 'o["exact"] == o["sequences"] > 0'
    done
}
how= same gaussian -N 60 -n 2:9 -m 1 -d 6 --grid f32
how= same gaussian -N 40 -n 4:9 -m 1:4 -d 6
how="--dtype f32 --writer grid" same vocabulary -N 30 -n 2:9 -m 1:2 -d 5 --grid f16
how="--writer grid" same lattice -N 60 -n 2:9 -m 1 -d 3
how= same gaussian -N 2 -n 3 -m 1 -d 4
how="--construction published" same gaussian -N 8 -n 3 -m 1 -d 4

# A mismatch is counted over all of them, wherever it is.
xf generate gaussian -N 30 -n 3 -d 3 --grid f32 -o a.npz --quiet
xf build a.npz -o a.safetensors --quiet
xf generate gaussian -N 30 -n 3 -d 3 --grid f32 --seed 7 -o b.npz --quiet
expect 1 verify a.safetensors b.npz --json
sed 's/,"seconds.*//' out >alone
together 1 3 verify a.safetensors b.npz --json
sed 's/,"seconds.*//' out | diff - alone || complain "another report"

# Failures of all, and of one while the others go on.
together 4 3 build no.npz -o m.safetensors
one_message
together 5 2 build a.npz -o m.safetensors --writer argmax --front plain
one_message
[ ! -e m.safetensors ] || complain "a model in spite of the failure"
together 4 2 build a.npz -o absent/m.safetensors
one_message
together 2 2 trace a.safetensors a.npz -o t.npz
one_message
err_has "no command 'trace' here: exactformer-mpi has build and verify"
together 2 1 dig
one_message
err_has "unknown command 'dig': use build, verify"
together 2 1
one_message
err_has "use build, verify"
together 2 2 certify a.safetensors a.npz --json --quiet
! grep '^exactformer: ' err || complain "a message in spite of --quiet"
json '"build and verify" in o["error"]["message"] and o["error"]["status"] == 2'
status=0
timeout 60 mpirun -n 1 "$mpi" verify a.safetensors a.npz : -n 1 "$mpi" verify a.safetensors no.npz \
    >out 2>err </dev/null || status=$?
[ $status = 4 ] || complain "exit status $status, not 4"
one_message
err_has "no.npz"

# The help is that of this program: what it has, and how it is called; the man page has the same commands and options.
together 0 2 --help
silent_err
out_has "mpirun -n P exactformer-mpi COMMAND"
sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' out >commands
printf '%s\n' build verify | diff - commands || complain "other commands than build and verify"
sed -n 's/^\.B exactformer\\-mpi \([a-z]*\)$/\1/p' "$MAN/exactformer-mpi.1" | diff - commands ||
    complain "exactformer-mpi.1 has other commands"
sed -n 's/^ *\(-[A-Za-z], \)\?\(--[a-z-]*\).*/\2/p' out | sort >in-help
sed -n '/^\.SH OPTIONS/,/^\.SH E/s/\\-/-/gp' "$MAN/exactformer-mpi.1" | sed -n 's/^\.BR\? .*\(--[a-z]*\).*/\1/p' |
    sort | diff in-help - || complain "exactformer-mpi.1 differs from --help"
together 0 1 build --help
grep -q "^Usage: exactformer-mpi build " out || complain "no usage"

# Processes that were given different things refuse, all alike, and write nothing.
# disagree TEXT ARGUMENT... -- ARGUMENT...
disagree() {
    local text=$1 first=() status=0
    shift
    while [ "$1" != -- ]; do
        first+=("$1")
        shift
    done
    shift
    rm -f m.safetensors
    timeout 60 mpirun -n 1 "$mpi" "${first[@]}" : -n 1 "$mpi" "$@" >out 2>err </dev/null || status=$?
    [ $status = 2 ] || complain "${first[*]} with $*: exit status $status, not 2"
    one_message
    err_has "the processes $text;"
    [ ! -e m.safetensors ] || complain "a model in spite of the disagreement"
}
xf generate gaussian -N 31 -n 3 -d 3 --grid f32 -o more.npz --quiet
xf build b.npz -o b.safetensors --quiet
disagree "were given different data sets" build a.npz -o m.safetensors -- build more.npz -o m.safetensors
disagree "were given different data sets" build a.npz -o m.safetensors -- build b.npz -o m.safetensors
disagree "were given different data sets" verify a.safetensors b.npz -- verify a.safetensors a.npz
disagree "were given different position options" build a.npz -o m.safetensors -- build a.npz -o m.safetensors --positions append
disagree "were given different options" build a.npz -o m.safetensors --seed 1 -- build a.npz -o m.safetensors --seed 2
disagree "were given different options" build a.npz -o m.safetensors -- build a.npz -o m.safetensors --construction published
disagree "were given different options" verify a.safetensors a.npz -- verify a.safetensors a.npz --engine dense
disagree "were given different models" verify a.safetensors a.npz -- verify b.safetensors a.npz
disagree "were given different commands" verify a.safetensors a.npz -- build a.npz -o m.safetensors
disagree "take different ways" build --help -- build a.npz -o m.safetensors

# Tokens are read by their owner only, and what another has in their place does no harm.
xf generate gaussian -N 30 -n 3 -d 3 --grid f32 -o a.jsonl --quiet
python3 -c 'import json
rows = [json.loads(line) for line in open("a.jsonl")]
rows[3]["x"][1][0] += 1
open("b.jsonl", "w").writelines(json.dumps(row) + "\n" for row in rows)'
timeout 60 mpirun -n 1 "$mpi" build a.jsonl -o many.safetensors : \
    -n 1 "$mpi" build b.jsonl -o many.safetensors >out 2>err </dev/null || complain "foreign tokens matter"
cmp a.safetensors many.safetensors || complain "foreign tokens change the model"
