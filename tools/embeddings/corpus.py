"""Collects the training texts: a JSON line each, {"source", "text", "pair"?}, in a fixed shuffle.

    python corpus.py --debs DIR --out corpus.jsonl

DIR holds unpacked Debian packages (see README.md). No evaluation set is read here.
"""

import argparse
import gzip
import json
import pathlib
import random
import re
import subprocess

import chitchat_dataset

NAMES = """Aaron Abigail Adam Ahmed Aisha Alan Alex Alice Amanda Amir Amy Ana Andrea Andrew Angela
Anita Anna Anthony Antonio Ashley Barbara Ben Benjamin Beth Bill Bob Brandon Brian Carla Carlos
Carol Catherine Charles Charlotte Chen Chloe Chris Christina Claire Craig Dan Daniel Daniela David
Dennis Diana Diego Dmitri Donna Dorothy Dylan Edward Elena Eli Elizabeth Ella Emily Emma Eric Erin
Ethan Eva Fatima Felix Fiona Frank Gabriel George Grace Greg Hannah Harry Hassan Heather Helen Henry
Hiroshi Ian Ines Ingrid Isaac Isabel Ivan Jack Jacob James Jamie Jane Jason Jay Jean Jeff Jenny
Jessica Jing Joe Joel Jonas Jose Joseph Josh Juan Judy Julia Julie Justin Karen Kate Katie Keith
Kelly Ken Kevin Kim Kumar Kyle Lara Larry Laura Lauren Leah Lee Leo Liam Linda Lisa Lucas Lucy Luis
Luke Magda Marco Margaret Maria Mark Marta Martin Mary Matt Max Maya Mei Megan Miguel Mike Mina
Mohammed Molly Monica Nadia Naomi Nick Nicole Nina Noah Olga Oliver Olivia Omar Oscar Pablo Pamela
Patricia Paul Paula Pedro Peter Philip Priya Rachel Raj Ralph Rebecca Richard Rita Robert Robin Rosa
Rose Roy Ruth Ryan Sally Sam Samantha Sandra Sara Sarah Scott Sean Sergei Simon Sofia Sophie Stella
Stephen Steve Susan Tanya Teresa Thomas Tim Tina Todd Tom Tony Tyler Uma Vera Victor Victoria Walter
Wei Wendy Will William Yuki Yusuf Zach Zoe""".split()
MONTHS = """January February March April May June July August September October November
December""".split()
QUESTIONS = [
    "What is {a} {n}?", "What does {n} mean?", "What {n} does {p} like?", "Where did {p} {v}?",
    "When did {p} {v} the {n}?", "How many {n}s does {p} have?", "Where did {p} see the {n}?",
    "What is {p}'s favorite {n}?", "Did {p} talk about the {n}?", "Why did {p} {v}?",
    "What did {p} say about {a} {n}?", "Which {n} did {p} and {q} {v} together?",
    "How long has {p} had the {n}?", "Who gave {p} the {n}?", "When is {p}'s {n}?",
    "How does {p} feel about the {n}?", "What kind of {n} did {p} {v} last {m}?",
    "Has {p} ever {v} a {n} with {q}?", "what {n} should I {v}", "how do I {v} {a} {n}?",
]


def spaced(text):
    return re.sub(r"\s+", " ", text).strip()


def sentences(text):
    for part in re.split(r"(?<=[.!?])\s+(?=[A-Z])", spaced(text)):
        if 5 <= len(part.split()) <= 60:
            yield part


def date(rng):
    day, month, year = rng.randint(1, 28), rng.randint(1, 12), rng.randint(1995, 2030)
    hour, minute, half = rng.randint(1, 12), rng.randint(0, 59), rng.choice(["am", "pm"])
    return rng.choice([
        f"{hour}:{minute:02} {half} on {day} {MONTHS[month - 1]}, {year}",
        f"{year}-{month:02}-{day:02}",
        f"{MONTHS[month - 1]} {day}, {year}",
        f"{day} {MONTHS[month - 1]} {year}",
    ])


def chat(rng):
    """Turns of conversations; some with a speaker, some with a date too, as memories often have."""
    for conversation in chitchat_dataset.Dataset().values():
        speakers = {}
        for turn in conversation["messages"]:
            text = spaced(" ".join(message["text"] for message in turn))[:1000]
            name = speakers.setdefault(turn[0]["sender"] if turn else "", rng.choice(NAMES))
            if len(text.split()) < 6:
                continue
            form = rng.random()
            if form < 0.2:
                text = f"{name}: {text}"
            elif form < 0.4:
                text = f"[{date(rng)}] {name}: {text}"
            yield {"source": "chitchat", "text": text}


def wordnet(root):
    for kind in ("noun", "verb", "adj", "adv"):
        for line in (root / f"usr/share/wordnet/data.{kind}").read_text("utf8").splitlines():
            if line.startswith("  "):
                continue
            fields, gloss = line.split(" | ", 1)
            words = fields.split()
            names = [words[4 + 2 * at].replace("_", " ") for at in range(int(words[3], 16))]
            names = [re.sub(r"\(\w+\)$", "", name) for name in names]
            examples = re.findall(r'"([^"]+)"', gloss)
            meaning = spaced(re.sub(r';?\s*"[^"]*"', "", gloss)).strip("; ")
            if meaning:
                yield {"source": "wordnet-gloss", "text": meaning, "pair": ", ".join(names)}
            for example in examples:
                if len(example.split()) >= 4:
                    yield {"source": "wordnet-example", "text": spaced(example)}


def common_words(root, kind):
    """Lemmas of one word that occur in the sense-tagged texts behind WordNet."""
    words = []
    for line in (root / f"usr/share/wordnet/index.{kind}").read_text("utf8").splitlines():
        if not line.startswith("  "):
            fields = line.split()
            tagged = int(fields[5 + int(fields[3])])
            if tagged > 0 and fields[0].isalpha():
                words.append(fields[0])
    return words


def questions(root, rng, count):
    nouns, verbs = common_words(root, "noun"), common_words(root, "verb")
    for _ in range(count):
        noun = rng.choice(nouns)
        text = rng.choice(QUESTIONS).format(
            n=noun, a="an" if noun[0] in "aeiou" else "a", v=rng.choice(verbs),
            p=rng.choice(NAMES), q=rng.choice(NAMES), m=rng.choice(MONTHS + ["week", "year"]))
        yield {"source": "question", "text": text}


def descriptions():
    listed = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True)
    for text in set(re.findall(r"^Description(?:-en)?: (.+)$", listed.stdout, re.M)):
        if len(text.split()) >= 3 and not re.search(r"transitional|dummy|debug symbols", text):
            yield {"source": "debian-description", "text": spaced(text)}


def manual_pages(root):
    for path in sorted((root / "usr/share/man").rglob("*.gz")):
        text = gzip.decompress(path.read_bytes()).decode("utf8", "replace")
        if text.startswith(".so") or not re.search(r"^\.(TH|Dd|\\\")", text, re.M):
            continue
        paragraphs, lines = [], []
        for line in text.splitlines():
            if re.match(r"\.(B|I|BR|IR|RB|RI|BI|IB)\b", line):
                line = re.sub(r"^\.\w+\s*", "", line).replace('"', "")
            elif line.startswith((".", "'")):
                paragraphs.append(" ".join(lines))
                lines = []
                continue
            lines.append(re.sub(r"\\f.|\\[&%:/]|\\\*\(..|\\\(..", "", line).replace("\\-", "-"))
        for paragraph in paragraphs:
            name = re.match(r"\S+ (?:-|\\-) (.{10,})", paragraph)
            if name:
                yield {"source": "manual-page", "text": spaced(name[1])}
            for sentence in sentences(paragraph):
                if "\\" not in sentence:
                    yield {"source": "manual-page", "text": sentence}


def python_docs(root):
    for path in sorted((root / "usr/share/doc/python3.11/html/_sources").rglob("*.txt")):
        for paragraph in re.split(r"\n\s*\n", path.read_text("utf8", "replace")):
            if paragraph.lstrip().startswith((">>>", "..", "::", "+-", "|", "=")):
                continue
            plain = re.sub(r":[\w:]+:`~?!?([^`<]+)(?: <[^>]*>)?`", r"\1", paragraph)
            for sentence in sentences(plain.replace("``", "").replace("*", "")):
                if not re.search(r"[{}|]|>>>|::", sentence):
                    yield {"source": "python-docs", "text": sentence}


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--debs", type=pathlib.Path, required=True)
    args.add_argument("--out", type=pathlib.Path, required=True)
    args = args.parse_args()
    rng = random.Random(20261121)
    take = {"debian-description": 25_000, "manual-page": 15_000, "python-docs": 15_000}
    by_source, seen = {}, set()
    rows = [chat(rng), wordnet(args.debs), questions(args.debs, rng, 40_000), descriptions()]
    for source in [*rows, manual_pages(args.debs), python_docs(args.debs)]:
        for row in source:
            if row["text"] not in seen:
                seen.add(row["text"])
                by_source.setdefault(row["source"], []).append(row)
    corpus = []
    for source, found in sorted(by_source.items()):
        found.sort(key=lambda row: row["text"])
        rng.shuffle(found)
        kept = found[: take.get(source, len(found))]
        corpus += kept
        print(f"{source}: {len(kept)} of {len(found)}")
    rng.shuffle(corpus)
    with args.out.open("w") as out:
        for row in corpus:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(f"{len(corpus)} texts")


if __name__ == "__main__":
    main()
