"""Learns a vector for each WordPiece token, so that their sum points where the teacher's does.

    python distil.py --corpus corpus.jsonl --vectors vectors/ --out tokens.npz

1. Each token starts from what the teacher says of it alone, and its input embedding.
2. A ridge regression maps these, summed over a text with frequent tokens weighed down, to the
   teacher's vectors of the texts, cut to their first principal directions.
3. The token vectors themselves are then trained: cosine to the teacher's vector, and within each
   batch the order of similarities that the teacher gives.
"""

import argparse
import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as nn

from teacher import ROWS, encode, load_model, load_tokenizer

HELD_OUT = 3000
SPECIAL = [*range(104)]  # [PAD], [unused…], [UNK], [CLS], [SEP], [MASK]
SMOOTHING = 1e-3  # the a of a / (a + p(token)), smooth inverse frequency
RIDGE = 1e-4


class Texts:
    """Token ids of many texts, end to end."""

    def __init__(self, lists):
        self.ends = np.cumsum([0, *map(len, lists)])
        self.ids = torch.tensor(np.concatenate([np.array(ids, np.int64) for ids in lists]))

    def sums(self, table, rows):
        parts = [self.ids[self.ends[row] : self.ends[row + 1]] for row in rows]
        starts = torch.tensor(np.cumsum([0, *map(len, parts[:-1])]))
        return nn.embedding_bag(torch.cat(parts), table, starts, mode="sum")


def load_corpus(corpus, vectors):
    """Rows and teacher's vectors of as many texts as are encoded."""
    files = sorted(vectors.glob("????.npy"))
    assert [int(file.stem) for file in files] == list(range(len(files)))
    taught = np.concatenate([np.load(file) for file in files]).astype(np.float32)
    rows = [json.loads(line) for _, line in zip(range(len(taught)), corpus.open())]
    assert len(rows) == len(taught) and len(files) <= len(rows) // ROWS + 1
    return rows, torch.tensor(taught)


def split(count):
    order = np.random.default_rng(1).permutation(count)
    return order[HELD_OUT:], order[:HELD_OUT]


def token_features(path):
    """For each token the teacher's vector of it alone beside its input embedding, both centred."""
    if not path.exists():
        model = load_model()
        single = encode(model, [[101, token, 102] for token in range(30522)])
        np.savez(path, single=single, word=model.embeddings.word_embeddings.weight.float().detach())
    stored = np.load(path)
    single, word = torch.tensor(stored["single"]), torch.tensor(stored["word"])
    return torch.cat([single - single.mean(0), (word - word.mean(0)) / word.std() * 0.05], 1)


def principal(taught, dimensions):
    """Directions of the teacher's space by falling energy, not centred: cosines are about zero."""
    energy, directions = torch.linalg.eigh(taught.T @ taught / len(taught))
    kept = float(energy.flip(0)[:dimensions].sum() / energy.sum())
    print(f"{dimensions} dimensions keep {kept:.4f} of the energy")
    return directions.flip(1)[:, :dimensions].contiguous()


def ridge_start(texts, features, taught, rows):
    counts = torch.bincount(texts.ids, minlength=len(features)).float()
    weights = SMOOTHING / (SMOOTHING + counts / counts.sum())
    weights[SPECIAL] = 0
    weighted = features * weights[:, None]
    sums = torch.cat([texts.sums(weighted, part) for part in np.array_split(rows, 64)])
    total = torch.cat([texts.sums(weights[:, None], part) for part in np.array_split(rows, 64)])
    means = sums / total.clamp(min=1e-6)
    target = taught[torch.tensor(rows)]
    penalty = RIDGE * len(rows) * means.var() * torch.eye(means.shape[1])
    return weighted @ torch.linalg.solve(means.T @ means + penalty, means.T @ target)


def batch_loss(sums, target, whole, order_weight, temperature):
    mine = nn.normalize(sums, dim=1)
    loss = (1 - (mine * target).sum(1)).mean()
    if order_weight == 0:
        return loss
    itself = torch.eye(len(mine), dtype=torch.bool)
    wanted = ((whole @ whole.T) / temperature).masked_fill(itself, -1e4).softmax(1)
    given = ((mine @ mine.T) / temperature).masked_fill(itself, -1e4).log_softmax(1)
    return loss - order_weight * (wanted * given).sum(1).mean()


def train(texts, start, taught, projection, rows, args):
    target = nn.normalize(taught @ projection, dim=1)
    table = torch.nn.Parameter(start / texts.sums(start, rows[:4096]).norm(dim=1).mean())
    # Without the floor Adam would move a token seen once as far as one seen a thousand times.
    optimiser = torch.optim.Adam([table], lr=args.rate, betas=(0.9, 0.99), eps=args.floor)
    rng = np.random.default_rng(2)
    steps, step = int(args.epochs * len(rows) / args.batch), 0
    while step < steps:
        order = rng.permutation(rows)
        for at in range(0, min(len(order) - args.batch, (steps - step) * args.batch), args.batch):
            part = order[at : at + args.batch]
            sums = texts.sums(table, part)
            loss = batch_loss(sums, target[part], taught[part], args.order, args.temperature)
            optimiser.param_groups[0]["lr"] = args.rate * max(0.02, 1 - step / steps)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            with torch.no_grad():
                table[SPECIAL] = 0
            step += 1
            if step % 50 == 0:
                print(f"step {step} of {steps}, loss {loss.item():.4f}", flush=True)
    return table.detach()


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--corpus", type=pathlib.Path, required=True)
    args.add_argument("--vectors", type=pathlib.Path, required=True)
    args.add_argument("--out", type=pathlib.Path, required=True)
    args.add_argument("--dimensions", type=int, default=256)
    args.add_argument("--epochs", type=float, default=3)
    args.add_argument("--batch", type=int, default=1024)
    args.add_argument("--rate", type=float, default=2e-3)
    args.add_argument("--floor", type=float, default=1e-4)
    args.add_argument("--order", type=float, default=0.1)
    args.add_argument("--temperature", type=float, default=0.05)
    args.add_argument("--threads", type=int, default=1)
    args = args.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    rows, taught = load_corpus(args.corpus, args.vectors)
    encoded = load_tokenizer().encode_batch([row["text"] for row in rows])
    texts = Texts([text.ids[1:-1] for text in encoded])
    training, _ = split(len(rows))
    projection = principal(taught[training], args.dimensions)
    features = token_features(args.vectors / "features.npz")
    start = ridge_start(texts, features, taught, training) @ projection
    table = train(texts, start, taught, projection, training, args)
    np.savez(args.out, tokens=table.numpy(), start=start.numpy(), texts=len(rows))


if __name__ == "__main__":
    main()
