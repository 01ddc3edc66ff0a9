"""Feeds a witness from a log of another implementation: growth, then a fork that it must refuse.

Arguments: the URL of the witness, its vkey, the origin of the log, the seed of its key in hex.
"""

import sys

from aics_tlog import Checkpoint, MerkleTree, sign_checkpoint
from aics_witness.feeder import FeederError, WitnessClient, merge_cosignatures
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

url, vkey, origin, seed = sys.argv[1:]
key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(seed))


def checkpoint(tree: MerkleTree, size: int) -> bytes:
    return sign_checkpoint(Checkpoint(origin, size, tree.root(size)), key, origin).to_bytes()


def proof_of(tree: MerkleTree):
    return lambda old, new: MerkleTree(entries_of[tree][:new]).consistency_proof(old)


honest = [b"entry %d" % i for i in range(300)]
forked = honest[:100] + [b"other %d" % i for i in range(300)]
trees = [MerkleTree(honest), MerkleTree(forked)]
entries_of = dict(zip(trees, (honest, forked)))

with WitnessClient(url, vkey) as client:
    for size in (1, 8, 200, 300):
        note = checkpoint(trees[0], size)
        print(merge_cosignatures(note, client.submit(note, proof_of(trees[0]))).decode())
    try:
        client.submit(checkpoint(trees[1], 400), proof_of(trees[1]))
        sys.exit("the witness cosigned a fork")
    except FeederError as error:
        print("refused:", type(error).__name__)
# A client without memory is told the size.
with WitnessClient(url, vkey) as client:
    client.submit(checkpoint(trees[0], 300), proof_of(trees[0]))
