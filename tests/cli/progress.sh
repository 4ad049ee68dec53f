# Progress is for terminals: never in pipes or files, and the line is cleared at the end.
xf generate gaussian -N 300 -d 4 -o a.npz -q
no_escapes() { ! grep -q "$(printf '[\033\r]')" out err || complain "progress in a pipe"; }
expect 0 build a.npz -o m.safetensors
no_escapes
silent_err
expect 0 verify m.safetensors a.npz
no_escapes
silent_err
expect 0 certify m.safetensors a.npz -o c.json
no_escapes
silent_err

cat >on_terminal.py <<'PYTHON'
"""Run a command with standard error on a terminal and print what arrives there."""
import os, pty, subprocess, sys
master, slave = pty.openpty()
child = subprocess.Popen(sys.argv[1:], stdin=slave, stdout=subprocess.DEVNULL, stderr=slave)
os.close(slave)
text = b""
while True:
    try:
        chunk = os.read(master, 4096)
    except OSError:
        break
    if not chunk:
        break
    text += chunk
status = child.wait()
sys.stdout.buffer.write(text)
sys.exit(status)
PYTHON
python3 on_terminal.py "$EXACTFORMER" build a.npz -o m.safetensors >seen
grep -q '%' seen || complain "no progress on a terminal"
[ "$(tail -c 3 seen | od -An -tx1 | tr -d ' \n')" = 1b5b4b ] || complain "the line was not cleared"
[ "$(grep -c '' seen)" -le 1 ] || complain "progress takes more than one line"
for option in --quiet --json; do
    python3 on_terminal.py "$EXACTFORMER" build a.npz -o m.safetensors $option >seen
    [ ! -s seen ] || complain "progress in spite of $option"
done
