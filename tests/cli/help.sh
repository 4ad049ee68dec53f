# --help lists every option, each is in the man page of the command, and the other way round.
options_in() { grep -oE -- '--[a-z][a-z-]*' | sort -u; }
man_options() { # of the section OPTIONS
    sed -n '/^\.SH OPTIONS/,/^\.SH E/p' "$1" | sed 's/\\-/-/g' | grep -E '^\.B[IR]? ' |
        grep -oE -- '--[a-z][a-z-]*' | sort -u
}
expect 0 --help
silent_err
for option in --json --quiet --help --version; do out_has "$option"; done
for command in build verify certify run trace inspect export generate golden; do
    out_has "  $command"
    grep -q "exactformer.\{1,2\}$command" "$MAN/exactformer.1"
done
options_in <out >in-help
man_options "$MAN/exactformer.1" | diff in-help - || complain "exactformer.1 differs from --help"

for command in build verify certify run trace inspect export generate golden; do
    expect 0 $command --help
    silent_err
    grep -q "^Usage: exactformer $command " out || complain "no usage"
    for option in --json --quiet --help; do out_has "$option"; done
    # Each option at the beginning of its line of help.
    sed -n 's/^ *\(-[A-Za-z], \)\?\(--[a-z-]*\).*/\2/p' out | sort -u >in-help
    man_options "$MAN/exactformer-$command.1" >in-man
    diff in-help in-man || complain "exactformer-$command.1 differs from --help"
    for heading in NAME SYNOPSIS DESCRIPTION OPTIONS 'EXIT STATUS' EXAMPLES 'SEE ALSO'; do
        grep -q "^\.SH $heading" "$MAN/exactformer-$command.1" || complain "no section $heading"
    done
    expect 0 $command -h
done

# The kinds of data.
xf generate --list | cut -d' ' -f1 >kinds
while read -r kind; do
    grep -qx "\.B ${kind/-/\\\\-}" "$MAN/exactformer-generate.1" || complain "no kind $kind"
done <kinds

expect 0 --version
grep -qxE 'exactformer [0-9]+\.[0-9]+\.[0-9]+.*' out
expect 0 -V
