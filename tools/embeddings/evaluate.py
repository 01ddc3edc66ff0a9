"""Measures a model file on the texts held out of its training, against the teacher.

    python evaluate.py --corpus corpus.jsonl --vectors vectors/ --model custos-static-1.bin

Prints, for the model file, and for the tables of --tokens if given:
- rank correlation of similarities with the teacher's, over random pairs, and over the teacher's
  ten nearest of each text mixed with random pairs;
- the share of the teacher's ten nearest that are among the model's ten nearest;
- finding a WordNet gloss among the held out ones by the words it defines.
"""

import argparse
import pathlib
import struct

import numpy as np
import torch
from scipy.stats import spearmanr

from distil import Texts, load_corpus, split
from teacher import encode, load_model, load_tokenizer


def read_model(path):
    data = path.read_bytes()
    assert data[:8] == b"CUSTEMB1"
    dimensions, tokens, vocabulary = struct.unpack("<3I", data[8:20])
    at = 20 + vocabulary
    factors = np.frombuffer(data, np.uint8, tokens, at).astype(np.float32)
    components = np.frombuffer(data, np.int8, tokens * dimensions, at + tokens)
    return torch.tensor(components.reshape(tokens, dimensions) * factors[:, None])


def unit(sums):
    return torch.nn.functional.normalize(sums, dim=1).numpy()


def as_bytes(vectors):
    """What the package returns: the unit vector times 127, truncated; here again at length one."""
    return unit(torch.tensor(np.trunc(vectors * 127)))


def found(queries, texts):
    scores = queries @ texts.T
    rank = (scores > np.diag(scores)[:, None]).sum(1) + 1
    return f"MRR {np.mean(1 / rank):.3f}, first {np.mean(rank == 1):.3f} of {len(rank)}"


class Measure:
    def __init__(self, rows, taught):
        rng = np.random.default_rng(3)
        self.teacher = taught @ taught.T
        np.fill_diagonal(self.teacher, -9)
        self.nearest = np.argsort(-self.teacher, axis=1)[:, :10]
        self.left, self.right = rng.integers(0, len(rows), (2, 60_000))
        self.glosses = [at for at, row in enumerate(rows) if row["source"] == "wordnet-gloss"]

    def print(self, name, vectors, headwords):
        mine = vectors @ vectors.T
        np.fill_diagonal(mine, -9)
        random = (self.left, self.right)
        near = (np.repeat(np.arange(len(mine)), 10), self.nearest.ravel())
        both = tuple(np.concatenate([a, b[:20_000]]) for a, b in zip(near, random))
        top = np.argpartition(-mine, 10, axis=1)[:, :10]
        shared = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(top, self.nearest)])
        print(f"{name}: random pairs {spearmanr(mine[random], self.teacher[random])[0]:.3f}, "
              f"with near pairs {spearmanr(mine[both], self.teacher[both])[0]:.3f}, "
              f"top ten shared {shared:.3f}, "
              f"gloss by headword {found(headwords, vectors[self.glosses])}")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--corpus", type=pathlib.Path, required=True)
    args.add_argument("--vectors", type=pathlib.Path, required=True)
    args.add_argument("--model", type=pathlib.Path, required=True)
    args.add_argument("--tokens", type=pathlib.Path)
    args = args.parse_args()
    torch.set_num_threads(1)
    rows, taught = load_corpus(args.corpus, args.vectors)
    _, held = split(len(rows))
    rows, taught = [rows[at] for at in held], unit(taught[torch.tensor(held)])
    measure = Measure(rows, taught)
    tokenizer = load_tokenizer()

    def read(texts):
        return [text.ids for text in tokenizer.encode_batch(texts)]

    tokens = read([row["text"] for row in rows])
    headwords = read([rows[at]["pair"] for at in measure.glosses])
    measure.print("teacher", taught, encode(load_model(torch.float32), headwords))
    tables = {args.model.name: read_model(args.model)}
    if args.tokens:
        stored = np.load(args.tokens)
        tables |= {name: torch.tensor(stored[name]) for name in ("tokens", "start")}
    for name, table in tables.items():
        both = []
        for lists in (tokens, headwords):
            texts = Texts([ids[1:-1] for ids in lists])
            both.append(unit(texts.sums(table, range(len(lists)))))
        measure.print(name, *both)
        if name == args.model.name:
            measure.print("  as bytes", *map(as_bytes, both))


if __name__ == "__main__":
    main()
