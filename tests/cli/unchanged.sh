# A command that fails leaves an existing output file as it was, and nothing beside it.
small_data a.npz
xf build a.npz -o m.safetensors -q
echo '{"x": [[1], [1]], "y": [[2]]}' >bad.jsonl
echo '{"x": [[1]], "y": [[1]]}' >close.jsonl
echo '{"x": [[1.0000000001]], "y": [[2]]}' >>close.jsonl
head -c 100 m.safetensors >cut.safetensors

unchanged() {
    local status=$1 output=$2
    shift 2
    echo precious >"$output"
    ls >before
    expect "$status" "$@" -o "$output"
    [ "$(cat "$output")" = precious ] || complain "$* changed $output"
    ls | grep -v -x -e out -e err >after || true
    grep -v -x -e out -e err before | diff - after || complain "$* left files behind"
}
touch before after
unchanged 3 kept.safetensors build bad.jsonl
unchanged 4 kept.safetensors build missing.npz
unchanged 5 kept.safetensors build close.jsonl --dtype f32
unchanged 2 kept.safetensors build a.npz --dtype f16
unchanged 3 kept.npz run cut.safetensors a.npz
unchanged 3 kept.npz run m.safetensors bad.jsonl
unchanged 4 kept.npz run m.safetensors missing.npz
unchanged 3 kept.json certify cut.safetensors a.npz
unchanged 4 kept.json certify m.safetensors missing.npz
unchanged 3 kept.json certify m.safetensors bad.jsonl
unchanged 3 kept.safetensors export cut.safetensors
unchanged 2 kept.npz generate pairs --vocabulary 3 -N 100
unchanged 2 kept.txt generate gaussian

# Success replaces the file, keeps a symbolic link, and writes where it leads.
mkdir elsewhere
echo precious >elsewhere/target.npz
ln -s elsewhere/target.npz link.npz
xf generate gaussian -o link.npz -q
[ -L link.npz ]
cmp -s <(xf generate gaussian -o other.npz -q; cat other.npz) elsewhere/target.npz
