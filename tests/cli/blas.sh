# The BLAS engine's library is loaded for this engine alone.
export OMP_NUM_THREADS=1
unset OPENBLAS_NUM_THREADS
small_data a.npz
xf build a.npz -o m.safetensors -q

# It is not there, or is none: only the engine that needs it says so.
mkdir empty
for name in libopenblas.so.0 libopenblas.so libcblas.so.3 libblas.so.3; do
    : >empty/$name
done
export LD_LIBRARY_PATH=$PWD/empty
expect 0 verify m.safetensors a.npz
expect 4 verify m.safetensors a.npz --engine blas
err_is_one_line
err_has "libopenblas.so.0"
err_has "Debian: libopenblas0"
unset LD_LIBRARY_PATH
expect 0 verify m.safetensors a.npz --engine blas

# Within a limit commands end, and so does this engine, with a model's verdict or an error.
within() { # KIB STATUS ARGUMENT...
    local limit=$1 wanted=$2 status=0
    shift 2
    timeout 60 bash -c 'ulimit -v "$0" && exec "$@"' "$limit" "$EXACTFORMER" "$@" >out 2>err || status=$?
    [ $status = "$wanted" ] || complain "$* within $limit KiB: exit status $status"
}
# Sanitizers reserve more than that for themselves.
(ulimit -v 150000 && xf --version) >/dev/null 2>&1 || exit 0
within 150000 0 verify m.safetensors a.npz
within 150000 4 verify m.safetensors a.npz --engine blas
err_is_one_line
err_has "use another engine"
within 1000000 0 verify m.safetensors a.npz --engine blas

