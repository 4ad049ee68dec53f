# Files to be written are none of those to be read, and none of the others, whatever they are called and
# whether they are there yet; what cannot be written is refused before any work.
small_data data.npz
xf build data.npz -o exact.safetensors --optimise norm -q
xf train data.npz -o start.safetensors --epochs 3 --weight-decay 0.1 --log log.csv -q
mkdir folder empty
ln -s folder link

sums() { cat data.npz exact.safetensors start.safetensors log.csv | sha256sum; }
before=$(sums)
refused() { # STATUS MESSAGE ARGUMENT...
    local status=$1 message=$2
    shift 2
    expect "$status" "$@"
    err_is_one_line
    err_has "$message"
    [ "$(sums)" = "$before" ] || complain "an input was touched: $*"
}

# diagnose: no figure in the place of an input.
over="the output would overwrite an input"
ln -s exact.safetensors picture.svg
ln -s data.npz picture.png
cp exact.safetensors model.svg
refused 2 "picture.svg: $over" diagnose log.csv --model exact.safetensors --figure-epochs picture.svg
refused 2 "picture.svg: $over" diagnose log.csv --model exact.safetensors --figure-scaling ./picture.svg
refused 2 "model.svg: $over" diagnose log.csv --model model.svg --figure-epochs model.svg
refused 2 "picture.png: $over" diagnose log.csv --data data.npz --figure-scaling picture.png
cmp model.svg exact.safetensors

# Two outputs, one file: by the same name, another one, or a link that leads nowhere yet.
two="two outputs would be the same file"
ln -s folder/new.csv new.csv
trained() { refused 2 "$two" train data.npz --epochs 3 "$@"; }
trained -o a.csv --log a.csv
trained -o a.csv --log ./a.csv
trained -o a.csv --log "$PWD/a.csv"
trained -o a.csv --log folder/../a.csv
trained -o folder/a.csv --log link/a.csv
trained -o new.csv --log folder/new.csv
trained -o a.safetensors --checkpoint ./a.safetensors
trained -o b.safetensors --log a.csv --checkpoint ./a.csv
refused 2 "$two" diagnose log.csv --figure-epochs a.svg --figure-scaling ./a.svg
[ "$(ls | grep -c '^[ab][.]')" = 0 ] && [ ! -e folder/new.csv ] || complain "an output was written"

# What cannot be written is found at once, not after days of training.
useless() { # MESSAGE ARGUMENT...: the training would take for ever
    local message=$1
    shift
    refused 4 "$message" train data.npz --epochs 1000000000 "$@"
}
useless "folder: cannot write: it is a directory" -o folder
useless "link: cannot write: it is a directory" -o link
useless "folder.csv: cannot write: it is a directory" -o a.safetensors --log "$(mkdir folder.csv; echo folder.csv)"
useless "folder: cannot write: it is a directory" -o a.safetensors --checkpoint folder
useless "its directory is missing or not writable" -o missing/a.safetensors
ln -s missing/a.safetensors nowhere.safetensors
useless "its directory is missing or not writable" -o nowhere.safetensors
mkfifo pipe
useless "pipe: cannot write: it is not a regular file" -o pipe
if [ "$(id -u)" != 0 ]; then
    touch mine.safetensors
    chmod 444 mine.safetensors
    useless "mine.safetensors: cannot write: permission denied" -o mine.safetensors
    chmod 555 empty
    useless "its directory is missing or not writable" -o a.safetensors --log empty/a.csv
fi
[ ! -e a.safetensors ] || complain "a model was written"

# Outputs that are apart stay so.
expect 0 train data.npz -o folder/a.safetensors --log link/a.csv --checkpoint a.safetensors --epochs 3 -q
expect 0 train data.npz -o folder/a.safetensors --log new.csv --checkpoint a.safetensors --epochs 3 -q --resume
[ -s folder/new.csv ] && [ -L new.csv ] || complain "the link was not followed"
