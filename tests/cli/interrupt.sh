# An interrupt ends long work with status 4 and leaves no file.
xf generate gaussian -N 20000 -d 32 -n 8 -m 8 -o a.npz -q
mkdir empty
for signal in INT TERM; do
    python3 - $signal <<'PYTHON'
import os, signal, subprocess, sys, time
program = os.environ["EXACTFORMER"]
child = subprocess.Popen([program, "build", "a.npz", "-o", "empty/m.safetensors", "--json"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
status = "/proc/%d/status" % child.pid
handled = 1 << (signal.SIGINT - 1)
deadline = time.time() + 60
while time.time() < deadline and child.poll() is None:
    caught = [l for l in open(status) if l.startswith("SigCgt")]
    if caught and int(caught[0].split()[1], 16) & handled:
        break
    time.sleep(0.005)
child.send_signal(getattr(signal, "SIG" + sys.argv[1]))
out, err = child.communicate(timeout=120)
assert child.returncode == 4, (child.returncode, out, err)
assert b'"cancelled"' in out, out
PYTHON
    [ -z "$(ls -A empty)" ]
done
