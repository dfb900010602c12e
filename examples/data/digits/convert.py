#!/usr/bin/env python3
"""Writes the four IDX files of this folder from scikit-learn's copy of the UCI optical digits.

    python3 convert.py FOLDER

Needs scikit-learn (Debian: python3-sklearn). The same input gives the same bytes. ATTRIBUTION.md
says where the data is from and what is changed.
"""

import gzip
import os
import struct
import sys

from sklearn.datasets import load_digits


def write_idx(path, dims, payload):
    header = struct.pack(">BBBB", 0, 0, 0x08, len(dims)) + struct.pack(f">{len(dims)}I", *dims)
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as out:
        out.write(header + payload)


def write_set(folder, prefix, images, labels):
    count, rows, columns = images.shape
    pixels = bytes((int(p) * 255 + 8) // 16 for p in images.ravel())
    write_idx(f"{folder}/{prefix}-images-idx3-ubyte.gz", (count, rows, columns), pixels)
    write_idx(f"{folder}/{prefix}-labels-idx1-ubyte.gz", (count,), bytes(map(int, labels)))


def main(folder):
    digits = load_digits()
    is_test = [i % 6 == 5 for i in range(len(digits.target))]
    is_train = [not t for t in is_test]
    os.makedirs(folder, exist_ok=True)
    write_set(folder, "train", digits.images[is_train], digits.target[is_train])
    write_set(folder, "t10k", digits.images[is_test], digits.target[is_test])


main(sys.argv[1])
