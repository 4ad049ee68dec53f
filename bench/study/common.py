"""What the scripts of this folder share: the program, tables, pictures by gnuplot."""

import csv
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RESULTS = pathlib.Path(__file__).resolve().parent
FIGURES = ROOT / "docs" / "figures"
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#7f7f7f"]


def run(program, *arguments, accept=(0,)):
    """The JSON that a command prints; None for an accepted exit status other than 0."""
    done = subprocess.run([program, *map(str, arguments), "--json"], capture_output=True, text=True,
                          check=False)
    if done.returncode not in accept:
        raise SystemExit(f"{' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return json.loads(done.stdout) if done.returncode == 0 else None


def write_table(name, columns, rows):
    path = RESULTS / name
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
    print(f"{path}: {len(rows)} rows")


def draw(name, x_label, y_label, curves, extra=()):
    """Log-log picture; curves: (title, [(x, y)], options of gnuplot or ''). extra: (title, formula)."""
    script = ["set encoding utf8",
              "set terminal svg enhanced size 800,480 font 'sans,14' background rgb 'white'",
              "set logscale xy", "set format y '10^{%T}'", "set grid lc rgb '#dddddd'", "set border 3",
              "set tics nomirror", "set key outside right noenhanced",
              f"set xlabel '{x_label}'", f"set ylabel '{y_label}'"]
    plots = []
    for i, (title, points, style) in enumerate(curves):
        script.append(f"$D{i} << EOD")
        script += [f"{x} {y}" for x, y in points]
        script.append("EOD")
        style = style or "with linespoints pt 7 ps 0.6 lw 1.5"
        plots.append(f"$D{i} {style} lc rgb '{COLOURS[i % len(COLOURS)]}' title '{title}'")
    plots += [f"{formula} with lines dt 2 lc rgb '#888888' title '{title}'" for title, formula in extra]
    script.append("plot " + ", \\\n  ".join(plots))
    picture = subprocess.run(["gnuplot", "-d", "-"], input="\n".join(script) + "\n",
                             capture_output=True, text=True, check=True).stdout
    (FIGURES / name).write_text(picture, encoding="utf-8")
    print(f"{FIGURES / name}")
