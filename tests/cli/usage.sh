# Wrong usage: exit status 2, nothing on standard output, one line that says what to do.
usage() {
    local message=$1
    shift
    expect 2 "$@"
    silent_out
    echo "exactformer: $message" | err_is
}
small_data a.npz
commands="build, verify, certify, run, trace, inspect, export, generate, train, golden, diagnose"

usage "a command is missing: use $commands"
usage "unknown command 'teach': use $commands" teach a.npz
usage "unknown command '': use $commands" ''
usage "unknown option '--frobnicate'" --frobnicate
usage "build: DATASET is missing; see exactformer build --help" build -o m.safetensors
usage "build: no output file: use -o FILE" build a.npz
usage "build: unexpected argument 'b.npz'" build a.npz b.npz -o m.safetensors
usage "build: unknown option '--frobnicate=3'" build a.npz -o m.safetensors --frobnicate=3
usage "build: unknown option '-z'" build -qz a.npz -o m.safetensors
usage "build: ambiguous option '--t'" build a.npz -o m.safetensors --t 3
usage "build: option --tau needs a value: TAU" build a.npz -o m.safetensors --tau
usage "build: option -o needs a value: MODEL" build a.npz -o
usage "build: option --quiet takes no value" build a.npz --quiet=1 -o m.safetensors
usage "build: unknown --dtype 'f16': use f64 or f32" build a.npz -o m.safetensors --dtype f16
usage "build: unknown --dtype 'F64': use f64 or f32" build a.npz -o m.safetensors --dtype=F64
usage "build: unknown --construction 'magic': use pooled, published or resnet" build a.npz -o m.safetensors --construction magic
usage "build: unknown --attention '': use hardmax or softmax" build a.npz -o m.safetensors --attention ''
usage "build: unknown --positions 'strip': use append" build a.npz -o m.safetensors --positions strip
usage "build: --tau needs --attention softmax" build a.npz -o m.safetensors --tau 1
usage "build: a.npz: the output would overwrite an input" build a.npz -o a.npz
usage "build: ./a.npz: the output would overwrite an input" build a.npz -o ./a.npz
for tau in 0 -1 nan inf 1e999 '' 1x ' 1' 0x; do
    usage "build: bad --tau '$tau': use a finite number above 0" \
        build a.npz -o m.safetensors --attention softmax --tau "$tau"
done
for threads in 0 1025 -1 1.5 '' 2x ' 2' +2 99999999999999999999; do
    usage "build: bad --threads '$threads': use a whole number from 1 to 1024" \
        build a.npz -o m.safetensors --threads "$threads"
done
for seed in -1 18446744073709551616 1e3 ''; do
    usage "build: bad --seed '$seed': use a whole number from 0 to 2^64 - 1" \
        build a.npz -o m.safetensors --seed "$seed"
done
[ ! -e m.safetensors ]

xf build a.npz -o m.safetensors -q --seed 18446744073709551615
xf build a.npz -o s.safetensors -q --attention softmax --tau 0x1p-3
usage "verify: MODEL is missing; see exactformer verify --help" verify
usage "verify: DATASET is missing; see exactformer verify --help" verify m.safetensors
usage "verify: unknown --engine 'fast': use sparse, dense or blas" verify m.safetensors a.npz --engine fast
usage "export: unknown --layout 'thin': use dense or compact" export m.safetensors -o n.safetensors --layout thin
usage "verify: --tau needs softmax attention: add --attention softmax" verify m.safetensors a.npz --tau 1
usage "run: --tau needs softmax attention: add --attention softmax" run m.safetensors a.npz -o o.npz --tau 1
usage "verify: --tau needs softmax attention: add --attention softmax" \
    verify s.safetensors a.npz --attention hardmax --tau 1
expect 0 verify s.safetensors a.npz --tau 2
expect 0 verify m.safetensors a.npz --attention softmax --tau 2
usage "certify: no output file: use -o FILE" certify m.safetensors a.npz
usage "certify: --tau needs softmax attention: add --attention softmax" \
    certify m.safetensors a.npz -o c.json --tau 1
usage "certify: bad --exp-ulp '0': use a whole number from 1 to 1024" \
    certify m.safetensors a.npz -o c.json --exp-ulp 0
usage "certify: a.npz: the output would overwrite an input" certify m.safetensors a.npz -o a.npz
[ ! -e c.json ]
usage "run: m.safetensors: the output would overwrite an input" run m.safetensors a.npz -o m.safetensors
ln a.npz b.npz
usage "run: b.npz: the output would overwrite an input" run m.safetensors a.npz -o b.npz
usage "export: m.safetensors: the output would overwrite an input" export m.safetensors -o m.safetensors

usage "generate: KIND is missing; see exactformer generate --help" generate -o x.npz
expect 2 generate normal -o x.npz
err_has "exactformer: generate: unknown kind 'normal': use gaussian, uniform, "
usage "generate: bad --scale '0': every token would be the same" generate gaussian -o x.npz --scale 0
for range in 0 3:2 1: :2 a 1:2:3 -1; do
    usage "generate: bad --tokens '$range': use A or A:B, 1 <= A <= B <= 2147483647" \
        generate gaussian -o x.npz -n "$range"
done
usage "generate: bad --offset '1,5': use a finite number" generate gaussian -o x.npz --offset 1,5
usage "generate: unknown --grid 'half': use full, f32, f16 or integer" generate gaussian -o x.npz --grid half
usage "generate: bad --sequences '2147483648': use a whole number from 1 to 2147483647" \
    generate gaussian -o x.npz -N 2147483648
usage "generate: kind 'equal-means' needs at least 2 tokens a sequence, got 1" \
    generate equal-means -n 1 -o x.npz
expect 2 generate gaussian -o x.txt
err_is_one_line
expect 2 verify m.safetensors a.txt
err_is_one_line
[ ! -e x.npz ]
usage "build: unknown --writer 'quill': use grid, sorted, diamond, diamond-sorted, cube, cubeoff, offgrid or argmax" build a.npz -o m.safetensors --writer quill
usage "build: unknown --front 'back': use plain, kinks, folds, displacement or tree" build a.npz -o m.safetensors --front back
