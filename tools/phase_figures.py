#!/usr/bin/env python3
"""Draw what each phase of the published construction does to three sequences in the plane.

    tools/phase_figures.py EXACTFORMER --out docs/figures [--format svg|png]
    tools/phase_figures.py EXACTFORMER --check

Builds a model for data/three_sequences.jsonl, traces it (exactformer trace), checks on the trace what
docs/phases.md says about every phase, and draws one picture a phase. Reading and checking need the
standard library only; drawing needs matplotlib:

    python3 -m venv .venv && .venv/bin/pip install matplotlib
    .venv/bin/python tools/phase_figures.py build/release/exactformer --out docs/figures
"""

import argparse
import ast
import collections
import fractions
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import zipfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
DATA = os.path.join(ROOT, "data", "three_sequences.jsonl")
PAGE = os.path.join(ROOT, "docs", "phases.md")
COLOURS = ["#0072b2", "#d55e00", "#009e73"]
INK = "#444444"

# --- files, with the standard library ------------------------------------------------------------


def read_npz(path):
    """{name: (shape, flat list)} of the arrays of a trace."""
    codes = {"<f8": "d", "<i8": "q", "|S16": "16s"}
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            data = archive.read(member)
            start = 10 + struct.unpack("<H", data[8:10])[0]
            header = ast.literal_eval(data[10:start].decode("ascii"))
            code = "<" + codes[header["descr"]]
            arrays[member[:-4]] = header["shape"], [v for v, in struct.iter_unpack(code, data[start:])]
    return arrays


def rows(flat, width):
    return [tuple(flat[i:i + width]) for i in range(0, len(flat), width)]


class Model:
    """The feed-forward layers of a model file, and its phases."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        size = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:8 + size])
        config = json.loads(header["__metadata__"]["config"])
        self.d, self.width, self.phases = config["d"], config["width"], config["phases"]
        for name in ("eta", "W", "U", "b"):
            first, last = header["ff." + name]["data_offsets"]
            flat = struct.unpack(f"<{(last - first) // 8}d", data[8 + size + first:8 + size + last])
            setattr(self, name, flat)

    def neuron(self, block, i):
        """Input direction, bias and output direction of neuron i."""
        d, w = self.d, self.width
        start = (block * w + i) * d
        column = tuple(self.W[(block * d + k) * w + i] for k in range(d))
        return self.U[start:start + d], self.b[block * w + i], column

    def feed_forward(self, block, x):
        """eta x + W relu(U x + b), without rounding."""
        out = [fractions.Fraction(self.eta[block]) * fractions.Fraction(v) for v in x]
        for i in range(self.width):
            u, b, column = self.neuron(block, i)
            gate = max(fractions.Fraction(b) + dot(u, x), 0)
            out = [v + fractions.Fraction(c) * gate for v, c in zip(out, column)]
        return tuple(out)

    def constant(self, block):
        """What a block adds to every token: its neurons without an input."""
        neurons = [self.neuron(block, i) for i in range(self.width)]
        return tuple(sum(max(b, 0.0) * column[k] for u, b, column in neurons if not any(u))
                     for k in range(self.d))


def dot(u, x):
    return sum(fractions.Fraction(a) * fractions.Fraction(b) for a, b in zip(u, x))


def minus(x, y):
    return tuple(fractions.Fraction(a) - fractions.Fraction(b) for a, b in zip(x, y))


# --- the story: what is to be seen -----------------------------------------------------------------

Move = collections.namedtuple("Move", "block token start end direction")


class Story:
    """Tokens between the phases. Lists have one entry a token, a tuple of d numbers."""

    def __init__(self, program, folder):
        model, trace = os.path.join(folder, "model.safetensors"), os.path.join(folder, "trace.npz")
        for command in (["build", DATA, "-o", model, "--construction", "published", "--quiet"],
                        ["trace", model, DATA, "-o", trace, "--quiet"]):
            subprocess.run([program, *command], check=True)
        arrays = read_npz(trace)
        (n_snapshots, n_tokens, self.d), flat = arrays["tokens"]
        self.model = Model(model)
        self.tokens = [rows(flat[s * n_tokens * self.d:(s + 1) * n_tokens * self.d], self.d)
                       for s in range(n_snapshots)]
        self.phase = [name.rstrip(b"\0").decode("ascii") for name in arrays["phase"][1]]
        self.offsets = arrays["x_offsets"][1]
        with open(DATA, encoding="utf-8") as file:
            self.targets = [[tuple(map(float, y)) for y in json.loads(line)["y"]] for line in file]
        self.sequence = [j for j in range(len(self.targets))
                         for _ in range(self.offsets[j], self.offsets[j + 1])]
        self.input, self.separated = self.tokens[0], self.after("separation")
        self.quantised, self.collapsed = self.after("quantise"), self.after("collapse")
        self.projected, self.output = self.after("project"), self.tokens[-1]
        self.h = self.half_range()
        self.find_moves()

    def blocks(self, *names):
        return [b for p in self.model.phases if p["name"] in names
                for b in range(p["first"], p["first"] + p["count"])]

    def after(self, name):
        return self.tokens[self.blocks(name)[-1] + 1]

    def half_range(self):
        """h: the power of two above half the range of the separated tokens."""
        spread = max(max(column) - min(column) for column in zip(*self.separated)) / 2
        return 2.0 ** math.ceil(math.log2(1.001 * spread))

    def find_moves(self):
        """The moves of the leaders, and the tokens in the box without and with them."""
        x, self.moves, self.boxed = self.quantised, [], None
        for block in self.blocks("leaders", "collapse"):
            new = [self.model.feed_forward(block, v) for v in x]
            steps = [minus(a, b) for a, b in zip(new, x)]
            shift = collections.Counter(steps).most_common(1)[0][0]
            if self.boxed is None:
                self.boxed = [tuple(a + s for a, s in zip(map(fractions.Fraction, v), shift)) for v in x]
            for i, step in enumerate(steps):
                if step != shift:
                    self.moves.append(Move(block, i, self.boxed[i], new[i], self.slab(block)))
            x = new
        self.moved = x

    def slab(self, block):
        """The direction of a block's slab: that of its neurons that look at the token."""
        neurons = (self.model.neuron(block, i)[0] for i in range(self.model.width))
        return next(u for u in neurons if any(u))

    def leaders(self, j):
        return [m for m in self.moves if self.sequence[m.token] == j]

    def leader_tokens(self):
        return {m.token for m in self.moves}

    def of(self, x, j):
        return x[self.offsets[j]:self.offsets[j + 1]]

    def line(self):
        """Direction of the projection, and the coordinate that carries it."""
        block = self.blocks("project")[-1]
        axis = next(k for k in range(self.d) if any(v[k] for v in self.projected))
        u = next(u for i in range(self.model.width)
                 for u, b, column in [self.model.neuron(block, i)] if column[axis] > 0)
        size = math.hypot(*u)
        return [v / size for v in u], axis


# --- what docs/phases.md says -------------------------------------------------------------------------


def say(condition, text):
    if not condition:
        sys.exit(f"phase_figures: not so: {text}")


def page_says(text):
    with open(PAGE, encoding="utf-8") as file:
        say(text in " ".join(file.read().split()), f"docs/phases.md should say '{text}'")


def check_separation(s):
    owners = collections.defaultdict(set)
    for x, j in zip(s.input, s.sequence):
        owners[x].add(j)
    say(all(len(o) == 2 for o in owners.values()), "every input token is in two sequences")
    say(len(set(s.separated)) == len(s.separated), "separated tokens are distinct")
    n = len(s.blocks("separation"))
    page_says(f"Separation: {n} block" + "s" * (n > 1))
    page_says(f"The model has {len(s.tokens) - 1} blocks")


def check_quantise(s):
    grid = fractions.Fraction(s.h) / 2 ** 24
    add = s.model.constant(s.blocks("quantise")[0])
    for new, old in zip(s.quantised, s.separated):
        rounded = minus(new, add)
        say(all((v / grid).denominator == 1 for v in rounded), "quantised tokens are on the grid")
        say(all(abs(v) <= grid / 2 for v in minus(rounded, old)), "and the nearest points of it")
    say(all(s.h <= v <= 3 * s.h for x in s.boxed for v in x), "the tokens are in the box B")


def check_leaders(s):
    radius = 4 * s.h * math.sqrt(s.d)
    say(len(s.moves) == sum(map(len, s.targets)), "there are M moves")
    page_says(f"Leaders: {len(s.blocks('leaders', 'collapse'))} blocks")
    for j, targets in enumerate(s.targets):
        moves = sorted(s.leaders(j), key=lambda m: -sum(m.end))
        say(len(moves) == len(targets), "a sequence has as many leaders as targets")
        say(all(4 * s.h < v < 8 * s.h for v in moves[0].end), "its first leader is in P")
        for m in moves[1:]:
            say(all(v < 0 for v in m.end), "the others are in the negative orthant")
            say(abs(math.hypot(*m.end) / radius - 1) < 2 ** -8, "on the sphere")
    still = [i for i in range(len(s.moved)) if i not in s.leader_tokens()]
    say(all(s.moved[i] == s.boxed[i] for i in still), "the others stay in the box")


def check_collapse(s):
    for i, (x, j) in enumerate(zip(s.moved, s.sequence)):
        rivals = s.of(s.moved, j)
        scores = [dot(x, y) for y in rivals]
        say(scores.count(max(scores)) == 1, "one token has the largest logit")
        best = rivals[scores.index(max(scores))]
        say(best in {m.end for m in s.leaders(j)}, "it is a leader")
        say(i not in s.leader_tokens() or best == x, "a leader's own")
        say(tuple(map(fractions.Fraction, s.collapsed[i])) == best, "the token goes there")
    for j, targets in enumerate(s.targets):
        say(len(set(s.of(s.collapsed, j))) == len(targets), "m_j points are left of a sequence")


def check_project(s):
    axis = s.line()[1]
    say(all(v == 0 for x in s.projected for k, v in enumerate(x) if k != axis), "one coordinate is left")
    say(len({x[axis] for x in s.projected}) == sum(map(len, s.targets)), "M numbers are left")


def check_write(s):
    axis, first = s.line()[1], s.blocks("project")[-1] + 1
    numbers = sorted((x[axis], y[axis]) for x, y in zip(s.tokens[first], s.tokens[first + 1]))
    page_says(f"block {first} to {first + 1}, {numbers[-1][0]:.5g}… becomes exactly {numbers[-1][1]:g}")
    page_says(f"and \N{MINUS SIGN}{-numbers[0][0]:.4g}… exactly \N{MINUS SIGN}{-numbers[0][1]:g}")
    for j, targets in enumerate(s.targets):
        say(set(s.of(s.output, j)) == set(targets), "the outputs are the targets")


CHECKS = [check_separation, check_quantise, check_leaders, check_collapse, check_project, check_write]

# --- pictures -----------------------------------------------------------------------------------------


def floats(x):
    return [float(v) for v in x]


def hull(points):
    """Corners of the convex hull, in order."""
    points = sorted(set(points))
    chains = []
    for order in (points, points[::-1]):
        chain = []
        for p in order:
            while len(chain) > 1 and turn(chain[-2], chain[-1], p) <= 0:
                chain.pop()
            chain.append(p)
        chains += chain[:-1]
    return chains


def turn(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


class Picture:
    """Axes side by side, in the style of all pictures."""

    def __init__(self, story, title, n_panels, widths=None):
        import matplotlib
        matplotlib.use("svg")
        matplotlib.rcParams.update({"svg.hashsalt": "exactformer", "font.size": 9,
                                    "axes.titlesize": 9.5, "axes.edgecolor": "#999999"})
        from matplotlib import pyplot
        self.story, self.pyplot = story, pyplot
        self.figure, axes = pyplot.subplots(1, n_panels, figsize=(9.2, 4.8), layout="constrained",
                                            width_ratios=widths, squeeze=False)
        self.axes = axes[0]
        self.figure.suptitle(title, fontsize=12)

    def plane(self, axes, title, pad=0.09, window=None):
        """Equal scales; the window (low, high) of both axes, or a margin around what was drawn."""
        axes.set_title(title)
        axes.set_aspect("equal", adjustable="box" if window else "datalim")
        if window:
            axes.set_xlim(window)
            axes.set_ylim(window)
        else:
            axes.margins(pad)
        axes.grid(color="#e6e6e6", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.set_xlabel("$x_1$")
        axes.set_ylabel("$x_2$", rotation=0, labelpad=8)

    def regions(self, axes, x):
        """The hull of every sequence."""
        for j, colour in enumerate(COLOURS):
            corners = hull([tuple(floats(v)) for v in self.story.of(x, j)])
            if len(corners) > 2:
                axes.fill(*zip(*corners), color=colour, alpha=0.08, linewidth=0)

    def token(self, axes, x, i, colour=None, **style):
        """A token of its sequence's colour; leaders are squares."""
        is_leader = i in self.story.leader_tokens()
        colour = colour or COLOURS[self.story.sequence[i]]
        look = {"marker": "s" if is_leader else "o", "markersize": 7.5 if is_leader else 6.5,
                "color": colour, "markeredgecolor": "white", "markeredgewidth": 0.8, "zorder": 4}
        look.update(style)
        axes.plot(*floats(x), linestyle="none", **look)

    def all_tokens(self, axes, x, **style):
        for i, v in enumerate(x):
            self.token(axes, v, i, **style)

    def arrow(self, axes, start, end, colour, **style):
        look = {"arrowstyle": "-|>,head_width=0.22,head_length=0.45", "color": colour,
                "linewidth": 1.0, "shrinkA": 4, "shrinkB": 5}
        look.update(style)
        axes.annotate("", floats(end), floats(start), arrowprops=look, zorder=3)

    def legend(self, *more, leaders=True):
        """Below the picture: the colours, the marks, and more."""
        handles = [handle(marker="o", color=c, label=f"sequence {j + 1}")
                   for j, c in enumerate(COLOURS)]
        if leaders:
            handles += [handle(marker="s", color=INK, label="leader"),
                        handle(marker="o", color=INK, label="other token")]
        self.figure.legend(handles=handles + list(more), loc="outside lower center", fontsize=8.5,
                           ncols=len(handles) + len(more), frameon=False,
                           columnspacing=1.4)

    def save(self, folder, name, kind):
        path = os.path.join(folder, f"phase_{name}.{kind}")
        metadata = {"Date": None} if kind == "svg" else {}
        self.figure.savefig(path, format=kind, dpi=110, metadata=metadata)
        self.pyplot.close(self.figure)
        return path


def handle(**style):
    from matplotlib.lines import Line2D
    return Line2D([], [], **{"linestyle": "none", **style})


def cross(axes, x, colour):
    axes.plot(*floats(x), marker="x", markersize=10, markeredgewidth=2.2, color=colour,
              linestyle="none", zorder=5)


def draw_separation(s):
    p = Picture(s, "Separation: sequences that share tokens are pulled apart", 2)
    left, right = p.axes
    p.regions(left, s.input)
    seen = collections.defaultdict(list)
    for x, j in zip(s.input, s.sequence):
        seen[x].append(COLOURS[j])
    for x, (one, other) in seen.items():
        left.plot(*x, marker="o", markersize=10, fillstyle="left", color=one,
                  markerfacecoloralt=other, markeredgecolor="white", linestyle="none", zorder=4)
    for j, targets in enumerate(s.targets):
        for y in targets:
            cross(left, y, COLOURS[j])
    p.plane(left, "input: 5 points, each in two sequences; targets")
    p.regions(right, s.separated)
    without = [s.model.feed_forward(s.blocks("separation")[0], x) for x in s.input]
    for old, new, j in zip(without, s.separated, s.sequence):
        right.plot(*floats(old), marker="o", markersize=5, markerfacecolor="none", color="#888888",
                   linestyle="none", zorder=2)
        p.arrow(right, old, new, COLOURS[j], linewidth=0.6, alpha=0.45)
    p.all_tokens(right, s.separated, marker="o", markersize=6.5)
    p.plane(right, "behind the block: 10 points, each in one")
    p.legend(handle(marker="x", color=INK, markeredgewidth=2, label="target"),
             handle(marker="o", markerfacecolor="none", color="#888888",
                    label="behind the block's feed-forward layer"), leaders=False)
    return p


def draw_quantise(s):
    p = Picture(s, "Quantise: every token goes to the nearest point of a dyadic grid", 2)
    left, right = p.axes
    draw_box(left, s)
    p.regions(left, s.boxed)
    p.all_tokens(left, s.boxed, marker="o", markersize=6.5)
    p.plane(left, "in the box $B = [h, 3h]^2$ of the positive orthant",
            window=(0.75 * s.h, 3.25 * s.h))
    add, grid = s.model.constant(s.blocks("quantise")[0]), s.h / 2 ** 24
    for i, (new, old) in enumerate(zip(s.quantised, s.separated)):
        gap = [float(v) / grid for v in minus(old, minus(new, add))]
        p.token(right, gap, i, marker="o", markersize=6.5, alpha=0.8)
        if any(gap):
            p.arrow(right, gap, (0, 0), COLOURS[s.sequence[i]], shrinkB=9)
    right.plot(0, 0, marker="+", markersize=16, markeredgewidth=1.6, color=INK, zorder=5)
    p.plane(right, "all tokens seen from their grid points, unit $G = 2^{-24} h$",
            window=(-0.65, 0.65))
    p.legend(handle(marker="+", markersize=11, color=INK, markeredgewidth=1.6, label="grid point"),
             leaders=False)
    for v in (-0.5, 0.5):
        right.axvline(v, color=INK, linewidth=0.8, linestyle=":")
        right.axhline(v, color=INK, linewidth=0.8, linestyle=":")
    right.set_xlabel("$(x_1 - \\mathrm{grid\\ point})\\,/\\,G$")
    right.set_ylabel("$x_2$ likewise", rotation=90)
    return p


def draw_box(axes, s):
    from matplotlib.patches import Rectangle
    axes.add_patch(Rectangle((s.h, s.h), 2 * s.h, 2 * s.h, facecolor="#f4f1e4", edgecolor="#b0a060",
                             linewidth=1, zorder=0.5))


def draw_places(axes, s):
    """Box, diagonal and sphere, with their names."""
    h, radius = s.h, 4 * s.h * math.sqrt(2)
    draw_box(axes, s)
    axes.plot([4 * h, 8 * h], [4 * h, 8 * h], color="#9467bd", linewidth=7, alpha=0.25,
              solid_capstyle="round", zorder=1)
    turns = [math.pi * (1 + t / 100) for t in range(51)]
    axes.plot([radius * math.cos(t) for t in turns], [radius * math.sin(t) for t in turns],
              color="#9467bd", linewidth=1.5, alpha=0.7, zorder=1)
    axes.axhline(0, color="#bbbbbb", linewidth=0.8, zorder=1)
    axes.axvline(0, color="#bbbbbb", linewidth=0.8, zorder=1)
    axes.text(1.5 * h, 3.1 * h, "$B$", color="#8a7a30", ha="center", va="bottom", fontsize=11)
    axes.text(6.6 * h, 7.4 * h, "$P$", color="#9467bd", ha="right", fontsize=11)
    axes.text(-4.6 * h, -5.9 * h, "sphere of radius\n$4h\\sqrt{d}$", color="#9467bd", fontsize=8.5,
              ha="center", va="center")


def draw_slab(axes, s, move, colour):
    """The line through the token on which no other token lies."""
    (u1, u2), (x1, x2) = floats(move.direction), floats(move.start)
    size = math.hypot(u1, u2)
    reach = 2.2 * s.h
    ends = [(x1 - reach * u2 / size, x2 + reach * u1 / size),
            (x1 + reach * u2 / size, x2 - reach * u1 / size)]
    axes.plot(*zip(*ends), color=colour, linewidth=1.1, linestyle="--", alpha=0.8, zorder=2)


def draw_leaders(s):
    p = Picture(s, "Leaders: one token for each target is moved to a place of its own", 2)
    left, right = p.axes
    draw_box(left, s)
    p.all_tokens(left, s.boxed)
    for number, m in enumerate(s.moves, 1):
        colour = COLOURS[s.sequence[m.token]]
        draw_slab(left, s, m, colour)
        left.annotate(f"{number}", floats(m.start), (6, 6), textcoords="offset points", color=colour,
                      fontsize=9, fontweight="bold")
    p.plane(left, "in the box: the slabs that hold one token each",
            window=(0.85 * s.h, 3.15 * s.h))
    p.legend(handle(linestyle="--", color=INK, label="slab of a move, in the order of the numbers"))
    draw_places(right, s)
    p.all_tokens(right, s.moved, markersize=5)
    for number, m in enumerate(s.moves, 1):
        colour = COLOURS[s.sequence[m.token]]
        p.token(right, m.end, m.token)
        p.arrow(right, m.start, m.end, colour)
        right.annotate(f"{number}", floats(m.end), (7, -9), textcoords="offset points", color=colour,
                       fontsize=9, fontweight="bold")
    p.plane(right, "the moves: to the diagonal $P$, and to the sphere", window=(-7.6 * s.h, 10.4 * s.h))
    return p


def draw_collapse(s):
    p = Picture(s, "Collapse: one attention layer sends every token to its leader", 2)
    left, right = p.axes
    draw_places(left, s)
    p.all_tokens(left, s.moved)
    for i, (old, new) in enumerate(zip(s.moved, s.collapsed)):
        if i not in s.leader_tokens():
            p.arrow(left, old, new, COLOURS[s.sequence[i]], linewidth=0.9, alpha=0.7)
    i = next(i for i in range(len(s.moved)) if i not in s.leader_tokens())
    draw_level(left, floats(s.moved[i]), floats(s.collapsed[i]), COLOURS[s.sequence[i]])
    window = (-7.6 * s.h, 10.4 * s.h)
    p.plane(left, "before: where the largest $\\langle x_i, x_l\\rangle$ is", window=window)
    p.legend(handle(linestyle="-.", color=INK,
                    label="largest logit of one blue token"))
    draw_places(right, s)
    counts = collections.Counter(zip(s.collapsed, s.sequence))
    for (x, j), n in counts.items():
        p.token(right, x, next(m.token for m in s.leaders(j)), markersize=9)
        right.annotate(f"{n} token" + "s" * (n > 1), floats(x), (9, -6), textcoords="offset points",
                       color=COLOURS[j], fontsize=8.5)
    p.plane(right, "behind it: $m_j$ points of each sequence", window=window)
    return p


def draw_level(axes, x, best, colour):
    """The line of all points with the logit of the best one, seen from x."""
    size = math.hypot(*x)
    ends = [(best[0] + t * -x[1] / size, best[1] + t * x[0] / size) for t in (-4.5, 4.5)]
    axes.plot(*zip(*ends), color=colour, linewidth=1.1, linestyle="-.", alpha=0.8, zorder=2)


def draw_project(s):
    p = Picture(s, "Project: the leaders' places have distinct shadows on a slanted line", 2)
    left, right = p.axes
    u, axis = s.line()
    reach = 9 * s.h
    left.plot([-reach * u[0], reach * u[0]], [-reach * u[1], reach * u[1]], color=INK, linewidth=1.2,
              zorder=1)
    places = dict(zip(s.collapsed, zip(s.sequence, s.projected)))
    for x, (j, _) in places.items():
        t = sum(a * b for a, b in zip(u, x))
        foot = [t * v for v in u]
        left.plot(*zip(x, foot), color=COLOURS[j], linewidth=1, linestyle=":", zorder=2)
        left.plot(*foot, marker="|", color=COLOURS[j], markersize=9, markeredgewidth=2, zorder=3)
        p.token(left, x, s.leaders(j)[0].token)
    p.plane(left, "the line $w$ and the feet of the places", window=(-8.2 * s.h, 8.2 * s.h))
    p.legend(handle(marker="s", color=INK, label="place of a leader"),
             handle(linestyle="-", color=INK, label="direction $w$"),
             handle(linestyle="--", color=INK, label="split between the two lanes"), leaders=False)
    for (x, (j, t)), height in zip(sorted(places.items(), key=lambda q: q[1][1]), range(9)):
        n = s.collapsed.count(x)
        right.plot(t[axis], height, marker="s", markersize=9, color=COLOURS[j],
                   markeredgecolor="white", linestyle="none", zorder=4)
        right.annotate(f"{t[axis]:.6g}  ({n} token{'s' * (n > 1)})".replace("-", "\N{MINUS SIGN}"),
                       (t[axis], height), (9, -3), textcoords="offset points", color=COLOURS[j],
                       fontsize=8.5, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})
    right.axvline(0, color=INK, linewidth=1, linestyle="--")
    right.set_title(f"what is left of a token: the number $x_{axis + 1}$")
    right.set_xlabel(f"$x_{axis + 1}$")
    right.margins(x=0.6)
    right.set_ylim(-0.7, len(places) - 0.3)
    right.set_yticks([])
    right.grid(axis="x", color="#e6e6e6", linewidth=0.6)
    return p


def draw_write(s):
    p = Picture(s, "Write: codes are cut off one after the other, and targets put in their place", 2)
    left, right = p.axes
    axis, first = s.line()[1], s.blocks("project")[-1] + 1
    groups = {}
    for i, (x, j) in enumerate(zip(s.collapsed, s.sequence)):
        groups.setdefault((x, j), i)
    shift = (len(groups) - 1) / 2
    for g, ((_, j), i) in enumerate(groups.items()):
        path = [x[i][axis] for x in s.tokens[first:]]
        blocks = [first + b + 0.05 * (g - shift) for b in range(len(path))]
        left.plot(blocks, path, color=COLOURS[j], linewidth=1.3, marker="s", markersize=5,
                  markeredgecolor="white", zorder=3)
        written = next(b for b in range(len(path))
                       if all(x[i] == s.output[i] for x in s.tokens[first + b:]))
        left.plot(blocks[written], path[written], marker="x", color=COLOURS[j], markersize=11,
                  markeredgewidth=2.2, zorder=5)
    left.set_yscale("symlog", linthresh=2, linscale=1.8)
    left.set_xticks(range(first, len(s.tokens)))
    left.set_title(f"the coordinate $x_{axis + 1}$ of the {len(groups)} groups")
    left.set_xlabel("blocks done")
    left.set_ylabel(f"$x_{axis + 1}$ (symlog)")
    left.grid(color="#e6e6e6", linewidth=0.6)
    for j, targets in enumerate(s.targets):
        for y in targets:
            cross(right, y, COLOURS[j])
    counts = collections.Counter(zip(s.output, s.sequence))
    for (x, j), n in counts.items():
        right.plot(*x, marker="o", markersize=15, markerfacecolor="none", color=COLOURS[j],
                   linestyle="none", zorder=4)
        right.annotate(f"{n} token" + "s" * (n > 1), x, (11, -3), textcoords="offset points",
                       color=COLOURS[j], fontsize=8.5)
    p.plane(right, "behind the last block: the targets, bit for bit", pad=0.15)
    p.legend(handle(marker="x", color=INK, markeredgewidth=2, label="target (left: just written)"),
             handle(marker="o", markersize=9, markerfacecolor="none", color=INK,
                    label="output tokens"), leaders=False)
    return p


PICTURES = {"separation": draw_separation, "quantise": draw_quantise, "leaders": draw_leaders,
            "collapse": draw_collapse, "project": draw_project, "write": draw_write}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", metavar="EXACTFORMER")
    parser.add_argument("--out", metavar="DIR", help="draw the pictures into this folder")
    parser.add_argument("--format", choices=["svg", "png"], default="svg")
    parser.add_argument("--check", action="store_true", help="only check what the pictures show")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        story = Story(os.path.abspath(arguments.program), folder)
    for check in CHECKS:
        check(story)
    print(f"{len(CHECKS)} phases are as docs/phases.md says")
    if arguments.check or arguments.out is None:
        return
    os.makedirs(arguments.out, exist_ok=True)
    for name, draw in PICTURES.items():
        print(draw(story).save(arguments.out, name, arguments.format))


if __name__ == "__main__":
    main()
