"""Writes what the teacher's tokenizer makes of texts of our own, for the tests of ours.

    python tokenizer_vectors.py --out ../../packages/embeddings/src/testing/tokenizer-vectors.jsonl
"""

import argparse
import json
import pathlib
import random

from teacher import load_tokenizer

PLAIN = [
    "", " ", "\n", "a", "A", "Hello, world!", "The quick brown fox jumps over the lazy dog.",
    "unaffable", "embeddings", "tokenization", "antidisestablishmentarianism", "xyzzyq", "qwrtpsdf",
    "I can't, won't, and shouldn't've.", "rock'n'roll", "state-of-the-art",
    "e-mail: me@example.org", "https://example.org/a/b?c=d&e=f#g", "3.14159", "1,000,000", "$5.99",
    "100%", "50+50=100", "a_b_c", "snake_case_name", "camelCaseName", "CONSTANT_VALUE",
    "v1.2.3-beta+45", "#hashtag", "@mention", "[2026-11-21] Maria: I moved to Lisbon last week.",
    "9:30 am on 3 March, 2024", "24/7", "C++", "C#", "~/.config/file.txt", "C:\\Users\\name",
    "<b>bold</b>", "{\"key\": [1, 2, 3]}", "a|b||c", "`code`", "!!!", "...", "?!", "--", "a--b",
    "(a(b(c)))", "\"quoted\"", "'single'", "^caret^", "x=y", "1<2>0", "tab\tseparated\tvalues",
    "line\none\r\nline two\rline three", "  many   spaces  ", "a\u00a0b", "SHOUTING AND whispering",
    "iPhone", "McDonald's", "O'Neill", "[CLS", "CLS]", "[ CLS ]", "##ing", "a ##b", "# # #",
    "0x1F600", "1e-10", "-5", "+7", "1st 2nd 3rd", "ok k thx bye lol", "hahahahaha",
    "Who is Ana's favourite teacher?", "When did Omar adopt the dog?", "what's up", "y'all",
    "Dr. Wei", "The meeting moved from Tuesday to Thursday.", "Prefers tea over coffee, no sugar.",
    "a.b.c.d", "GPT-4 and BERT are models", "SELECT * FROM facts WHERE id = 7;",
    "if (a && b) { return !c }", "supercalifragilisticexpialidocious",
    "pneumonoultramicroscopicsilicovolcanoconiosis", "Donaudampfschifffahrtsgesellschaft",
    "aaaaaaaaaaaaaaaaaaaa", "zzzzzzzzzz", "0123456789" * 3,
]
LIMITS = [
    "x" * 99, "x" * 100, "x" * 101, "the" * 33, "the" * 34, "é" * 100, "é" * 101, "\u00df" * 101,
    "\U00010400" * 60, "\U00010400" * 101, "a" * 100 + " b", "a" * 101 + "!b", "ab" * 400,
]
UNICODE = [
    "café", "cafe\u0301", "naïve façade", "Ångström", "A\u030angstro\u0308m", "Łódź", "Øresund",
    "Straße", "STRASSE ẞ", "İstanbul", "Iıİi", "ǅ ǆ Ǆ", "ﬁne ﬂow", "ﬀ ﬃ", "Σίσυφος", "ΣΊΣΥΦΟΣ",
    "ὈΔΥΣΣΕΎΣ", "ς σ Σ", "Привет, мир!", "ЙОД ЁЛКА", "їжак", "שלום עולם", "שָׁלוֹם",
    "مرحبا بالعالم", "مُحَمَّد", "हिन्दी भाषा", "বাংলা", "தமிழ்", "ภาษาไทย", "한국어", "가각힣",
    "\u1112\u1161\u11ab", "日本語テキスト", "カタカナ ｶﾀｶﾅ", "が か\u3099", "中文字符", "中 文", "abc中文def",
    "\u3400\u4dbf\u4e00\u9fff", "\u4dc0\ua000", "\U00020000\U0002a6df",
    "\U0002a700\U0002b73f\U0002b740\U0002b81f", "\U0002b820\U0002b91f",
    "\U0002b920\U0002ceaf\U0002ceb0", "\uf900\ufaff", "\U0002f800\U0002fa1f", "\U00030000",
    "\u3007\u3021", "\u2e80\u2f00", "。、「」", "！？（）", "¿Qué? ¡Sí!", "«guillemets»",
    "„German“ ‚quotes‘", "‘single’ “double”", "en–dash em—dash", "…", "‽", "§ 5 ¶", "† ‡ •",
    "© ® ™", "€ £ ¥ ₹", "½ ¼ ²³", "№ 5", "10°C", "±5", "×÷", "≤≥≠", "→←", "∑∏∫", "♥ ★ ☃", "😀", "👍🏽",
    "👨‍👩‍👧", "🇵🇹", "1️⃣", "a😀b", "hi😀!", "\u200bzero\u200bwidth", "soft\u00adhyphen",
    "join\u200der", "non\u200cjoiner", "\ufeffmark", "left\u200emark", "a\u2028b\u2029c",
    "a\u0085b", "a\u000bb\u000cc", "a\u1680b\u2003c\u202fd\u205fe\u3000f", "a\u180eb",
    "nul\u0000inside", "bell\u0007", "esc\u001b[0m", "del\u007fete", "c1\u0080\u009f", "\ufffd",
    "a\ufffdb", "private\ue000use", "\U000f0000x", "un\u0378assigned", "\U000e0041tag", "\ufdd0",
    "\uffff", "x\ufe0fy", "combining\u0301\u0302\u0303 marks", "\u0301alone", "e\u0323\u0301",
    "e\u0301\u0323", "\u0344", "a\u20dd", "\u0903ka", "\u302e\u302f", "Å\u212b", "Ω\u2126",
    "K\u212a", "ſ long", "ª º", "Ⅷ ⅷ", "ⓐⒶ", "Ａｂｃ１２３", "𝒜𝓫𝕔", "𐐀𐐨", "Ꮳꮳ", "ⴀႠ", "ᲐᲑ", "ʼn ŉ", "ǰ",
    "ΐ", "ﬓ", "Ⱥ ⱥ", "ʰʷ", "ˈstress", "´ ` ¨ ^ ~ ¯", "\u02c6\u02dc", "‿ ⁀", "﹏", "＿", "－", "‐ ‑ ‒",
    "֊ ־", "〜", "・", "؟ ،", "।", "፡", "᠆", "⸺", "﴾﴿", "❨x❩", "⟨x⟩", "⦃x⦄", "«\u00a0x\u00a0»",
    "Tiếng Việt", "Ğğ Şş Çç", "Ґ ґ", "Åse Ærø", "ðþ ÐÞ", "œuvre Œ", "ø ł đ ħ", "ǆ", "\u1e9e",
    "\u0130\u0131", "\u0149", "\u01f0", "\u0390", "\u03b0", "\u0587", "\u1e96", "\u1fb3", "\u1ff7",
    "\uac00\u11a8", "\u1100\u1161", "\u0e33", "\u0f77", "\u0958", "\u2adc", "\ufb1d", "\ufb2a",
    "\U0001d15e", "\U0001d165\u302e", "\U00011099", "\u0e48ก", "x\u034fy", "\u061c", "\u2060\u2061",
    "\ufff9a\ufffbb", "\u00b7", "·a·", "\u2118", "\u24c2", "\u3250", "\u32ff", "㎏ ㎡", "\u00b5 μ",
    "\u1d2c", "ᴬ", "₁₂", "①②", "🄰", "\U0001f100",
]
WORDS = """memory agent Lisbon coffee 42 café the of running unbelievable Ünal — , . ! ' " [ ] ( )
/ _ - 中 字 2026-11-21 I'm don't e.g. Σ ß 😀 kg $ 10% retrieval embeddings Kaufvertrag nuit ö
naïve\u200d x86-64 HTTP/2 \u0301 \u00ad tokenise supersede Zürich""".split()


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--out", type=pathlib.Path, required=True)
    args = args.parse_args()
    rng = random.Random(7)
    mixed = [
        "".join(
            rng.choice(WORDS) + rng.choice([" ", " ", "", "\t", "-"])
            for _ in range(rng.randint(2, 14))
        )
        for _ in range(120)
    ]
    tokenizer = load_tokenizer(100_000)
    rows = []
    for text in [*PLAIN, *LIMITS, *UNICODE, *mixed]:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        rows.append({"text": text, "ids": ids})
    # ASCII escapes, so that no editor changes what is invisible.
    args.out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(f"{len(rows)} texts")


if __name__ == "__main__":
    main()
