"""Token vectors to the model file: whole numbers, the vocabulary inside.

    python export.py --vectors tokens.npz --out ../../packages/embeddings/model/custos-static-1.bin

The layout is described in packages/embeddings/src/static-model.ts.
"""

import argparse
import hashlib
import pathlib
import struct

import numpy as np

from teacher import MODEL


def quantise(vectors):
    """Factors of 8 bits and components of 8 bits, whose product is the vector up to one scale."""
    largest = np.abs(vectors).max(1)
    step = largest.max() / (127 * 255)
    factors = np.clip(np.ceil(largest / (127 * step) - 1e-6), 1, 255)
    factors[largest == 0] = 0
    components = np.rint(vectors / (np.maximum(factors, 1)[:, None] * step))
    return factors.astype(np.uint8), np.clip(components, -127, 127).astype(np.int8)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--vectors", type=pathlib.Path, required=True)
    args.add_argument("--out", type=pathlib.Path, required=True)
    args = args.parse_args()
    vectors = np.load(args.vectors)["tokens"]
    factors, components = quantise(vectors)
    vocabulary = (MODEL / "vocab.txt").read_bytes().rstrip(b"\n")
    assert vocabulary.count(b"\n") + 1 == len(vectors)
    header = b"CUSTEMB1" + struct.pack("<3I", vectors.shape[1], len(vectors), len(vocabulary))
    data = header + vocabulary + factors.tobytes() + components.tobytes()
    args.out.parent.mkdir(exist_ok=True)
    args.out.write_bytes(data)
    print(len(data), "bytes, SHA-256", hashlib.sha256(data).hexdigest())


if __name__ == "__main__":
    main()
