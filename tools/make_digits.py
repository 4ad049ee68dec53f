#!/usr/bin/env python3
"""Write data/digits_class.npz and data/digits_inpaint.npz.

The source is scikit-learn's copy of the UCI optical digits (1,797 images of 8 x 8
pixels with ink 0..16), see data/README.md. Needs scikit-learn:

    python3 -m venv .venv && .venv/bin/pip install scikit-learn
    .venv/bin/python tools/make_digits.py

Arrays of both files: x [T, 3] and y [M, 3] with one token (row, column, ink) a row,
x_offsets and y_offsets [N + 1]. Values are small integers, so they are stored as uint8.
The bytes depend on nothing but the images (and, for the deflated stream, on zlib).
"""

import argparse
import io
import pathlib
import sys
import zipfile

import numpy as np
from sklearn.datasets import load_digits

UPPER_ROWS = 4


def pixels(image, rows, keep_blank):
    """Tokens (row, column, ink) of the given rows, in reading order."""
    return [
        (r, c, int(image[r, c]))
        for r in rows
        for c in range(image.shape[1])
        if keep_blank or image[r, c] != 0
    ]


def classification(images, labels):
    """Nonzero pixels -> (class, 0, 0)."""
    inputs = [pixels(image, range(8), keep_blank=False) for image in images]
    targets = [[(int(label), 0, 0)] for label in labels]
    return inputs, targets


def inpainting(images):
    """The 32 pixels of the upper half -> the 32 pixels of the lower half."""
    inputs = [pixels(image, range(UPPER_ROWS), keep_blank=True) for image in images]
    targets = [pixels(image, range(UPPER_ROWS, 8), keep_blank=True) for image in images]
    return inputs, targets


def check(name, inputs, targets):
    """No sequence is empty, and no two sequences have the same input set."""
    seen = {}
    for j, (tokens, wanted) in enumerate(zip(inputs, targets)):
        if not 1 <= len(wanted) <= len(tokens):
            sys.exit(f"{name}: sequence {j} has {len(tokens)} tokens, {len(wanted)} targets")
        first = seen.setdefault(frozenset(tokens), j)
        if first != j:
            sys.exit(f"{name}: sequences {first} and {j} have the same input")


def offsets(sequences):
    return np.cumsum([0] + [len(s) for s in sequences], dtype="<i8")


def write_npz(path, arrays):
    """np.savez_compressed with fixed time stamps and attributes."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            body = io.BytesIO()
            np.lib.format.write_array(body, np.ascontiguousarray(array), version=(1, 0))
            entry = zipfile.ZipInfo(name + ".npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, body.getvalue(), compresslevel=9)


def save(folder, name, inputs, targets):
    check(name, inputs, targets)
    x, y = (np.array([t for s in side for t in s], dtype="u1") for side in (inputs, targets))
    path = folder / f"{name}.npz"
    write_npz(
        path,
        {"x": x, "x_offsets": offsets(inputs), "y": y, "y_offsets": offsets(targets)},
    )
    print(
        f"{path}: N = {len(inputs)}, T = {len(x)}, M = {len(y)}, d = 3,"
        f" {path.stat().st_size} bytes"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = pathlib.Path(__file__).resolve().parent.parent / "data"
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=default)
    folder = parser.parse_args().folder
    digits = load_digits()
    save(folder, "digits_class", *classification(digits.images, digits.target))
    save(folder, "digits_inpaint", *inpainting(digits.images))


if __name__ == "__main__":
    main()
