#!/usr/bin/env python3
"""Write the data set files in this folder with NumPy and safetensors themselves.

Needs numpy and safetensors. All files hold the same values, those of VALUES_X and
VALUES_Y below; tests/unit/test_npz.c and test_safetensors.c know them.
"""
import io
import os
import zipfile

import numpy as np
from safetensors.numpy import save_file

HERE = os.path.dirname(os.path.abspath(__file__))

# Three sequences of 2, 1 and 3 tokens with 1, 1 and 2 targets, d = 2: small integers and
# halves, so that every type holds them.
X = np.array([[1.5, -2], [0.25, 3], [7, -0.5], [1, 2], [3, 4], [5, 6]])
Y = np.array([[0.5, -1], [2, 0], [-3, 8], [9, 10]])
X_OFFSETS = np.array([0, 2, 3, 6])
Y_OFFSETS = np.array([0, 1, 2, 4])
INTEGERS_X = np.array([[1, -2], [0, 3], [7, -5], [1, 2], [3, 4], [5, 6]])
INTEGERS_Y = np.array([[5, -1], [2, 0], [-3, 8], [9, 10]])
# Rectangular: X's first two and last two tokens as [2, 2, 2]; the first two targets as [2, 2].
RECT_X = X[[0, 1, 4, 5]].reshape(2, 2, 2)
RECT_Y = Y[:2]


def path(name):
    return os.path.join(HERE, name)


def npz(name, version, compress, **arrays):
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with zipfile.ZipFile(path(name), "w", method) as archive:
        for key, value in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, value, version=version)
            info = zipfile.ZipInfo(key + ".npy", (1980, 1, 1, 0, 0, 0))
            info.compress_type = method
            archive.writestr(info, member.getvalue())


def ragged(dtype, order="C", x=X, y=Y, offset_dtype="<i8"):
    return {
        "x": np.asarray(x, dtype=dtype, order=order),
        "x_offsets": X_OFFSETS.astype(offset_dtype),
        "y": np.asarray(y, dtype=dtype, order=order),
        "y_offsets": Y_OFFSETS.astype(offset_dtype),
    }


npz("f8.npz", (1, 0), False, **ragged("<f8"))
npz("f8_big_fortran_deflated.npz", (2, 0), True, **ragged(">f8", "F", offset_dtype=">i4"))
npz("f4_v3.npz", (3, 0), False, **ragged("<f4", offset_dtype="u1"))
npz("f2_fortran.npz", (1, 0), True, **ragged("<f2", "F", offset_dtype="<u4"))
npz("f2_big.npz", (1, 0), False, **ragged(">f2", offset_dtype=">u8"))
npz("i1.npz", (1, 0), False, **ragged("i1", x=INTEGERS_X, y=INTEGERS_Y, offset_dtype="i2"))
npz("i8_big.npz", (1, 0), True, **ragged(">i8", x=INTEGERS_X, y=INTEGERS_Y, offset_dtype=">u2"))
npz("rect.npz", (1, 0), False, x=RECT_X, y=RECT_Y)
npz("rect_fortran.npz", (1, 0), True, x=np.asfortranarray(RECT_X), y=np.asfortranarray(RECT_Y[:, None, :]))
np.savez(path("savez.npz"), **ragged("<f8"), comment=np.array(["text"]))
npz("bool.npz", (1, 0), False, x=RECT_X > 1, y=RECT_Y > 1)
npz("object.npz", (1, 0), False, x=np.array([[[None]]], dtype=object), y=RECT_Y)
npz("structured.npz", (1, 0), False, x=np.zeros(2, dtype=[("a", "f8")]), y=RECT_Y)
npz("complex.npz", (1, 0), False, x=RECT_X.astype("c16"), y=RECT_Y)
# A megabyte of zeros in a kilobyte, behind a header of one element.
bomb = io.BytesIO()
np.lib.format.write_array(bomb, np.zeros((1, 1, 1)), version=(1, 0))
with zipfile.ZipFile(path("bomb.npz"), "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr(zipfile.ZipInfo("x.npy", (1980, 1, 1, 0, 0, 0)), bomb.getvalue() + bytes(1 << 20),
                     zipfile.ZIP_DEFLATED)

save_file(ragged("<f8"), path("f64.safetensors"), metadata={"origin": "safetensors"})
save_file(ragged("<f4", offset_dtype="<i4"), path("f32.safetensors"))
save_file(ragged("<f2", offset_dtype="u1"), path("f16.safetensors"))
save_file(ragged("<i2", x=INTEGERS_X, y=INTEGERS_Y), path("i16.safetensors"))
save_file({"x": RECT_X, "y": RECT_Y}, path("rect.safetensors"))
