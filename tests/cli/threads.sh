# The number of threads changes nothing, in data large enough to be shared among them.
same() {
    local name=$1
    shift
    xf generate "$@" -o data.npz --quiet
    for threads in 1 2 5; do
        xf build data.npz -o $name$threads.safetensors --threads $threads --quiet
        cmp ${name}1.safetensors $name$threads.safetensors || complain "$name on $threads threads"
    done
}
same single gaussian -N 700 -n 3:9 -m 1 -d 5 --grid f32
same several gaussian -N 300 -n 8:16 -m 1:4 -d 4 --grid f16
same lattice lattice -N 200 -n 4:30 -m 2 -d 3
