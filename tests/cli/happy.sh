# Every command does its work, in every container, attention and precision.
for data in a.npz a.safetensors a.jsonl; do
    expect 0 generate gaussian -N 20 -d 3 -n 2:5 -m 1:2 --grid f32 --seed 4 -o $data
    silent_err
    out_is <<END
data          20 sequences, 30 targets, 64 tokens, d = 3
written       $data
END
    expect 0 build $data -o m.safetensors
    silent_err
    out_has "construction  pooled, front end plain, writer grid"
    out_has ", published bound 101"
    out_has "written       m.safetensors"
    expect 0 verify m.safetensors $data
    silent_err
    head -1 out >first
    echo "result        20 of 20 sequences exact, Hausdorff distance 0" | diff - first
    mv m.safetensors m-${data#a.}.safetensors
done
cmp m-npz.safetensors m-safetensors.safetensors
cmp m-npz.safetensors m-jsonl.safetensors

for dtype in f64 f32; do
    for attention in hardmax softmax; do
        xf build a.npz -o m.safetensors --dtype $dtype --attention $attention --seed 3 --threads 2 >/dev/null
        for engine in sparse dense blas; do
            expect 0 verify m.safetensors a.jsonl --engine $engine --threads 2
            out_has "20 of 20 sequences exact"
        done
    done
done

expect 0 build a.npz -o m.safetensors --attention softmax --tau 0.125
expect 0 inspect m.safetensors
out_has "20 sequences, 30 targets, 64 tokens, d = 3"
out_has "softmax, f64"
out_has "tau           0.125"
out_has "published bound 120"
out_has "write"
expect 0 inspect m.safetensors a.npz
out_has "margin"

expect 0 export m.safetensors -o copy.safetensors
cmp m.safetensors copy.safetensors
expect 0 export m.safetensors --layout compact -o compact.safetensors
[ "$(stat -c %s compact.safetensors)" -lt "$(stat -c %s m.safetensors)" ]
expect 0 export compact.safetensors -o copy.safetensors
cmp m.safetensors copy.safetensors
expect 0 build a.npz -o built.safetensors --attention softmax --tau 0.125 --layout compact
cmp compact.safetensors built.safetensors
expect 0 verify compact.safetensors a.npz
out_has "20 of 20 sequences exact"
expect 0 inspect compact.safetensors a.npz
out_has "margin"
expect 0 run m.safetensors a.npz -o all.jsonl
out_is <<END
outputs       20 sequences, 64 tokens, d = 3
written       all.jsonl
END
expect 0 run m.safetensors a.npz -o sets.jsonl --distinct
out_has "20 sequences, 30 tokens, d = 3"
expect 0 generate --list
[ "$(wc -l <out)" = 13 ]

# The same options give the same file, others another one.
xf generate lattice --seed 9 -o one.npz -q
xf generate lattice --seed 9 -o two.npz -q
xf generate lattice --seed 10 -o three.npz -q
cmp one.npz two.npz
! cmp -s one.npz three.npz
